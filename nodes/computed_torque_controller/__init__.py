"""The node that controls an arm by computed torque."""
