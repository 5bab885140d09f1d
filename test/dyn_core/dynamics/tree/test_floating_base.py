"""The robots that ship with a moving base: what the base does when the joints move, in vacuum and in water."""

from __future__ import annotations

import numpy as np
import pytest

from dyn_core import load_robot
from dyn_core.robots import FloatingRobot
from dyn_core.simulation import simulate

EEL = load_robot("eel")
MOBILE = load_robot("mobile_manipulator")
assert isinstance(EEL, FloatingRobot)
assert isinstance(MOBILE, FloatingRobot)


def travelling_wave(t: float, n: int, amplitude: float, omega: float) -> tuple[np.ndarray, ...]:
    """Positions, speeds and accelerations of joints in a wave that runs from head to tail and grows from rest."""
    phase = omega * t - 2 * np.pi * np.arange(n) / n
    q, qd, qdd = np.sin(phase), omega * np.cos(phase), -(omega**2) * np.sin(phase)
    rise = 1.0 - np.exp(-((t / 0.2) ** 3))
    rise_d = 3 * t**2 / 0.2**3 * (1.0 - rise)
    rise_dd = (6 * t / 0.2**3 - 9 * t**4 / 0.2**6) * (1.0 - rise)
    return (
        amplitude * rise * q,
        amplitude * (rise_d * q + rise * qd),
        amplitude * (rise_dd * q + 2 * rise_d * qd + rise * qdd),
    )


def swim(robot: FloatingRobot, duration: float, h: float, water) -> tuple[np.ndarray, np.ndarray]:
    """Base driven by its joints' motion alone: explicit midpoint steps of `base_motion`. Returns q, qd at the end."""
    q, v = robot.neutral(), np.zeros(robot.nv)

    def with_joints(q, v, t):
        joints, rates, qdd = travelling_wave(t, robot.n, 0.3, 2 * np.pi)
        return np.append(q[:7], joints), np.append(v[:6], rates), qdd

    def rate(q, v, qdd):
        acceleration, _ = robot.base_motion(q, v, qdd, water(q, v))
        change = acceleration.copy()
        change[:3] -= np.cross(v[3:6], v[:3])  # of the components in turning axes
        return change

    steps = round(duration / h)
    for k in range(steps):
        t = k * h
        q, v, qdd = with_joints(q, v, t)
        middle = v.copy()
        middle[:6] += h / 2 * rate(q, v, qdd)
        half_q = robot.integrate(q, v, h / 2)
        half_q, half_v, half_qdd = with_joints(half_q, middle, t + h / 2)
        v[:6] += h * rate(half_q, half_v, half_qdd)
        q = robot.integrate(q, half_v, h)
    q, v, _ = with_joints(q, v, steps * h)
    return q, v


def resistance(robot: FloatingRobot, along: float = 0.02, across: float = 2.0):
    """Force of the water on each link, at the middle of it, against its speed there (resistive force theory)."""
    middle = np.array([-0.05, *[-0.04] * robot.n])

    def wrenches(q, v):
        names = ["head", *robot.mechanism.body_names]
        out = np.zeros((robot.n + 1, 6))
        for k, name in enumerate(names):
            R = robot.forward_kinematics(q, name)[:3, :3]
            J = robot.jacobian(q, name)
            speed, turn = R.T @ (J[:3] @ v), R.T @ (J[3:] @ v)
            arm = np.array([middle[k], 0.0, 0.0])
            there = speed + np.cross(turn, arm)
            out[k, :3] = -np.array([along, across, across]) * there
            out[k, 3:] = np.cross(arm, out[k, :3])
        return out

    return wrenches


def centre_of_mass(robot: FloatingRobot, q: np.ndarray) -> np.ndarray:
    """From the figures of the bodies, through their poses."""
    m = robot.mechanism
    base = robot.forward_kinematics(q, "base")
    total = m.base.M * base[:3, 3] + base[:3, :3] @ m.base.MS
    for j, name in enumerate(m.body_names):
        pose, frame = robot.forward_kinematics(q, name), m.frame(name)
        R = pose[:3, :3] @ frame.R.T
        total = total + m.M[j] * (pose[:3, 3] - R @ frame.p) + R @ m.MS[j]
    return total / (m.base.M + m.M.sum())


def test_in_vacuum_the_eel_keeps_its_momentum() -> None:
    """However it wriggles, the head follows so that the momenta stay zero; halving the step quarters what is left."""
    left = []
    for h in (2e-3, 1e-3):
        q, v = swim(EEL, 0.5, h, lambda q, v: None)
        assert np.abs(v[3:6]).max() > 0.1  # the head does swing
        left.append(np.abs(EEL.momentum(q, v)).max())
    assert left[1] < 2e-5  # kg m/s, kg m^2/s
    assert left[1] < 0.35 * left[0]


def test_in_water_the_eel_swims_ahead() -> None:
    """The wave runs to the tail, and water that resists sideways more than lengthwise drives the eel ahead (+x)."""
    start = centre_of_mass(EEL, EEL.neutral())
    q, _ = swim(EEL, 3.0, 5e-3, resistance(EEL))
    ahead, aside, _ = centre_of_mass(EEL, q) - start
    assert ahead > 0.1
    assert abs(aside) < 0.5 * ahead
    q, _ = swim(EEL, 1.0, 5e-3, lambda q, v: None)
    np.testing.assert_allclose(centre_of_mass(EEL, q), start, atol=5e-4)  # nothing to push against


def test_water_that_resists_alike_in_all_directions_hardly_drives() -> None:
    q, _ = swim(EEL, 3.0, 5e-3, resistance(EEL, 2.0, 2.0))
    assert abs(centre_of_mass(EEL, q)[0] - centre_of_mass(EEL, EEL.neutral())[0]) < 0.05


def test_simulation_and_water_agree_with_the_integration_of_the_base() -> None:
    """`simulate` under the joint forces of `base_motion`, with the water as a function, moves the base the same way."""
    water = resistance(EEL)
    h = 1e-3

    def torques(t, q, v):
        joints, rates, qdd = travelling_wave(t, EEL.n, 0.3, 2 * np.pi)
        stiff = qdd - 200.0 * (v[6:] - rates) - 1e4 * (q[7:] - joints)
        return EEL.base_motion(q, v, stiff, water(q, v))[1]

    result = simulate(EEL, duration=0.3, torques=torques, wrenches=lambda t, q, v: water(q, v), h=h)
    assert result.failure == ""
    q, _ = swim(EEL, 0.3, h, lambda q, v: water(q, v))
    np.testing.assert_allclose(result.q[-1, 7:], q[7:], atol=2e-3)
    np.testing.assert_allclose(result.q[-1, :7], q[:7], atol=2e-3)


@pytest.mark.parametrize("seed", range(3))
def test_the_platform_reacts_as_momentum_says(seed: int) -> None:
    """From rest, joint speeds reached in a moment leave momenta zero: A_bb v_b = -A_bq qd, whatever gravity does."""
    rng = np.random.default_rng(seed)
    q = MOBILE.neutral()
    q[7:] = rng.uniform(-1, 1, MOBILE.n)
    qdd = rng.normal(size=MOBILE.n)
    acceleration, tau = MOBILE.base_motion(q, np.zeros(MOBILE.nv), qdd)
    A = MOBILE.mass_matrix(q)
    fall = np.append(MOBILE.mechanism.gravity, np.zeros(3))  # the base's axes are the world's here
    np.testing.assert_allclose(acceleration - fall, -np.linalg.solve(A[:6, :6], A[:6, 6:] @ qdd), rtol=1e-9, atol=1e-9)
    v = np.concatenate([acceleration - fall, qdd])
    np.testing.assert_allclose(MOBILE.momentum(q, v), 0.0, atol=1e-9)
    np.testing.assert_allclose(tau, (A @ np.append(acceleration, qdd) + MOBILE.bias_forces(q, np.zeros(10)))[6:])


def test_the_arm_moves_and_the_falling_platform_keeps_its_momentum() -> None:
    """Motors are inner forces: over a simulated motion the momentum is gravity's alone, about any point."""
    h, duration = 1e-3, 0.4
    mass = MOBILE.mechanism.base.M + MOBILE.mechanism.M.sum()
    g = MOBILE.mechanism.gravity
    result = simulate(MOBILE, duration=duration, torques=[8.0, 30.0, -10.0, 1.0], h=h, method="rk4")
    at_start, at_end = (MOBILE.momentum(result.q[k], result.qd[k]) for k in (0, -1))
    assert np.abs(result.q[-1, 7:]).max() > 0.1
    np.testing.assert_allclose((at_end - at_start)[:3], mass * g * duration, atol=1e-7)
    com = np.array([centre_of_mass(MOBILE, q) for q in result.q])
    moment = np.trapezoid(np.cross(com, mass * g), dx=h, axis=0)
    np.testing.assert_allclose((at_end - at_start)[3:], moment, atol=2e-5)


def test_wheels_hold_what_the_arm_does() -> None:
    """At rest the wrench on the base is the whole weight at the centre of mass; a swinging turret adds its reaction."""
    q = MOBILE.neutral()
    mass = MOBILE.mechanism.base.M + MOBILE.mechanism.M.sum()
    weight = -mass * MOBILE.mechanism.gravity
    hold = MOBILE.gravity_forces(q)
    np.testing.assert_allclose(hold[:3], weight, atol=1e-9)
    np.testing.assert_allclose(hold[3:6], np.cross(centre_of_mass(MOBILE, q), weight), atol=1e-9)
    swing = MOBILE.inverse_dynamics(q, np.zeros(10), [0, 0, 0, 0, 0, 0, 3.0, 0, 0, 0]) - hold
    assert swing[5] > 0.5  # the ground turns the platform as the turret turns
