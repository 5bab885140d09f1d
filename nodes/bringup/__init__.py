"""Which nodes, parameters and remappings make a system."""
