"""Flexible links: against Lagrange's equations of the paper's energies, against energy, and the two closings."""

from __future__ import annotations

import dataclasses

import casadi as ca
import numpy as np
import pytest

from dyn_core import load_robot
from dyn_core.description import robot_files, to_yaml
from dyn_core.errors import DescriptionError, InputError
from dyn_core.mechanism import Beam
from dyn_core.robots import FlexibleMechanism, dominant_frequency
from dyn_core.simulation import simulate_with_springs

COUPLER = "coupler_link"


@pytest.fixture(scope="module")
def four_bar():
    return FlexibleMechanism(load_robot("four_bar_wang_flexible").mechanism)


def lagrange(lengths, masses, beams, gravity, ground):
    """Mass matrix and bias of two chains, (theta, theta + q2) and phi, from the energies (6)-(11), (45)-(50).

    beams: {link: (E I, modes)}; integrals along the links by Gauss-Legendre quadrature, derivatives by CasADi.
    """
    N = 3 + sum(modes for _, modes in beams.values())
    x, v = ca.SX.sym("x", N), ca.SX.sym("v", N)
    nodes, weights = np.polynomial.legendre.leggauss(24)
    angles = [x[0], x[0] + x[1], x[2]]
    starts = [ca.SX.zeros(2), lengths[0] * ca.vertcat(ca.cos(x[0]), ca.sin(x[0])), ca.SX(ground)]
    L = 0
    at = 3
    for link in range(3):
        l, rho = lengths[link], masses[link] / lengths[link]
        EI, modes = beams.get(link, (0.0, 0))
        c, s = ca.cos(angles[link]), ca.sin(angles[link])
        for node, weight in zip(nodes, weights, strict=True):
            z, w = l * (node + 1) / 2, weight * l / 2
            e = [x[at + i] for i in range(modes)]
            bend = sum((e[i] * np.sin((i + 1) * np.pi * z / l) for i in range(modes)), ca.SX(0))
            curve = sum((-e[i] * ((i + 1) * np.pi / l) ** 2 * np.sin((i + 1) * np.pi * z / l) for i in range(modes)), 0)
            p = starts[link] + ca.vertcat(c * z - s * bend, s * z + c * bend)
            pd = ca.jacobian(p, x) @ v
            L += w * (0.5 * rho * ca.dot(pd, pd) + rho * (gravity[0] * p[0] + gravity[1] * p[1]) - 0.5 * EI * curve**2)
        at += modes
    momentum = ca.gradient(L, v)
    M = ca.jacobian(momentum, v)
    H = ca.jacobian(momentum, x) @ v - ca.gradient(L, x)
    return ca.Function("f", [x, v], [M, H])


def test_the_paper_s_energies(four_bar):
    expected = lagrange((1.0, 4.0, 2.5), (1.0, 1.0, 1.0), {1: (2123.56 * 1.333417, 2)}, (0.0, -9.8), (3.0, 0.0))
    rng = np.random.default_rng(0)
    for _ in range(5):
        x, v = rng.normal(size=(2, 5))
        M, H = (np.array(each) for each in expected(x, v))
        found = four_bar.terms(x, v)
        np.testing.assert_allclose(found.M, M, rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(found.H, H[:, 0], rtol=1e-9, atol=1e-8)


def test_any_link_may_bend(four_bar):
    """All three links at once, with one, two and three half waves."""
    m = four_bar.mechanism
    beams = (Beam(0, 100.0, 2.0, 1), Beam(1, 50.0, 3.0, 2), Beam(2, 300.0, 1.5, 3))
    whole = FlexibleMechanism(dataclasses.replace(m, beams=beams, gravity=np.array([1.0, -9.8, 0.0])))
    expected = lagrange(
        (1.0, 4.0, 2.5), (1.0, 1.0, 1.0), {0: (200.0, 1), 1: (150.0, 2), 2: (450.0, 3)}, (1.0, -9.8), (3.0, 0.0)
    )
    x, v = np.random.default_rng(1).normal(size=(2, 9))
    M, H = (np.array(each) for each in expected(x, v))
    found = whole.terms(x, v)
    np.testing.assert_allclose(found.M, M, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(found.H, H[:, 0], rtol=1e-9, atol=1e-8)


def test_constraints_are_derivatives(four_bar):
    x, v, a = np.random.default_rng(2).normal(size=(3, 5))
    h = 1e-5
    at = four_bar.terms(x, v)
    ahead, behind = (four_bar.terms(x + s * h * v + h * h / 2 * a, v).phi for s in (1, -1))
    np.testing.assert_allclose((ahead - behind) / (2 * h), at.J @ v, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose((ahead - 2 * at.phi + behind) / h**2, at.J @ a + at.bias, rtol=1e-4, atol=1e-4)


def test_rigid_limit(four_bar):
    """A coupler as stiff as can be moves as the rigid mechanism does, both with springs."""
    stiff = dataclasses.replace(four_bar.mechanism, beams=(Beam(1, 1e8, 1.0, 1),))
    start = np.array([np.pi / 2])
    found = FlexibleMechanism(stiff).simulate(start, 0.2, [6.0], closing="virtual_spring", k=1e5, b=100.0)
    rigid = simulate_with_springs(
        load_robot("four_bar_wang"), start, duration=0.2, torques=[6.0], k=1e5, b=100.0, preloaded=False
    )
    np.testing.assert_allclose(found.q, rigid.all_q, atol=1e-5)


def test_energy(four_bar):
    """With multipliers and no drive the total energy stays; a quadrature of the energies, not the equations."""
    result = four_bar.simulate([1.0], 0.5, [0.0])
    assert not result.failure
    assert np.abs(result.gap).max() < 1e-12

    def energy(i):
        (t, u, f), v = result.q[i], result.qd[i]
        e, ed = result.modes[i], result.modes_rate[i]
        nodes, weights = np.polynomial.legendre.leggauss(24)
        total = 0.0
        for node, weight in zip(nodes, weights, strict=True):
            part = (node + 1) / 2
            for l, angle, rate, y0, u0, w0, bends in (
                (1.0, t, v[0], 0.0, 0.0, 0.0, False),
                (4.0, t + u, v[0] + v[1], np.sin(t), -np.sin(t) * v[0], np.cos(t) * v[0], True),
                (2.5, f, v[2], 0.0, 0.0, 0.0, False),
            ):
                waves = np.sin(np.pi * part * np.array([1, 2])) * bends
                d, dd = waves @ e, waves @ ed
                c, s, z = np.cos(angle), np.sin(angle), part * l
                height = y0 + s * z + c * d
                px, py = u0 - rate * (s * z + c * d) - s * dd, w0 + rate * (c * z - s * d) + c * dd
                curve = (np.pi * np.array([1, 2]) / l) ** 2 * waves @ e
                total += weight / 2 * (0.5 * (px**2 + py**2) + 9.8 * height + 0.5 * l * 2831.591 * curve**2)
        return total

    energies = np.array([energy(i) for i in range(0, len(result.t), 100)])
    np.testing.assert_allclose(energies, energies[0], rtol=1e-6)


def test_the_two_closings_agree(four_bar):
    """The springs' motion comes to that of the multipliers as 1/k."""
    start = np.array([np.pi / 2])
    exact = four_bar.simulate(start, 0.3, [6.0])
    errors = []
    for k in (1e6, 4e6):
        found = four_bar.simulate(start, 0.3, [6.0], closing="virtual_spring", k=k)
        errors.append([np.abs(found.q - exact.q).max(), np.abs(found.modes - exact.modes).max()])
    assert max(errors[1]) < 1e-4
    np.testing.assert_allclose(np.divide(*errors), 4.0, rtol=0.2)


def test_vibration(four_bar):
    fundamental = four_bar.natural_frequencies(COUPLER)
    omega = (np.pi / 4.0) ** 2 * np.sqrt(2123.56 * 1.333417 / (12.5 * 0.02))
    np.testing.assert_allclose(fundamental, omega / (2 * np.pi) * np.array([1.0, 4.0]))
    result = four_bar.simulate([np.pi / 2], 1.0, [6.0])
    v = four_bar.deflection(result.modes, COUPLER)
    np.testing.assert_allclose(v, result.modes[:, 0], atol=1e-15)  # the second half wave is zero in the middle
    assert dominant_frequency(result.t, v) == pytest.approx(fundamental[0], rel=0.1)


def test_dominant_frequency_of_a_sine():
    t = np.arange(2000) * 1e-3
    y = 3.0 * np.sin(2 * np.pi * 0.4 * t) + np.sin(2 * np.pi * 12.34 * t + 0.3)
    assert dominant_frequency(t, y, above=5.0) == pytest.approx(12.34, abs=0.02)


def test_bad_descriptions_are_named(four_bar):
    m = four_bar.mechanism
    short = m.MS.copy()
    short[1, 0] *= 1.1
    puma = load_robot("puma560").mechanism
    with pytest.raises(DescriptionError, match="'coupler_link' must be a uniform bar of 4 m"):
        FlexibleMechanism(dataclasses.replace(m, MS=short))
    with pytest.raises(DescriptionError, match="pinned at its joint and at one other end"):
        FlexibleMechanism(dataclasses.replace(m, loops=()))
    with pytest.raises(DescriptionError, match="does not turn about the normal"):
        FlexibleMechanism(dataclasses.replace(puma, Fs=np.zeros(6)))
    with pytest.raises(DescriptionError, match="without Coulomb friction"):
        FlexibleMechanism(puma)
    with pytest.raises(InputError, match="no flexible link 'input_link'; it has coupler_link"):
        four_bar.natural_frequencies("input_link")
    with pytest.raises(InputError, match="loops are closed by"):
        four_bar.simulate(closing="glue")
    with pytest.raises(InputError, match="torques have shape"):
        four_bar.simulate(torques=[1.0, 2.0])
    with pytest.raises(InputError, match="need steps below"):
        four_bar.simulate(closing="virtual_spring", k=1e9, substeps=1)


def test_yaml_refuses_a_bad_beam(tmp_path):
    text = robot_files()["four_bar_wang_flexible"].read_text(encoding="utf-8")
    bad = tmp_path / "bad.yaml"
    bad.write_text(text.replace("modes: 2", "modes: 0"), encoding="utf-8")
    with pytest.raises(DescriptionError, match="whole number from 1 to 20"):
        load_robot(bad)


def test_yaml_there_and_back(four_bar, tmp_path):
    file = tmp_path / "robot.yaml"
    for notation in ("dh", "mdh", "origin"):
        file.write_text(to_yaml(four_bar.mechanism, notation), encoding="utf-8")
        again = FlexibleMechanism(load_robot(file).mechanism)
        assert again.mechanism.beams == four_bar.mechanism.beams
        x, v = np.random.default_rng(3).normal(size=(2, 5))
        np.testing.assert_allclose(again.terms(x, v).H, four_bar.terms(x, v).H, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("closing", ["multipliers", "virtual_spring"])
def test_a_motion_goes_on_from_any_of_its_states(four_bar, closing):
    """Speeds and bent links at the start: the second half of a motion is that of the whole one."""
    options = {"closing": closing, "h": 1e-3, "substeps": 20}
    if closing == "virtual_spring":
        options |= {"k": 1e7, "b": 1e3}
    whole = four_bar.simulate(duration=0.1, torques=[4.0], **options)
    at = 50
    rest = four_bar.simulate(
        whole.q[at], 0.05, [4.0], qd0=whole.qd[at], modes0=whole.modes[at], modes_rate0=whole.modes_rate[at], **options
    )
    assert np.abs(whole.modes[at:]).max() > 1e-6
    np.testing.assert_allclose(rest.q, whole.q[at:], atol=1e-9)
    np.testing.assert_allclose(rest.modes_rate, whole.modes_rate[at:], atol=1e-7)


def test_a_bent_link_swings_at_its_natural_frequency():
    """A bar pinned at both ends of a chain at rest, let go from a half wave, without gravity: e cos(w t)."""
    m = load_robot("four_bar_wang_flexible").mechanism
    m = dataclasses.replace(m, gravity=np.zeros(3))
    flexible = FlexibleMechanism(dataclasses.replace(m, Ia=np.where(m.active, 1e9, 0.0)))
    bent = np.zeros(flexible.f)
    bent[1] = 1e-3  # a whole wave moves neither the pins nor, to first order, the bar's own angle
    motion = flexible.simulate(duration=0.3, h=2e-4, modes0=bent)
    found = dominant_frequency(motion.t, motion.modes[:, 1])
    assert found == pytest.approx(flexible.natural_frequencies(COUPLER)[1], rel=0.2)


def test_active_speeds_close_the_loops_and_torques_may_depend_on_time(four_bar):
    robot = load_robot("four_bar_wang_flexible")
    started = four_bar.simulate(robot.neutral(), 0.02, qd0=[0.7])
    np.testing.assert_allclose(started.qd[0], robot.closed(robot.neutral(), [0.7]).qd, atol=1e-12)
    followed = four_bar.simulate(duration=0.05, torques=lambda t: [8.0 * np.sin(60.0 * t)], h=5e-3)
    fine = [[8.0 * np.sin(60.0 * (k + 0.5) * 5e-5)] for k in range(1000)]
    held = four_bar.simulate(duration=0.05, torques=fine, h=5e-5)
    np.testing.assert_allclose(followed.q[-1], held.q[-1], atol=1e-7)
    with pytest.raises(InputError, match="modes0 has shape"):
        four_bar.simulate(modes0=np.zeros(17))
    with pytest.raises(InputError, match="qd0 has shape"):
        four_bar.simulate(qd0=np.zeros(17))
