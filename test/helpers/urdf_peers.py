"""Example URDF files, and Pinocchio's model of each."""

from __future__ import annotations

import warnings
from importlib import metadata
from pathlib import Path

import numpy as np
import pinocchio as pin

from dyn_core import Robot, load_robot
from dyn_core.errors import DescriptionWarning

REFUSED = {
    "alex_psyonic_hands.urdf": "joint 'Left_index_q2' follows 'index_q1', which does not exist",
    "iris_simple.urdf": "no joint moves",
    "quadrotor_base.urdf": "no joint moves",
    "romeo.urdf": "has nothing to move: link 'LFinger11Link'",
    "romeo_laas_small.urdf": "has nothing to move: link 'l_gripper'",
    "ur3.urdf": "has no attribute 'name'",
}


def example_files() -> list[Path]:
    files = metadata.files("example-robot-data") or []
    return sorted(Path(str(file.locate())).resolve() for file in files if file.suffix == ".urdf")


FILES = example_files()


USED = [file for file in FILES if file.name not in REFUSED]


def relative(found: np.ndarray, expected: np.ndarray) -> float:
    return float(np.abs(found - expected).max() / np.abs(expected).max())


def read(path: Path, floating: bool = False) -> Robot:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DescriptionWarning)
        return load_robot(path, floating=floating)


class Peer:
    """A robot of ours in Pinocchio, joints mapped by name. mimic: by Pinocchio's own mimic joints."""

    def __init__(self, path: Path, robot: Robot, floating: bool, mimic: bool) -> None:
        options = {"mimic": True} if mimic else {}
        root = [pin.JointModelFreeFlyer()] if floating else []
        self.model = pin.buildModelFromUrdf(str(path), *root, **options)
        self.data = self.model.createData()
        self.robot = robot
        self.base = robot.nv - robot.n
        assert (self.model.nv, self.base) == (robot.nv, 6 if floating else 0)
        self.P = np.zeros((robot.nv, robot.nv))
        self.P[: self.base, : self.base] = np.eye(self.base)
        self.joints = [self.model.joints[self.model.getJointId(name)] for name in robot.joint_names]
        for k, joint in enumerate(self.joints):
            self.P[joint.idx_v, self.base + k] = 1.0

    def q(self, q: np.ndarray) -> np.ndarray:
        """Pinocchio's q: a continuous joint is a cosine and a sine there."""
        out = pin.neutral(self.model)
        first = len(q) - self.robot.n
        out[:first] = q[:first]
        for joint, x in zip(self.joints, q[first:], strict=True):
            out[joint.idx_q : joint.idx_q + joint.nq] = x if joint.nq == 1 else (np.cos(x), np.sin(x))
        return out

    def spatial(self, v: np.ndarray, vd: np.ndarray) -> np.ndarray:
        """Pinocchio's acceleration of the base is the rate of its velocity's components."""
        out = vd.copy()
        if self.base:
            out[:3] -= np.cross(v[3:6], v[:3])
        return out

    def inverse(self, q: np.ndarray, v: np.ndarray, vd: np.ndarray) -> np.ndarray:
        P = self.P
        return P.T @ pin.rnea(self.model, self.data, self.q(q), P @ v, P @ self.spatial(v, vd))

    def mass_matrix(self, q: np.ndarray) -> np.ndarray:
        M = pin.crba(self.model, self.data, self.q(q))
        return self.P.T @ (np.triu(M) + np.triu(M, 1).T) @ self.P

    def direct(self, q: np.ndarray, v: np.ndarray, tau: np.ndarray) -> np.ndarray:
        return self.P.T @ pin.aba(self.model, self.data, self.q(q), self.P @ v, self.P @ tau)

    def poses(self, q: np.ndarray) -> np.ndarray:
        pin.framesForwardKinematics(self.model, self.data, self.q(q))
        names = [frame.name for frame in self.robot.mechanism.frames[:-1]]
        return np.array([self.data.oMf[self.model.getFrameId(name, pin.BODY)].homogeneous for name in names])


def random_state(robot: Robot, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    q = rng.uniform(-1.5, 1.5, robot.nq)
    if robot.nq > robot.nv:
        q[3:7] /= np.linalg.norm(q[3:7])
    return q, *rng.normal(size=(2, robot.nv))
