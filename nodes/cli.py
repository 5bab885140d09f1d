"""The command `dyn`. Importing this needs the standard library only; each command imports what it needs itself."""

import argparse
import contextlib
import errno
import json
import os
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import NoReturn

from nodes import environment
from nodes.domain import claim_domain
from nodes.parameters import FORMULATIONS

LARGEST = 1e50
"""Of a number on a command line, as in files: products of a few of them stay finite."""
HELP = """\
usage: ./dyn COMMAND [OPTIONS]            ./dyn COMMAND --help tells more
Robot arms under computed torque over ROS 2; set up here by the first command.
  demo        start arm, controller and stiffness server, move, print a table
  up          the same system, running until Ctrl-C; then, in another terminal:
    move        move the arm smoothly to joint positions, a platform to a pose
    state       show where the joints are
    stop, clear brake and hold, or stop with 0 V; leave a stop or a fault
    stiffness   the tool's Cartesian stiffness, or its deflection under a load
    map         the largest deflections over many poses, as CSV and picture
  sim         the arm shell: variables, models, simulations, plots; or a script
  robots      list the robots that can be run
  convert     write a robot's description in another notation
  parts       compute a robot's masses and inertias from its parts
  excite      plan a motion that shows a robot's masses, inertias and friction
  identify    fit a robot's parameters to the log of a motion
  generate    write fast straight-line code of a robot's dynamics
  faults      break a running system in many ways, and check that it stays safe
  test        run the linter, the type checker and all tests
  bench, profile  measure speed beside other libraries; see where time goes
  reproduce   compute what a paper prints and plots, and compare
  soak        demo motions for a long time: does memory, rate or error drift?
  dac         look at a real arm's converters, calibrate them, run their bridge
  security    say what of this machine's robot is open to whom
  setup       only make the environment that the other commands need
"""


@dataclass(frozen=True)
class Command:
    """What a command is called, what environment it needs, its options, and what runs it."""

    summary: str
    needs: str
    options: Callable[[argparse.ArgumentParser], None]
    run: Callable[[argparse.Namespace], int]
    examples: tuple[str, ...]
    offline: str = ""
    """The environment that the command needs with --offline."""


class _Parser(argparse.ArgumentParser):
    """Says what is wrong in one line, with exit status 2."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: {_one_line(message)} ({self.prog} --help tells more)\n")


def _one_line(text: str) -> str:
    """Without the characters that a terminal would obey or could not show, and not without end."""
    shown = text if len(text) <= 500 else f"{text[:497]}..."
    return "".join(c if c.isprintable() else "?" for c in shown)


def _finite(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"'{text.strip()}' is not a number") from None
    if not abs(value) <= LARGEST:
        raise argparse.ArgumentTypeError(f"'{text.strip()}' is not a finite number of at most {LARGEST:g} in size")
    return value


def _positive(text: str) -> float:
    value = _finite(text)
    if value <= 0.0:
        raise argparse.ArgumentTypeError(f"'{text.strip()}' is not greater than 0")
    return value


def _json_option(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of a table")


def _namespace_option(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--namespace", default="", metavar="NS", help="the robot's ROS namespace (default: none)")


def _priority_option(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--realtime-priority",
        type=int,
        choices=range(91),
        default=0,
        metavar="P",
        help="SCHED_FIFO priority of the loops, 1 to 90, where the system permits it (default: 0, ordinary)",
    )


def _demo_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--robot", default="puma560", help="name of a robot, or a file (default: puma560)")
    parser.add_argument(
        "--formulation",
        choices=FORMULATIONS,
        default="projection",
        help="how the controller computes closed chains (default: projection)",
    )
    _priority_option(parser)
    _json_option(parser)


def _up_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("robot", nargs="?", default="puma560", help="name of a robot, or a file (default: puma560)")
    _namespace_option(parser)
    parser.add_argument("--rate", type=_positive, metavar="HZ", help="rate of the control loop (default: 1000)")
    parser.add_argument("--dac", default="", metavar="FILE", help="drive the converters of this DAC file too")
    _priority_option(parser)


def _move_options(parser: argparse.ArgumentParser) -> None:
    parser.usage = "dyn move (Q ... | --pose X Y Z ROLL PITCH YAW) [OPTIONS]"
    target = parser.add_mutually_exclusive_group(required=True)
    target.add_argument(
        "positions",
        nargs="*",
        type=_finite,
        metavar="Q",
        default=[],
        help="one position per joint, in the robot's joint order (rad, m)",
    )
    target.add_argument(
        "--pose",
        nargs=6,
        type=_finite,
        metavar=("X", "Y", "Z", "ROLL", "PITCH", "YAW"),
        help="where the platform of a parallel robot shall be instead (m, rad)",
    )
    parser.add_argument(
        "--degrees", action="store_true", help="positions of revolute joints, roll, pitch and yaw are in degrees"
    )
    parser.add_argument(
        "--duration", type=_positive, metavar="S", help="time of the motion in seconds (default: chosen)"
    )
    parser.add_argument(
        "--wait",
        action=argparse.BooleanOptionalAction,
        default=True,
        help="return once the arm has arrived (default)",
    )
    _namespace_option(parser)


def _state_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--watch", action="store_true", help="go on until Ctrl-C")
    _json_option(parser)
    _namespace_option(parser)


def _stop_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--emergency", action="store_true", help="press the emergency stop: brake, then 0 V")
    _namespace_option(parser)


def _stiffness_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "positions",
        nargs="*",
        type=_finite,
        metavar="Q",
        help="one position per joint (rad, m; default: where the arm is)",
    )
    parser.usage = "dyn stiffness [Q ...] [OPTIONS]"
    _numbers(parser, "--orientation", 3, "azimuth, tilt, torsion of the platform (degrees)")
    _numbers(parser, "--pose", 6, "x y z (m) and roll pitch yaw (degrees) of the platform")
    _numbers(parser, "--wrench", 6, "force (N), moment (N m), base axes: show the deflection")
    _offline_options(parser)
    _json_option(parser)
    _namespace_option(parser)


def _numbers(parser: argparse.ArgumentParser, name: str, count: int, meaning: str, default: object = None) -> None:
    parser.add_argument(name, nargs=count, type=_finite, metavar=("X",) * count, default=default, help=meaning)


def _offline_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--frame", help="at whose origin (default: the tool)")
    parser.add_argument("--offline", action="store_true", help="compute here, without ROS and a running robot")
    parser.add_argument("--robot", help="which robot: a name, or a file")


def _map_options(parser: argparse.ArgumentParser) -> None:
    parser.usage = "dyn map [OPTIONS]"
    parser.add_argument("--tilt-max", type=_positive, default=45.0, metavar="DEG", help="largest tilt (default: 45)")
    parser.add_argument("--torsion", type=_finite, default=0.0, metavar="DEG", help="of the platform (default: 0)")
    parser.add_argument("--resolution", type=_positive, default=2.0, metavar="DEG", help="default: 2")
    parser.add_argument("--joints", nargs=2, metavar="NAME", help="over two joints instead of azimuth and tilt")
    parser.add_argument("--at", nargs="+", type=_finite, default=[], metavar="X", help="the other joints; or x y z")
    parser.add_argument("--count", type=_whole, default=60, metavar="N", help="positions per joint (default: 60)")
    _numbers(parser, "--wrench", 6, "N, N m; all signs are tried (default: 0 0 0 10 10 10)", (0, 0, 0, 10, 10, 10))
    parser.add_argument(
        "--output", nargs="+", default=[], metavar="FILE", help=".csv, .png (default: both, by the robot's name)"
    )
    _offline_options(parser)
    _json_option(parser)
    _namespace_option(parser)


def _generate_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("robot", help="name of a robot, or a file")
    parser.add_argument(
        "--model", choices=("inverse", "direct", "mass_matrix"), default="inverse", help="default: inverse"
    )
    parser.add_argument("--output", metavar="FILE", help="a file to write (default: the terminal, counts on stderr)")
    parser.add_argument(
        "--described",
        action="store_true",
        help="take the inertial parameters as described instead of grouping them to the fewest",
    )


def _whole(text: str) -> int:
    value = _positive(text)
    if value != int(value):
        raise argparse.ArgumentTypeError(f"'{text.strip()}' is not a whole number")
    return int(value)


def _sim_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "robot", nargs="?", default="cmu_dd_arm", help="name of a robot, or a file (default: cmu_dd_arm)"
    )


def _excite_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("robot", help="name of a robot, or a file")
    parser.add_argument("--output", metavar="CSV", help="default: <robot>_excitation.csv")
    parser.add_argument("--duration", type=_positive, default=10.0, metavar="S", help="one period (default: 10)")
    parser.add_argument("--harmonics", type=_whole, default=5, metavar="N", help="default: 5")
    parser.add_argument("--rate", type=_positive, default=100.0, metavar="HZ", help="samples (default: 100)")
    parser.add_argument("--evaluations", type=_whole, default=300, metavar="N", help="motions tried (default: 300)")
    parser.add_argument("--seed", type=_whole, default=1, metavar="N", help="another seed, another motion (default: 1)")
    parser.add_argument("--torques", action="store_true", help="add the model's torques, to rehearse `identify`")
    _json_option(parser)


def _identify_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("robot", help="name of a robot, or a YAML file: where the fit starts")
    parser.add_argument("log", metavar="CSV", help="columns t, q_<joint>, tau_<joint> or v_<joint>, ...")
    parser.add_argument("--output", metavar="YAML", help="the new robot (default: <robot>_identified.yaml)")
    parser.add_argument("--cutoff", type=_positive, metavar="HZ", help="of the low-pass filter (default: chosen)")
    _json_option(parser)


def _convert_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("source", metavar="IN", help="name of a robot, or a robot YAML or URDF file")
    parser.add_argument("target", metavar="OUT", help="the file to write")
    parser.add_argument(
        "--to",
        choices=("dh", "mdh", "origin", "urdf"),
        help="standard or modified Denavit-Hartenberg, origin and axis, or URDF"
        " (default: urdf if OUT ends in .urdf, else mdh)",
    )
    parser.add_argument("--floating", action="store_true", help="the base of the URDF file IN moves freely")
    parser.add_argument("--force", action="store_true", help="write over OUT if it exists")


def _parts_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("action", choices=("build",), help="compute, check, print the table, write the robot YAML")
    parser.add_argument("file", metavar="PARTS", help="a parts database, <name>.parts.yaml")
    parser.add_argument("--output", metavar="YAML", help="default: <name>.yaml beside PARTS")
    parser.add_argument("--force", action="store_true", help="write over a file that was not made from parts")
    _json_option(parser)


def _reproduce_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("paper", help="which paper: saha2001, wang2001")
    parser.add_argument("--output", metavar="DIR", help="where the figures go (default: <paper>_figures)")
    _json_option(parser)


def _dac_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "action",
        choices=("check", "calibrate", "safe", "run"),
        help="show, calibrate, write safe codes, or run the bridge",
    )
    parser.add_argument("file", metavar="FILE", help="the DAC file (docs/dac.md)")
    parser.add_argument("--robot", help="name or file (default: the DAC file's)")
    parser.add_argument("--joint", action="append", metavar="J", help="calibrate this one only")
    parser.add_argument("--volts", type=_positive, default=0.5, metavar="V", help="calibrate up to (default: 0.5)")
    parser.add_argument("--points", type=_points, default=5, metavar="N", help="per channel (default: 5)")
    parser.add_argument("--output", metavar="YAML", help="calibration (default: the DAC file's)")
    parser.add_argument("--iio-root", default="/sys/bus/iio/devices", metavar="DIR", help=argparse.SUPPRESS)
    _namespace_option(parser)


def _soak_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--minutes", type=_positive, default=60.0, metavar="N", help="how long (default: 60)")
    parser.add_argument("--robot", default="puma560", help="name of a robot, or a file (default: puma560)")
    parser.add_argument("--dac", default="", metavar="FILE", help="drive the converters of this DAC file too")
    _priority_option(parser)
    _json_option(parser)


def _security_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("action", choices=("check",), help="look, and say what is open")
    _json_option(parser)
    _namespace_option(parser)


def _points(text: str) -> int:
    value = _whole(text)
    if not 2 <= value <= 100:
        raise argparse.ArgumentTypeError(f"'{text.strip()}' is not a whole number from 2 to 100")
    return value


def _faults_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--short", action="store_true", help="only a few faults, under a minute")
    parser.add_argument("--only", nargs="+", metavar="WORDS", help="only faults with one of these words in their name")
    parser.add_argument("--list", action="store_true", help="print the faults, and try none")
    _json_option(parser)


def _setup_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "tier",
        nargs="?",
        choices=list(environment.TIERS),
        default="ros",
        help="for which commands (default: ros)",
    )


def _test_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("arguments", nargs="*", metavar="ARG", help="handed to pytest: paths, -k, -x, ...")


def _bench_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("arguments", nargs="*", metavar="NAME", help="which benchmark (default: all)")
    _json_option(parser)
    parser.add_argument("--save", metavar="FILE", help="keep the figures as JSON")
    parser.add_argument("--compare", metavar="FILE", help="set the ratios beside those of an earlier --save")
    parser.add_argument("--page", action="store_true", help="write docs/benchmarks.md (needs a run of everything)")


def _profile_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("arguments", nargs=1, metavar="NAME", help="which benchmark")
    parser.add_argument("--lines", type=_whole, default=25, metavar="N", help="functions to show (default: 25)")
    parser.add_argument("--save", metavar="FILE", help="keep the whole profile, for pstats or snakeviz")


def _demo(args: argparse.Namespace) -> int:
    from nodes import demo

    return demo.run(args)


def _up(args: argparse.Namespace) -> int:
    from nodes import up

    return up.run(args)


def _move(args: argparse.Namespace) -> int:
    from nodes import clients

    return clients.move(args)


def _state(args: argparse.Namespace) -> int:
    from nodes import clients

    return clients.state(args)


def _stop(args: argparse.Namespace) -> int:
    from nodes import clients

    return clients.stop(args)


def _clear(args: argparse.Namespace) -> int:
    from nodes import clients

    return clients.clear(args)


def _stiffness(args: argparse.Namespace) -> int:
    from nodes import stiffness

    return stiffness.run(args)


def _map(args: argparse.Namespace) -> int:
    from nodes import maps

    return maps.run(args)


def _sim(args: argparse.Namespace) -> int:
    from nodes import sim

    return sim.run(args)


def _robots(args: argparse.Namespace) -> int:
    from dyn_core import DynError, load_robot, robot_names
    from dyn_core.errors import printable

    rows: list[dict[str, object]] = []
    for name in robot_names():
        try:
            robot = load_robot(name)
        except DynError as error:
            rows.append({"name": name, "joints": None, "kind": None, "description": None, "error": str(error)})
        else:
            m = robot.mechanism
            kind = "floating base" if m.base is not None else "fixed base"
            kind += ", elastic" if m.elastic.any() else ""
            kind += ", parallel" if m.platform is not None else ", closed chains" if m.loops else ""
            rows.append({"name": name, "joints": m.n, "kind": kind, "description": m.description, "error": None})
    if args.json:
        print(json.dumps({"robots": rows}, indent=2))
        return 0
    for row in rows:
        row["name"] = printable(str(row["name"]))
    width = max([len(str(row["name"])) for row in rows], default=0)
    kinds = max([len(str(row["kind"])) for row in rows], default=0)
    print(f"{'name':{width}}  joints  {'kind':{kinds}}  description")
    for row in rows:
        if row["error"] is None:
            print(f"{row['name']:{width}}  {row['joints']:6}  {row['kind']:{kinds}}  {row['description']}")
        else:
            print(f"{row['name']:{width}}       -  cannot be loaded: {str(row['error']).splitlines()[0]}")
    return 0


def _convert(args: argparse.Namespace) -> int:
    from nodes import convert

    return convert.run(args)


def _parts(args: argparse.Namespace) -> int:
    from nodes import parts

    return parts.run(args)


def _excite(args: argparse.Namespace) -> int:
    from nodes import identify

    return identify.run_excite(args)


def _identify(args: argparse.Namespace) -> int:
    from nodes import identify

    return identify.run(args)


def _generate(args: argparse.Namespace) -> int:
    from nodes import generate

    return generate.run(args)


RUNNING = ("test/nodes", "test/test_readme.py")
"""Tests that run nodes, whose timing other work would disturb."""
TESTS_FAILED = 1
"""pytest's exit status."""
DISTURBED = 3
"""So many tests of running nodes that fail are tried once more; more than that is no disturbance by other work."""


def _test(args: argparse.Namespace) -> int:
    if not environment.in_checkout():
        raise environment.SetupError("the tests are not installed: run ./dyn test in a checkout of the repo.")
    os.environ["ROS_DOMAIN_ID"] = str(claim_domain())
    pytest = [sys.executable, "-m", "pytest"]
    if args.arguments:
        runs = {"pytest": [*pytest, *args.arguments]}
    else:  # tests of running nodes have the machine to themselves, the others share its cores
        runs = {
            "pytest of the core": [*pytest, "-n", "auto", *(f"--ignore={path}" for path in RUNNING)],
            "pytest of the nodes": [*pytest, *RUNNING],
        }
    failed = []
    for name, command in {
        "ruff": [sys.executable, "-m", "ruff", "check", "."],
        "mypy": [sys.executable, "-m", "mypy"],
        **runs,
    }.items():
        print(f"dyn: {name}: {' '.join(command[2:])}", flush=True)
        status = subprocess.run(command, cwd=environment.ROOT, check=False).returncode
        if status == TESTS_FAILED and command[-len(RUNNING) :] == list(RUNNING) and _failures() <= DISTURBED:
            print("dyn: what failed is tried once more: timing on a busy machine is no proof", flush=True)
            status = subprocess.run([*command, "--last-failed"], cwd=environment.ROOT, check=False).returncode
        if status != 0:
            failed.append(name)
    print(f"dyn: failed: {', '.join(failed)}" if failed else "dyn: ruff, mypy and pytest passed", flush=True)
    return 1 if failed else 0


def _failures() -> int:
    """How many tests failed in pytest's last run."""
    return len(json.loads((environment.ROOT / ".pytest_cache" / "v" / "cache" / "lastfailed").read_text()))


def _bench(args: argparse.Namespace) -> int:
    from bench.__main__ import main as bench

    return bench(args.arguments)


def _profile(args: argparse.Namespace) -> int:
    from bench.__main__ import profile

    return profile(args.arguments)


def _reproduce(args: argparse.Namespace) -> int:
    from nodes import reproduce

    return reproduce.run(args)


def _dac(args: argparse.Namespace) -> int:
    from nodes import dac_command

    return dac_command.run(args)


def _soak(args: argparse.Namespace) -> int:
    from nodes import soak

    return soak.run(args)


def _security(args: argparse.Namespace) -> int:
    from nodes import security

    return security.run(args)


def _faults(args: argparse.Namespace) -> int:
    from nodes import faults

    return faults.run(args)


def _setup(args: argparse.Namespace) -> int:
    if environment.in_checkout():
        print(f"ready: {environment.Environment.choose().venv}")
    else:
        print("nothing to set up: this is an installed package, and the environment is yours")
    return 0


COMMANDS = {
    "demo": Command(
        "Start arm, controller and stiffness server, move the arm, print a table, end.",
        "ros",
        _demo_options,
        _demo,
        ("./dyn demo", "./dyn demo --robot planar_2r", "./dyn demo --json"),
    ),
    "up": Command(
        "Run a simulated arm with its controller and stiffness server until Ctrl-C.",
        "ros",
        _up_options,
        _up,
        ("./dyn up", "./dyn up planar_2r --namespace left", "./dyn up my_robot.yaml --rate 500"),
    ),
    "move": Command(
        "Move the running arm smoothly to joint positions, or a platform to a pose.",
        "ros",
        _move_options,
        _move,
        (
            "./dyn move 0 0.5 -1.2 0 0.4 0",
            "./dyn move 0 45 -90 0 30 0 --degrees --duration 3",
            "./dyn move --pose 0.05 0 0.88 0 5 10 --degrees",
        ),
    ),
    "state": Command(
        "Show the joints of the running arm.",
        "ros",
        _state_options,
        _state,
        ("./dyn state", "./dyn state --watch", "./dyn state --json"),
    ),
    "stop": Command(
        "Brake the running arm along its path and hold it; or press its emergency stop.",
        "ros",
        _stop_options,
        _stop,
        ("./dyn stop", "./dyn stop --emergency"),
    ),
    "clear": Command(
        "Release the emergency stop that `dyn stop` pressed, and leave a stop whose cause is gone.",
        "ros",
        _namespace_option,
        _clear,
        ("./dyn clear", "./dyn clear --namespace left"),
    ),
    "stiffness": Command(
        "The stiffness of a running robot's tool, or its deflection under a wrench.",
        "ros",
        _stiffness_options,
        _stiffness,
        (
            "./dyn stiffness 0 0.5 -1.2 0 0.4 0",
            "./dyn stiffness --wrench 0 0 -50 0 0 0",
            "./dyn stiffness --offline --robot agile_wrist --orientation 45 30 0",
        ),
        offline="core",
    ),
    "map": Command(
        "The largest deflections of a running robot under wrenches, over many poses.",
        "map",
        _map_options,
        _map,
        (
            "./dyn map --joints joint2 joint3",
            "./dyn map --offline --robot agile_wrist --tilt-max 54 --output wrist.png",
        ),
        offline="reproduce",
    ),
    "sim": Command(
        "Open the arm shell; `help` in it lists its variables and commands. A script can be piped in.",
        "sim",
        _sim_options,
        _sim,
        ("./dyn sim", "./dyn sim puma560", "./dyn sim planar_2r < script"),
    ),
    "robots": Command(
        "List the robots that can be run by name; DYN_ROBOT_PATH names further folders.",
        "core",
        _json_option,
        _robots,
        ("./dyn robots", "./dyn robots --json"),
    ),
    "convert": Command(
        "Write a robot's description in another notation; it is read back and must be the same robot.",
        "core",
        _convert_options,
        _convert,
        (
            "./dyn convert puma560 puma560_khalil.yaml --to mdh",
            "./dyn convert puma560 puma560.urdf",
            "./dyn convert robot.urdf robot.yaml --to dh --floating",
        ),
    ),
    "parts": Command(
        "Compute mass, centre of mass and inertia of every section, part and link, and write the robot YAML.",
        "parts",
        _parts_options,
        _parts,
        ("./dyn parts build arm.parts.yaml", "./dyn parts build arm.parts.yaml --output robots/arm.yaml --json"),
    ),
    "excite": Command(
        "Plan a motion, within the joints' limits, that shows a robot's parameters well.",
        "core",
        _excite_options,
        _excite,
        ("./dyn excite puma560 --output motion.csv", "./dyn excite planar_2r --duration 8 --torques"),
    ),
    "identify": Command(
        "Fit a robot's parameters to the log of a motion: a report, and a new robot YAML.",
        "core",
        _identify_options,
        _identify,
        ("./dyn identify puma560 log.csv --output fitted.yaml", "./dyn identify arm.yaml log.csv --cutoff 5 --json"),
    ),
    "generate": Command(
        "Write straight-line Python of one robot's dynamics, and count its operations.",
        "generate",
        _generate_options,
        _generate,
        ("./dyn generate puma560 --output puma560_inverse.py", "./dyn generate puma560 --model direct"),
    ),
    "faults": Command(
        "Break a running system, one fault after the other, and check that it stays safe and recovers.",
        "ros",
        _faults_options,
        _faults,
        ("./dyn faults", "./dyn faults --short", "./dyn faults --only kill burst --json"),
    ),
    "test": Command(
        "Run ruff, mypy and pytest; arguments go to pytest.",
        "test",
        _test_options,
        _test,
        ("./dyn test", "./dyn test test/dyn_core -x", "./dyn test -k stiffness"),
    ),
    "bench": Command(
        "Measure speed, side by side with other libraries.",
        "bench",
        _bench_options,
        _bench,
        ("./dyn bench", "./dyn bench --json"),
    ),
    "profile": Command(
        "Show where the time of a benchmark goes.",
        "bench",
        _profile_options,
        _profile,
        ("./dyn profile dynamics", "./dyn profile simulation --save simulation.prof"),
    ),
    "reproduce": Command(
        "Compute each result that a paper prints or plots; status 1 if one that should come out does not.",
        "reproduce",
        _reproduce_options,
        _reproduce,
        ("./dyn reproduce saha2001", "./dyn reproduce wang2001 --output figures --json"),
    ),
    "soak": Command(
        "Run demo motions, and test memory, file handles, rate and tracking error for drift; status 1 if one does.",
        "ros",
        _soak_options,
        _soak,
        ("./dyn soak --minutes 60", "./dyn soak --minutes 5 --robot planar_2r --json"),
    ),
    "dac": Command(
        "The converters of a real arm: look, calibrate, make safe, or drive them.",
        "ros",
        _dac_options,
        _dac,
        ("./dyn dac check dac.yaml", "./dyn dac calibrate dac.yaml --joint elbow", "./dyn dac run dac.yaml"),
    ),
    "security": Command(
        "Say what is open: discovery, listening nodes, keys, who publishes motor commands; status 1 if anything.",
        "ros",
        _security_options,
        _security,
        ("./dyn security check", "./dyn security check --json"),
    ),
    "setup": Command(
        "Make the environment that other commands need, and nothing else.",
        "nothing",
        _setup_options,
        _setup,
        ("./dyn setup", "./dyn setup test"),
    ),
}

HANDED_ON = ("test", "bench", "profile")
"""Commands whose arguments belong to another program and are not parsed here."""


def build_parser(name: str) -> argparse.ArgumentParser:
    """The parser of one command's arguments."""
    command = COMMANDS[name]
    parser = _Parser(
        prog=f"dyn {name}",
        description=command.summary,
        epilog="examples:\n" + "\n".join(f"  {example}" for example in command.examples),
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    command.options(parser)
    return parser


def parse(argv: Sequence[str]) -> argparse.Namespace:
    """The arguments of a command line, with `command` its name; ends the process on help and on errors."""
    if not argv or argv[0] in ("-h", "--help", "help"):
        sys.stdout.write(HELP)
        raise SystemExit(0 if argv else 2)
    name, *rest = argv
    if name not in COMMANDS:
        sys.stderr.write(f"dyn: there is no command '{_one_line(name)}' (there are {', '.join(COMMANDS)})\n")
        raise SystemExit(2)
    parser = build_parser(name)
    if name in HANDED_ON and not {"-h", "--help"} & set(rest):
        return argparse.Namespace(command=name, arguments=rest)
    # argparse takes -1e-3 for an option; with a space before it, it is a number to argparse and to float alike.
    args = parser.parse_args([f" {word}" if word.startswith("-") and _is_number(word) else word for word in rest])
    args.command = name
    return args


def _is_number(word: str) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return True


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; returns the exit status: 0 done, 1 failed, 2 wrong use or a named error, 130 interrupted."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    with contextlib.suppress(AttributeError):
        sys.stdout.reconfigure(errors="backslashreplace")  # type: ignore[union-attr] # names of files may be any bytes
    try:
        args = parse(arguments)
        command = COMMANDS[args.command]
        environment.enter(_needs(command, args), arguments)
        with _warnings_in_one_line():
            status = _run(command, args)
        sys.stdout.flush()
        return status
    except environment.SetupError as error:
        print(f"dyn: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        _drop_output()
        return 141
    except OSError as error:
        if error.errno == errno.ENOSPC:
            _drop_output()
            print("dyn: the disk is full: make room and run the command again.", file=sys.stderr)
        else:
            where = f"{_one_line(str(error.filename))}: " if error.filename else ""
            print(f"dyn: {where}{_one_line(error.strerror or str(error))}", file=sys.stderr)
        return 2


@contextlib.contextmanager
def _warnings_in_one_line() -> Iterator[None]:
    """Warnings of a command are a line each, without the place in the program that gave them."""
    before = warnings.formatwarning
    warnings.formatwarning = lambda message, *_, **__: f"dyn: warning: {_one_line(str(message))}\n"
    try:
        yield
    finally:
        warnings.formatwarning = before


def _needs(command: Command, args: argparse.Namespace) -> str:
    if args.command == "setup":
        return str(args.tier)
    return command.offline if getattr(args, "offline", False) else command.needs


def _drop_output() -> None:
    """What is still buffered for standard output goes nowhere, so that ending says nothing more."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)


def _run(command: Command, args: argparse.Namespace) -> int:
    try:
        return command.run(args)
    except ModuleNotFoundError as error:
        if environment.in_checkout():
            raise
        raise environment.SetupError(
            f"the Python module {error.name} is missing: install it, or source ROS 2, and try again."
        ) from error
    except Exception as error:
        # Only a command that has imported dyn_core can have raised its errors; importing it here would cost 0.5 s.
        errors = sys.modules.get("dyn_core.errors")
        if errors is None or not isinstance(error, errors.DynError):
            raise
        print(f"dyn: {error}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
