"""A robot of ours in MuJoCo: joints mapped by name, constraints solved exactly instead of MuJoCo's soft ones."""

from __future__ import annotations

from pathlib import Path

import mujoco
import numpy as np

FREE_OF_CONSTRAINTS = mujoco.mjtDisableBit.mjDSBL_CONSTRAINT


class MujocoPeer:
    """The tree and its constraints by MuJoCo; every joint is a hinge or a slide."""

    def __init__(self, path: Path, joint_names: tuple[str, ...]) -> None:
        self.m = mujoco.MjModel.from_xml_path(str(path))
        self.m.opt.disableflags |= FREE_OF_CONSTRAINTS  # friction among them
        self.d = mujoco.MjData(self.m)
        ids = [mujoco.mj_name2id(self.m, mujoco.mjtObj.mjOBJ_JOINT, name) for name in joint_names]
        self.qpos, self.dofs = self.m.jnt_qposadr[ids], self.m.jnt_dofadr[ids]

    def at(self, q: np.ndarray, qd: np.ndarray) -> None:
        """Stand at positions and speeds of all joints."""
        self.d.qpos[self.qpos], self.d.qvel[self.dofs] = q, qd
        mujoco.mj_forward(self.m, self.d)

    def inverse(self, q: np.ndarray, qd: np.ndarray, qdd: np.ndarray) -> np.ndarray:
        """Forces at the joints of the open tree, without dry friction."""
        self.at(q, qd)
        self.d.qacc[self.dofs] = qdd
        mujoco.mj_inverse(self.m, self.d)
        return self.d.qfrc_inverse[self.dofs]

    def direct(self, q: np.ndarray, qd: np.ndarray, tau: np.ndarray) -> np.ndarray:
        """Accelerations of all joints under forces tau at them, the active equalities met exactly (KKT).

        [M  -J'] [qdd]   [tau - bias + passive]
        [J   0 ] [ f ] = [     -dJ/dt qd      ]
        """
        self.at(q, qd)
        m, d = self.m, self.d
        M = np.empty((m.nv, m.nv))
        mujoco.mj_fullM(m, M, d.qM) if hasattr(d, "qM") else mujoco.mj_fullM(m, d, M)
        J, bias = self.constraints()
        forces = d.qfrc_passive - d.qfrc_bias
        forces[self.dofs] += tau
        K = np.block([[M, -J.T], [J, np.zeros((len(J), len(J)))]])
        return np.linalg.lstsq(K, np.concatenate([forces, -bias]), rcond=1e-12)[0][: m.nv][self.dofs]

    def constraints(self) -> tuple[np.ndarray, np.ndarray]:
        """J (c, nv) of connects, welds and coupled joints, and dJ/dt qd (c,), where they are met."""
        m, d, kinds = self.m, self.d, mujoco.mjtEq
        rows, bias = [np.zeros((0, m.nv))], [np.zeros(0)]
        for k in np.flatnonzero(m.eq_active0):
            one, two, data = int(m.eq_obj1id[k]), int(m.eq_obj2id[k]), m.eq_data[k]
            if m.eq_type[k] == kinds.mjEQ_JOINT:
                row = np.zeros((1, m.nv))
                row[0, m.jnt_dofadr[one]] = 1.0
                row[0, m.jnt_dofadr[two]] = -data[1]
                rows.append(row)
                bias.append(np.zeros(1))
                continue
            weld = m.eq_type[k] == kinds.mjEQ_WELD
            if m.eq_objtype[k] == mujoco.mjtObj.mjOBJ_SITE:
                bodies = [int(m.site_bodyid[site]) for site in (one, two)]
                points = [d.site_xpos[site] for site in (one, two)]
            else:
                bodies = [one, two]
                anchors = [data[3:6], data[:3]] if weld else [data[:3], data[3:6]]
                points = [d.xpos[b] + d.xmat[b].reshape(3, 3) @ a for b, a in zip(bodies, anchors, strict=True)]
            (v1, w1, vd1, wd1), (v2, w2, vd2, wd2) = (self._point(p, b) for p, b in zip(points, bodies, strict=True))
            rows.append(np.concatenate([v1 - v2, w1 - w2]) if weld else v1 - v2)
            bias.append(np.concatenate([vd1 - vd2, wd1 - wd2]) @ d.qvel if weld else (vd1 - vd2) @ d.qvel)
        return np.concatenate(rows), np.concatenate(bias)

    def _point(self, point: np.ndarray, body: int) -> list[np.ndarray]:
        """Jacobians of a point on a body (linear, angular), and their rates."""
        out = [np.zeros((3, self.m.nv)) for _ in range(4)]
        mujoco.mj_jac(self.m, self.d, out[0], out[1], point, body)
        mujoco.mj_jacDot(self.m, self.d, out[2], out[3], point, body)
        return out
