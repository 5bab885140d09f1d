"""Commands that run a robot and talk to it."""
