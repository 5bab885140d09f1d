"""The node that answers stiffness queries and computes maps."""
