"""Cartesian stiffness of a serial arm whose joints give way.

Under a wrench w at a frame (linear first, base axes) the joints yield by K_theta^-1 J^T w, so the frame moves by

    C w,   C = J K_theta^-1 J^T,   and   K = C^-1

where C is regular. Where it is not (a singular pose, or fewer than six compliant joints) the frame is rigid in the
directions that C does not reach: its stiffness there is infinite and only C can be given.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .mechanism import Floats

RANK_TOLERANCE = 1e-6  # of the largest singular value, lengths by the reach: beyond it C has no digits to invert


@dataclass(frozen=True)
class Stiffness:
    """Stiffness and compliance of a frame at one configuration, base axes, linear first."""

    frame: str
    point: Floats
    """(3,) the frame's origin in the base frame, m."""
    C: Floats
    """(6, 6) compliance: m/N, m/(N m), rad/N, rad/(N m)."""
    K: Floats | None
    """(6, 6) stiffness: N/m, N/rad, N m/m, N m/rad; None where it is not finite."""
    rank: int
    """In how many of six directions the frame gives way."""
    statement: str
    """Empty where K exists, else why it does not."""

    @property
    def eigenvalues(self) -> Floats:
        """(6,) of K, ascending; of C where there is no K."""
        return np.linalg.eigvalsh(self.C if self.K is None else self.K)

    @property
    def condition(self) -> float:
        """Condition number of K; infinite where it does not exist."""
        return float("inf") if self.K is None else float(np.linalg.cond(self.K))

    def deflection(self, wrench: Floats) -> Floats:
        """(6,) translation (m) and rotation (rad) of the frame under a wrench (N, N m), small."""
        return self.C @ wrench


def cartesian_stiffness(J: Floats, K_theta: Floats, point: Floats, frame: str) -> Stiffness:
    """Stiffness of a frame with Jacobian J (6, n) and joint stiffnesses K_theta (n,), inf where a joint is rigid."""
    compliance = 1.0 / K_theta
    C = (J * compliance) @ J.T
    reach = max(float(np.abs(J[:3]).max()), 1e-12)
    G = np.vstack([J[:3] / reach, J[3:]]) * np.sqrt(compliance)
    sigma = np.linalg.svd(G, compute_uv=False)
    rank = int((sigma > RANK_TOLERANCE * sigma[0]).sum()) if sigma[0] > 0.0 else 0
    compliant = int((compliance > 0.0).sum())
    if rank == 6:
        K = np.linalg.inv(C)
        return Stiffness(frame, point, C, 0.5 * (K + K.T), rank, "")
    if compliant == 0:
        statement = "every joint is described as rigid, so the stiffness is infinite; give the joints a `stiffness`"
    elif compliant < 6:
        statement = (
            f"only {compliant} joint{'s' if compliant > 1 else ''} can give way, so the frame is compliant in"
            f" {rank} of 6 directions and its stiffness in the others is infinite; the compliance is given"
        )
    else:
        statement = (
            f"singular pose: the Jacobian has rank {rank}, so the stiffness is infinite in {6 - rank}"
            f" direction{'s' if rank < 5 else ''}; the compliance is given"
        )
    return Stiffness(frame, point, C, None, rank, statement)
