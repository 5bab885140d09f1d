"""Trajectories of joints and of platform poses."""

from .exercise import ExerciseMotion, exercise_motion
from .joint_trajectory import Sample, Trajectory, cycloidal, quintic, through_points
from .leg_motion import LegTrajectory, leg_trajectory, platform_move
from .pose_trajectory import PoseSample, PoseTrajectory, displaced, straight, through_poses

__all__ = [
    "ExerciseMotion",
    "LegTrajectory",
    "PoseSample",
    "PoseTrajectory",
    "Sample",
    "Trajectory",
    "cycloidal",
    "displaced",
    "exercise_motion",
    "leg_trajectory",
    "platform_move",
    "quintic",
    "straight",
    "through_points",
    "through_poses",
]
