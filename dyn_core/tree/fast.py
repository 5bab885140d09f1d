"""The tree's kernels as fast calls: one state, no wrenches."""

from __future__ import annotations

from ..fastcall import (
    ROWS,
    FastCall,
    answered,
    are_vectors,
    beside,
    bound_to,
    is_vector,
    matrix,
    model,
    new_answer,
    no_answer,
    vector,
    words,
)
from ..jit import kernel
from .aba import articulated_bodies
from .floating import direct, inverse
from .kinematics import body_poses, write_jacobian, write_pose
from .record import start_fixed
from .rnea import newton_euler
from .walker_orin import composite_bodies

UNIT = 1e-6  # how far the squared length of a quaternion may be from 1


@FastCall
def inverse_dynamics(self, arguments, count):
    """tau (n,) from q, qd, qdd on a fixed base."""
    context, a = bound_to(self), words(arguments)
    n = context[ROWS] - 1
    if count != 3 or not are_vectors(context, a, n, n, n):
        return no_answer(context)
    tau = new_answer(self)
    if tau == 0:
        return tau
    record = model(context)
    start_fixed(record, 1.0)
    status = newton_euler(record, vector(a[0], n), vector(a[1], n), vector(a[2], n), record[:0], vector(tau, n))
    return answered(context, tau, status)


@FastCall
def forward_dynamics(self, arguments, count):
    """qdd (n,) from q, qd, tau on a fixed base."""
    context, a = bound_to(self), words(arguments)
    n = context[ROWS] - 1
    if count != 3 or not are_vectors(context, a, n, n, n):
        return no_answer(context)
    qdd = new_answer(self)
    if qdd == 0:
        return qdd
    record = model(context)
    start_fixed(record, 1.0)
    q, qd, tau, out = vector(a[0], n), vector(a[1], n), vector(a[2], n), vector(qdd, n)
    return answered(context, qdd, articulated_bodies(record, q, qd, q[:0], record[:0], tau, out))


@FastCall
def mass_matrix(self, arguments, count):
    """H (n, n) from q on a fixed base."""
    context, a = bound_to(self), words(arguments)
    n = context[ROWS] - 1
    if count != 1 or not is_vector(context, a[0], n):
        return no_answer(context)
    H = new_answer(self)
    if H == 0:
        return H
    return answered(context, H, composite_bodies(model(context), vector(a[0], n), matrix(H, n, n)))


@FastCall
def frame_pose(self, arguments, count):
    """Pose (4, 4) from q on a fixed base, of a frame: its constants (12) and its body's row are bound besides."""
    context, a = bound_to(self), words(arguments)
    n = context[ROWS] - 1
    if count != 1 or not is_vector(context, a[0], n):
        return no_answer(context)
    pose = new_answer(self)
    if pose == 0:
        return pose
    record, frame = model(context), beside(context, 0)[0]
    status = body_poses(record, vector(a[0], n))
    write_pose(record, int(frame[12]), frame, matrix(pose, 4, 4))
    return answered(context, pose, status)


@FastCall
def frame_jacobian(self, arguments, count):
    """Jacobian (6, n) from q on a fixed base, of a frame: its constants (12) and its body's row are bound besides."""
    context, a = bound_to(self), words(arguments)
    n = context[ROWS] - 1
    if count != 1 or not is_vector(context, a[0], n):
        return no_answer(context)
    jacobian = new_answer(self)
    if jacobian == 0:
        return jacobian
    record, frame = model(context), beside(context, 0)[0]
    status = body_poses(record, vector(a[0], n))
    write_jacobian(record, int(frame[12]), frame, matrix(jacobian, 6, n))
    return answered(context, jacobian, status)


@kernel
def is_unit(q):
    """Whether the orientation in q (7 + n,) is a unit quaternion."""
    return abs(q[3] * q[3] + q[4] * q[4] + q[5] * q[5] + q[6] * q[6] - 1.0) < UNIT


@FastCall
def floating_inverse_dynamics(self, arguments, count):
    """tau (6 + n,) from q, qd, qdd on a floating base."""
    context, a = bound_to(self), words(arguments)
    n = context[ROWS] - 1
    if count != 3 or not are_vectors(context, a, 7 + n, 6 + n, 6 + n) or not is_unit(vector(a[0], 7)):
        return no_answer(context)
    tau = new_answer(self)
    if tau == 0:
        return tau
    record = model(context)
    q, v, vd, out = vector(a[0], 7 + n), vector(a[1], 6 + n), vector(a[2], 6 + n), vector(tau, 6 + n)
    return answered(context, tau, inverse(record, q, v, vd, record[:0], out))


@FastCall
def floating_forward_dynamics(self, arguments, count):
    """qdd (6 + n,) from q, qd, tau on a floating base."""
    context, a = bound_to(self), words(arguments)
    n = context[ROWS] - 1
    if count != 3 or not are_vectors(context, a, 7 + n, 6 + n, 6 + n) or not is_unit(vector(a[0], 7)):
        return no_answer(context)
    qdd = new_answer(self)
    if qdd == 0:
        return qdd
    record = model(context)
    q, v, force, out = vector(a[0], 7 + n), vector(a[1], 6 + n), vector(a[2], 6 + n), vector(qdd, 6 + n)
    return answered(context, qdd, direct(record, q, v, q[:0], record[:0], force, out))


@FastCall
def floating_mass_matrix(self, arguments, count):
    """H (6 + n, 6 + n) from q on a floating base."""
    context, a = bound_to(self), words(arguments)
    n = context[ROWS] - 1
    if count != 1 or not is_vector(context, a[0], 7 + n) or not is_unit(vector(a[0], 7)):
        return no_answer(context)
    H = new_answer(self)
    if H == 0:
        return H
    return answered(context, H, composite_bodies(model(context), vector(a[0], 7 + n)[7:], matrix(H, 6 + n, 6 + n)))
