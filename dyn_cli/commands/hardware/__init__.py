"""Commands for real converters and security."""
