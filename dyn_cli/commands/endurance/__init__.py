"""Commands that run a system for long, or break it."""
