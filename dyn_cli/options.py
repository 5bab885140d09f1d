"""Types and options that several commands share."""

import argparse

LARGEST = 1e50
"""Of a number on a command line, as in files: products of a few of them stay finite."""


def finite(text: str) -> float:
    """A number of at most LARGEST in size."""
    try:
        value = float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"'{text.strip()}' is not a number") from None
    if not abs(value) <= LARGEST:
        raise argparse.ArgumentTypeError(f"'{text.strip()}' is not a finite number of at most {LARGEST:g} in size")
    return value


def positive(text: str) -> float:
    """A number above 0."""
    value = finite(text)
    if value <= 0.0:
        raise argparse.ArgumentTypeError(f"'{text.strip()}' is not greater than 0")
    return value


def whole(text: str) -> int:
    """A whole number above 0."""
    value = positive(text)
    if value != int(value):
        raise argparse.ArgumentTypeError(f"'{text.strip()}' is not a whole number")
    return int(value)


def numbers(parser: argparse.ArgumentParser, name: str, count: int, meaning: str, default: object = None) -> None:
    """An option with a fixed count of numbers."""
    parser.add_argument(name, nargs=count, type=finite, metavar=("X",) * count, default=default, help=meaning)


def json_option(parser: argparse.ArgumentParser) -> None:
    """--json."""
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of a table")


def namespace_option(parser: argparse.ArgumentParser) -> None:
    """--namespace."""
    parser.add_argument("--namespace", default="", metavar="NS", help="the robot's ROS namespace (default: none)")


def robot_argument(parser: argparse.ArgumentParser, name: str, default: str = "") -> None:
    """A robot by its name or file; with a default it may be left out."""
    if not default:
        parser.add_argument(name, help="name of a robot, or a file")
        return
    nargs = None if name.startswith("-") else "?"
    parser.add_argument(name, nargs=nargs, default=default, help=f"name of a robot, or a file (default: {default})")


def dac_option(parser: argparse.ArgumentParser) -> None:
    """--dac."""
    parser.add_argument("--dac", default="", metavar="FILE", help="drive the converters of this DAC file too")


def priority_option(parser: argparse.ArgumentParser) -> None:
    """--realtime-priority."""
    parser.add_argument(
        "--realtime-priority",
        type=int,
        choices=range(91),
        default=0,
        metavar="P",
        help="SCHED_FIFO priority of the loops, 1 to 90, where the system permits it (default: 0, ordinary)",
    )


def offline_options(parser: argparse.ArgumentParser) -> None:
    """--frame, --offline, --robot: of questions that a running server answers, or this process."""
    parser.add_argument("--frame", help="at whose origin (default: the tool)")
    parser.add_argument("--offline", action="store_true", help="compute here, without ROS and a running robot")
    parser.add_argument("--robot", help="which robot: a name, or a file")
