"""Commands that describe, convert and identify robots."""
