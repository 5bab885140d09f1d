"""What robots have in common whose dynamics are those of one tree of independent joints."""

from __future__ import annotations

import copy
from typing import Any, ClassVar, Literal, Self

import numpy as np

from dyn_core.arrays import Floats
from dyn_core.dynamics.tree.crba import mass_matrix_batch
from dyn_core.dynamics.tree.model import TreeModel
from dyn_core.errors import InputError, SingularityError
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

    _inverse: Any
    """Native call: tau from q, qd, qdd."""
    _direct: Any
    """Native call: qdd from q, qd, tau."""
    _mass: Any
    """Native call: H from q."""
    _kernels: ClassVar[dict[str, Any]]
    """Over rows, by the name of the native call; `_matrices` and `_mixed` have none."""

    def inverse_dynamics(self, q: Any, qd: Any, qdd: Any, wrenches: Any = None) -> Floats:
        """Joint forces for a motion: tau = H(q) qdd + bias(q, qd) - sum_j J_j^T w_j, see `Robot`.

        On a floating base also the wrench that the base needs, which comes first.
        """
        if wrenches is None:
            tau = self._inverse(q, qd, qdd)
            if tau is not None:
                return tau
        return self._answer("_inverse", {"q": q, "qd": qd, "qdd": qdd}, wrenches)

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
        return self._answer("_direct" if method == "recursive" else "_matrices", values, wrenches)

    def mass_matrix(self, q: Any) -> Floats:
        """H (..., nv, nv), kg m^2: symmetric and positive definite, with the rotors' inertia.

        It does not depend on the pose of a floating base: A of Khalil's (83).
        """
        H = self._mass(q)
        return self._answer("_mass", {"q": q}) if H is None else H

    def _answer(self, call: str, values: dict[str, Any], wrenches: Any = None) -> Floats:
        """By the native call for one state, which is bound at its first use, else over rows."""
        lead, arrays = self.checked_state(values)
        if lead == () and wrenches is None and call in self.natives:
            answer: Floats | None = self.first_call(call, *arrays)
            if answer is not None:
                return answer
        return self._rows(call, lead, arrays, wrenches)

    def _rows(self, call: str, lead: tuple[int, ...], arrays: list[Floats], wrenches: Any) -> Floats:
        if call == "_mass":
            joints = np.ascontiguousarray(arrays[0][..., self.nq - self.n :])
            return self.model.batch(mass_matrix_batch, lead, np.empty((*lead, self.nv, self.nv)), joints)
        w = self.model.wrenches(wrenches, lead)
        return self.model.batch(self._kernels[call], lead, np.empty((*lead, self.nv)), *arrays, w)

    def mixed_dynamics(self, q: Any, qd: Any, qdd: Any, tau: Any = None, wrenches: Any = None) -> tuple[Floats, Floats]:
        """Inverse dynamics with elastic joints: forces of the rigid joints, accelerations of the elastic ones.

        Returns (tau, qdd): of qdd only the entries of rigid joints are read, of tau (zero if not given) only those of
        elastic joints, where it acts beside the spring. The acceleration of a floating base is an answer too.
        """
        values = {"q": q, "qd": qd, "tau": self._zero if tau is None else self.with_base(tau), "qdd": qdd}
        lead, (q, qd, tau, qdd) = self.checked_state(values)
        tau, qdd = tau.copy(), qdd.copy()
        w = self.model.wrenches(wrenches, lead)
        self.model.batch(self._kernels["_mixed"], lead, qdd, q, qd, [1.0 - self.mechanism.elastic], w, tau)
        return tau, qdd

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
