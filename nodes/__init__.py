"""The ROS 2 nodes of dyn_robot, and the command `dyn` that sets them up and talks to them."""
