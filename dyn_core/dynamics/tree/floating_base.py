"""The motion of a base that moves freely (Khalil, section 7).

Configuration (7 + n,): position of the base in the world, its orientation as a unit quaternion (x, y, z, w), joints.
Velocity (6 + n,): linear velocity of the base's origin and angular velocity, both in the base's axes, joint rates.
Acceleration (6 + n,): classical acceleration of the base's origin and angular acceleration, in the base's axes, joint
accelerations. Forces (6 + n,): wrench on the base at its origin in its axes, joint forces.

Gravity enters as in a fixed base: the recursions work with the base's acceleration less gravity, which is added back
where the acceleration is an answer.
"""

from __future__ import annotations

from math import cos, sin, sqrt

from dyn_core.jit.kernel import kernel
from dyn_core.jit.status import NOT_FINITE, OK
from dyn_core.spatial.tuples import (
    add,
    cross,
    dot,
    load3,
    load9,
    quaternion_rotation,
    rotate,
    scale,
    store3,
    store9,
    sub,
    turned,
    unrotate,
)

from .aba import start_body
from .kinematics import BODY
from .record import GRAVITY, PW, RW, VD, WD, F, N, V, W, wrench_on
from .rnea import body_wrench

UNIT = 2e-6  # how far the squared length of a quaternion may be from 1


@kernel
def place_base(base, q):
    """Pose of the base in the world; NOT_FINITE where the orientation is not a unit quaternion."""
    r = quaternion_rotation((q[3], q[4], q[5], q[6]))
    store9(base, RW, r)
    store3(base, PW, (q[0], q[1], q[2]))
    return OK if abs(q[3] * q[3] + q[4] * q[4] + q[5] * q[5] + q[6] * q[6] - 1.0) < UNIT else NOT_FINITE


@kernel
def gravity_on(base):
    """Gravity in the axes of a base that is placed."""
    return unrotate(load9(base, RW), load3(base, GRAVITY))


@kernel
def start_moved(record, v, vd, wrenches):
    """A placed base that moves as given, and the wrench that this takes."""
    base = record[0]
    w = load3(v, 3)
    wd = load3(vd, 3)
    acceleration = sub(load3(vd, 0), gravity_on(base))
    store3(base, W, w)
    store3(base, V, load3(v, 0))
    store3(base, WD, wd)
    store3(base, VD, acceleration)
    f, m = body_wrench(base, w, wd, acceleration)
    if wrenches.shape[0] > 0:
        push, turn = wrench_on(wrenches, v.shape[0] - 6, -1)
        f = sub(f, push)
        m = sub(m, turn)
    store3(base, F, f)
    store3(base, N, m)


@kernel
def start_free(record, v, wrenches, force):
    """A placed base that moves as it must under a wrench, the first six of force."""
    base = record[0]
    w = load3(v, 3)
    store3(base, W, w)
    store3(base, V, load3(v, 0))
    start_body(base, w)
    push, turn = load3(force, 0), load3(force, 3)
    if wrenches.shape[0] > 0:
        f, m = wrench_on(wrenches, v.shape[0] - 6, -1)
        push = add(push, f)
        turn = add(turn, m)
    store3(base, F, sub(load3(base, F), push))
    store3(base, N, sub(load3(base, N), turn))


@kernel
def write_six(linear, angular, out):
    """The first six of out; NOT_FINITE where they are not."""
    store3(out, 0, linear)
    store3(out, 3, angular)
    nothing = 0.0
    for i in range(6):
        nothing += 0.0 * out[i]
    return OK if nothing == 0.0 else NOT_FINITE


@kernel
def write_base_jacobian(record, frame, jacobian):
    """The first six columns: the frame moves with the base as one body."""
    base, body = record[0], record[int(frame[BODY])]
    for i in range(3):
        arm = -base[PW + i] + body[PW + i]
        for k in range(3):
            arm += body[RW + 3 * i + k] * frame[9 + k]
        jacobian[i, 0] = arm
    x, y, z = jacobian[0, 0], jacobian[1, 0], jacobian[2, 0]
    for k in range(3):
        a, b, c = base[RW + k], base[RW + 3 + k], base[RW + 6 + k]
        jacobian[0, 3 + k] = b * z - c * y
        jacobian[1, 3 + k] = c * x - a * z
        jacobian[2, 3 + k] = a * y - b * x
        for i in range(3):
            jacobian[i, k] = jacobian[3 + i, 3 + k] = base[RW + 3 * i + k]
            jacobian[3 + i, k] = 0.0


@kernel
def screw(q, v, time, out):
    """The pose out[:7] after a time of constant velocity in the base's axes."""
    u = (q[3], q[4], q[5], q[6])
    r = scale(time, load3(v, 3))
    s = scale(time, load3(v, 0))
    angle = sqrt(dot(r, r))
    if angle < 1e-4:
        first, second = 0.5 - angle * angle / 24.0, 1.0 / 6.0 - angle * angle / 120.0
    else:
        first, second = (1.0 - cos(angle)) / angle**2, (angle - sin(angle)) / angle**3
    turn = cross(r, s)
    s = add(s, add(scale(first, turn), scale(second, cross(r, turn))))
    store3(out, 0, add(load3(q, 0), rotate(quaternion_rotation(u), s)))
    u = turned(u, r)
    for i in range(4):
        out[3 + i] = u[i]
