"""The node that simulates a robot."""
