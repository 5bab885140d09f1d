"""Rotations, vectors and symmetric matrices as tuples of scalars, for kernels.

A vector is (x, y, z), a rotation the nine entries of its matrix row by row, a symmetric matrix
(xx, xy, xz, yy, yz, zz). Tuples live in registers: nothing is allocated.
"""

from __future__ import annotations

from math import cos, sin, sqrt

from dyn_core.jit.kernel import kernel


@kernel
def load3(row, k):
    return row[k], row[k + 1], row[k + 2]


@kernel
def store3(row, k, v):
    row[k] = v[0]
    row[k + 1] = v[1]
    row[k + 2] = v[2]


@kernel
def add_to3(row, k, v):
    row[k] += v[0]
    row[k + 1] += v[1]
    row[k + 2] += v[2]


@kernel
def load6(row, k):
    return row[k], row[k + 1], row[k + 2], row[k + 3], row[k + 4], row[k + 5]


@kernel
def store6(row, k, s):
    row[k] = s[0]
    row[k + 1] = s[1]
    row[k + 2] = s[2]
    row[k + 3] = s[3]
    row[k + 4] = s[4]
    row[k + 5] = s[5]


@kernel
def add_to6(row, k, s):
    row[k] += s[0]
    row[k + 1] += s[1]
    row[k + 2] += s[2]
    row[k + 3] += s[3]
    row[k + 4] += s[4]
    row[k + 5] += s[5]


@kernel
def load9(row, k):
    return (
        row[k], row[k + 1], row[k + 2],
        row[k + 3], row[k + 4], row[k + 5],
        row[k + 6], row[k + 7], row[k + 8],
    )  # fmt: skip


@kernel
def store9(row, k, a):
    row[k] = a[0]
    row[k + 1] = a[1]
    row[k + 2] = a[2]
    row[k + 3] = a[3]
    row[k + 4] = a[4]
    row[k + 5] = a[5]
    row[k + 6] = a[6]
    row[k + 7] = a[7]
    row[k + 8] = a[8]


@kernel
def add_to9(row, k, a):
    row[k] += a[0]
    row[k + 1] += a[1]
    row[k + 2] += a[2]
    row[k + 3] += a[3]
    row[k + 4] += a[4]
    row[k + 5] += a[5]
    row[k + 6] += a[6]
    row[k + 7] += a[7]
    row[k + 8] += a[8]


@kernel
def add(u, v):
    return u[0] + v[0], u[1] + v[1], u[2] + v[2]


@kernel
def sub(u, v):
    return u[0] - v[0], u[1] - v[1], u[2] - v[2]


@kernel
def scale(k, v):
    return k * v[0], k * v[1], k * v[2]


@kernel
def dot(u, v):
    return u[0] * v[0] + u[1] * v[1] + u[2] * v[2]


@kernel
def cross(u, v):
    return u[1] * v[2] - u[2] * v[1], u[2] * v[0] - u[0] * v[2], u[0] * v[1] - u[1] * v[0]


@kernel
def rotate(A, v):
    """A v."""
    return (
        A[0] * v[0] + A[1] * v[1] + A[2] * v[2],
        A[3] * v[0] + A[4] * v[1] + A[5] * v[2],
        A[6] * v[0] + A[7] * v[1] + A[8] * v[2],
    )


@kernel
def unrotate(A, v):
    """A^T v."""
    return (
        A[0] * v[0] + A[3] * v[1] + A[6] * v[2],
        A[1] * v[0] + A[4] * v[1] + A[7] * v[2],
        A[2] * v[0] + A[5] * v[1] + A[8] * v[2],
    )


@kernel
def compose(A, B):
    """A B."""
    return (
        A[0] * B[0] + A[1] * B[3] + A[2] * B[6],
        A[0] * B[1] + A[1] * B[4] + A[2] * B[7],
        A[0] * B[2] + A[1] * B[5] + A[2] * B[8],
        A[3] * B[0] + A[4] * B[3] + A[5] * B[6],
        A[3] * B[1] + A[4] * B[4] + A[5] * B[7],
        A[3] * B[2] + A[4] * B[5] + A[5] * B[8],
        A[6] * B[0] + A[7] * B[3] + A[8] * B[6],
        A[6] * B[1] + A[7] * B[4] + A[8] * B[7],
        A[6] * B[2] + A[7] * B[5] + A[8] * B[8],
    )


@kernel
def transposed(A):
    return A[0], A[3], A[6], A[1], A[4], A[7], A[2], A[5], A[8]


@kernel
def turned_about_z(T, q):
    """T Rz(q)."""
    c = cos(q)
    s = sin(q)
    return (
        c * T[0] + s * T[1], c * T[1] - s * T[0], T[2],
        c * T[3] + s * T[4], c * T[4] - s * T[3], T[5],
        c * T[6] + s * T[7], c * T[7] - s * T[6], T[8],
    )  # fmt: skip


@kernel
def symmetric_times(S, v):
    """S v for symmetric S."""
    return (
        S[0] * v[0] + S[1] * v[1] + S[2] * v[2],
        S[1] * v[0] + S[3] * v[1] + S[4] * v[2],
        S[2] * v[0] + S[4] * v[1] + S[5] * v[2],
    )


@kernel
def full(S):
    """The nine entries of a symmetric matrix."""
    return S[0], S[1], S[2], S[1], S[3], S[4], S[2], S[4], S[5]


@kernel
def congruence(A, S):
    """A S A^T for symmetric S."""
    r0 = symmetric_times(S, (A[0], A[1], A[2]))
    r1 = symmetric_times(S, (A[3], A[4], A[5]))
    r2 = symmetric_times(S, (A[6], A[7], A[8]))
    a0 = (A[0], A[1], A[2])
    a1 = (A[3], A[4], A[5])
    a2 = (A[6], A[7], A[8])
    return dot(a0, r0), dot(a0, r1), dot(a0, r2), dot(a1, r1), dot(a1, r2), dot(a2, r2)


@kernel
def symmetric_product(u, v):
    """2 (u.v) 1 - u v^T - v u^T, the inertia that first moments v gain when moved by u."""
    return (
        2.0 * (u[1] * v[1] + u[2] * v[2]),
        -u[0] * v[1] - u[1] * v[0],
        -u[0] * v[2] - u[2] * v[0],
        2.0 * (u[0] * v[0] + u[2] * v[2]),
        -u[1] * v[2] - u[2] * v[1],
        2.0 * (u[0] * v[0] + u[1] * v[1]),
    )


@kernel
def symmetric_inverse(S):
    """S^-1 for a regular symmetric S."""
    a = S[3] * S[5] - S[4] * S[4]
    b = S[2] * S[4] - S[1] * S[5]
    c = S[1] * S[4] - S[2] * S[3]
    k = 1.0 / (S[0] * a + S[1] * b + S[2] * c)
    return (
        k * a,
        k * b,
        k * c,
        k * (S[0] * S[5] - S[2] * S[2]),
        k * (S[1] * S[2] - S[0] * S[4]),
        k * (S[0] * S[3] - S[1] * S[1]),
    )


@kernel
def quaternion_rotation(u):
    """The rotation of a quaternion (x, y, z, w) of any length but zero."""
    x, y, z, w = u
    k = 2.0 / (x * x + y * y + z * z + w * w)
    return (
        1.0 - k * (y * y + z * z), k * (x * y - z * w), k * (x * z + y * w),
        k * (x * y + z * w), 1.0 - k * (x * x + z * z), k * (y * z - x * w),
        k * (x * z - y * w), k * (y * z + x * w), 1.0 - k * (x * x + y * y),
    )  # fmt: skip


@kernel
def quaternion_product(a, b):
    """a b, (x, y, z, w)."""
    return (
        a[3] * b[0] + a[0] * b[3] + a[1] * b[2] - a[2] * b[1],
        a[3] * b[1] + a[1] * b[3] + a[2] * b[0] - a[0] * b[2],
        a[3] * b[2] + a[2] * b[3] + a[0] * b[1] - a[1] * b[0],
        a[3] * b[3] - a[0] * b[0] - a[1] * b[1] - a[2] * b[2],
    )


@kernel
def turned(u, r):
    """The unit quaternion u followed by the rotation vector r (in the turned axes), a unit quaternion again."""
    angle = sqrt(dot(r, r))
    k = 0.5 - angle * angle / 48.0 if angle < 1e-4 else sin(0.5 * angle) / angle
    x, y, z, w = quaternion_product(u, (k * r[0], k * r[1], k * r[2], cos(0.5 * angle)))
    length = sqrt(x * x + y * y + z * z + w * w)
    return x / length, y / length, z / length, w / length
