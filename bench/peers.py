"""Our robots in other libraries that have no way to read them."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np

from dyn_core import Robot
from dyn_core.mechanism import PRISMATIC

DEBIAN = Path("/usr/lib/python3/dist-packages")

InverseDynamics = Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray]


def toolbox_puma() -> InverseDynamics:
    """Inverse dynamics of the Robotics Toolbox's own Puma 560, without friction, from whose figures ours are taken."""
    import roboticstoolbox

    arm = roboticstoolbox.models.DH.Puma560().nofriction(coulomb=True, viscous=True)
    return lambda q, qd, qdd: np.asarray(arm.rne(q, qd, qdd))


def kdl(robot: Robot) -> InverseDynamics | None:
    """Inverse dynamics of a serial chain by KDL; None where Debian's PyKDL is not installed.

    KDL leaves out friction and the rotors' inertia; the latter is added here.
    """
    if not any(DEBIAN.glob("PyKDL*")):
        return None
    sys.path.append(str(DEBIAN))
    try:
        import PyKDL
    except ImportError:  # built for another Python
        return None
    finally:
        sys.path.remove(str(DEBIAN))
    m = robot.mechanism

    def frame(j: int) -> PyKDL.Frame:
        return PyKDL.Frame(PyKDL.Rotation(*m.R[j].ravel()), PyKDL.Vector(*m.p[j]))

    chain = PyKDL.Chain()
    chain.addSegment(PyKDL.Segment("base", PyKDL.Joint("base", PyKDL.Joint.Fixed), frame(0)))
    for j in range(m.n):
        kind = PyKDL.Joint.TransZ if m.joint_type[j] == PRISMATIC else PyKDL.Joint.RotZ
        joint = PyKDL.Joint(m.joint_names[j], kind)
        tip = frame(j + 1) if j + 1 < m.n else PyKDL.Frame.Identity()
        mass = float(m.M[j])
        c = m.MS[j] / mass if mass > 0.0 else np.zeros(3)
        about_c = m.J[j] - mass * (c @ c * np.eye(3) - np.outer(c, c))
        xx, xy, xz, yy, yz, zz = about_c[np.triu_indices(3)]
        turning = PyKDL.RotationalInertia(xx, yy, zz, xy, xz, yz)
        inertia = tip.Inverse() * PyKDL.RigidBodyInertia(mass, PyKDL.Vector(*c), turning)
        chain.addSegment(PyKDL.Segment(m.body_names[j], joint, tip, inertia))
    solver = PyKDL.ChainIdSolver_RNE(chain, PyKDL.Vector(*m.gravity))
    arrays = [PyKDL.JntArray(m.n) for _ in range(4)]
    none = [PyKDL.Wrench() for _ in range(m.n + 1)]

    def inverse(q: np.ndarray, qd: np.ndarray, qdd: np.ndarray) -> np.ndarray:
        for array, values in zip(arrays, (q, qd, qdd), strict=False):
            for j, value in enumerate(values):
                array[j] = value
        solver.CartToJnt(*arrays[:3], none, arrays[3])
        return np.array([arrays[3][j] for j in range(m.n)]) + m.Ia * qdd

    inverse.chain = chain  # type: ignore[attr-defined]  # the solver refers to it without keeping it
    return inverse
