"""A simulated robot, its computed-torque controller and the stiffness server.

    ros2 launch dyn_robot sim.launch.py robot:=puma560

``ros2 launch dyn_robot sim.launch.py --show-args`` lists the arguments (``nodes/bringup/systems.py``).
"""

from launch import LaunchDescription

from dyn_nodes.bringup.launch_description import describe


def generate_launch_description() -> LaunchDescription:
    return describe("sim")
