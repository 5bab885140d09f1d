"""A robot whose base moves freely, behind the same face as one with a fixed base."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from .batch import run_batch
from .errors import InputError
from .fastcall import FastCall
from .mechanism import BASE, Floats, Mechanism
from .robot import Method, Robot
from .spatial import skew
from .tree import fast
from .tree.floating import by_matrices_batch, direct_batch, integrate_batch, inverse_batch, jacobian_batch, pose_batch
from .tree.walker_orin import mass_matrix_batch

QUATERNION_TOLERANCE = 1e-6


class FloatingRobot(Robot):
    """A robot of n joints on a floating base.

    q (7 + n,): position of the base in the world (m), its orientation as a unit quaternion (x, y, z, w), joints.
    qd (6 + n,): linear velocity of the base's origin and angular velocity in the base's axes, joint rates.
    qdd (6 + n,): classical acceleration of the base's origin (the rate of its velocity in the world, turned into the
    base's axes) and angular acceleration, joint accelerations. tau (6 + n,): wrench on the base, joint forces.
    Wrenches (n + 1, 6): the base's first. Gravity is in the axes of the world.
    """

    _fast_calls: ClassVar[dict[str, FastCall]] = {
        "_inverse_call": fast.floating_inverse_dynamics,
        "_direct_call": fast.floating_forward_dynamics,
        "_mass_call": fast.floating_mass_matrix,
    }

    def __init__(self, mechanism: Mechanism) -> None:
        if mechanism.base is None:
            raise InputError(f"{mechanism.name} has a fixed base: use Robot")
        super().__init__(mechanism)
        self.nq, self.nv = 7 + self.n, 6 + self.n
        self._still = np.zeros(self.nv)

    def inverse_dynamics(self, q: Any, qd: Any, qdd: Any, wrenches: Any = None) -> Floats:
        """Forces for a motion: the wrench that the base needs, and the joint forces."""
        if wrenches is None:
            tau = self._inverse_call(q, qd, qdd)
            if tau is not None:
                return tau
        lead, (q, qd, qdd) = self.checked_state({"q": q, "qd": qd, "qdd": qdd})
        if lead == () and wrenches is None:
            tau = self._called("_inverse_call", (self.nv,), q, qd, qdd)
            if tau is not None:
                return tau
        tau = np.empty((*lead, self.nv))
        flat_q, flat_qd, flat_qdd, out = (self._rows(array) for array in (q, qd, qdd, tau))
        w = self._flat_wrenches(wrenches, lead, len(out))
        self._check(
            run_batch(
                inverse_batch, self._record, len(out), lambda p: (flat_q[p], flat_qd[p], flat_qdd[p], w[p], out[p])
            )
        )
        return tau

    def forward_dynamics(self, q: Any, qd: Any, tau: Any, wrenches: Any = None, method: Method = "recursive") -> Floats:
        """Accelerations of base and joints under forces; tau (6 + n,), or (n,) where nothing acts on the base."""
        if method not in ("recursive", "matrices"):
            raise InputError(f"method must be 'recursive' or 'matrices', found {method!r}")
        plain = wrenches is None and method == "recursive"
        if plain:
            qdd = self._direct_call(q, qd, tau)
            if qdd is not None:
                return qdd
        lead, (q, qd, tau) = self.checked_state({"q": q, "qd": qd, "tau": self._with_base(tau)})
        if lead == () and plain:
            qdd = self._called("_direct_call", (self.nv,), q, qd, tau)
            if qdd is not None:
                return qdd
        qdd = np.empty((*lead, self.nv))
        flat_q, flat_qd, flat_tau, out = (self._rows(array) for array in (q, qd, tau, qdd))
        w = self._flat_wrenches(wrenches, lead, len(out))
        kernel, prescribed = (by_matrices_batch, []) if method == "matrices" else (direct_batch, [np.zeros(0)])

        def slices(part: slice) -> tuple[Any, ...]:
            return (flat_q[part], flat_qd[part], *prescribed, w[part], flat_tau[part], out[part])

        self._check(run_batch(kernel, self._record, len(out), slices))
        return qdd

    def base_motion(self, q: Any, qd: Any, qdd: Any, wrenches: Any = None) -> tuple[Floats, Floats]:
        """Khalil's inverse model (section 7.2): what the base does when the joints move as given.

        qdd (..., n): joint accelerations. Returns the base's acceleration (..., 6) and the joint forces (..., n), with
        no force on the base but gravity and the wrenches.
        """
        tau, found = self.mixed_dynamics(q, qd, self._with_base(qdd), wrenches=wrenches)
        return found[..., :6], tau[..., 6:]

    def mixed_dynamics(self, q: Any, qd: Any, qdd: Any, tau: Any = None, wrenches: Any = None) -> tuple[Floats, Floats]:
        """As `Robot.mixed_dynamics`, with tau and qdd of base and joints: the base's acceleration is an answer too."""
        values = {"q": q, "qd": qd, "tau": self._still if tau is None else self._with_base(tau), "qdd": qdd}
        lead, arrays = self._arrays(values, (self.nq, self.nv, self.nv, self.nv))
        self._check_quaternion(arrays[0])
        arrays[2:] = [array.copy() for array in arrays[2:]]
        flat_q, flat_qd, flat_tau, flat_qdd = (self._rows(array) for array in arrays)
        w = self._flat_wrenches(wrenches, lead, len(flat_q))
        rigid = 1.0 - self.mechanism.elastic
        self._check(
            run_batch(
                direct_batch,
                self._record,
                len(flat_q),
                lambda p: (flat_q[p], flat_qd[p], rigid, w[p], flat_tau[p], flat_qdd[p]),
            )
        )
        return arrays[2], arrays[3]

    def mass_matrix(self, q: Any) -> Floats:
        """A (..., 6 + n, 6 + n) of (83); it does not depend on the pose of the base."""
        H = self._mass_call(q)
        if H is not None:
            return H
        lead, (q,) = self.checked_state({"q": q})
        if lead == ():
            H = self._called("_mass_call", (self.nv, self.nv), q)
            if H is not None:
                return H
        H = np.empty((*lead, self.nv, self.nv))
        joints = np.ascontiguousarray(self._rows(q)[:, 7:])
        out = H.reshape(-1, self.nv, self.nv)
        self._check(run_batch(mass_matrix_batch, self._record, len(out), lambda p: (joints[p], out[p])))
        return H

    def bias_forces(self, q: Any, qd: Any) -> Floats:
        """H of (83): forces at zero acceleration."""
        return self.inverse_dynamics(q, qd, self._still)

    def gravity_forces(self, q: Any) -> Floats:
        """Forces that hold base and joints still."""
        return self.inverse_dynamics(q, self._still, self._still)

    def forward_kinematics(self, q: Any, frame: str = "tool") -> Floats:
        """Pose (..., 4, 4) of a frame in the world."""
        row, constant = self._frame(frame)
        return self._poses(q, np.array([row]), constant[None])[..., 0, :, :]

    def link_poses(self, q: Any) -> Floats:
        """Poses (..., k, 4, 4) of all k frames of `mechanism.frames` in the world."""
        rows = np.array([row for row, _ in self._frames.values()])
        return self._poses(q, rows, np.array([constant for _, constant in self._frames.values()]))

    def jacobian(self, q: Any, frame: str = "tool") -> Floats:
        """Jacobian (..., 6, 6 + n) of a frame's origin: rows v, omega in world axes."""
        row, constant = self._frame(frame)
        lead, (q,) = self.checked_state({"q": q})
        J = np.empty((*lead, 6, self.nv))
        flat, out = self._rows(q), J.reshape(-1, 6, self.nv)
        self._check(run_batch(jacobian_batch, self._record, len(out), lambda p: (flat[p], row, constant, out[p])))
        return J

    def integrate(self, q: Any, qd: Any, time: float = 1.0) -> Floats:
        """The configuration reached from q when the velocity qd (constant in the base's axes) lasts for a time."""
        lead, (q, qd) = self.checked_state({"q": q, "qd": qd})
        out = np.empty((*lead, self.nq))
        flat_q, flat_qd, flat_out = self._rows(q), self._rows(qd), self._rows(out)
        self._check(
            run_batch(
                integrate_batch,
                self._record,
                len(flat_q),
                lambda p: (flat_q[p], flat_qd[p], float(time), flat_out[p]),
            )
        )
        return out

    def neutral(self) -> Floats:
        """(7 + n,) the base at the world's origin, all joints at zero."""
        q = np.zeros(self.nq)
        q[6] = 1.0
        return q

    def _poses(self, q: Any, rows: Any, constants: Floats) -> Floats:
        lead, (q,) = self.checked_state({"q": q})
        out = np.empty((*lead, len(rows), 4, 4))
        flat, flat_out = self._rows(q), out.reshape(-1, len(rows), 4, 4)
        self._check(run_batch(pose_batch, self._record, len(flat), lambda p: (flat[p], rows, constants, flat_out[p])))
        return out

    def _rows(self, array: Floats) -> Floats:
        return array.reshape(-1, array.shape[-1])

    def checked_state(self, values: dict[str, Any]) -> tuple[tuple[int, ...], list[Floats]]:
        """Leading axes and arrays of q, qd, ... as this robot has them; InputError where they are not."""
        lead, arrays = self._arrays(values, tuple(self.nq if key in ("q", "q0") else self.nv for key in values))
        self._check_quaternion(arrays[0])
        return lead, arrays

    def _check_quaternion(self, q: Floats) -> None:
        length = np.linalg.norm(q[..., 3:7], axis=-1)
        if (np.abs(length - 1.0) > QUATERNION_TOLERANCE).any():
            worst = float(np.asarray(length).flat[np.argmax(np.abs(length - 1.0))])
            raise InputError(f"q[3:7] must be a unit quaternion (x, y, z, w); its length is {worst:.6g}")

    def _with_base(self, tau: Any) -> Any:
        array = np.asarray(tau, float)
        if array.ndim and array.shape[-1] == self.n:
            return np.concatenate([np.zeros((*array.shape[:-1], 6)), array], axis=-1)
        return array

    def _body_wrenches(self, wrenches: Any, lead: tuple[int, ...]) -> Floats:
        try:
            w = np.broadcast_to(np.asarray(wrenches, float), (*lead, self.n + 1, 6))
        except (TypeError, ValueError):
            raise InputError(
                f"wrenches have shape {np.shape(wrenches)}, {self.name} needs ({self.n + 1}, 6), the base's first,"
                " with the leading axes of the other arguments"
            ) from None
        if not np.isfinite(w[..., 0, :]).all():
            raise InputError("wrenches are not finite")
        links = super()._body_wrenches(w[..., 1:, :], lead)
        return np.concatenate([w[..., :1, :], links], axis=-2)


def momentum(robot: FloatingRobot, q: Any, qd: Any) -> Floats:
    """(6,) linear momentum, and angular momentum about the world's origin, in world axes."""
    h = robot.mass_matrix(q)[:6] @ np.asarray(qd, float)
    origin = np.concatenate([np.eye(3).ravel(), np.zeros(3)])
    pose = robot._poses(q, np.array([BASE + 1]), origin[None])[0]
    R, p = pose[:3, :3], pose[:3, 3]
    linear = R @ h[:3]
    return np.concatenate([linear, R @ h[3:] + skew(p) @ linear])
