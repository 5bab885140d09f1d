"""The command `dyn`."""
