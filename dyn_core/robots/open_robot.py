"""What robots have in common whose dynamics are those of one tree of independent joints."""

from __future__ import annotations

import copy
from typing import Any, Literal, Self

import numpy as np

from dyn_core.arrays import Floats
from dyn_core.dynamics.tree import state_kernels
from dyn_core.dynamics.tree.model import TreeModel
from dyn_core.errors import InputError, SingularityError
from dyn_core.jit.native_call import native, native_by_frame, never
from dyn_core.jit.state_kernel import StateKernel
from dyn_core.mechanism import Mechanism

from .engine import Engine, TreeEngine
from .robot import Robot

Method = Literal["recursive", "matrices"]


class OpenRobot(Robot):
    """A tree of independent joints, on a fixed or a floating base."""

    def __init__(self, mechanism: Mechanism) -> None:
        super().__init__(mechanism)
        self.model = TreeModel(self.mechanism)
        """What the kernels read."""

    def kernel(self, name: str) -> StateKernel:
        """The kernel that answers where there are no wrenches."""
        kernel: StateKernel = getattr(state_kernels, name)
        return kernel

    # dynamics

    @native
    def _inverse(self) -> Any:
        return self._bound("inverse_dynamics", 3, (self.nv,))

    @native
    def _direct(self) -> Any:
        return self._bound("forward_dynamics", 3, (self.nv,))

    @native
    def _mass(self) -> Any:
        return self._bound("mass_matrix", 1, (self.nv, self.nv))

    def _bound(self, name: str, count: int, shape: tuple[int, ...], *further: Floats) -> Any:
        given = (self.nq, self.nv, self.nv)[:count]
        return self.kernel(name).bind(self.model.workspaces.new(), given, shape, *further)

    def inverse_dynamics(self, q: Any, qd: Any, qdd: Any, wrenches: Any = None) -> Floats:
        """Joint forces for a motion: tau = H(q) qdd + bias(q, qd) - sum_j J_j^T w_j, see `Robot`.

        On a floating base also the wrench that the base needs, which comes first.
        """
        if wrenches is None:
            tau = self._inverse(q, qd, qdd)
            if tau is not None:
                return tau
        return self._forces_or_rates("_inverse", "inverse_dynamics", {"q": q, "qd": qd, "qdd": qdd}, wrenches)

    def forward_dynamics(self, q: Any, qd: Any, tau: Any, wrenches: Any = None, method: Method = "recursive") -> Floats:
        """Accelerations qdd under forces tau; wrenches as in `inverse_dynamics`.

        method: "recursive" (articulated bodies, O(n)), or "matrices" (inertia matrix and bias, O(n^3)), its check.
        tau (nv,), or (n,) where nothing acts on a floating base.
        """
        if wrenches is None and method == "recursive":
            qdd = self._direct(q, qd, tau)
            if qdd is not None:
                return qdd
        if method not in ("recursive", "matrices"):
            raise InputError(f"method must be 'recursive' or 'matrices', found {method!r}")
        values = {"q": q, "qd": qd, "tau": self.with_base(tau)}
        if method == "recursive":
            return self._forces_or_rates("_direct", "forward_dynamics", values, wrenches)
        lead, arrays = self.checked_state(values)
        w, A = self.model.wrenches(wrenches, lead), np.empty((*lead, self.nv, self.nv))
        return self.model.batch(state_kernels.forward_by_matrices, lead, np.empty((*lead, self.nv)), *arrays, w, A)

    def mass_matrix(self, q: Any) -> Floats:
        """H (..., nv, nv), kg m^2: symmetric and positive definite, with the rotors' inertia.

        It does not depend on the pose of a floating base: A of Khalil's (83).
        """
        H = self._mass(q)
        return self._of_positions("_mass", "mass_matrix", q, (self.nv, self.nv)) if H is None else H

    def _forces_or_rates(self, call: str, kernel: str, values: dict[str, Any], wrenches: Any) -> Floats:
        """By the native call for one state, which is bound at its first use, else over rows."""
        lead, arrays = self.checked_state(values)
        if lead == () and wrenches is None:
            answer: Floats | None = self.first_call(call, *arrays)
            if answer is not None:
                return answer
        own = self.kernel(kernel) if wrenches is None else getattr(state_kernels, kernel)
        return self.model.batch(own, lead, np.empty((*lead, self.nv)), *arrays, self.model.wrenches(wrenches, lead))

    def _of_positions(self, call: str, kernel: str, q: Any, shape: tuple[int, ...], frame: str | None = None) -> Floats:
        """The same of what depends on the positions only, and perhaps on a frame."""
        shared = [] if frame is None else [[self.model.frame(frame)]]
        lead, (q,) = self.checked_state({"q": q})
        answer: Floats | None = self.first_call(call, q, frame=frame) if lead == () else None
        if answer is not None:
            return answer
        return self.model.batch(self.kernel(kernel), lead, np.empty((*lead, *shape)), *shared, q)

    def mixed_dynamics(self, q: Any, qd: Any, qdd: Any, tau: Any = None, wrenches: Any = None) -> tuple[Floats, Floats]:
        """Inverse dynamics with elastic joints: forces of the rigid joints, accelerations of the elastic ones.

        Returns (tau, qdd): of qdd only the entries of rigid joints are read, of tau (zero if not given) only those of
        elastic joints, where it acts beside the spring. The acceleration of a floating base is an answer too.
        """
        return self._mixed(q, qd, qdd, tau, wrenches, ~self.mechanism.elastic)

    def _mixed(self, q: Any, qd: Any, qdd: Any, tau: Any, wrenches: Any, prescribed: Any) -> tuple[Floats, Floats]:
        """Forces of the joints whose accelerations are prescribed (n,), accelerations of the others."""
        values = {"q": q, "qd": qd, "tau": self._zero if tau is None else self.with_base(tau), "qdd": qdd}
        lead, (q, qd, tau, qdd) = self.checked_state(values)
        tau, qdd = tau.copy(), qdd.copy()
        w = self.model.wrenches(wrenches, lead)
        self.model.batch(state_kernels.mixed_dynamics, lead, qdd, [prescribed.astype(float)], q, qd, w, tau)
        return tau, qdd

    # kinematics

    @native_by_frame
    def _pose(self, frame: str) -> Any:
        return self._bound("frame_pose", 1, (4, 4), self.model.frame(frame))

    @native_by_frame
    def _jacobian(self, frame: str) -> Any:
        return self._bound("frame_jacobian", 1, (6, self.nv), self.model.frame(frame))

    def forward_kinematics(self, q: Any, frame: str = "tool") -> Floats:
        """Pose (..., 4, 4) of a frame in the base frame; in the world, on a floating base."""
        pose = self._pose.get(frame, never)(q)
        return self._of_positions("_pose", "frame_pose", q, (4, 4), frame) if pose is None else pose

    def jacobian(self, q: Any, frame: str = "tool") -> Floats:
        """Jacobian (..., 6, nv) of a frame's origin: rows v, omega in the axes of the base (or of the world)."""
        J = self._jacobian.get(frame, never)(q)
        return self._of_positions("_jacobian", "frame_jacobian", q, (6, self.nv), frame) if J is None else J

    def link_poses(self, q: Any) -> Floats:
        """Poses (..., k, 4, 4) of all k frames of `mechanism.frames`, as of `forward_kinematics`."""
        lead, (q,) = self.checked_state({"q": q})
        frames = self.model.frames
        return self.model.batch(state_kernels.frame_poses, lead, np.empty((*lead, len(frames), 4, 4)), [frames], q)

    # simulation

    def with_continuous_friction(self, q: Any, h: float) -> Self:
        """A copy whose Coulomb friction is continuous over the speed that it could reverse within h (s) near q."""
        try:
            mobility = np.linalg.inv(self.mass_matrix(q))
        except np.linalg.LinAlgError:
            raise SingularityError(f"{self.name} cannot be simulated: its mass matrix is singular") from None
        return self.with_friction_over(h * np.diag(mobility))

    def with_friction_over(self, speeds: Floats) -> Self:
        """A copy whose friction fades below Fs times these speeds (nv,), or (nv + e,) with e elements, per N m or N."""
        other = copy.copy(self)
        other.model = self.model.with_friction_over(speeds[self.nv - self.n :])
        return other

    def engine(self, motors: Floats, method: str, h: float) -> Engine:
        """The tree's compiled kernels."""
        return TreeEngine(self.model, self.nq, motors, method, h)
