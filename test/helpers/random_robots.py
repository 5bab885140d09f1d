"""Random mechanisms, and the same mechanisms built with Pinocchio."""

from __future__ import annotations

import dataclasses

import numpy as np
import pinocchio as pin

from dyn_core.mechanism import BASE, PRISMATIC, REVOLUTE, FloatingBase, Frame, Mechanism, Mimic


def random_rotation(rng: np.random.Generator) -> np.ndarray:
    q, r = np.linalg.qr(rng.normal(size=(3, 3)))
    q = q * np.sign(np.diag(r))
    return q if np.linalg.det(q) > 0 else q[:, [1, 0, 2]]


def random_inertia(rng: np.random.Generator, mass: float) -> np.ndarray:
    """Inertia of eight point masses about their centre: always physical."""
    points = rng.normal(size=(8, 3)) * 0.1
    points -= points.mean(axis=0)
    return mass / 8 * sum(p @ p * np.eye(3) - np.outer(p, p) for p in points)


def random_parents(rng: np.random.Generator, n: int, chain: bool) -> np.ndarray:
    """Parents in depth-first order, the only order that Pinocchio's crba takes."""
    parents: list[int] = []
    for j in range(n):
        parent = j - 1
        while not chain and parent != BASE and rng.random() < 0.5:
            parent = parents[parent]
        parents.append(parent)
    return np.array(parents)


def random_mechanism(rng: np.random.Generator, n: int, chain: bool = False, friction: bool = True) -> Mechanism:
    """A tree of n bodies with revolute and prismatic joints, off-axis masses and tilted gravity."""
    parent = random_parents(rng, n, chain)
    mass = rng.uniform(0.1, 5.0, n)
    com = rng.normal(size=(n, 3)) * 0.2
    J = np.array(
        [random_inertia(rng, m) + m * (c @ c * np.eye(3) - np.outer(c, c)) for m, c in zip(mass, com, strict=True)]
    )
    frames = [Frame(f"link{j}", j, random_rotation(rng), rng.normal(size=3) * 0.2) for j in range(n)]
    frames.append(Frame("tool", n - 1, random_rotation(rng), rng.normal(size=3) * 0.2))
    return Mechanism(
        name="random",
        description="",
        joint_names=tuple(f"joint{j}" for j in range(n)),
        body_names=tuple(f"link{j}" for j in range(n)),
        parent=parent,
        joint_type=rng.choice([REVOLUTE, PRISMATIC], n, p=[0.7, 0.3]),
        R=np.array([random_rotation(rng) for _ in range(n)]),
        p=rng.normal(size=(n, 3)) * 0.3,
        M=mass,
        MS=mass[:, None] * com,
        J=J,
        Ia=rng.uniform(0.0, 0.5, n),
        Fv=rng.uniform(0.0, 1.0, n) * friction,
        Fs=rng.uniform(0.0, 1.0, n) * friction,
        stiffness=rng.uniform(1e3, 1e5, n),
        position_limits=np.tile([-np.inf, np.inf], (n, 1)),
        velocity_limits=np.full(n, np.inf),
        effort_limits=np.full(n, np.inf),
        active=np.ones(n, bool),
        gravity=rng.normal(size=3) * 6.0,
        frames=tuple(frames),
    )


def coupled(rng: np.random.Generator, floating: bool = False, **options: bool) -> Mechanism:
    """Seven joints of which 2 and 5 follow 4, and 6 follows 0."""
    m = random_mechanism(rng, 7, **options)
    mimic = Mimic(
        leader=np.array([0, 1, 4, 3, 4, 4, 0]),
        multiplier=np.array([1.0, 1.0, -0.5, 1.0, 1.0, 2.0, 0.7]),
        offset=np.array([0.0, 0.0, 0.3, 0.0, 0.0, -0.1, 0.2]),
    )
    base = FloatingBase("trunk", 3.0, np.array([0.3, 0.0, 0.6]), random_inertia(rng, 3.0) + 0.2 * np.eye(3))
    return dataclasses.replace(m, mimic=mimic, base=base if floating else None)


def pinocchio_model(m: Mechanism, floating: bool = False) -> pin.Model:
    """The same mechanism in Pinocchio, joint j of ours being its joint j + 1 (j + 2 on a free-flyer); no friction."""
    model = pin.Model()
    model.gravity.linear = m.gravity
    first = 1
    if floating:
        assert m.base is not None
        first = 1 + model.addJoint(0, pin.JointModelFreeFlyer(), pin.SE3.Identity(), m.base.name)
        com = m.base.MS / m.base.M
        about_com = m.base.J - m.base.M * (com @ com * np.eye(3) - np.outer(com, com))
        model.appendBodyToJoint(1, pin.Inertia(m.base.M, com, about_com), pin.SE3.Identity())
    for j in range(m.n):
        joint = pin.JointModelPZ() if m.joint_type[j] == PRISMATIC else pin.JointModelRZ()
        k = model.addJoint(int(m.parent[j]) + first, joint, pin.SE3(m.R[j], m.p[j]), m.joint_names[j])
        assert k == j + first
        com = m.MS[j] / m.M[j]
        about_com = m.J[j] - m.M[j] * (com @ com * np.eye(3) - np.outer(com, com))
        model.appendBodyToJoint(k, pin.Inertia(m.M[j], com, about_com), pin.SE3.Identity())
    for frame in m.frames:
        model.addFrame(pin.Frame(frame.name, frame.body + first, pin.SE3(frame.R, frame.p), pin.FrameType.OP_FRAME))
    model.armature = np.concatenate([np.zeros(6), m.Ia]) if floating else m.Ia
    return model


def friction_forces(m: Mechanism, qd: np.ndarray) -> np.ndarray:
    return m.Fv * qd + m.Fs * np.sign(qd)
