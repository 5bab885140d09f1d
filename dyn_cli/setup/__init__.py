"""The environment that the commands need, made on first use."""
