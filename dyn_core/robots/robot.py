"""The contract of a robot: what every kind of robot answers, whatever its chains are."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from dataclasses import fields
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from dyn_core.actuation.motors import Actuation
from dyn_core.arrays import Bools, Floats, Ints
from dyn_core.description import to_urdf
from dyn_core.dynamics.tree.floating_base import UNIT
from dyn_core.errors import InputError, SaturationWarning
from dyn_core.jit.native_call import Natives
from dyn_core.mechanism import Mechanism
from dyn_core.stiffness import Deflection, Stiffness
from dyn_core.stiffness.virtual_joints import VirtualJoints

from .configuration import Configuration
from .frozen import freeze, frozen
from .tracker import Tracker

if TYPE_CHECKING:
    from .engine import Engine
    from .platform import Platform

Formulation = Literal["projection", "multipliers", "virtual_spring", "denoc"]
FORMULATIONS: tuple[Formulation, ...] = ("projection", "multipliers", "virtual_spring", "denoc")
"""How closed chains are computed."""
DESCRIBED = {field.name for field in fields(Mechanism)} - {"name", "joint_names", "assembly", "platform"}
"""What a mechanism says and a robot does not repeat: assigned to a robot it would change nothing."""


class Robot(Natives, ABC):
    """A robot of n joints.

    Joint positions q, speeds qd, accelerations qdd and forces tau have shape (n,) in rad, rad/s, rad/s^2, N m (m, m/s,
    m/s^2, N at prismatic joints), or (..., n) for a batch, which runs on all cores; answers have the same leading axes.
    On a floating base q is (nq,) and the others (nv,), see `FloatingRobot`. Twists and wrenches are linear first,
    angular second.
    """

    def __init__(self, mechanism: Mechanism, joints: Ints | None = None) -> None:
        super().__init__()
        self.mechanism = frozen(mechanism)
        self.name = mechanism.name
        self.joints = np.arange(mechanism.n) if joints is None else joints
        """(n,) which joints of the mechanism the coordinates are."""
        self.joint_names = tuple(mechanism.joint_names[j] for j in self.joints)
        self.n = len(self.joints)
        floating = mechanism.base is not None
        self.nq, self.nv = self.n + 7 * floating, self.n + 6 * floating
        self._zero = np.zeros(self.nv)

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        if self.mechanism.gravity.flags.writeable:  # as in every deep copy, and from a pickle
            freeze(self.mechanism)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r}, n={self.n})"

    def __setattr__(self, name: str, value: Any) -> None:
        if name in DESCRIBED:
            raise AttributeError(
                f"{name} belongs to the description, which a robot does not change: make another robot,"
                f" robot_of(dataclasses.replace(robot.mechanism, {name}=...))"
            )
        super().__setattr__(name, value)

    @property
    def platform(self) -> Platform | None:
        """What the robot's platform can do; None for a robot without one."""
        return None

    def require_platform(self) -> Platform:
        """The platform; InputError for a robot without one."""
        if self.platform is None:
            raise InputError(f"{self.name} has no platform on legs")
        return self.platform

    # configurations

    def neutral(self) -> Floats:
        """(nq,) all joints at zero, a floating base at the world's origin."""
        q = np.zeros(self.nq)
        q[6 : self.nq - self.n] = 1.0
        return q

    def checked_state(self, values: dict[str, Any]) -> tuple[tuple[int, ...], list[Floats]]:
        """The leading axes, and finite contiguous arrays (*leading axes, nq or nv); InputError where they are not.

        values: q (or q0, q_d) first, then qd, ... Arrays that are so already are the user's own, to be read only.
        """
        arrays = {}
        for key, value in values.items():
            n = self.nq if key in ("q", "q0", "q_d") else self.nv
            try:
                array = np.asarray(value)
                if array.dtype.kind == "c":  # numpy would drop the imaginary part
                    raise TypeError
                array = array.astype(float, copy=False)
            except (TypeError, ValueError):
                raise InputError(f"{key} must be real numbers, found {value!r:.80}") from None
            if array.ndim == 0 or array.shape[-1] != n:
                raise InputError(f"{key} has shape {array.shape}, {self.name} needs ({n},) or (..., {n})")
            # The sum is finite wherever all are, but where it overflows; it takes a fraction of the time.
            if not np.isfinite(array.sum()) and not np.isfinite(array).all():
                raise InputError(f"{key} is not finite")
            arrays[key] = array
        try:
            lead = np.broadcast_shapes(*(array.shape[:-1] for array in arrays.values()))
        except ValueError:
            shapes = ", ".join(f"{key} {array.shape}" for key, array in arrays.items())
            raise InputError(f"leading axes do not fit together: {shapes}") from None
        checked = [
            a if a.shape[:-1] == lead and a.flags.carray and type(a) is np.ndarray
            else np.array(np.broadcast_to(a, (*lead, a.shape[-1])), order="C")
            for a in arrays.values()
        ]  # fmt: skip
        if self.nq != self.nv:
            _check_quaternion(checked[0])
        return lead, checked

    def single_state(self, values: dict[str, Any]) -> list[Floats]:
        """As `checked_state`, of one state: InputError for a batch."""
        lead, arrays = self.checked_state(values)
        if lead != ():
            raise InputError(f"{self.name}: one state at a time, found leading axes {lead}")
        return arrays

    def with_base(self, tau: Any) -> Any:
        """(..., nv) from (..., n), zero at a floating base; anything else is as it was given."""
        if self.nv == self.n:
            return tau
        array = np.asarray(tau, float)
        if array.ndim and array.shape[-1] == self.n:
            return np.concatenate([np.zeros((*array.shape[:-1], self.nv - self.n)), array], axis=-1)
        return array

    def using(self, formulation: Formulation) -> Robot:
        """The same robot, its closed chains computed by another formulation; open chains know only one."""
        known_formulation(formulation)
        return self

    @property
    def position_limits(self) -> Floats:
        """(n, 2) lowest and highest positions of the joints, rad or m; infinite where there is no limit."""
        return self.mechanism.position_limits[self.joints]

    @property
    def velocity_limits(self) -> Floats:
        """(n,) largest speeds of the joints, rad/s or m/s."""
        return self.mechanism.velocity_limits[self.joints]

    @property
    def passive_joints(self) -> tuple[str, ...]:
        """Joints of the mechanism that others move (closed chains, mimic joints), in its order."""
        return tuple(name for name in self.mechanism.joint_names if name not in self.joint_names)

    def configuration(self, q: Any) -> Configuration:
        """Where all joints of the mechanism are at q (nq,)."""
        return Configuration(self.all_positions(q))

    def starting_at(self, near: Configuration) -> Robot:
        """The same robot on the branch of a configuration; open chains have one branch only."""
        return self

    def through_singularities(self) -> Robot:
        """The same robot, whose simulated motion goes on through singularities; open chains have none."""
        return self

    def tracker(self, near: Configuration | None = None) -> Tracker:
        """What follows a motion, from a configuration; from the described one if it is not given."""
        return Tracker(self)

    def all_positions(self, q: Any) -> Floats:
        """(n of the mechanism,) positions of all its joints, in its order, at q (nq,)."""
        (q,) = self.single_state({"q": q})
        return q[self.nq - self.n :]

    def all_joints(self, q: Floats, qd: Floats) -> tuple[Floats, Floats]:
        """Positions and speeds (n of the mechanism,) of all its joints, in its order, at q (nq,), qd (nv,)."""
        return q[self.nq - self.n :], qd[self.nv - self.n :]

    def weakest_loop(self, q: Floats) -> str:
        """The loop that determines the passive joints least at positions q of all joints; empty for open chains."""
        return ""

    # dynamics

    @abstractmethod
    def inverse_dynamics(self, q: Any, qd: Any, qdd: Any, wrenches: Any = None) -> Floats:
        """Joint forces for a motion: tau = H(q) qdd + bias(q, qd) - sum_j J_j^T w_j.

        H includes the rotors' inertia, the bias gravity and friction. wrenches (..., n, 6): force and moment that the
        environment exerts on each link of the mechanism, in the axes and at the origin of its described frame; on a
        floating base (..., n + 1, 6), the base's first.
        """

    @abstractmethod
    def forward_dynamics(self, q: Any, qd: Any, tau: Any, wrenches: Any = None) -> Floats:
        """Accelerations qdd under forces tau; wrenches as in `inverse_dynamics`."""

    @abstractmethod
    def mass_matrix(self, q: Any) -> Floats:
        """H (..., nv, nv), kg m^2: symmetric and positive definite, with the rotors' inertia."""

    def bias_forces(self, q: Any, qd: Any) -> Floats:
        """Forces at zero acceleration: Coriolis, centrifugal, gravity and friction."""
        return self.inverse_dynamics(q, qd, self._zero)

    def gravity_forces(self, q: Any) -> Floats:
        """Forces that hold the robot still."""
        return self.inverse_dynamics(q, self._zero, self._zero)

    def driven_forces(self, q: Floats, qd: Floats, qdd: Floats) -> Floats:
        """(n,) forces for accelerations qdd (n,) of the driven joints; passive and elastic ones move as they must."""
        return self.inverse_dynamics(q, qd, qdd)

    @property
    def joint_friction(self) -> Floats:
        """(2, n) Fv and Fs of the driven joints."""
        return np.stack((self.mechanism.Fv[self.joints], self.mechanism.Fs[self.joints])) * self.driven

    @property
    def rubs_elsewhere(self) -> bool:
        """Whether joints rub that the driven ones move: `friction_change` is then not that of `joint_friction`."""
        return False

    def friction_change(self, q: Floats, qd: Floats, other: Floats) -> Floats:
        """(n,) what friction at other speeds (n,) asks of the driven joints beyond that at speeds qd (n,)."""
        Fv, Fs = self.joint_friction
        return np.asarray(Fv * (other - qd) + Fs * (np.sign(other) - np.sign(qd)))

    @cached_property
    def driven(self) -> Bools:
        """(n,) which joints have drives; the others, such as elastic ones, move as the dynamics says."""
        return (self.mechanism.active & ~self.mechanism.elastic)[self.joints]

    @abstractmethod
    def with_continuous_friction(self, q: Any, h: float) -> Robot:
        """A copy whose Coulomb friction is continuous over the speed that it could reverse within h (s) near q."""

    def engine(self, motors: Floats, method: str, h: float) -> Engine | None:
        """What integrates the motion in machine code by a method with steps of h (s); None: `forward_dynamics` does.

        motors: as packed by `Actuation`, (0, 10) where joint forces drive.
        """
        return None

    # kinematics

    @abstractmethod
    def forward_kinematics(self, q: Any, frame: str = "tool") -> Floats:
        """Pose (..., 4, 4) of a frame in the base frame; in the world, on a floating base."""

    @abstractmethod
    def jacobian(self, q: Any, frame: str = "tool") -> Floats:
        """Jacobian (..., 6, nv) of a frame's origin: rows v, omega in the axes of the base (or of the world)."""

    @abstractmethod
    def link_poses(self, q: Any) -> Floats:
        """Poses (..., k, 4, 4) of all k frames of `mechanism.frames`, as of `forward_kinematics`."""

    # actuation

    @cached_property
    def actuation(self) -> Actuation:
        """Motors, amplifiers and DAC of the joints; driven joints without a described motor have ideal drives."""
        return Actuation(self.mechanism, self.joints)

    @property
    def described_motors(self) -> Actuation:
        """As `actuation`; MissingMotorError where a driven joint has no motor, so that volts would mean nothing."""
        self.actuation.require_motors()
        return self.actuation

    def voltages(self, tau: Any, qd: Any) -> Floats:
        """Motor voltages (V) that give joint torques tau at speeds qd; a limit that cuts them warns."""
        volts, cut = self.described_motors.voltages(tau, qd)
        self._warn(cut, "the current or voltage limit of its motor")
        return volts

    def torques(self, volts: Any, qd: Any) -> Floats:
        """Joint torques that motor voltages give at speeds qd; a limit that cuts them warns."""
        tau, cut = self.described_motors.torques(volts, qd)
        self._warn(cut, "the current or voltage limit of its motor")
        return tau

    def dac_codes(self, volts: Any) -> Any:
        """DAC codes (int32) nearest to motor voltages; a voltage outside the DAC's range warns."""
        codes, cut = self.described_motors.codes(volts)
        self._warn(cut, "the range of its DAC")
        return codes

    def dac_volts(self, codes: Any) -> Floats:
        """Motor voltages (V) of DAC codes."""
        return self.described_motors.volts(codes)

    def _warn(self, cut: Any, by: str) -> None:
        if cut.any():
            where = np.flatnonzero(cut.reshape(-1, self.n).any(axis=0))
            names = ", ".join(self.joint_names[j] for j in where)
            warnings.warn(f"{self.name}: {names} cut by {by}", SaturationWarning, stacklevel=3)

    # stiffness and description

    def stiffness(self, q: Any, frame: str = "tool", wrench: Any = None) -> Stiffness:
        """Cartesian stiffness of a frame at q (n,) from the stiffnesses of joints and the compliances of links.

        wrench: (6,) a load on the frame (N, N m, base axes) under which it stands at q; it changes the stiffness by the
        congruence term of Chen and Kao. None: unloaded.
        """
        load = None if wrench is None else checked_wrench(wrench)
        return self.virtual_joints.stiffness(self.all_positions(q), frame, load)

    def compliances(self, q: Any, frame: str = "tool") -> Floats | None:
        """C (m, 6, 6) of a frame at q (m, n), on all cores; None for robots with closed chains or free joints."""
        _, (q,) = self.checked_state({"q": q})
        if q.ndim != 2:
            raise InputError(f"q has shape {q.shape}, expected (m, {self.n})")
        if self.n != self.mechanism.n or not self.virtual_joints.is_open:
            return None
        return self.virtual_joints.compliances(q, frame)

    @cached_property
    def virtual_joints(self) -> VirtualJoints:
        """The springs of joints and links; InputError on a floating base, which nothing holds."""
        if self.mechanism.base is not None:
            raise InputError(f"{self.name} has a floating base: a stiffness needs a fixed base")
        acts = [acts for loop in self.mechanism.loops for acts in (loop.turning, loop.sliding) if acts is not None]
        if any(each.stiffness for each in self.mechanism.spring_dampers) or any(each.K for each in acts):
            raise InputError(
                f"{self.name} has springs between links or in cut joints, which the Cartesian stiffness leaves out;"
                " describe them as joints with a stiffness"
            )
        return VirtualJoints(self.mechanism)

    def deflection(self, q: Any, wrench: Any, frame: str = "tool") -> Floats:
        """Translation (m) and rotation (rad), (6,), of a frame under a wrench (6,) in N, N m there, base axes.

        Where nothing holds the frame in some direction it is the smallest deflection; `deflected` says so.
        """
        return self.deflected(q, wrench, frame).motion

    def deflected(self, q: Any, wrench: Any, frame: str = "tool") -> Deflection:
        """As `deflection`, with the directions that nothing holds, and whether there is an equilibrium at all."""
        return self.stiffness(q, frame).deflected(checked_wrench(wrench))

    def urdf(self) -> str:
        """The robot as URDF text."""
        return to_urdf(self.mechanism)


def known_formulation(formulation: Formulation) -> Formulation:
    """The same; InputError where it is none of FORMULATIONS."""
    if formulation not in FORMULATIONS:
        raise InputError(f"a formulation is one of {', '.join(FORMULATIONS)}, found {formulation!r}")
    return formulation


def _check_quaternion(q: Floats) -> None:
    length = np.linalg.norm(q[..., 3:7], axis=-1)
    if (np.abs(length**2 - 1.0) > UNIT).any():
        worst = float(np.asarray(length).flat[np.argmax(np.abs(length - 1.0))])
        raise InputError(f"q[3:7] must be a unit quaternion (x, y, z, w); its length is {worst:.6g}")


def checked_wrench(wrench: Any) -> Floats:
    w = np.asarray(wrench, float)
    if w.shape != (6,) or not np.isfinite(w).all():
        raise InputError(f"the wrench must be six finite numbers (force, moment), found shape {w.shape}: {w}")
    return w
