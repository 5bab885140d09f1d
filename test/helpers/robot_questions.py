"""Every public method of robots, platforms and flexible mechanisms, with arguments to ask it with."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from dyn_core import Robot
from dyn_core.errors import DynError
from dyn_core.robots import FORMULATIONS, Configuration, FlexibleMechanism, Platform, Tracker
from dyn_core.robots.engine import Engine
from dyn_core.robots.platform import Reached

REACH = 0.03  # rad, m, of random positions about the neutral one
H = 1e-3  # s
SHARED_OUT, IN_LANES = 600, 2100  # rows: among threads; among threads, in vector registers
FEW = 3

Question = tuple[str, Callable[[Any], Any]]
BY_CONFIGURATION = ("standing", "starting_at", "tracker")  # which are asked with one anyhow
NOT_ASKED = {
    "natives": "a table of the class",
    "first_call": "what `_answer` binds native calls by",
    "kernel": "what `_answer` computes by",
}


def public_names(kind: type) -> set[str]:
    return {name for name in dir(kind) if not name.startswith("_")}


class Case:
    """States of one robot to ask about; poses are such that it reaches."""

    def __init__(self, robot: Robot) -> None:
        rng = np.random.default_rng(3)
        self.robot = robot
        closed, bodies = bool(robot.mechanism.loops), robot.mechanism.n + (robot.nv > robot.n)
        by_rows = getattr(robot, "formulation", "projection") == "projection"
        counts = (FEW, SHARED_OUT, IN_LANES) if not closed else (FEW, SHARED_OUT) if by_rows else (FEW,)
        self.states = [self._state(rng, lead, bodies) for lead in ((), (), *((count,) for count in counts))]
        self.one, self.few = self.states[0], self.states[2]
        self.all_positions, self.all_speeds = robot.all_joints(self.one["q"], self.one["qd"])
        self.near = robot.configuration(self.states[1]["q"])

    def _state(self, rng: np.random.Generator, lead: tuple[int, ...], bodies: int) -> dict[str, Any]:
        robot = self.robot
        q = np.tile(robot.neutral(), (*lead, 1)).reshape(*lead, robot.nq)
        q[..., robot.nq - robot.n :] += rng.uniform(-REACH, REACH, (*lead, robot.n))
        qd, x = rng.normal(size=(2, *lead, robot.nv))
        joints = slice(robot.nv - robot.n, None)
        own, other = qd[..., joints].copy(), x[..., joints].copy()
        w = rng.normal(size=(*lead, bodies, 6))
        return {"q": q, "qd": qd, "x": x, "joint_qd": own, "joint_x": other, "w": w}

    def each(self, name: str, *options: str) -> Iterator[Question]:
        """A method for each state, and each list of arguments by name."""
        for k, state in enumerate(self.states):
            yield from (asked(f"{name}({option}) {k}", name, *_of(state, option)) for option in options)

    def single(self, name: str, *options: str) -> Iterator[Question]:
        yield from (asked(f"{name}({option})", name, *_of(self.one, option)) for option in options)


def _of(state: dict[str, Any], names: str) -> list[Any]:
    return [state[name] for name in names.split()]


def asked(label: str, name: str, *arguments: Any, **options: Any) -> Question:
    return label, lambda robot: getattr(robot, name)(*arguments, **options)


def robot_questions(case: Case) -> dict[str, list[Question]]:
    """By the name of the method or property."""
    robot, one, few = case.robot, case.one, case.few
    q, qd, x = one["q"], one["qd"], one["x"]
    wrench, full = np.array([10.0, -5.0, 3.0, 0.4, 0.2, -0.3]), case.all_positions
    motors = np.zeros((0, 10))
    dynamics = ("q qd x", "q qd x w")
    found: dict[str, Any] = {
        **{name: case.each(name, *dynamics) for name in ("inverse_dynamics", "forward_dynamics")},
        "mixed_dynamics": case.each("mixed_dynamics", "q qd x", "q qd x x w"),
        **{name: case.each(name, "q") for name in ("mass_matrix", "gravity_forces", "link_poses")},
        "forward_kinematics": case.each("forward_kinematics", "q"),
        "jacobian": [*case.each("jacobian", "q"), asked("of a link", "jacobian", q, robot.mechanism.body_names[0])],
        "bias_forces": case.each("bias_forces", "q qd"),
        "regressor": [asked(f"{len(s['q'])} rows", "regressor", s["q"], s["qd"], s["x"]) for s in (one, few)],
        **{name: case.single(name, "q") for name in ("configuration", "all_positions", "mass_matrix_by_columns")},
        **{name: case.single(name, "q qd") for name in ("all_joints", "closed", "frame_motion", "momentum")},
        "expanded": case.each("expanded", "q"),
        "base_motion": case.each("base_motion", "q qd joint_x", "q qd joint_x w"),
        "integrate": case.each("integrate", "q qd"),
        "driven_forces": case.single("driven_forces", "q qd x"),
        "friction_change": case.single("friction_change", "q joint_qd joint_x"),
        "reactions": case.single("reactions", "q qd x"),
        "stiffness": [*case.single("stiffness", "q"), asked("loaded", "stiffness", q, "tool", 0.01 * wrench)],
        "deflection": [asked("deflection", "deflection", q, wrench)],
        "deflected": [asked("deflected", "deflected", q, wrench)],
        "compliances": [asked("few", "compliances", few["q"]), asked("many", "compliances", case.states[-1]["q"])],
        "voltages": case.each("voltages", "joint_x joint_qd"),
        "torques": case.each("torques", "joint_x joint_qd"),
        "dac_codes": case.each("dac_codes", "joint_x"),
        "dac_volts": [asked("dac_volts", "dac_volts", np.zeros(robot.n, int))],
        "base_parameters": [asked("all", "base_parameters"), asked("links", "base_parameters", False, False)],
        "checked_state": [asked("checked_state", "checked_state", {"q": few["q"], "qd": few["qd"]})],
        "single_state": [asked("single_state", "single_state", {"q": q, "qd": qd})],
        "with_base": [asked("with_base", "with_base", one["joint_x"])],
        "weakest_loop": [asked("weakest_loop", "weakest_loop", full)],
        "using": [asked(formulation, "using", formulation) for formulation in FORMULATIONS],
        "starting_at": [asked("starting_at", "starting_at", case.near)],
        "with_continuous_friction": [asked("continuous", "with_continuous_friction", q, H)],
        "with_friction_over": [asked("with_friction_over", "with_friction_over", np.full(robot.nv, H))],
        "tracker": [asked("described", "tracker"), asked("near", "tracker", case.near)],
        "engine": [asked(method, "engine", motors, method, H) for method in ("rk3", "rk4", "DOP853")],
        **{name: [asked(name, name)] for name in ("neutral", "urdf", "require_platform", "through_singularities")},
        "standing": [asked("described", "standing", q, None), asked("near", "standing", q, case.near)],
        "joints_at": [("joints_at", lambda r: r.joints_at(r.configuration(q), qd))],
        "own_start": [asked("own_start", "own_start")],
        "positions_of": [("positions_of", lambda r: r.positions_of(r.own_start()))],
        **{name: [asked(name, name, case.near)] for name in ("leads_to", "distance_at")},
        "follow": [("follow", lambda r: r.follow(q, r.own_start()))],
        "following_inverse": [("following", lambda r: r.following_inverse(r.own_start())(q, qd, x))],
        "motion": [asked("motion", "motion")],
        "rechart": [("rechart", lambda r: r.rechart(r.tree.model.record.copy(), r.motion(), q))],
        "in_chart": [("in_chart", lambda r: r.in_chart(r.tree.model.record, full.copy()))],
    }  # fmt: skip
    known = public_names(type(robot))
    questions = {name: list(each) for name, each in found.items() if name in known}
    for name, each in questions.items():
        takes_near = "near" in getattr(type(robot), name).__code__.co_varnames and name not in BY_CONFIGURATION
        if robot.mechanism.loops and takes_near:
            each += [(f"{label} near", _near(ask, case.near)) for label, ask in each]
    return questions | _properties(type(robot), questions)


def _near(ask: Callable[[Any], Any], near: Configuration) -> Callable[[Any], Any]:
    """The same question with `near`."""

    class Nearby:
        def __init__(self, robot: Any) -> None:
            self._robot = robot

        def __getattr__(self, name: str) -> Any:
            return lambda *arguments, **options: getattr(self._robot, name)(*arguments, **options, near=near)

    return lambda robot: ask(Nearby(robot))


def _properties(kind: type, questions: dict[str, Any]) -> dict[str, list[Question]]:
    names = public_names(kind) - set(questions) - set(NOT_ASKED)
    names = {name for name in names if not callable(getattr(kind, name))}
    return {name: [(name, lambda robot, name=name: getattr(robot, name))] for name in names}


def platform_questions(case: Case) -> dict[str, list[Question]]:
    """Of the robot's platform."""
    platform = case.robot.require_platform()
    rng = np.random.default_rng(4)
    poses = case.robot.forward_kinematics(case.few["q"])
    pose, Q, turns = poses[0], poses[0, :3, :3], poses[:, :3, :3]
    n = case.robot.n
    twist, push = (platform.freedoms @ rng.normal(size=n) for _ in range(2))
    twists, pushes = (rng.normal(size=(FEW, n)) @ platform.freedoms.T for _ in range(2))
    q, qd, x = _of(case.one, "q qd x")
    wrench = rng.normal(size=6)
    w = np.zeros((case.robot.mechanism.n, 6))
    w[0], w[-1] = rng.normal(size=6), wrench
    span = np.abs(platform.freedoms).sum(axis=1) * 0.05
    at = getattr(getattr(platform, "layout", None), "home", np.zeros(1))[None]
    found: dict[str, list[Question]] = {
        **{
            name: [asked("one", name, pose), asked("few", name, poses)]
            for name in ("inverse_kinematics", "inverse_jacobian", "singularity_distance")
        },
        "legs": [asked("one", "legs", pose, twist, push), asked("few", "legs", poses, twists, pushes)],
        "inverse_dynamics": [
            asked("one", "inverse_dynamics", pose, twist, push), asked("w", "inverse_dynamics", pose, twist, push, w),
            asked("few", "inverse_dynamics", poses, twists, pushes),
        ],
        "forward_dynamics": [
            asked("one", "forward_dynamics", pose, twist, x), asked("w", "forward_dynamics", pose, twist, x, w),
            asked("few", "forward_dynamics", poses, twists, case.few["x"]),
        ],
        "refined": [asked("refined", "refined", Q, q)],
        "body_motion": [asked("body_motion", "body_motion", pose, twist, push, "tool")],
        "check": [asked("check", "check", q), asked("few", "check", case.few["q"])],
        "check_reached": [asked("check_reached", "check_reached", at, np.zeros(1), (), True)],
        "motion": [asked("motion", "motion", q, qd, x)],
        "frame_motion": [asked("frame_motion", "frame_motion", case.all_positions, case.all_speeds)],
        "home_of": [asked("home_of", "home_of", "tool")],
        "pose_at": [asked("pose_at", "pose_at", Q)],
        "reach": [asked("reach", "reach", poses, "tool")],
        "workspace": [asked("workspace", "workspace", span, 20)],
        "wrenches": [asked("wrenches", "wrenches", wrench)],
        "stiffness_at": [asked("stiffness_at", "stiffness_at", pose)],
        "deflections": [asked("deflections", "deflections", turns, wrench)],
        **{
            name: [asked(name, name, Q)]
            for name in (
                "angular_jacobian", "leg_axes", "rotation_of", "singularity", "stiffness_matrix", "working_modes"
            )
        },
        "orientation": [asked("orientation", "orientation", 0.1, 0.2, 0.3)],
        "status": [asked("status", "status", turns)],
        "status_grid": [asked("status_grid", "status_grid", [0.0, 1.0], [0.1, 0.3])],
        "stiffness_matrices": [asked("stiffness_matrices", "stiffness_matrices", turns)],
        "stiffness_in": [
            ("in", lambda p: p.stiffness_in(Q, p.robot.spherical_legs.packed, "tool", case.all_positions.copy))
        ],
    }  # fmt: skip
    known = public_names(type(platform))
    questions = {name: each for name, each in found.items() if name in known}
    questions |= _properties(type(platform), questions)
    return {name: [(label, _of_platform(ask)) for label, ask in each] for name, each in questions.items()}


def _of_platform(ask: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda robot: ask(robot.require_platform())


def flexible_questions(mechanism: FlexibleMechanism) -> dict[str, list[Question]]:
    rng = np.random.default_rng(5)
    m = mechanism.mechanism
    link = m.body_names[m.beams[0].body]
    x, v = rng.normal(size=(2, mechanism.n + mechanism.f)) * 0.1
    ways = ("multipliers", "virtual_spring")
    return {
        "natural_frequencies": [asked("frequencies", "natural_frequencies", link)],
        "deflection": [asked("deflection", "deflection", x[mechanism.n :], link)],
        "terms": [asked("terms", "terms", x, v)],
        "simulate": [asked(way, "simulate", None, 0.005, [1.0], H, way) for way in ways],
    }


# answers


REFUSED = "refused: "


def answer_of(ask: Callable[[Any], Any], robot: Any, case: Case | None = None) -> Any:
    """What is answered, as plain values; the name and the sentence of an error that is ours."""
    try:
        return plain(ask(robot), case)
    except DynError as error:
        return f"{REFUSED}{type(error).__name__}: {error}"


def plain(answer: Any, case: Case | None = None) -> Any:
    """Arrays, strings and lists of them: a robot or an engine is what it answers in turn."""
    if answer is None or isinstance(answer, str | bool | slice):
        return answer
    if isinstance(answer, np.ndarray | float | int | np.generic):
        return np.asarray(answer)
    if isinstance(answer, Robot | Tracker):
        assert case is not None
        q, qd, x = _of(case.one, "q qd x")
        return [plain(answer.inverse_dynamics(q, qd, x)), plain(answer.forward_dynamics(q, qd, x))]
    if isinstance(answer, Engine):
        assert case is not None
        q, qd, vd, tau = state = [a.copy() for a in (*_of(case.one, "q qd"), case.one["x"], case.one["x"])]
        drive = np.zeros(case.robot.n)
        done = answer.advance((q, qd, vd, tau), drive, answer.pushed(None), H, 3, "rk4")
        return [plain(done), *state]
    if isinstance(answer, Platform):
        return answer.home
    if isinstance(answer, Reached):
        return [*_fields(answer, case), plain(answer.configuration)]
    if dataclasses.is_dataclass(answer):
        return _fields(answer, case)
    if isinstance(answer, dict):
        return [list(map(str, answer)), [plain(value, case) for value in answer.values()]]
    if isinstance(answer, tuple | list):
        return [plain(each, case) for each in answer]
    return [plain(value) for _, value in sorted(vars(answer).items()) if isinstance(value, np.ndarray | float | tuple)]


def _fields(answer: Any, case: Case | None) -> list[Any]:
    values = (getattr(answer, field.name) for field in dataclasses.fields(answer))
    return [plain(value, case) for value in values if not callable(value)]


def assert_same(found: Any, expected: Any, what: str, within: float) -> None:
    """Equal: to the last bit where `within` is 0, else to that part of the largest number."""
    assert type(found) is type(expected), what
    if isinstance(expected, list):
        assert len(found) == len(expected), what
        for a, b in zip(found, expected, strict=True):
            assert_same(a, b, what, within)
    elif isinstance(expected, np.ndarray) and expected.dtype.kind == "f" and within > 0.0:
        finite = np.abs(expected[np.isfinite(expected)]).max(initial=1.0)
        np.testing.assert_allclose(found, expected, rtol=0.0, atol=within * finite, err_msg=what)
    else:
        np.testing.assert_array_equal(found, expected, err_msg=what)
