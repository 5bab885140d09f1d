"""Running the nodes of a system as processes."""
