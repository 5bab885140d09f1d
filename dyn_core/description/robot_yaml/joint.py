"""One entry of `joints` in the robot YAML: how the joint is placed, what moves it, and the link that it carries."""

from __future__ import annotations

import math
from dataclasses import dataclass

from dyn_core.mechanism import BASE, Beam
from dyn_core.spatial.poses import pose

from ..assembly import TYPES
from ..documents.yaml_section import YamlSection
from ..joint_entry import JointEntry, Placement
from .inertia import INERTIAL_KEYS, read_inertial
from .joint_notation import NOTATIONS, origin
from .link_compliance import read_link

MOTION_KEYS = (
    "limits", "friction", "Fv", "Fs", "rotor_inertia", "Ia", "stiffness", "spring", "mimic", "active", "motor",
)  # not for fixed joints  # fmt: skip
JOINT_KEYS = ("name", "type", "parent", *NOTATIONS, "axis", *MOTION_KEYS, "link")
LINK_KEYS = ("name", *INERTIAL_KEYS, "frame", "flexible", "beam", "compliance")
MIMIC_KEYS = ("joint", "multiplier", "offset")
MOTOR_FIGURES = {
    "torque_constant": ("Kt", "N m/A", None),
    "resistance": ("resistance", "ohm", None),
    "current_limit": ("current_limit", "A", math.inf),
    "voltage_limit": ("voltage_limit", "V", math.inf),
}
"""The field of Motors, the unit and the default of figures above zero."""
MOTOR_KEYS = ("gear_ratio", *MOTOR_FIGURES, "rotor_inertia", "viscous", "coulomb", "dac")
MAX_JOINTS = 1000
MAX_MODES = 20
MAX_DAC_BITS = 31  # a code is an int32 in the messages


@dataclass(kw_only=True, eq=False)
class YamlJoint(JointEntry):
    """A joint with the sections that mistakes of it and of its link are reported at."""

    section: YamlSection
    link_section: YamlSection


def read_joint(section: YamlSection, previous_link: str) -> YamlJoint:
    name = section.name("name")
    kind = section.choice("type", (*TYPES, "fixed"))
    given = [key for key in NOTATIONS if key in section]
    if len(given) == 1:
        placement = NOTATIONS[given[0]](section, kind)
    else:
        found = f"found {' and '.join(given)}" if given else "no placement"
        section.problem(given[-1] if given else "name", found, f"exactly one of {', '.join(NOTATIONS)}")
        placement = Placement(pose(), pose())
    link = section.section("link", LINK_KEYS)
    joint = YamlJoint(
        section=section,
        link_section=link,
        name=name,
        kind=kind,
        link=link.name("name", f"{name}_link"),
        parent=section.name("parent", previous_link),
        placement=placement,
        inertial=read_inertial(link),
        frame=origin(link.section("frame", ("xyz", "rpy"))),
    )
    if joint.moves:
        read_motion(section, joint)
    else:
        section.refuse(MOTION_KEYS, "has no meaning on a fixed joint", "a joint that moves, or no such key")
    joint.beam = _read_beam(link, kind)
    joint.compliance = read_link(link)
    return joint


def _read_beam(link: YamlSection, kind: str) -> Beam | None:
    """What makes a link flexible; its body is not known yet."""
    if "flexible" not in link:
        return None
    if kind != "revolute":
        link.problem("flexible", f"given for a link on a {kind} joint", "a link that turns on a revolute joint")
    beam = link.section("flexible", ("E", "I", "modes"))
    E, I = beam.number("E", unit="N/m^2", above=0.0), beam.number("I", unit="m^4", above=0.0)
    return Beam(BASE, E, I, beam.integer("modes", 1, MAX_MODES))


def read_motion(section: YamlSection, joint: YamlJoint) -> None:
    """Limits, friction, stiffness and motor of a joint that moves."""
    limits = section.section("limits", ("position", "velocity", "effort"))
    if "position" in limits:
        if joint.kind == "revolute":
            low, high = limits.angles("position", 2, default=joint.limits)
        else:
            low, high = limits.vector("position", 2, unit="m", default=joint.limits)
        if low >= high:
            limits.problem("position", f"the lower {low:g} is not below the upper {high:g}", "[lower, upper]")
        joint.limits = (low, high)
    joint.velocity = limits.number("velocity", unit="rad/s or m/s", above=0.0, default=math.inf)
    joint.effort = limits.number("effort", unit="N m or N", above=0.0, default=math.inf)
    if "spring" in section:
        _read_spring(section, joint)
    stiffness = joint.spring if joint.spring > 0.0 else math.inf
    joint.stiffness = section.number("stiffness", unit="N m/rad or N/m", above=0.0, default=stiffness)
    if "mimic" in section:
        _read_mimic(section, joint)
    joint.active = section.boolean("active", "spring" not in section)
    friction = section.section("friction", ("viscous", "coulomb"))
    joint.Ia = _either(section, "Ia", section, "rotor_inertia", "kg m^2 or kg")
    joint.Fv = _either(section, "Fv", friction, "viscous", "N m s/rad or N s/m")
    joint.Fs = _either(section, "Fs", friction, "coulomb", "N m or N")
    if "motor" in section:
        _read_motor(section, joint)


def _either(section: YamlSection, symbol: str, words: YamlSection, word: str, unit: str) -> float:
    """A figure that has Khalil's symbol and a key in words; at most one of them is given."""
    if symbol in section and word in words:
        section.problem(symbol, f"given together with {words.path(word)}", "one of them: they are the same figure")
    if symbol in section:
        return section.number(symbol, unit=unit, least=0.0, default=0.0)
    return words.number(word, unit=unit, least=0.0, default=0.0)


def _read_spring(section: YamlSection, joint: YamlJoint) -> None:
    """An elastic joint: -stiffness (q - rest) acts on it, and nothing drives it."""
    spring = section.section("spring", ("stiffness", "rest"))
    joint.spring = spring.number("stiffness", unit="N m/rad or N/m", above=0.0)
    joint.rest = spring.position("rest", turns=joint.kind == "revolute", default=0.0)
    if section.boolean("active", False):
        section.problem("active", "true, but the joint has a spring", "false: a spring moves it, not a motor")
    allowed = "a joint of its own for the motor, which carries the elastic joint"
    section.refuse(("motor",), "given for a joint with a spring", allowed)


def _read_mimic(section: YamlSection, joint: YamlJoint) -> None:
    """A joint that follows another: q = multiplier q_leader + offset."""
    mimic = section.section("mimic", MIMIC_KEYS)
    joint.leader = mimic.name("joint")
    joint.multiplier = mimic.number("multiplier", default=1.0)
    joint.offset = mimic.position("offset", turns=joint.kind == "revolute", default=0.0)
    section.refuse(("motor", "spring"), "given for a joint that follows another", "none: its leader moves it")


def _read_motor(section: YamlSection, joint: YamlJoint) -> None:
    """The drive and what it adds at the joint: G^2 of its inertia and viscous, |G| of its Coulomb friction."""
    motor = section.section("motor", MOTOR_KEYS)
    gear = motor.number("gear_ratio")
    if gear == 0.0:
        motor.problem("gear_ratio", "found 0", "motor turns per joint turn, negative where they turn oppositely")
    if "rotor_inertia" in motor and ("rotor_inertia" in section or "Ia" in section):
        found = "given at the motor and at the joint"
        motor.problem("rotor_inertia", found, "one of them (the joint's is gear_ratio^2 times larger)")
    joint.Ia += gear**2 * motor.number("rotor_inertia", unit="kg m^2", least=0.0, default=0.0)
    joint.Fv += gear**2 * motor.number("viscous", unit="N m s/rad", least=0.0, default=0.0)
    joint.Fs += abs(gear) * motor.number("coulomb", unit="N m", least=0.0, default=0.0)
    dac = motor.section("dac", ("bits", "range", "gain", "sign", "offset"))
    if "dac" not in motor:
        motor.problem("dac", "missing", "bits, range, and where they differ from 1, 1, 0: gain, sign, offset")
        return
    low, high = dac.vector("range", 2, unit="V")
    if "range" in dac and low >= high:
        dac.problem("range", f"the lower end {low:g} is not below the upper {high:g}", "[lower, upper] in V")
    sign = dac.number("sign", default=1.0)
    if math.isfinite(sign) and abs(sign) != 1.0:
        dac.problem("sign", f"found {sign:g}", "1 or -1")
    offset = dac.number("offset", unit="V", default=0.0)
    if low < high and not low <= offset <= high:
        dac.problem("offset", f"found {offset:g}", f"a voltage within the range {low:g} to {high:g} V")
    joint.motor = {
        field: motor.number(key, unit=unit, above=0.0, default=default)
        for key, (field, unit, default) in MOTOR_FIGURES.items()
    } | {
        "gear": gear,
        "dac_bits": dac.integer("bits", 1, MAX_DAC_BITS),
        "dac_low": low,
        "dac_high": high,
        "dac_gain": dac.number("gain", unit="motor volts per DAC volt", above=0.0, default=1.0),
        "dac_sign": sign,
        "dac_offset": offset,
    }
