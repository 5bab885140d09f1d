"""The pose and the twist of a robot's platform as topics, published while somebody listens."""

from typing import Any

import numpy as np
from geometry_msgs.msg import PoseStamped, TwistStamped
from rclpy.node import Node

from dyn_core import Robot
from dyn_core.spatial import quaternion_from_rotation
from dyn_core.stiffness_maps import AXES
from dyn_nodes.common.qos import STREAM

POSE, TWIST = "platform_pose", "platform_twist"
"""Topics."""


class PlatformPublisher:
    """Publishes where the frame `tool` is and how it moves, in the base frame, from the joints' state."""

    def __init__(self, node: Node, robot: Robot) -> None:
        self._platform = robot.require_platform()
        self._pose, self._twist = PoseStamped(), TwistStamped()
        self._pose.header.frame_id = self._twist.header.frame_id = AXES
        self._poses = node.create_publisher(PoseStamped, POSE, STREAM)
        self._twists = node.create_publisher(TwistStamped, TWIST, STREAM)
        self._watched = False
        self._platform.frame_motion(*robot.all_joints(robot.neutral(), np.zeros(robot.n)))  # compiled before the loop

    def look(self) -> None:
        """Find out whether somebody listens."""
        self._watched = bool(self._poses.get_subscription_count() or self._twists.get_subscription_count())

    def publish(self, stamp: Any, q: np.ndarray, qd: np.ndarray) -> None:
        """Publish the platform at all joints' q, qd (n of the tree,), if somebody listens."""
        if not self._watched:
            return
        T, V = self._platform.frame_motion(q, qd)
        at, moving = self._pose.pose, self._twist.twist
        at.position.x, at.position.y, at.position.z = T[:3, 3].tolist()
        turned = at.orientation
        turned.x, turned.y, turned.z, turned.w = quaternion_from_rotation(T[:3, :3])
        velocity, angular = moving.linear, moving.angular
        velocity.x, velocity.y, velocity.z, angular.x, angular.y, angular.z = V.tolist()
        self._pose.header.stamp = self._twist.header.stamp = stamp
        self._poses.publish(self._pose)
        self._twists.publish(self._twist)
