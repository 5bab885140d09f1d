"""The packed model of a tree: what its kernels read, and how arguments come to them."""

from __future__ import annotations

import copy
from functools import cached_property
from math import prod
from typing import Any

import numpy as np

from dyn_core.arrays import Floats, read_only
from dyn_core.errors import InputError, SingularityError
from dyn_core.jit.kernel import compiled_call
from dyn_core.jit.state_kernel import StateKernel
from dyn_core.jit.status import OK, SINGULAR
from dyn_core.mechanism import BASE, Mechanism
from dyn_core.spatial.poses import skew

from ..workspaces import Workspaces
from .batch import run_batch
from .force_elements import element_motion
from .integrators import GENERAL, Integrator
from .record import ELEMENTS, FS, FV, VS, pack


class TreeModel:
    """A mechanism's tree, its chains open and its joints independent, as kernels read it."""

    def __init__(self, mechanism: Mechanism) -> None:
        self.mechanism = mechanism
        self._pack(pack(mechanism))
        self._frames = {
            frame.name: np.array([*frame.R.flat, *frame.p, frame.body + 1], float) for frame in mechanism.frames
        }

    def _pack(self, record: Floats) -> None:
        self.record = read_only(record)
        """(n + 1, WIDTH) what kernels read; nobody writes to it."""
        self.workspaces = Workspaces(self.record.copy)
        """Records that kernels write to: the model, and their scratch memory behind it."""

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._pack(self.record)

    def frame(self, name: str) -> Floats:
        """(13,) a frame's rotation and origin in its body, and the body's row."""
        try:
            return self._frames[name]
        except KeyError:
            if name == "base":
                return np.array([*np.eye(3).flat, *np.zeros(3), BASE + 1])
            self.mechanism.frame(name)
            raise

    @cached_property
    def frames(self) -> Floats:
        """(k, 13): `frame` of all k frames of the mechanism."""
        return np.array(list(self._frames.values()))

    def batch(self, kernel: StateKernel, lead: tuple[int, ...], out: Floats, *arguments: Any) -> Floats:
        """out (*lead, ...), filled by a kernel; arguments: arrays (*lead, ...), or [x] that all states share."""
        count = prod(lead)
        *rows, flat = (x if isinstance(x, list) else x.reshape(count, *x.shape[len(lead) :]) for x in (*arguments, out))

        def given(record: Floats, part: slice) -> tuple[Any, ...]:
            return record, *(x[0] if isinstance(x, list) else x[part] for x in rows), flat[part]

        status = run_batch(kernel, self.workspaces, count, given)
        if status == SINGULAR:
            raise SingularityError(
                f"{self.mechanism.name}: a joint moves no inertia at all; give its link or rotor a mass or inertia"
            )
        if status != OK:
            raise InputError(f"{self.mechanism.name}: {self.not_finite}")
        return out

    @property
    def not_finite(self) -> str:
        """Why a result may be not finite, in words."""
        springs = ", or a spring with a rest length has no length" if self.mechanism.spring_dampers else ""
        return f"the result is not finite; the arguments are too large{springs}"

    def element_jacobian(self, q: Floats) -> Floats:
        """(e, n) rates of the force elements' coordinates per rate of the joints, at q (n,), on a fixed base."""
        out, J = np.empty((int(self.record[0, ELEMENTS]), 2)), np.empty((int(self.record[0, ELEMENTS]), len(q)))
        with self.workspaces.one() as record:
            for j, speeds in enumerate(np.eye(len(q))):
                compiled_call(element_motion, record, q, speeds, out)
                J[:, j] = out[:, 1]
        return J

    def wrenches(self, wrenches: Any, lead: tuple[int, ...] = ()) -> Floats:
        """(*lead, n, 6), or (*lead, 0, 6) for none: wrenches at the links' described frames, moved to the bodies'.

        On a floating base (*lead, n + 1, 6), the base's first.
        """
        if wrenches is None:
            return np.empty((*lead, 0, 6))
        m = self.mechanism
        bodies, first = (m.n, "") if m.base is None else (m.n + 1, ", the base's first,")
        try:
            w = np.array(np.broadcast_to(np.asarray(wrenches, float), (*lead, bodies, 6)), order="C")
        except (TypeError, ValueError):
            raise InputError(
                f"wrenches have shape {np.shape(wrenches)}, {m.name} needs ({bodies}, 6){first}"
                " with the leading axes of the other arguments"
            ) from None
        if not np.isfinite(w).all():
            raise InputError("wrenches are not finite")
        links = w.reshape(-1, bodies, 6)[:, bodies - m.n :].swapaxes(0, 1)
        links[:] = links @ self._link_frames
        return w

    @cached_property
    def _link_frames(self) -> Floats:
        """X (n, 6, 6): w X is a wrench w at a link's described frame, moved to its body's frame."""
        X = np.zeros((self.mechanism.n, 6, 6))
        for moved, name in zip(X, self.mechanism.body_names, strict=True):
            frame = self.mechanism.frame(name)
            moved[:3, :3] = moved[3:, 3:] = frame.R.T
            moved[:3, 3:] = frame.R.T @ skew(frame.p).T
        return X

    @property
    def element_friction(self) -> Floats:
        """(2, e) Fv and Fs of the force elements."""
        elements = self.record[self.mechanism.n + 1 :]
        return np.stack([elements[:, FV], elements[:, FS]])

    def with_friction_over(self, speeds: Floats) -> TreeModel:
        """A copy whose Coulomb friction fades below Fs times these speeds, of joints (n,) or of elements too (n + e,).

        They are per N m or N.
        """
        other = copy.copy(self)
        record = self.record.copy()
        rows = record[1 : len(speeds) + 1]
        rows[:, VS] = rows[:, FS] * speeds
        other._pack(record)
        return other

    def integrator(self, Ia: Floats) -> Integrator:
        """What moves the tree in a simulation; Ia: (n,) the rotor inertias to move it with."""
        return GENERAL
