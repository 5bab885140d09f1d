"""A robot of open chains on a base that moves freely."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from dyn_core.arrays import Floats
from dyn_core.dynamics.tree import native_calls as calls
from dyn_core.dynamics.tree.floating_base import (
    by_matrices_batch,
    direct_batch,
    integrate_batch,
    inverse_batch,
    jacobian_batch,
    pose_batch,
)
from dyn_core.errors import InputError
from dyn_core.jit.native_call import native
from dyn_core.mechanism import BASE, Mechanism
from dyn_core.spatial.poses import skew

from .open_robot import OpenRobot


class FloatingRobot(OpenRobot):
    """A robot of n joints on a floating base.

    q (7 + n,): position of the base in the world (m), its orientation as a unit quaternion (x, y, z, w), joints.
    qd (6 + n,): linear velocity of the base's origin and angular velocity in the base's axes, joint rates.
    qdd (6 + n,): classical acceleration of the base's origin (the rate of its velocity in the world, turned into the
    base's axes) and angular acceleration, joint accelerations. tau (6 + n,): wrench on the base, joint forces.
    Wrenches (n + 1, 6): the base's first. Gravity is in the axes of the world.
    """

    _kernels: ClassVar[dict[str, Any]] = {
        "_inverse": inverse_batch,
        "_direct": direct_batch,
        "_matrices": by_matrices_batch,
        "_mixed": direct_batch,
    }

    def __init__(self, mechanism: Mechanism) -> None:
        if mechanism.base is None:
            raise InputError(f"{mechanism.name} has a fixed base: use TreeRobot")
        super().__init__(mechanism)

    @native
    def _inverse(self) -> Any:
        return calls.floating_inverse_dynamics.bind(
            self.model.workspaces.new(), (self.nq, self.nv, self.nv), (self.nv,)
        )

    @native
    def _direct(self) -> Any:
        return calls.floating_forward_dynamics.bind(
            self.model.workspaces.new(), (self.nq, self.nv, self.nv), (self.nv,)
        )

    @native
    def _mass(self) -> Any:
        return calls.floating_mass_matrix.bind(self.model.workspaces.new(), (self.nq,), (self.nv, self.nv))

    def _rows(self, call: str, lead: tuple[int, ...], arrays: list[Floats], wrenches: Any) -> Floats:
        if call not in ("_direct", "_matrices"):
            return super()._rows(call, lead, arrays, wrenches)
        q, qd, tau = arrays
        prescribed = [[np.zeros(0)]] if call == "_direct" else []
        w = self.model.wrenches(wrenches, lead)
        return self.model.batch(self._kernels[call], lead, np.empty((*lead, self.nv)), q, qd, *prescribed, w, tau)

    def base_motion(self, q: Any, qd: Any, qdd: Any, wrenches: Any = None) -> tuple[Floats, Floats]:
        """Khalil's inverse model (section 7.2): what the base does when the joints move as given.

        qdd (..., n): joint accelerations. Returns the base's acceleration (..., 6) and the joint forces (..., n), with
        no force on the base but gravity and the wrenches.
        """
        tau, found = self.mixed_dynamics(q, qd, self.with_base(qdd), wrenches=wrenches)
        return found[..., :6], tau[..., 6:]

    def forward_kinematics(self, q: Any, frame: str = "tool") -> Floats:
        """Pose (..., 4, 4) of a frame in the world."""
        row, constant = self.model.frame(frame)
        return self._poses(q, np.array([row]), constant[None])[..., 0, :, :]

    def link_poses(self, q: Any) -> Floats:
        """Poses (..., k, 4, 4) of all k frames of `mechanism.frames` in the world."""
        return self._poses(q, *self.model.frames)

    def jacobian(self, q: Any, frame: str = "tool") -> Floats:
        """Jacobian (..., 6, 6 + n) of a frame's origin: rows v, omega in world axes."""
        row, constant = self.model.frame(frame)
        lead, (q,) = self.checked_state({"q": q})
        return self.model.batch(jacobian_batch, lead, np.empty((*lead, 6, self.nv)), q, [row], [constant])

    def integrate(self, q: Any, qd: Any, time: float = 1.0) -> Floats:
        """The configuration reached from q when the velocity qd (constant in the base's axes) lasts for a time."""
        lead, (q, qd) = self.checked_state({"q": q, "qd": qd})
        return self.model.batch(integrate_batch, lead, np.empty((*lead, self.nq)), q, qd, [float(time)])

    def momentum(self, q: Any, qd: Any) -> Floats:
        """(6,) linear momentum, and angular momentum about the world's origin, in world axes."""
        h = self.mass_matrix(q)[:6] @ np.asarray(qd, float)
        origin = np.concatenate([np.eye(3).ravel(), np.zeros(3)])
        pose = self._poses(q, np.array([BASE + 1]), origin[None])[0]
        R, p = pose[:3, :3], pose[:3, 3]
        linear = R @ h[:3]
        return np.concatenate([linear, R @ h[3:] + skew(p) @ linear])

    def _poses(self, q: Any, rows: Any, constants: Floats) -> Floats:
        lead, (q,) = self.checked_state({"q": q})
        return self.model.batch(pose_batch, lead, np.empty((*lead, len(rows), 4, 4)), q, [rows], [constants])
