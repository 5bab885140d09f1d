"""The computed-torque controller and the stiffness server, for an arm whose driver publishes ``joint_states`` and takes
``motor_commands``.

    ros2 launch dyn_robot control.launch.py robot:=puma560

``ros2 launch dyn_robot control.launch.py --show-args`` lists the arguments (``nodes/bringup/systems.py``).
"""

from launch import LaunchDescription

from dyn_nodes.bringup.launch_description import describe


def generate_launch_description() -> LaunchDescription:
    return describe("control")
