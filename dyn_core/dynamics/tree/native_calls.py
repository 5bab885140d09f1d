"""The tree's kernels as native calls: one state, no wrenches."""

from __future__ import annotations

from dyn_core.jit.kernel import kernel
from dyn_core.jit.native_call import NativeCall, bare
from dyn_core.jit.status import NOT_FINITE

from .aba import articulated_bodies
from .crba import composite_bodies
from .floating_base import direct, inverse
from .kinematics import body_poses, write_jacobian, write_pose
from .record import start_fixed
from .rnea import newton_euler

UNIT = 1e-6  # how far the squared length of a quaternion may be from 1


@NativeCall
def inverse_dynamics(record, q, qd, qdd, tau):
    """tau (n,) from q, qd, qdd on a fixed base."""
    start_fixed(record, 1.0)
    return newton_euler(record, q, qd, qdd, record[:0], tau)


@NativeCall
def forward_dynamics(record, q, qd, tau, qdd):
    """qdd (n,) from q, qd, tau on a fixed base."""
    start_fixed(record, 1.0)
    return articulated_bodies(record, q, qd, q[:0], record[:0], tau, qdd)


@NativeCall
def mass_matrix(record, q, H):
    """H (n, n) from q on a fixed base."""
    return composite_bodies(record, q, H)


@NativeCall
def frame_pose(record, frame, q, pose):
    """Pose (4, 4) from q on a fixed base, of a frame (13,): its constants, and its body's row."""
    status = body_poses(record, q)
    write_pose(record, int(frame[12]), frame, bare(pose, (4, 4)))
    return status


@NativeCall
def frame_jacobian(record, frame, q, jacobian):
    """Jacobian (6, n) from q on a fixed base, of a frame (13,): its constants, and its body's row."""
    status = body_poses(record, q)
    write_jacobian(record, int(frame[12]), frame, bare(jacobian, (6, q.shape[0])))
    return status


@kernel
def is_unit(q):
    """Whether the orientation in q (7 + n,) is a unit quaternion."""
    return abs(q[3] * q[3] + q[4] * q[4] + q[5] * q[5] + q[6] * q[6] - 1.0) < UNIT


@NativeCall
def floating_inverse_dynamics(record, q, v, vd, tau):
    """tau (6 + n,) from q, qd, qdd on a floating base."""
    return inverse(record, q, v, vd, record[:0], tau) if is_unit(q) else NOT_FINITE


@NativeCall
def floating_forward_dynamics(record, q, v, tau, vd):
    """qdd (6 + n,) from q, qd, tau on a floating base."""
    return direct(record, q, v, q[:0], record[:0], tau, vd) if is_unit(q) else NOT_FINITE


@NativeCall
def floating_mass_matrix(record, q, H):
    """H (6 + n, 6 + n) from q on a floating base."""
    return composite_bodies(record, q[7:], H) if is_unit(q) else NOT_FINITE
