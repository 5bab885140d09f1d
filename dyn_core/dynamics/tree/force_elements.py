"""Force elements: springs, dampers and friction in a coordinate x of two frames on two bodies of a tree.

    force = K (x - rest) + Fv x' + Fs sign(x')      on the bodies along -dx

The coordinate is the distance of the frames' origins, or what a cut joint leaves free: the angle about z of the first
frame, or the displacement along it. Both frames are brought, with their motion, from body to body to where their
branches meet: neither poses in the base frame nor velocities of bodies are needed.
"""

from __future__ import annotations

from math import atan2, cos, sin, sqrt

from dyn_core.jit.kernel import entry, kernel
from dyn_core.mechanism import PRISMATIC
from dyn_core.spatial.tuples import (
    add,
    add_to3,
    compose,
    cross,
    dot,
    load3,
    load9,
    rotate,
    scale,
    sub,
    unrotate,
)

from .record import (
    ELEMENTS,
    FIRST,
    FLOOR,
    FRAMES,
    FREE,
    KIND,
    LENGTH,
    PARENT,
    PW,
    Q0,
    RW,
    SECOND,
    SIGMA,
    SPEED,
    TURN,
    WORLD_ROW,
    A,
    F,
    L,
    N,
    V,
    W,
    passive_force,
    place,
)


@kernel
def raised(record, r, frame):
    """A frame (rotation, origin, velocity, angular velocity) seen from the body of row r, as seen from its parent."""
    R, x, v, w = frame
    row = record[r]
    if r == 0 or row[SIGMA] == FREE:
        a, p = load9(row, RW), load3(row, PW)
        turn = load3(row, W)
        v = add(v, add(load3(row, V), cross(turn, x)))
        w = add(w, turn)
    else:
        a, p = load9(row, A), load3(row, L)
        if row[SIGMA] == PRISMATIC:
            v = (v[0], v[1], v[2] + row[SPEED])
        else:
            v = (v[0] - row[SPEED] * x[1], v[1] + row[SPEED] * x[0], v[2])
            w = (w[0], w[1], w[2] + row[SPEED])
    return compose(a, R), add(p, rotate(a, x)), rotate(a, v), rotate(a, w)


@kernel
def above(record, r):
    """Row of the body that carries the one of row r."""
    return int(record[r, PARENT]) if r > 0 else WORLD_ROW


@kernel
def meeting(record, element):
    """Both frames of an element, seen from the body where their branches meet."""
    first, second = int(element[FIRST]), int(element[SECOND])
    x, y = load3(element, FRAMES + 9), load3(element, FRAMES + 21)
    rest = scale(0.0, x)
    one = load9(element, FRAMES), x, rest, rest
    two = load9(element, FRAMES + 12), y, rest, rest
    while first != second:
        if first > second:
            one = raised(record, first, one)
            first = above(record, first)
        else:
            two = raised(record, second, two)
            second = above(record, second)
    return one, two


@kernel
def coordinate(element, one, two):
    """x and x' of an element, and the force and moment at the second frame's origin that stand for one unit along x.

    x of an angle is counted from where its spring rests, and lies within half a turn.
    """
    R, p, v, w = one
    d, rate = sub(two[1], p), sub(two[2], v)
    nothing = scale(0.0, d)
    if element[KIND] == LENGTH:
        x = sqrt(dot(d, d) + element[FLOOR])
        u = scale(1.0 / x, d)
        return x, dot(u, rate), u, nothing
    z = (R[2], R[5], R[8])
    if element[KIND] == TURN:
        side = (two[0][0], two[0][3], two[0][6])
        across, along = dot(side, (R[1], R[4], R[7])), dot(side, (R[0], R[3], R[6]))
        c, s = cos(element[Q0]), sin(element[Q0])
        return atan2(across * c - along * s, along * c + across * s) + element[Q0], dot(z, sub(two[3], w)), nothing, z
    return dot(z, d), dot(z, rate) + dot(cross(w, z), d), z, nothing


@kernel
def pull(record, row, R, frame, force, moment, origin):
    """Take a force and a moment at the origin of a frame from the wrench that the body of a row needs."""
    a = load9(frame, origin)
    f = rotate(a, unrotate(R, force))
    add_to3(record[row], F, scale(-1.0, f))
    add_to3(record[row], N, scale(-1.0, add(rotate(a, unrotate(R, moment)), cross(load3(frame, origin + 9), f))))


@kernel
def add_element_forces(record):
    """Take what the force elements do to the bodies from the wrenches F, N in their rows.

    Bodies are placed, and the rates of joints are in their rows. Where a length with a rest length is zero, its
    direction is not defined, and neither is the answer finite.
    """
    last = record.shape[0]
    for k in range(last - int(record[0, ELEMENTS]), last):
        element = record[k]
        one, two = meeting(record, element)
        x, rate, u, turn = coordinate(element, one, two)
        force = passive_force(element, x, rate)
        first, second = int(element[FIRST]), int(element[SECOND])
        f = scale(force, u)
        m = add(scale(force, turn), cross(sub(two[1], one[1]), f))
        if first != WORLD_ROW:
            pull(record, first, one[0], element, f, m, FRAMES)
        if second != WORLD_ROW:
            pull(record, second, two[0], element, scale(-1.0, f), scale(-force, turn), FRAMES + 12)


@entry
def element_motion(record, q, qd, out):
    """x and x' (e, 2) of the force elements at q, qd (n,) of the joints on a fixed base."""
    for j in range(q.shape[0]):
        place(record[j + 1], q[j])
        record[j + 1, SPEED] = qd[j]
    first = record.shape[0] - out.shape[0]
    for k in range(out.shape[0]):
        one, two = meeting(record, record[first + k])
        out[k, 0], out[k, 1], _, _ = coordinate(record[first + k], one, two)
