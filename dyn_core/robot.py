"""The public face: a robot, and what can be asked of it."""

from __future__ import annotations

import copy
import warnings
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from .actuation import Actuation
from .batch import run_batch
from .description import load_mechanism, read_urdf, robot_files, to_urdf
from .errors import InputError, SaturationWarning, SingularityError, UnknownRobotError
from .fastcall import FastCall, never
from .integration import GENERAL, Integrator
from .jit import compiled_call
from .mechanism import BASE, Floats, Mechanism
from .spatial import skew
from .stiffness import Deflection, Stiffness
from .stiffness.virtual_joints import VirtualJoints
from .tree import fast
from .tree.aba import aba_batch, mixed_batch
from .tree.base_parameters import BaseParameters, base_parameters
from .tree.kinematics import all_poses_batch, frame_jacobian_batch, frame_pose_batch
from .tree.matrices import by_matrices_batch
from .tree.record import FS, OK, SINGULAR, VS, pack
from .tree.regressor import WIDTH as PARAMETERS
from .tree.regressor import regressor_batch, standard_parameters
from .tree.rnea import rnea_batch
from .tree.walker_orin import mass_matrix_batch, mass_matrix_by_columns

if TYPE_CHECKING:
    from .customised import Model

Method = Literal["recursive", "matrices"]
URDF_SUFFIXES = (".urdf", ".xacro", ".xml")


class Robot:
    """A robot of n joints.

    Joint positions q, speeds qd, accelerations qdd and forces tau have shape (n,) in rad, rad/s, rad/s^2, N m (m, m/s,
    m/s^2, N at prismatic joints), or (..., n) for a batch, which runs on all cores; answers have the same leading axes.
    Twists and wrenches are linear first, angular second.
    """

    compiled = True
    """Whether the simulation may run the tree's kernels; else it goes through `forward_dynamics`."""

    def __init__(self, mechanism: Mechanism) -> None:
        self.mechanism = mechanism
        self.name = mechanism.name
        self.joints = np.arange(mechanism.n)
        """(n,) which joints of the mechanism the coordinates are."""
        self.n = self.nq = self.nv = mechanism.n
        self.joint_names = mechanism.joint_names
        self._record = pack(mechanism)
        self._zero = np.zeros(self.n)
        self._inverse_call = self._direct_call = self._mass_call = never
        self._pose_calls: dict[str, Any] = {}
        self._jacobian_calls: dict[str, Any] = {}
        self._frames = {
            frame.name: (frame.body + 1, np.concatenate([frame.R.ravel(), frame.p])) for frame in mechanism.frames
        }

    def __getstate__(self) -> dict[str, Any]:
        """Fast calls are bound to the record of one robot: a copy binds its own."""
        unbound: dict[str, Any] = dict.fromkeys(("_inverse_call", "_direct_call", "_mass_call"), never)
        unbound |= {"_pose_calls": {}, "_jacobian_calls": {}}
        return self.__dict__ | {name: value for name, value in unbound.items() if name in self.__dict__}

    def neutral(self) -> Floats:
        """(nq,) all joints at zero."""
        return np.zeros(self.nq)

    def checked_state(self, values: dict[str, Any]) -> tuple[tuple[int, ...], list[Floats]]:
        """Leading axes and arrays of q, qd, ... as this robot has them; InputError where they are not."""
        return self._arrays(values)

    def __repr__(self) -> str:
        return f"Robot({self.name!r}, n={self.n})"

    # dynamics

    def inverse_dynamics(self, q: Any, qd: Any, qdd: Any, wrenches: Any = None) -> Floats:
        """Joint forces for a motion: tau = H(q) qdd + bias(q, qd) - sum_j J_j^T w_j.

        H includes the rotors' inertia, the bias gravity and friction. wrenches (..., n, 6): force and moment that the
        environment exerts on each link, in the axes and at the origin of the link's described frame.
        """
        if wrenches is None:
            tau = self._inverse_call(q, qd, qdd)
            if tau is not None:
                return tau
        return self._dynamics("_inverse_call", rnea_batch, {"q": q, "qd": qd, "qdd": qdd}, wrenches)

    def forward_dynamics(self, q: Any, qd: Any, tau: Any, wrenches: Any = None, method: Method = "recursive") -> Floats:
        """Joint accelerations qdd under joint forces tau; wrenches as in `inverse_dynamics`.

        method: "recursive" (articulated bodies, O(n)), or "matrices" (inertia matrix and bias, O(n^3)), its check.
        """
        if method == "matrices":
            return self._dynamics("", by_matrices_batch, {"q": q, "qd": qd, "tau": tau}, wrenches)
        if method != "recursive":
            raise InputError(f"method must be 'recursive' or 'matrices', found {method!r}")
        if wrenches is None:
            qdd = self._direct_call(q, qd, tau)
            if qdd is not None:
                return qdd
        return self._dynamics("_direct_call", aba_batch, {"q": q, "qd": qd, "tau": tau}, wrenches)

    def mixed_dynamics(self, q: Any, qd: Any, qdd: Any, tau: Any = None, wrenches: Any = None) -> tuple[Floats, Floats]:
        """Inverse dynamics with elastic joints: forces of the rigid joints, accelerations of the elastic ones.

        Returns (tau, qdd): of qdd only the entries of rigid joints are read, of tau (zero if not given) only those of
        elastic joints, where it acts beside the spring.
        """
        values = {"q": q, "qd": qd, "tau": self._zero if tau is None else tau, "qdd": qdd}
        lead, arrays = self._arrays(values)
        arrays[2:] = [array.copy() for array in arrays[2:]]
        flat_q, flat_qd, flat_tau, flat_qdd = (array.reshape(-1, self.n) for array in arrays)
        w = self._flat_wrenches(wrenches, lead, len(flat_q))
        rigid = 1.0 - self.mechanism.elastic

        def slices(part: slice) -> tuple[Any, ...]:
            return flat_q[part], flat_qd[part], rigid, w[part], flat_tau[part], flat_qdd[part]

        self._check(run_batch(mixed_batch, self._record, len(flat_q), slices))
        return arrays[2], arrays[3]

    def mass_matrix(self, q: Any) -> Floats:
        """H (..., n, n), kg m^2: symmetric and positive definite, with the rotors' inertia."""
        H = self._mass_call(q)
        if H is not None:
            return H
        return self._positional("_mass_call", mass_matrix_batch, q, (self.n, self.n))

    def mass_matrix_by_columns(self, q: Any) -> Floats:
        """H (n, n) by Walker and Orin's first method: slow, a check of `mass_matrix`."""
        _, (q,) = self._arrays({"q": q})
        if q.ndim != 1:
            raise InputError(f"q has shape {q.shape}, expected ({self.n},)")
        H = np.empty((self.n, self.n))
        column, unit = np.empty(self.n), np.zeros(self.n)
        compiled_call(mass_matrix_by_columns, self._record, q, self._zero, unit, column, H)
        return H

    def bias_forces(self, q: Any, qd: Any) -> Floats:
        """Joint forces at zero acceleration: Coriolis, centrifugal, gravity and friction."""
        return self.inverse_dynamics(q, qd, self._zero)

    def gravity_forces(self, q: Any) -> Floats:
        """Joint forces that hold the robot still."""
        return self.inverse_dynamics(q, self._zero, self._zero)

    def with_continuous_friction(self, q: Any, h: float) -> Robot:
        """A copy whose Coulomb friction is continuous over the speed that it could reverse within h (s) near q."""
        try:
            mobility = np.linalg.inv(self.mass_matrix(q))
        except np.linalg.LinAlgError:
            raise SingularityError(f"{self.name} cannot be simulated: its mass matrix is singular") from None
        return self._with_friction_over(h * np.diag(mobility))

    def _with_friction_over(self, speeds: Floats) -> Robot:
        """A copy whose friction fades below Fs times these speeds (nv,) per N m or N."""
        other = copy.copy(self)
        other._record = self._record.copy()
        other._record[1:, VS] = other._record[1:, FS] * speeds[-self.n :]
        return other

    def integrator(self, Ia: Floats) -> Integrator:
        """What moves this robot in a simulation; Ia: (n,) the rotor inertias to move it with."""
        return GENERAL

    def customised(self, *models: Model) -> Robot:
        """This robot with straight-line code of its own for some models, faster and with the same answers.

        models: "inverse", "direct", "mass_matrix"; all if none is named. Generating them needs CasADi and takes
        seconds; they are kept on disk for the next time. See `dyn_core.customised`.
        """
        from .customised import CustomisedRobot

        return CustomisedRobot(self.mechanism, *models)

    # parameters

    def regressor(self, q: Any, qd: Any, qdd: Any) -> Floats:
        """Y (..., n, 13 n), with which tau = Y chi (+ the springs' forces), chi = `standard_parameters`.

        chi has, body by body, [XX XY XZ YY YZ ZZ MX MY MZ M Ia Fv Fs] in the body frames, see tree/regressor.py.
        """
        self._fixed_base("a regressor")
        lead, arrays = self._arrays({"q": q, "qd": qd, "qdd": qdd})
        Y = np.empty((*lead, self.n, self.n * PARAMETERS))
        a, b, c = (array.reshape(-1, self.n) for array in arrays)
        out = Y.reshape(-1, *Y.shape[-2:])
        self._check(
            run_batch(regressor_batch, self._record, len(out), lambda part: (a[part], b[part], c[part], out[part]))
        )
        return Y

    @property
    def standard_parameters(self) -> Floats:
        """chi (13 n,): per body XX XY XZ YY YZ ZZ (kg m^2), MX MY MZ (kg m), M (kg), Ia, Fv, Fs."""
        return standard_parameters(self.mechanism)

    def base_parameters(self, rotor: bool = True, friction: bool = True) -> BaseParameters:
        """The minimal set of parameters of the dynamics, by Gautier and Khalil's rules."""
        self._fixed_base("base parameters")
        return base_parameters(self.mechanism, rotor, friction)

    # kinematics

    def forward_kinematics(self, q: Any, frame: str = "tool") -> Floats:
        """Pose (..., 4, 4) of a frame in the base frame."""
        pose = self._pose_calls.get(frame, never)(q)
        if pose is not None:
            return pose
        return self._framed(fast.frame_pose, self._pose_calls, frame, frame_pose_batch, q, (4, 4))

    def jacobian(self, q: Any, frame: str = "tool") -> Floats:
        """Jacobian (..., 6, n) of a frame's origin: rows v, omega in base axes."""
        J = self._jacobian_calls.get(frame, never)(q)
        if J is not None:
            return J
        shape = 6, self.n
        return self._framed(fast.frame_jacobian, self._jacobian_calls, frame, frame_jacobian_batch, q, shape)

    def link_poses(self, q: Any) -> Floats:
        """Poses (..., k, 4, 4) of all k frames of `mechanism.frames` in the base frame."""
        lead, (q,) = self._arrays({"q": q})
        rows = np.array([row for row, _ in self._frames.values()])
        constants = np.array([constant for _, constant in self._frames.values()])
        out = np.empty((*lead, len(rows), 4, 4))
        flat, out_flat = q.reshape(-1, self.n), out.reshape(-1, len(rows), 4, 4)
        run_batch(all_poses_batch, self._record, len(flat), lambda part: (flat[part], rows, constants, out_flat[part]))
        return out

    # actuation

    @cached_property
    def actuation(self) -> Actuation:
        """Motors, amplifiers and DAC; MissingMotorError where none are described."""
        return Actuation(self.mechanism)

    def voltages(self, tau: Any, qd: Any) -> Floats:
        """Motor voltages (V) that give joint torques tau at speeds qd; a limit that cuts them warns."""
        volts, cut = self.actuation.voltages(tau, qd)
        self._warn(cut, "the current or voltage limit of its motor")
        return volts

    def torques(self, volts: Any, qd: Any) -> Floats:
        """Joint torques that motor voltages give at speeds qd; a limit that cuts them warns."""
        tau, cut = self.actuation.torques(volts, qd)
        self._warn(cut, "the current or voltage limit of its motor")
        return tau

    def dac_codes(self, volts: Any) -> Any:
        """DAC codes (int32) nearest to motor voltages; a voltage outside the DAC's range warns."""
        codes, cut = self.actuation.codes(volts)
        self._warn(cut, "the range of its DAC")
        return codes

    def dac_volts(self, codes: Any) -> Floats:
        """Motor voltages (V) of DAC codes."""
        return self.actuation.volts(codes)

    # stiffness and description

    def stiffness(self, q: Any, frame: str = "tool", wrench: Any = None) -> Stiffness:
        """Cartesian stiffness of a frame at q (n,) from the stiffnesses of joints and the compliances of links.

        wrench: (6,) a load on the frame (N, N m, base axes) under which it stands at q; it changes the stiffness by the
        congruence term of Chen and Kao. None: unloaded.
        """
        load = None if wrench is None else self._wrench(wrench)
        return self._virtual_joints.stiffness(self._joint_positions(q), frame, load)

    def compliances(self, q: Any, frame: str = "tool") -> Floats | None:
        """C (m, 6, 6) of a frame at q (m, n), on all cores; None for robots with closed chains or free joints."""
        _, (q,) = self._arrays({"q": q})
        if q.ndim != 2:
            raise InputError(f"q has shape {q.shape}, expected (m, {self.n})")
        if self.n != self.mechanism.n or not self._virtual_joints.is_open:
            return None
        return self._virtual_joints.compliances(q, frame)

    @cached_property
    def _virtual_joints(self) -> VirtualJoints:
        if self.mechanism.base is not None:
            raise InputError(f"{self.name} has a floating base: a stiffness can be had of robots with a fixed one only")
        return VirtualJoints(self.mechanism)

    def _joint_positions(self, q: Any) -> Floats:
        """(n of the mechanism,) positions of all joints at q (n,)."""
        _, (q,) = self._arrays({"q": q})
        if q.ndim != 1:
            raise InputError(f"q has shape {q.shape}, expected ({self.n},)")
        return np.asarray(q)

    def deflection(self, q: Any, wrench: Any, frame: str = "tool") -> Floats:
        """Translation (m) and rotation (rad), (6,), of a frame under a wrench (6,) in N, N m there, base axes.

        Where nothing holds the frame in some direction it is the smallest deflection; `deflected` says so.
        """
        return self.deflected(q, wrench, frame).motion

    def deflected(self, q: Any, wrench: Any, frame: str = "tool") -> Deflection:
        """As `deflection`, with the directions that nothing holds, and whether there is an equilibrium at all."""
        return self.stiffness(q, frame).deflected(self._wrench(wrench))

    @staticmethod
    def _wrench(wrench: Any) -> Floats:
        w = np.asarray(wrench, float)
        if w.shape != (6,) or not np.isfinite(w).all():
            raise InputError(f"the wrench must be six finite numbers (force, moment), found shape {w.shape}: {w}")
        return w

    def urdf(self) -> str:
        """The robot as URDF text."""
        return to_urdf(self.mechanism)

    # the common path of everything that is not a single plain call

    def _arrays(
        self, values: dict[str, Any], sizes: tuple[int, ...] | None = None
    ) -> tuple[tuple[int, ...], list[Floats]]:
        """The leading axes, and finite contiguous arrays of shape (*leading axes, size); size: n if not given.

        Arrays that are so already are the user's own, to be read only.
        """
        wanted = (self.n,) * len(values) if sizes is None else sizes
        arrays = {}
        for (key, value), n in zip(values.items(), wanted, strict=True):
            try:
                array = np.asarray(value, dtype=float)
            except (TypeError, ValueError):
                raise InputError(f"{key} must be numbers, found {value!r:.80}") from None
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
        return lead, [
            a if a.shape[:-1] == lead and a.flags.carray and type(a) is np.ndarray
            else np.array(np.broadcast_to(a, (*lead, a.shape[-1])), order="C")
            for a in arrays.values()
        ]  # fmt: skip

    _fast_calls: ClassVar[dict[str, FastCall]] = {
        "_inverse_call": fast.inverse_dynamics,
        "_direct_call": fast.forward_dynamics,
        "_mass_call": fast.mass_matrix,
    }
    """What is bound, at its first use, for calls with one plain state."""

    def _called(self, name: str, shape: tuple[int, ...], *arguments: Any) -> Any:
        """The answer of a fast call, which is bound at its first use; None where there is none."""
        if getattr(self, name) is never:
            setattr(self, name, self._fast_call(name).bind(self._record, shape))
        return getattr(self, name)(*arguments)

    def _fast_call(self, name: str) -> FastCall:
        return self._fast_calls[name]

    def _dynamics(self, single: str, batch: Any, values: dict[str, Any], wrenches: Any) -> Floats:
        lead, arrays = self._arrays(values)
        if lead == () and wrenches is None and single:
            answer = self._called(single, (self.n,), *arrays)
            if answer is not None:
                return answer
        out = np.empty((*lead, self.n))
        a, b, c, flat_out = (array.reshape(-1, self.n) for array in (*arrays, out))
        w = self._flat_wrenches(wrenches, lead, len(flat_out))
        status = run_batch(
            batch, self._record, len(w), lambda part: (a[part], b[part], c[part], w[part], flat_out[part])
        )
        self._check(status)
        return out

    def _flat_wrenches(self, wrenches: Any, lead: tuple[int, ...], count: int) -> Floats:
        """(count, n, 6) in the body frames, or (count, 0, 6) for none."""
        if wrenches is None:
            return np.empty((count, 0, 6))
        return self._body_wrenches(wrenches, lead).reshape(count, -1, 6)

    def _fixed_base(self, what: str) -> None:
        if self.mechanism.base is not None:
            raise InputError(f"{self.name} has a floating base: {what} can be had of robots with a fixed one only")
        if self.n != self.mechanism.n:
            raise InputError(f"{self.name} has joints that follow others: {what} can be had of independent joints only")

    def _check(self, status: int) -> None:
        if status == SINGULAR:
            raise SingularityError(
                f"{self.name}: a joint moves no inertia at all; give its link or rotor a mass or inertia"
            )
        if status != OK:
            raise InputError(f"{self.name}: the result is not finite; the arguments are too large")

    def _positional(self, single: str, batch: Any, q: Any, shape: tuple[int, ...], *constants: Any) -> Floats:
        lead, (q,) = self._arrays({"q": q})
        if lead == () and single:
            answer = self._called(single, shape, q)
            if answer is not None:
                return answer
        out = np.empty((*lead, *shape))
        flat, flat_out = q.reshape(-1, self.n), out.reshape(-1, *shape)
        run_batch(batch, self._record, len(flat), lambda part: (flat[part], *constants, flat_out[part]))
        return out

    def _framed(
        self, call: FastCall, bound: dict[str, Any], frame: str, batch: Any, q: Any, shape: tuple[int, ...]
    ) -> Floats:
        """Something of a frame; its fast call is bound, for one plain q, at its first use."""
        row, constant = self._frame(frame)
        lead, (q,) = self._arrays({"q": q})
        if lead == () and frame not in bound:
            bound[frame] = call.bind(self._record, shape, np.append(constant, row))
        answer = bound[frame](q) if lead == () else None
        return self._positional("", batch, q, shape, row, constant) if answer is None else answer

    @cached_property
    def _link_frames(self) -> Floats:
        """X (n, 6, 6): w X is a wrench w at a link's described frame, moved to its body's frame."""
        X = np.zeros((self.n, 6, 6))
        for moved, name in zip(X, self.mechanism.body_names, strict=True):
            frame = self.mechanism.frame(name)
            moved[:3, :3] = moved[3:, 3:] = frame.R.T
            moved[:3, 3:] = frame.R.T @ skew(frame.p).T
        return X

    def _body_wrenches(self, wrenches: Any, lead: tuple[int, ...]) -> Floats:
        """Wrenches at the links' described frames, moved to the body frames."""
        try:
            w = np.broadcast_to(np.asarray(wrenches, float), (*lead, self.n, 6))
        except (TypeError, ValueError):
            raise InputError(
                f"wrenches have shape {np.shape(wrenches)}, {self.name} needs ({self.n}, 6)"
                " with the leading axes of the other arguments"
            ) from None
        if not np.isfinite(w).all():
            raise InputError("wrenches are not finite")
        moved = np.empty((*lead, self.n, 6))
        by_body = [array.reshape(-1, self.n, 6).swapaxes(0, 1) for array in (w, moved)]
        np.matmul(by_body[0], self._link_frames, out=by_body[1])
        return moved

    def _frame(self, name: str) -> tuple[int, Floats]:
        try:
            return self._frames[name]
        except KeyError:
            if name == "base":
                return BASE + 1, np.concatenate([np.eye(3).ravel(), np.zeros(3)])
            self.mechanism.frame(name)
            raise

    def _warn(self, cut: Any, by: str) -> None:
        if cut.any():
            where = np.flatnonzero(cut.reshape(-1, self.n).any(axis=0))
            names = ", ".join(self.joint_names[j] for j in where)
            warnings.warn(f"{self.name}: {names} cut by {by}", SaturationWarning, stacklevel=3)


def robot_names() -> list[str]:
    """Names of the robots that can be loaded."""
    return sorted(robot_files())


def robot_of(mechanism: Mechanism) -> Robot:
    """The kind of Robot for a mechanism: spherical, parallel, with loops, coupled joints, floating or fixed."""
    if mechanism.loops and mechanism.spherical is not None:
        from .spherical_robot import SphericalRobot

        return SphericalRobot(mechanism)
    if mechanism.loops and mechanism.platform is not None:
        from .parallel_robot import ParallelRobot

        return ParallelRobot(mechanism)
    if mechanism.loops:
        from .loop_robot import LoopRobot

        return LoopRobot(mechanism)
    if mechanism.mimic is not None:
        from .coupled_robot import CoupledRobot

        return CoupledRobot(mechanism)
    if mechanism.base is not None:
        from .floating_robot import FloatingRobot

        return FloatingRobot(mechanism)
    return Robot(mechanism)


def load_robot(name_or_path: str | PathLike[str], floating: bool = False) -> Robot:
    """A robot by its name (see `robot_names`) or from a description file (robot YAML, or URDF).

    floating: the root link of a URDF moves freely; a robot YAML says so itself.
    """
    text = str(name_or_path)
    files = robot_files()
    path = files.get(text, Path(name_or_path))
    if not path.is_file():
        raise UnknownRobotError(
            f"no robot '{text}': it is neither a file nor one of {', '.join(sorted(files)) or '(none found)'}"
        )
    if path.suffix in URDF_SUFFIXES:
        return robot_of(read_urdf(path, floating))
    mechanism = load_mechanism(path)
    if floating and mechanism.base is None:
        raise InputError(f"{path} describes a fixed base; only a URDF can be loaded with a floating one")
    return robot_of(mechanism)
