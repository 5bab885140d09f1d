"""Commands for those who work on dyn_robot."""
