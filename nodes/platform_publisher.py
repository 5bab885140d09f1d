"""The pose and the twist of a robot's platform as topics, published while somebody listens."""

from __future__ import annotations

from typing import Any

import numpy as np
from geometry_msgs.msg import PoseStamped, TwistStamped
from rclpy.node import Node
from scipy.spatial.transform import Rotation

from dyn_core.description.pose import quaternion_from_rotation
from dyn_core.loop_robot import LoopRobot
from nodes.loop import STREAM
from nodes.stiffness_answers import AXES

POSE, TWIST = "platform_pose", "platform_twist"
"""Topics."""


class PlatformPublisher:
    """Publishes where the frame `tool` is and how it moves, in the base frame, from the joints' state."""

    def __init__(self, node: Node, robot: LoopRobot) -> None:
        self._robot = robot
        self._pose, self._twist = PoseStamped(), TwistStamped()
        self._pose.header.frame_id = self._twist.header.frame_id = AXES
        self._poses = node.create_publisher(PoseStamped, POSE, STREAM)
        self._twists = node.create_publisher(TwistStamped, TWIST, STREAM)
        self._watched = False
        robot.frame_motion(robot.reference, np.zeros_like(robot.reference))  # compiled before the loop

    def look(self) -> None:
        """Find out whether somebody listens."""
        self._watched = bool(self._poses.get_subscription_count() or self._twists.get_subscription_count())

    def publish(self, stamp: Any, q: np.ndarray, qd: np.ndarray) -> None:
        """Publish the platform at all joints' q, qd (n of the tree,), if somebody listens."""
        if not self._watched:
            return
        T, V = self._robot.frame_motion(q, qd)
        at, moving = self._pose.pose, self._twist.twist
        at.position.x, at.position.y, at.position.z = T[:3, 3].tolist()
        turned = at.orientation
        turned.x, turned.y, turned.z, turned.w = quaternion_from_rotation(T[:3, :3])
        velocity, angular = moving.linear, moving.angular
        velocity.x, velocity.y, velocity.z, angular.x, angular.y, angular.z = V.tolist()
        self._pose.header.stamp = self._twist.header.stamp = stamp
        self._poses.publish(self._pose)
        self._twists.publish(self._twist)


def pose_matrix(message: PoseStamped) -> np.ndarray:
    """(4, 4) the pose of a message."""
    at, turned = message.pose.position, message.pose.orientation
    T = np.eye(4)
    T[:3, :3] = Rotation.from_quat([turned.x, turned.y, turned.z, turned.w]).as_matrix()
    T[:3, 3] = at.x, at.y, at.z
    return T


def twist_vector(message: TwistStamped) -> np.ndarray:
    """(6,) the twist of a message, linear first."""
    linear, angular = message.twist.linear, message.twist.angular
    return np.array([linear.x, linear.y, linear.z, angular.x, angular.y, angular.z])
