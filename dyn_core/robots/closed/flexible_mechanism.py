"""Planar mechanisms with flexible links: their equations, and their motion with springs or with multipliers."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, pi, sqrt
from typing import Any, Literal, NamedTuple

import numpy as np

from dyn_core.arrays import Floats
from dyn_core.dynamics.loops import assumed_modes as modal
from dyn_core.dynamics.loops.virtual_springs import (
    LARGEST_RADIUS,
    RADIUS,
    default_damping,
    default_stiffness,
    fastest_rate,
)
from dyn_core.errors import DescriptionError, InputError, SingularityError
from dyn_core.jit.kernel import compiled_call
from dyn_core.mechanism import BASE, REVOLUTE, Beam, Mechanism

from ..configuration import Configuration
from .loop_robot import LoopRobot

Closing = Literal["multipliers", "virtual_spring"]
CLOSINGS: tuple[Closing, ...] = ("multipliers", "virtual_spring")
PLANAR = 1e-9  # how far an axis, a centre of mass or an end may be off
SUBSTEPS = 10  # within h, where neither they nor a stiffness are given
MODE_STEP = 0.1  # rad of the fastest mode in a step, at most


class Terms(NamedTuple):
    """The equations at one state of N coordinates and r constraints."""

    M: Floats
    """(N, N) mass matrix."""
    H: Floats
    """(N,) Coriolis, centrifugal, gravity, elastic forces and friction."""
    phi: Floats
    """(r,) gaps of the cut joints in the plane, m."""
    J: Floats
    """(r, N)."""
    bias: Floats
    """(r,) phi'' at zero accelerations."""


@dataclass(frozen=True)
class FlexibleResult:
    """A simulated motion: one row per h."""

    t: Floats
    """(m,) s."""
    q: Floats
    """(m, n) all joints of the tree, rad."""
    qd: Floats
    modes: Floats
    """(m, f) e, the amplitudes of the half waves, link by link, m."""
    modes_rate: Floats
    gap: Floats
    """(m, r) of the cut joints, m."""
    k: Floats
    """(r,) N/m; empty with multipliers."""
    b: Floats
    failure: str = ""


class FlexibleMechanism:
    """A planar mechanism of revolute joints, some of whose links (`Mechanism.beams`) bend."""

    def __init__(self, mechanism: Mechanism) -> None:
        self.mechanism = mechanism
        self.n = mechanism.n
        self._plane()
        self._pins = self._points_by_body()
        self.bodies = np.zeros((self.n, modal.BODY_WIDTH))
        self.f = sum(beam.modes for beam in mechanism.beams)
        """How many modes there are."""
        self._pack()
        gravity = np.ascontiguousarray((self._P.T @ mechanism.gravity)[:2])
        self._cuts = self._packed_cuts()
        self._model = self.bodies, np.stack([mechanism.Ia, mechanism.Fv], axis=1), self._cuts, gravity
        """What kernels read."""
        self._beams = {mechanism.body_names[beam.body]: self.bodies[beam.body] for beam in mechanism.beams}
        """The flexible links' rows, by their names."""

    # the description

    def _refuse(self, what: str) -> None:
        raise DescriptionError(f"{self.mechanism.name}: {what}")

    def _plane(self) -> None:
        m = self.mechanism
        if m.base is not None or m.mimic is not None or (m.joint_type != REVOLUTE).any():
            self._refuse("flexible links need a fixed base and revolute joints only")
        if m.Fs.any() or m.springs is not None or m.spring_dampers:
            self._refuse("flexible links need joints without Coulomb friction, and no springs")
        first = int(np.flatnonzero(m.parent == BASE)[0])
        z = m.R[first][:, 2]
        x = m.R[first][:, 0]
        if abs(z[2]) > 1.0 - PLANAR:  # the plane is the base's own: keep its axes, so that angles are from +x
            x = np.array([1.0, 0.0, 0.0])
        self._P = np.stack([x, np.cross(z, x), z], axis=1)
        """(3, 3) axes of the plane in the base frame."""
        for j in range(self.n):
            R = self._P.T @ m.R[j] if m.parent[j] == BASE else m.R[j]
            if abs(R[2, 2] - 1.0) > PLANAR:
                self._refuse(f"joint '{m.joint_names[j]}' does not turn about the normal of the mechanism's plane")
        for loop in m.loops:
            if loop.turning is not None:
                self._refuse(f"loop '{loop.name}' has friction or a spring, which flexible mechanisms do not know")
            if loop.kind not in ("planar_revolute", "revolute"):
                self._refuse(f"loop '{loop.name}' is cut at a {loop.kind} joint; a planar mechanism has revolute ones")

    def _in_plane(self, body: int, p: Floats) -> Floats:
        return np.asarray((self._P.T @ p if body == BASE else p)[:2])

    def _points_by_body(self) -> list[list[Floats]]:
        """What is pinned to each body beside its own joint: points (2,) in its frame."""
        m = self.mechanism
        pins: list[list[Floats]] = [[] for _ in range(m.n)]
        for j in range(m.n):
            if m.parent[j] != BASE:
                pins[m.parent[j]].append(m.p[j][:2])
        for loop in m.loops:
            for frame in (loop.first, loop.second):
                if frame.body != BASE:
                    pins[frame.body].append(frame.p[:2])
        return pins

    def _pack(self) -> None:
        m, bodies = self.mechanism, self.bodies
        bodies[:, modal.PARENT] = m.parent
        for j in range(self.n):
            R = self._P.T @ m.R[j] if m.parent[j] == BASE else m.R[j]
            bodies[j, modal.ANGLE] = np.arctan2(R[1, 0], R[0, 0])
            bodies[j, modal.PX : modal.PY + 1] = self._in_plane(int(m.parent[j]), m.p[j])
        bodies[:, modal.MASS] = m.M
        bodies[:, modal.MX : modal.MY + 1] = m.MS[:, :2]
        bodies[:, modal.INERTIA] = m.J[:, 2, 2]
        at = self.n
        for beam in m.beams:
            bodies[beam.body, modal.FIRST], bodies[beam.body, modal.MODES] = at, beam.modes
            at += beam.modes
            self._pack_beam(beam)

    def _pack_beam(self, beam: Beam) -> None:
        m, row = self.mechanism, self.bodies[beam.body]
        name = m.body_names[beam.body]
        ends = [p for p in self._pins[beam.body] if np.linalg.norm(p) > PLANAR]
        if not ends or any(np.linalg.norm(p - ends[0]) > PLANAR for p in ends):
            self._refuse(f"flexible link '{name}' must be pinned at its joint and at one other end, found {len(ends)}")
        length = float(np.linalg.norm(ends[0]))
        mass, middle = m.M[beam.body], ends[0] / 2
        uniform = np.abs(m.MS[beam.body][:2] - mass * middle).max() < 1e-6 * mass * length
        if mass <= 0.0 or not uniform or abs(row[modal.INERTIA] - mass * length**2 / 3) > 1e-6 * mass * length**2:
            self._refuse(
                f"flexible link '{name}' must be a uniform bar of {length:.6g} m: its centre of mass in the middle,"
                f" its inertia about it m l^2 / 12 = {mass * length**2 / 12:.6g} kg m^2"
            )
        row[modal.LENGTH], row[modal.CHORD] = length, np.arctan2(ends[0][1], ends[0][0])
        row[modal.RHO_A], row[modal.EI] = mass / length, beam.E * beam.I

    def _packed_cuts(self) -> Floats:
        cuts = np.zeros((len(self.mechanism.loops), modal.CUT_WIDTH))
        for row, loop in zip(cuts, self.mechanism.loops, strict=True):
            for side, frame in enumerate((loop.first, loop.second)):
                row[3 * side] = frame.body
                row[3 * side + 1 : 3 * side + 3] = self._in_plane(frame.body, frame.p)
        return cuts

    # what can be asked

    def natural_frequencies(self, link: str) -> Floats:
        """(modes,) Hz, of the link alone, pinned at both ends: (i pi / l)^2 sqrt(E I / rho A) / 2 pi."""
        row = self._beam_row(link)
        i = np.arange(1, int(row[modal.MODES]) + 1)
        return np.asarray((i * pi / row[modal.LENGTH]) ** 2 * sqrt(row[modal.EI] / row[modal.RHO_A]) / (2.0 * pi))

    def deflection(self, modes: Any, link: str, at: float = 0.5) -> Floats:
        """v (...) of a link at the part `at` of its length, from modes (..., f): (45)."""
        row = self._beam_row(link)
        e = np.asarray(modes, float)
        if e.shape[-1:] != (self.f,):
            raise InputError(f"modes have shape {e.shape}, {self.mechanism.name} needs (..., {self.f})")
        first, count = int(row[modal.FIRST]) - self.n, int(row[modal.MODES])
        waves = np.sin(np.arange(1, count + 1) * pi * at)
        return np.asarray(e[..., first : first + count] @ waves)

    def _beam_row(self, link: str) -> Floats:
        if link not in self._beams:
            known = ", ".join(self._beams) or "none"
            raise InputError(f"{self.mechanism.name} has no flexible link '{link}'; it has {known}")
        return self._beams[link]

    def terms(self, x: Any, v: Any) -> Terms:
        """The equations at coordinates x = [q, e] (n + f,) and speeds v (n + f,)."""
        N, r = self.n + self.f, 2 * len(self._cuts)
        x, v = np.array(x, float), np.array(v, float)
        if x.shape != (N,) or v.shape != (N,):
            raise InputError(f"{self.mechanism.name} needs x and v of shape ({N},), found {x.shape} and {v.shape}")
        M, H, phi, J, bias = np.empty((N, N)), np.empty(N), np.empty(r), np.empty((r, N)), np.empty(r)
        compiled_call(modal.terms, *self._model, x, v, M, H, phi, J, bias)
        return Terms(M, H, phi, J, bias)

    def simulate(
        self,
        q0: Any = None,
        duration: float = 1.0,
        torques: Any = None,
        h: float = 1e-3,
        closing: Closing = "multipliers",
        k: float | None = None,
        b: float | None = None,
        substeps: int | None = None,
        qd0: Any = None,
        modes0: Any = None,
        modes_rate0: Any = None,
    ) -> FlexibleResult:
        """Simulate, the active joints' torques given; from rest and with straight links, unless it is said otherwise.

        q0: (n,) of all joints, taken as they are; or of the active joints, the loops being closed then; or none, the
        described configuration. qd0: speeds, of all joints or of the active ones, likewise. modes0, modes_rate0: (f,)
        amplitudes of the half waves (m) and their rates (m/s), link by link. torques: (a,) held; (rows, a), one row per
        h; or a function f(t), followed within the steps. k (N/m), b (N s/m), substeps: as in
        `simulate_with_springs`; the loops start with slack springs, as the paper's do.
        """
        if closing not in CLOSINGS:
            raise InputError(f"loops are closed by {' or '.join(CLOSINGS)}, found {closing!r}")
        if not (np.isfinite([h, duration]).all() and h > 0.0 and duration >= 0.0):
            raise InputError(f"the step and the duration must be positive, found {h} s and {duration} s")
        q = self._start(q0)
        x = np.append(q, self._of_modes("modes0", modes0))
        v = np.append(self._speeds(q, qd0), self._of_modes("modes_rate0", modes_rate0))
        at = self.terms(x, v)
        springs: Floats = np.zeros((2, len(at.phi)))
        per_second = self._fastest_mode() / MODE_STEP  # steps that the modes need
        if closing == "virtual_spring":
            springs = self._springs(at, h / (substeps or max(SUBSTEPS, ceil(h * per_second))), k, b)
            rate = fastest_rate(at.M, at.J, *springs)
            per_second = max(per_second, rate / RADIUS * (1.0 - 1e-6))
            if substeps is not None and rate * h / substeps > LARGEST_RADIUS:
                raise InputError(f"springs with rates of {rate:.3g}/s need steps below {LARGEST_RADIUS / rate:.3g} s")
        steps = substeps or max(1, ceil(h * per_second))
        m = round(duration / h) + 1
        follows = callable(torques)
        if follows:
            torques = [torques(0.5 * h / steps * i) for i in range(2 * (m - 1) * steps + 1)]
        taus = self._taus(torques)
        out, gaps = np.zeros((m, 2, len(x))), np.zeros((m, len(at.phi)))
        how = modal.SPRINGS if closing == "virtual_spring" else modal.MULTIPLIERS
        try:
            constants = *self._model, how, springs
            filled = compiled_call(modal.simulate_modes, *constants, x, v, taus, int(not follows), h, steps, out, gaps)
        except np.linalg.LinAlgError:
            raise SingularityError(f"{self.mechanism.name}: the equations become singular during the motion") from None
        failure = ""
        if filled < m:
            end = max(filled - 1, 0) * h
            failure = f"{self.mechanism.name}: the motion is not finite after t = {end:.6g} s; what went before is kept"
        n = self.n
        x_t, v_t = out[:filled, 0], out[:filled, 1]
        k_used, b_used = springs if how == modal.SPRINGS else np.zeros((2, 0))
        t = np.arange(filled) * h
        return FlexibleResult(t, x_t[:, :n], v_t[:, :n], x_t[:, n:], v_t[:, n:], gaps[:filled], k_used, b_used, failure)

    def _springs(self, at: Terms, step: float, k: float | None, b: float | None) -> Floats:
        for name, value in (("k", k), ("b", b)):
            if value is not None and not (np.isfinite(value) and value >= 0.0):
                raise InputError(f"{name} must be finite and not negative, found {value}")
        groups = np.repeat(np.arange(len(self._cuts)), 2)
        stiffness = default_stiffness(at.M, at.J, groups, step) if k is None else np.full(len(at.phi), float(k))
        damping = default_damping(at.M, at.J, stiffness) if b is None else np.full(len(at.phi), float(b))
        return np.array([stiffness, damping])

    def _fastest_mode(self) -> float:
        """rad/s, of the links alone."""
        return max((2.0 * pi * float(self.natural_frequencies(name)[-1]) for name in self._beams), default=1.0)

    def _start(self, q0: Any) -> Floats:
        m = self.mechanism
        if not m.loops:
            q = np.zeros(self.n) if q0 is None else np.asarray(q0, float)
        elif q0 is None or np.shape(q0) == (int(m.active.sum()),):
            robot = LoopRobot(m)
            q = robot.reference if q0 is None else robot.all_positions(q0)
        else:
            q = np.asarray(q0, float)
        if q.shape != (self.n,) or not np.isfinite(q).all():
            raise InputError(f"{m.name}: q0 has shape {q.shape}, expected ({self.n},) finite numbers")
        return np.array(q)

    def _speeds(self, q: Floats, qd0: Any) -> Floats:
        """(n,) of all joints, from theirs or from those of the active ones."""
        m, a = self.mechanism, int(self.mechanism.active.sum())
        qd = np.zeros(self.n) if qd0 is None else np.asarray(qd0, float)
        if qd.shape not in ((self.n,), (a,)) or not np.isfinite(qd).all():
            raise InputError(f"{m.name}: qd0 has shape {qd.shape}, expected ({a},) or ({self.n},) finite numbers")
        if qd.shape == (self.n,):
            return np.array(qd)
        return LoopRobot(m).joints_at(Configuration(q), qd)[1]

    def _of_modes(self, name: str, values: Any) -> Floats:
        """(f,) zero where nothing is given."""
        found = np.zeros(self.f) if values is None else np.asarray(values, float)
        if found.shape != (self.f,) or not np.isfinite(found).all():
            raise InputError(
                f"{self.mechanism.name}: {name} has shape {found.shape}, expected ({self.f},) finite numbers"
            )
        return found

    def _taus(self, torques: Any) -> Floats:
        active = np.flatnonzero(self.mechanism.active)
        table = np.atleast_2d(np.zeros(len(active)) if torques is None else np.asarray(torques, float))
        if table.ndim != 2 or table.shape[1] != len(active) or len(table) == 0 or not np.isfinite(table).all():
            a = len(active)
            raise InputError(f"torques have shape {np.shape(torques)}, expected ({a},) or (rows, {a}) finite numbers")
        taus = np.zeros((len(table), self.n + self.f))
        taus[:, active] = table
        return taus


def dominant_frequency(t: Floats, y: Floats, above: float = 0.0) -> float:
    """Hz, of the largest part of y (m,) over evenly spaced times t (m,) that swings faster than `above` Hz.

    From the discrete spectrum under a Hann window, with a parabola through its peak.
    """
    h = float(t[1] - t[0])
    padded = 8 * len(y)
    size = np.abs(np.fft.rfft((y - y.mean()) * np.hanning(len(y)), padded))
    f = np.fft.rfftfreq(padded, h)
    inside = np.flatnonzero(f > above)
    i = int(inside[np.argmax(size[inside])])
    if i == 0 or i == len(f) - 1:
        return float(f[i])
    left, top, right = np.log(size[i - 1 : i + 2])
    return float(f[i] + 0.5 * (left - right) / (left - 2.0 * top + right) * (f[1] - f[0]))
