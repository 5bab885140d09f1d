"""Wu, Bai and Kepler: three spherical parallel manipulators, their stiffness, deformations and maps."""

from dataclasses import replace
from typing import Any

import numpy as np

from dyn_cli.figures.deflection_map import contours
from dyn_cli.figures.figure import Plot
from dyn_core import load_robot
from dyn_core.arrays import Floats
from dyn_core.beams import Material, circle, curved_beam
from dyn_core.robots import SphericalRobot
from dyn_core.stiffness_maps import OrientationGrid, StiffnessMap, sign_combinations, stiffness_map

from .report import Report, Row, Verdict, agrees

TITLE = "Wu, Bai and Kepler, Mobile platform center shift in spherical parallel manipulators with flexible limbs (2014)"
PAPER = [3, 4, 5, 0, 1, 2]
"""The paper's order, rotations first, in this house's."""
MOMENT = np.array([0.0, 0.0, 0.0, 10.0, 10.0, 10.0])
TILT = 54.0  # deg, up to which the printed maxima of Figs 9 and 13 come out
CONVERTED = 0.009  # mrad, to which printed rotations are good: thousandths of a degree, converted
MICRO = 0.0006  # of a figure with three decimals

PRINTED_21 = np.array([
    [6.923, -0.575, 0, 0, 0, 0.388],
    [-0.575, 6.923, 0, 0, 0, 0.632],
    [0, 0, 6.020, -0.438, -0.767, 0],
    [0, 0, -0.438, 0.055, 0.077, 0],
    [0, 0, -0.767, 0.077, 0.121, 0],
    [0.388, 0.632, 0, 0, 0, 0.192],
])  # fmt: skip
PRINTED_22 = np.array([
    [0.055, 0, 0, -0.373, 0.430, 0],
    [0, 0.055, 0, -0.430, -0.373, 0],
    [0, 0, 0.332, 0, 0, 0.745],
    [-0.373, -0.430, 0, 6.233, 0, 0],
    [0.430, -0.373, 0, 0, 6.233, 0],
    [0, 0, 0.745, 0, 0, 1.849],
])  # fmt: skip
PRINTED_23 = np.array([
    [0.067, 0.101, -0.007, -0.523, -0.333, 0.084],
    [0.101, 0.192, 0.082, -0.832, -0.608, 0.637],
    [-0.007, 0.082, 0.205, -0.061, -0.210, 1.130],
    [-0.523, -0.832, -0.061, 4.602, 2.287, -1.320],
    [-0.333, -0.608, -0.210, 2.287, 3.475, -1.269],
    [0.084, 0.637, 1.130, -1.320, -1.269, 6.876],
])  # fmt: skip
PRINTED_28 = np.array([
    [0.021, 0, 0, -0.092, 0.183, 0],
    [0, 0.021, 0, -0.183, -0.092, 0],
    [0, 0, 0.127, 0, 0, 0.247],
    [-0.092, -0.183, 0, 3.253, 0, 0],
    [0.183, -0.092, 0, 0, 3.253, 0],
    [0, 0, 0.247, 0, 0, 1.808],
])  # fmt: skip


def largest(table: StiffnessMap, tilt: float = 180.0) -> tuple[float, float]:
    """The largest shift (mm) and turn (deg) of a map up to a tilt (deg)."""
    inside = np.degrees(table.rows.values) <= tilt + 1e-9
    return 1e3 * float(np.nanmax(table.translation[inside])), float(np.degrees(np.nanmax(table.rotation[inside])))


def with_actuators(robot: SphericalRobot, stiffness: float, links: bool = True) -> SphericalRobot:
    """The robot with other actuators (N m/rad), and with rigid links if not `links`."""
    m = robot.mechanism
    given = np.where(np.isfinite(m.stiffness), stiffness, np.inf)
    return SphericalRobot(replace(m, stiffness=given, compliances=m.compliances if links else ()))


def compute(azimuths: int = 180, tilts: int = 109) -> Report:
    """Every matrix, deformation and map of the paper; maps have so many azimuths (a multiple of 12) and tilts."""
    first, second, third = (_spherical(name) for name in ("spm_unlimited_roll", "spm_coaxial", "agile_wrist"))

    def mapped(robot: SphericalRobot, torsion: float) -> StiffnessMap:
        grid = OrientationGrid(float(np.radians(TILT)), azimuths, tilts, float(np.radians(torsion)))
        return stiffness_map(robot, grid, sign_combinations(MOMENT))

    nine, nine_turned = mapped(first, 0.0), mapped(first, 30.0)
    nine_actuators = mapped(with_actuators(first, 1e6, links=False), 0.0)
    eleven = mapped(second, 0.0)
    thirteen = mapped(third, 0.0), mapped(third, 30.0)
    rows = (
        *_beam(),
        *_example_1(first),
        *_singular(first),
        *_figure_9(nine, nine_turned, nine_actuators),
        *_example_2(second, nine, eleven),
        *_example_3(*thirteen),
    )
    return Report(
        "wu2014",
        TITLE,
        rows,
        (
            Plot("fig09", (13.5, 4.8), lambda figure: _draw(figure, [
                (nine, "shift", "(a) centre shift"),
                (nine, "turn", "(b) orientation error"),
                (nine_actuators, "turn", "(c) orientation error, actuators only"),
            ])),
            Plot("fig11", (9.0, 4.8), lambda figure: _draw(figure, [
                (eleven, "shift", "centre shift"), (eleven, "turn", "orientation error"),
            ])),
            Plot("fig13", (9.0, 9.4), lambda figure: _draw(figure, [
                (thirteen[0], "shift", "(a) centre shift, torsion 0"),
                (thirteen[0], "turn", "(b) orientation error, torsion 0"),
                (thirteen[1], "shift", "(c) centre shift, torsion 30°"),
                (thirteen[1], "turn", "(d) orientation error, torsion 30°"),
            ])),
        ),
        NOTES,
    )  # fmt: skip


NOTES = (
    "Orientation: Q = Rz(azimuth) Ry(tilt) Rz(torsion - azimuth); gamma is the base's pyramid, beta the platform's (the"
    " text swaps the words). Matrices are at O, rotations first as printed.",
    "The 'µrad' beside the deformations is mrad, and printed rotations are whole thousandths of a degree converted:"
    f" good to {CONVERTED} mrad.",
    "The appendix has misprints: s3 = 3a + sin a cos a - 4 sin a (no '/2'), s4 = 2 (1 - cos a) - sin^2 a,"
    " C26 = R^2/2 (s4/GIx - s8/EIy), and row 4, column 3 of (20) is C34. Here (18) is integrated.",
    "Example I has rigid carriages on its guide in place of proximal links; examples II and III have two curved links"
    " in every leg, of the section of Table 1.",
    f"The workspace of the maps is not given in numbers: the printed maxima come out with tilts up to {TILT:g} deg,"
    " which is what is drawn.",
    "Deformations by finite elements (Fig. 8) are other people's computation and are quoted, not computed again.",
)


def _spherical(name: str) -> SphericalRobot:
    robot = load_robot(name)
    assert isinstance(robot, SphericalRobot)
    return robot


def _at(robot: SphericalRobot, azimuth: float, tilt: float, torsion: float) -> Floats:
    return robot.platform.orientation(*np.radians([azimuth, tilt, torsion]))


def _in_paper(robot: SphericalRobot, Q: Floats, scale: float) -> Floats:
    """K in the paper's order, in units of `scale`."""
    return robot.platform.stiffness_matrix(Q)[np.ix_(PAPER, PAPER)] / scale


def _matrix(
    place: str, what: str, printed: Floats, found: Floats, verdict: Verdict = "agrees", why: str = ""
) -> list[Row]:
    """A matrix row by row; a verdict "agrees" is what should be and is checked."""
    rows = []
    for i in range(6):
        fits = agrees(bool(np.abs(found[i] - printed[i]).max() < MICRO)) if verdict == "agrees" else verdict
        texts = _figures(printed[i]), _figures(found[i])
        rows.append(Row(place, f"{what}, row {i + 1}", texts[0], texts[1], fits, "" if i else why))
    return rows


def _figures(row: Floats) -> str:
    return " ".join(f"{x:.3f}" for x in np.round(row, 3) + 0.0)


def _screw(motion: Floats) -> str:
    """Rotations (mrad) and translations (mm) as the paper has them."""
    turn, shift = 1e3 * motion[3:], 1e3 * motion[:3]
    return f"[{', '.join(f'{x:.3f}' for x in turn)}; {', '.join(f'{x:.3f}' for x in shift)}]"


def _screw_close(motion: Floats, printed: Floats) -> bool:
    found = 1e3 * motion[PAPER]
    return bool(np.abs(found[:3] - printed[:3]).max() < CONVERTED and np.abs(found[3:] - printed[3:]).max() < MICRO)


def _beam() -> list[Row]:
    C = curved_beam(0.2, np.pi / 2, circle(0.0075), Material.isotropic(210e9, 0.3))[np.ix_(PAPER, PAPER)] * 1e4
    printed = PRINTED_21.copy()
    printed[1, 5] = printed[5, 1] = C[1, 5]
    why = (
        "(A-1e) is misprinted: it has s2 where -s8 belongs, and half of s4. The entry acts along a passive joint and"
        " changes no stiffness. In the rows above it is taken as computed."
    )
    return [
        *_matrix("(21)", "compliance of the distal link, 1e-4", printed, C),
        Row("(21)", "its entry C26, 1e-4 rad/N", "0.632", f"{C[1, 5]:.3f}", "does not come out", why),
    ]


def _example_1(robot: SphericalRobot) -> list[Row]:
    K = _in_paper(robot, np.eye(3), 1e6)
    spread = max(
        float(np.abs(_in_paper(robot, _at(robot, phi, 0.0, sigma), 1e6) - K).max())
        for phi in (0.0, 45.0, 120.0)
        for sigma in (-30.0, 45.0, 90.0, 180.0)
    )
    moved = robot.platform.stiffness_at(np.eye(3)).deflected(MOMENT)
    turn = 1e3 * moved.motion[3:]
    printed = np.array([2.985, 2.985, 0.314])
    return [
        *_matrix("(22)", "stiffness at tilt 0, 1e6", PRINTED_22, K),
        Row("(22)", "the same at every torsion", "constantly equal", f"differs by {spread:.1e}", agrees(spread < 1e-9)),
        Row("4.1", "turn under 10 N m about each axis, mrad", "2.985, 2.985, 0.314",
            ", ".join(f"{x:.3f}" for x in turn), agrees(bool(np.abs(turn - printed).max() < CONVERTED))),
        Row("4.1", "its size", "4.232 mrad = 0.243°", f"{1e3 * moved.turn:.3f} mrad = {np.degrees(moved.turn):.3f}°",
            agrees(abs(1e3 * moved.turn - 4.232) < CONVERTED and abs(np.degrees(moved.turn) - 0.243) < MICRO)),
        Row("4.1", "centre shift", "0.406 mm", f"{1e3 * moved.shift:.3f} mm",
            agrees(abs(1e3 * moved.shift - 0.406) < MICRO)),
        Row("4.1.2", "finite elements at tilt 0, beside the model", "0.401 mm, 0.237 ± 0.022°",
            f"{1e3 * moved.shift:.3f} mm, {np.degrees(moved.turn):.3f}°", "shown"),
    ]  # fmt: skip


def _singular(robot: SphericalRobot) -> list[Row]:
    folded, other = _at(robot, 90.0, 60.0, 0.0), _at(robot, 45.0, 60.0, 0.0)
    K, (parallel, serial) = _in_paper(robot, folded, 1e6), robot.platform.singularity(folded)
    here = robot.platform.stiffness_at(folded).deflected(MOMENT)
    there = robot.platform.stiffness_at(other).deflected(MOMENT)
    parallel_there, serial_there = robot.platform.singularity(other)
    printed_26 = np.array([15.307, -3.246, -2.443, 0.449, -0.315, 0.332])
    moved = 1e3 * there.motion[PAPER]
    first = np.degrees(1e-3 * abs(moved[0] - printed_26[0])) < 0.001
    rest = np.abs(moved[1:3] - printed_26[1:3]).max() < CONVERTED and np.abs(moved[3:] - printed_26[3:]).max() < MICRO
    why = (
        "at this orientation leg 1 is folded (u, v, w in one plane), which is a serial singularity: the stiffness is"
        " regular. The printed matrix follows from a 0/0 in solving that leg, and is no configuration of the mechanism."
    )
    return [
        *_matrix("(23)", "stiffness at azimuth 90°, tilt 60°, 1e6", PRINTED_23, K, "does not come out", why),
        Row("(23)", "distance from a singularity, 0 to 1", "parallel 0",
            f"parallel {parallel:.3f}, serial {serial:.0e}", "does not come out", "leg 1 is folded; see above"),
        Row("(24)", "deformation there, mrad and mm", "[11.502, -4.747, 4.782; 0.285, 0.234, -0.390]",
            _screw(here.motion), "does not come out",
            "it is that of (23); and the last column of R of a QR decomposition is not K's null vector."),
        Row("(26)", "deformation at azimuth 45°, tilt 60°, mrad and mm",
            "[15.307, -3.246, -2.443; 0.449, -0.315, 0.332]", _screw(there.motion), agrees(bool(first and rest))),
        Row("(26)", "that orientation is a serial singularity", "serial 0",
            f"parallel {parallel_there:.3f}, serial {serial_there:.3f}", "does not come out",
            "it is none: no leg is folded or straight, and no turn is free. The deformation comes out all the same."),
        Row("4.1.2", "finite elements there, beside the model", "0.635 mm, 1.041°",
            f"{1e3 * there.shift:.3f} mm, {np.degrees(there.turn):.3f}°", "shown"),
    ]  # fmt: skip


def _figure_9(plain: StiffnessMap, turned: StiffnessMap, actuators: StiffnessMap) -> list[Row]:
    shift, turn = largest(plain)
    low_shift, low_turn = largest(plain, 30.0)
    peaks = _peaks(plain)
    highest = max(peaks, key=lambda peak: peak[1])[0]
    apart = max(abs((azimuth - highest + 60.0) % 120.0 - 60.0) for azimuth, _ in peaks)
    same = np.degrees(_turned(plain.rotation, turned.rotation, -90.0))
    return [
        Row("Fig. 9", f"largest orientation error, tilts to {TILT:g}°", "3.5°", f"{turn:.2f}°",
            agrees(abs(turn - 3.5) < 0.05)),
        Row("Fig. 9", f"largest centre shift, tilts to {TILT:g}°", "2 mm", f"{shift:.2f} mm",
            agrees(abs(shift - 2.0) < 0.05)),
        Row("Fig. 9", "azimuth of the largest", "-70°", f"{highest:.0f}°",
            agrees(abs((highest + 70.0 + 60.0) % 120.0 - 60.0) <= 5.0)),
        Row("Fig. 9", "three peaks at intervals of 120°", "symmetric",
            ", ".join(f"{height:.2f}° at {azimuth:.0f}°" for azimuth, height in peaks), agrees(apart <= 10.0),
            "the peaks are 120° apart, but not equally high: the eight moments have the symmetry of a square, not of a"
            " triangle."),
        Row("Fig. 9", "maps at other torsions", "the same, turned", f"at 30°, turned by -90°: differs by {same:.0e}°",
            agrees(same < 1e-6),
            "exactly so at multiples of 30°, where the turn takes the eight moments into each other."),
        Row("Fig. 9", "orientation error for tilts to 30°", "1°", f"{low_turn:.2f}°", "does not come out",
            "with the conventions that give every other figure of the example it is larger"),
        Row("Fig. 9", "centre shift for tilts to 30°", "1.5 mm", f"{low_shift:.2f} mm", "does not come out",
            "with the conventions that give every other figure of the example it is smaller"),
        Row("Fig. 9c", "largest orientation error with rigid links", "-", f"{largest(actuators)[1]:.5f}°", "shown"),
    ]  # fmt: skip


def _peaks(table: StiffnessMap) -> list[tuple[float, float]]:
    """Azimuth (-180 to 180 deg) and height (deg) of the largest orientation error in each third of the largest tilt."""
    edge, azimuths = np.degrees(table.rotation[-1]), np.degrees(table.columns.values)
    top = azimuths[int(np.nanargmax(edge))]
    peaks = []
    for k in range(3):
        inside = np.abs((azimuths - top - 120.0 * k + 180.0) % 360.0 - 180.0) <= 60.0
        at = int(np.nanargmax(np.where(inside, edge, -np.inf)))
        peaks.append((float((azimuths[at] + 180.0) % 360.0 - 180.0), float(edge[at])))
    return sorted(peaks)


def _turned(first: Floats, second: Floats, angle: float) -> float:
    """By how much a map (t, a) turned by an angle (deg) differs from another."""
    steps = round(angle * first.shape[1] / 360.0)
    return float(np.nanmax(np.abs(np.roll(first, steps, axis=1) - second)))


def _example_2(robot: SphericalRobot, nine: StiffnessMap, eleven: StiffnessMap) -> list[Row]:
    stated, fitting = (with_actuators(robot, k) for k in (1e6, 1e7))
    K6, K7 = (_in_paper(each, np.eye(3), 1e5) for each in (stated, fitting))
    printed = np.array([12.043, 12.043, 1.0647, 1.019, -0.336, -0.146])
    moved = fitting.platform.stiffness_at(np.eye(3)).deflected(MOMENT).motion
    larger = bool(largest(eleven)[0] > largest(nine)[0] and largest(eleven)[1] > largest(nine)[1])
    return [
        *_matrix("(28)", "stiffness at tilt 0, 1e5, K_act = 1e6 as stated", PRINTED_28, K6, "does not come out",
                 "some entries differ in the last digit; with K_act = 1e7 N m/rad all come out, see below"),
        *_matrix("(28)", "the same with K_act = 1e7", PRINTED_28, K7),
        Row("4.2", "deformation under 10 N m about each axis, mrad and mm",
            "[12.043, 12.043, 1.0647; 1.019, -0.336, -0.146]", _screw(moved), agrees(_screw_close(moved, printed))),
        Row("Fig. 11", f"largest shift and error, tilts to {TILT:g}°", "larger than in Fig. 9",
            f"{largest(eleven)[0]:.2f} mm, {largest(eleven)[1]:.2f}°", agrees(larger)),
    ]  # fmt: skip


def _example_3(plain: StiffnessMap, turned: StiffnessMap) -> list[Row]:
    (shift, turn), (shift_30, turn_30) = largest(plain), largest(turned)
    return [
        Row("Fig. 13", f"largest orientation error at torsion 0, tilts to {TILT:g}°", "12°", f"{turn:.2f}°",
            agrees(abs(turn - 12.0) < 0.1)),
        Row("Fig. 13", f"largest centre shift at torsion 0, tilts to {TILT:g}°", "4.5 mm", f"{shift:.2f} mm",
            agrees(abs(shift - 4.5) < 0.05)),
        Row("Fig. 13", "both at torsion 30°", "smaller", f"{shift_30:.2f} mm, {turn_30:.2f}°",
            agrees(shift_30 < shift and turn_30 < turn)),
    ]  # fmt: skip


def _draw(figure: Any, panels: list[tuple[StiffnessMap, str, str]]) -> None:
    """Isocontours over azimuth and tilt, one panel each, two or three side by side."""
    columns = 3 if len(panels) == 3 else 2
    for k, (table, what, title) in enumerate(panels):
        axes = figure.add_subplot(-(-len(panels) // columns), columns, k + 1, projection="polar")
        values = 1e3 * table.translation if what == "shift" else np.degrees(table.rotation)
        top = f"{np.nanmax(values):.3g}{' mm' if what == 'shift' else '°'}"
        azimuths, tilts = np.degrees(table.columns.values), np.degrees(table.rows.values)
        contours(figure, axes, azimuths, tilts, values, polar=True)
        axes.set_title(f"{title}\nlargest {top}", fontsize=10)
        axes.set_rlim(0.0, tilts[-1])
