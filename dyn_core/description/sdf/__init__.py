"""SDF files, as Gazebo has them."""
