"""ROS clients of a running system."""
