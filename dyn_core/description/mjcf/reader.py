"""MJCF to Mechanism (docs/formats.md), by way of the package `mujoco`.

MuJoCo's own compiler resolves includes, defaults, Euler conventions, and the inertia of geoms and meshes; its result is
read here. A body with several joints becomes as many bodies, all but the last without mass; a ball joint becomes three
hinges about x, y and z.
"""

from __future__ import annotations

import math
import warnings
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from dyn_core.arrays import Floats
from dyn_core.errors import DescriptionError, DescriptionWarning, MissingLibraryError
from dyn_core.mechanism import FloatingBase, Mechanism
from dyn_core.spatial.poses import pose, rotation_to_axis

from ..assembly import Heading, assemble_named, idle_joints, resolve_leaders
from ..cut_joint import Cut, with_loops
from ..inertial import NO_MASS, Inertial
from ..joint_entry import JointEntry, Placement

WORLD = 0


def read_mjcf(path: Path) -> Mechanism:
    """The mechanism of an MJCF file; what it says that cannot be taken is said in a warning or a DescriptionError."""
    return _Reader(path).mechanism()


class _Reader:
    def __init__(self, path: Path) -> None:
        try:
            import mujoco
        except ImportError as error:
            raise MissingLibraryError(
                f"{path} is MJCF, which needs the package mujoco: ./dyn setup mjcf, or pip install mujoco"
            ) from error
        self.path, self.mj = path, mujoco
        try:
            self.m: Any = mujoco.MjModel.from_xml_path(str(path))
        except ValueError as error:
            raise DescriptionError(f"{path}: MuJoCo cannot compile it: {error}") from error
        self.left_out: Counter[str] = Counter()
        """What the file says and the mechanism does not have."""
        self.entries: dict[int, JointEntry] = {}
        """By the index of a joint; of a ball joint the last."""
        self.floating = -1
        """The body on a free joint."""

    def name(self, kind: str, index: int) -> str:
        found = self.mj.mj_id2name(self.m, getattr(self.mj.mjtObj, f"mjOBJ_{kind}"), index)
        return found or f"{kind.lower()}{index}"

    def refuse(self, sentence: str) -> DescriptionError:
        return DescriptionError(f"{self.path}: {sentence}")

    def mechanism(self) -> Mechanism:
        m = self.m
        self._find_floating_base()
        base = "base" if self.floating < 0 else self.name("BODY", self.floating)
        scenery = self._scenery()
        bodies = [body for body in range(1, m.nbody) if body != self.floating and body not in scenery]
        ordered = [*self._sites(max(self.floating, WORLD), base)]
        ordered += [entry for body in bodies for entry in self._entries(body, base)]
        if not any(entry.moves for entry in ordered):
            raise self.refuse("no joint moves")
        self._drive()
        cuts = list(self._equalities())
        if circle := resolve_leaders(ordered):
            raise self.refuse(f"joint '{circle}' follows, in the end, itself")
        trunk = None
        if self.floating >= 0:
            trunk = FloatingBase(base, *self._inertial(self.floating).standard_parameters())
        model_name = m.names[: m.names.index(b"\0")].decode() or self.path.stem
        heading = Heading(model_name, f"from {self.path.name}", np.array(m.opt.gravity, float))
        mechanism, at = assemble_named(heading, ordered, base, trunk)
        idle = [] if cuts else idle_joints(mechanism, self.path)
        if idle:
            raise self.refuse(f"joint '{idle[0]}' has nothing to move: what hangs on it has no mass or inertia")
        self._say_left_out()
        return with_loops(mechanism, cuts, at, self.path, self._assembly(mechanism) if cuts else None)

    def _find_floating_base(self) -> None:
        m = self.m
        free = [int(m.jnt_bodyid[j]) for j in range(m.njnt) if m.jnt_type[j] == self.mj.mjtJoint.mjJNT_FREE]
        if not free:
            return
        if {int(m.body_rootid[body]) for body in m.jnt_bodyid} != set(free[:1]):
            raise self.refuse(
                f"has a free joint at {self.name('BODY', free[-1])} beside other bodies that move;"
                " a robot has one floating base, leave the other objects out"
            )
        self.floating = free[0]

    def _scenery(self) -> set[int]:
        """Bodies that stand still beside a floating base."""
        if self.floating < 0:
            return set()
        still = {body for body in range(1, self.m.nbody) if self.m.body_weldid[body] == WORLD}
        self.left_out.update(f"{self.name('BODY', body)}, which is fixed to the world" for body in still)
        return still

    def _inertial(self, body: int) -> Inertial:
        m = self.m
        if m.body_gravcomp[body]:
            self.left_out["gravity compensation of bodies (gravcomp)"] += 1
        turned = pose(self._rotation(m.body_iquat[body]), m.body_ipos[body])
        return Inertial(float(m.body_mass[body]), np.zeros(3), np.diag(m.body_inertia[body])).moved(turned)

    def _rotation(self, quaternion: Floats) -> Floats:
        R = np.empty(9)
        self.mj.mju_quat2Mat(R, quaternion)
        return R.reshape(3, 3)

    def _entries(self, body: int, base: str) -> Iterator[JointEntry]:
        """The joints that carry a body, and its sites."""
        m, link = self.m, self.name("BODY", body)
        above = int(m.body_parentid[body])
        parent = base if above in (WORLD, self.floating) else self.name("BODY", above)
        at = pose(self._rotation(m.body_quat[body]), m.body_pos[body])
        joints = list(self._single_joints(body))
        if not joints:
            yield JointEntry(name=f"{link}_fixed", kind="fixed", link=link, parent=parent,
                             placement=Placement(at, np.eye(4)), inertial=self._inertial(body))  # fmt: skip
        for k, (name, joint, kind, axis) in enumerate(joints):
            last = k == len(joints) - 1
            anchor, Q = np.array(m.jnt_pos[joint], float), rotation_to_axis(axis)
            value = 0.0 if kind == "fixed" else self._reference(joint)
            back = pose(p=-value * axis) if kind == "prismatic" else pose(self._turn(axis, -value))
            front = (at if k == 0 else np.eye(4)) @ pose(p=anchor) @ back @ pose(Q)
            entry = JointEntry(
                name=name,
                kind=kind,
                link=link if last else f"{link}_{name}",
                parent=parent,
                placement=Placement(front, pose(Q.T) @ pose(p=-anchor)),
                inertial=self._inertial(body) if last else NO_MASS,
            )
            self._properties(entry, joint)
            self.entries[joint] = entry
            parent = entry.link
            yield entry
        yield from self._sites(body, link)

    def _sites(self, body: int, link: str) -> Iterator[JointEntry]:
        """The sites of a body as links on fixed joints."""
        m = self.m
        for site in np.flatnonzero(m.site_bodyid == body):
            frame = Placement(pose(self._rotation(m.site_quat[site]), m.site_pos[site]), np.eye(4))
            label = self.name("SITE", int(site))
            if self.mj.mj_name2id(m, self.mj.mjtObj.mjOBJ_BODY, label) < 0:
                yield JointEntry(name=f"{label}_fixed", kind="fixed", link=label, parent=link, placement=frame)

    def _single_joints(self, body: int) -> Iterator[tuple[str, int, str, Floats]]:
        m, kinds = self.m, self.mj.mjtJoint
        for joint in range(m.body_jntadr[body], m.body_jntadr[body] + m.body_jntnum[body]):
            name = self.name("JOINT", joint)
            if m.jnt_type[joint] == kinds.mjJNT_BALL:
                if m.jnt_stiffness[joint]:
                    raise self.refuse(f"joint '{name}' is a ball with a spring, which cannot be said here")
                if m.jnt_limited[joint]:
                    self.left_out[f"the range of ball joint {name}"] += 1
                for axis, letter in zip(np.eye(3), "xyz", strict=True):
                    yield f"{name}_{letter}", joint, "revolute", axis
            else:
                kind = "revolute" if m.jnt_type[joint] == kinds.mjJNT_HINGE else "prismatic"
                yield name, joint, kind, np.array(m.jnt_axis[joint], float)

    def _reference(self, joint: int) -> float:
        """The joint's position in which the file draws it."""
        ball = self.m.jnt_type[joint] == self.mj.mjtJoint.mjJNT_BALL
        return 0.0 if ball else float(self.m.qpos0[self.m.jnt_qposadr[joint]])

    def _turn(self, axis: Floats, angle: float) -> Floats:
        quaternion = np.empty(4)
        self.mj.mju_axisAngle2Quat(quaternion, axis, angle)
        return self._rotation(quaternion)

    def _properties(self, entry: JointEntry, joint: int) -> None:
        m, dof = self.m, int(self.m.jnt_dofadr[joint])
        ball = m.jnt_type[joint] == self.mj.mjtJoint.mjJNT_BALL
        damping, friction, armature = (float(x[dof]) for x in (m.dof_damping, m.dof_frictionloss, m.dof_armature))
        if ball and (friction or armature):
            raise self.refuse(f"joint '{entry.name}' is of a ball with friction or armature, which cannot be said here")
        if ball and damping:
            self.left_out["the damping of ball joints, whose three hinges would turn otherwise"] += 1
        else:
            entry.Fv, entry.Fs, entry.Ia = damping, friction, armature
        for what in ("dof_dampingpoly", "jnt_stiffnesspoly"):
            found = getattr(m, what, None)
            if found is not None and np.any(found[dof if what.startswith("dof") else joint]):
                raise self.refuse(f"joint '{entry.name}' has nonlinear damping or stiffness, which cannot be said here")
        if ball:
            return
        if m.jnt_limited[joint]:
            entry.limits = float(m.jnt_range[joint, 0]), float(m.jnt_range[joint, 1])
        if m.jnt_stiffness[joint]:
            entry.spring = float(m.jnt_stiffness[joint])
            entry.rest = float(m.qpos_spring[m.jnt_qposadr[joint]])
        if m.jnt_actfrclimited[joint]:
            entry.effort = float(np.abs(m.jnt_actfrcrange[joint]).max())

    def _drive(self) -> None:
        """Which joints are driven, and how hard: by the actuators; by none, all are."""
        m, kinds = self.m, self.mj.mjtTrn
        driven: set[int] = set()
        for k in range(m.nu):
            kind, target = kinds(int(m.actuator_trntype[k])), int(m.actuator_trnid[k, 0])
            label = self.name("ACTUATOR", k)
            if kind in (kinds.mjTRN_JOINT, kinds.mjTRN_JOINTINPARENT) and target in self.entries:
                driven.add(target)
                self._effort(self.entries[target], k, abs(float(m.actuator_gear[k, 0])))
            elif kind == kinds.mjTRN_TENDON and (joints := self._fixed_tendon(target)):
                driven |= joints.keys()
                self.left_out[f"how actuator {label} shares its force among {len(joints)} joints of a tendon"] += 1
            else:
                self.left_out[f"actuator {label}, which acts on no joint"] += 1
        for tendon in range(m.ntendon):
            if m.tendon_stiffness[tendon] or m.tendon_damping[tendon] or m.tendon_limited[tendon]:
                self.left_out["springs, dampers and limits of tendons"] += 1
        if not driven:
            return
        for joint, entry in self.entries.items():
            entry.active = joint in driven and not entry.spring
            if joint in driven and entry.spring:
                raise self.refuse(
                    f"joint '{entry.name}' has an actuator and a spring; only one of them can be said here"
                )

    def _effort(self, entry: JointEntry, actuator: int, gear: float) -> None:
        m = self.m
        plain = m.actuator_biastype[actuator] == self.mj.mjtBias.mjBIAS_NONE
        most = math.inf
        if m.actuator_forcelimited[actuator]:
            most = float(np.abs(m.actuator_forcerange[actuator]).max())
        elif plain and m.actuator_ctrllimited[actuator]:
            most = float(np.abs(m.actuator_ctrlrange[actuator]).max() * abs(m.actuator_gainprm[actuator, 0]))
        entry.effort = min(entry.effort, most * gear)

    def _fixed_tendon(self, tendon: int) -> dict[int, float]:
        """Coefficients of the joints of a tendon; none for one that runs through space."""
        m = self.m
        rows = range(m.tendon_adr[tendon], m.tendon_adr[tendon] + m.tendon_num[tendon])
        if any(m.wrap_type[k] != self.mj.mjtWrap.mjWRAP_JOINT for k in rows):
            return {}
        return {int(m.wrap_objid[k]): float(m.wrap_prm[k]) for k in rows}

    def _equalities(self) -> Iterator[Cut]:
        """What closes loops; joints that follow others are told whom."""
        m, kinds = self.m, self.mj.mjtEq
        for k in np.flatnonzero(m.eq_active0):
            kind, data = kinds(int(m.eq_type[k])), np.array(m.eq_data[k], float)
            label = self.name("EQUALITY", int(k))
            if kind == kinds.mjEQ_JOINT:
                self._couple(label, int(m.eq_obj1id[k]), int(m.eq_obj2id[k]), data)
            elif kind in (kinds.mjEQ_CONNECT, kinds.mjEQ_WELD):
                weld = kind == kinds.mjEQ_WELD
                if m.eq_objtype[k] == self.mj.mjtObj.mjOBJ_SITE:
                    poses = [pose(), pose()]
                elif weld:
                    poses = [pose(self._rotation(data[6:10]), data[3:6]), pose(p=data[:3])]
                else:
                    poses = [pose(p=data[:3]), pose(p=data[3:6])]
                first, second = (self._end(int(m.eq_objtype[k]), int(each[k])) for each in (m.eq_obj1id, m.eq_obj2id))
                yield Cut(label, "fixed" if weld else "spherical", ((first, poses[0]), (second, poses[1])))
            else:
                raise self.refuse(f"equality '{label}' is neither connect, weld nor joint, and cannot be said here")

    def _end(self, kind: int, index: int) -> str:
        if kind == self.mj.mjtObj.mjOBJ_SITE:
            return self.name("SITE", index)
        if index == WORLD and self.floating >= 0:
            raise self.refuse("a floating base is tied to the world, which cannot be said here")
        return "base" if index == WORLD else self.name("BODY", index)

    def _couple(self, label: str, follower: int, leader: int, data: Floats) -> None:
        if leader < 0 or data[2:5].any():
            raise self.refuse(f"equality '{label}' is not linear between two joints, and cannot be said here")
        entry, other = self.entries[follower], self.entries[leader]
        entry.leader, entry.multiplier = other.name, float(data[1])
        entry.offset = float(data[0]) + self._reference(follower) - entry.multiplier * self._reference(leader)

    def _assembly(self, mechanism: Mechanism) -> Floats | None:
        """(n,) the positions of the first keyframe, or those in which the file draws the robot; None: all zero."""
        m = self.m
        drawn = m.key_qpos[0] if m.nkey else m.qpos0
        q = {}
        for joint, entry in self.entries.items():
            at = int(m.jnt_qposadr[joint])
            if m.jnt_type[joint] != self.mj.mjtJoint.mjJNT_BALL:
                q[entry.name] = float(drawn[at])
                continue
            R = self._rotation(drawn[at : at + 4])
            angles = (
                math.atan2(-R[1, 2], R[2, 2]),
                math.asin(np.clip(R[0, 2], -1.0, 1.0)),
                math.atan2(-R[0, 1], R[0, 0]),
            )
            q |= {f"{self.name('JOINT', joint)}_{letter}": x for letter, x in zip("xyz", angles, strict=True)}
        assembly = np.array([q[name] for name in mechanism.joint_names])
        return assembly if m.nkey or assembly.any() else None

    def _say_left_out(self) -> None:
        if self.left_out:
            said = "; ".join(sorted(self.left_out))
            warnings.warn(f"{self.path}: left out: {said}", DescriptionWarning, stacklevel=4)
