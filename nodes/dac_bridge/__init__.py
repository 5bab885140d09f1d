"""The node that drives real converters."""
