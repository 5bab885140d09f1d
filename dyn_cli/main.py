"""The command `dyn`. Importing this needs the standard library only; each command imports what it needs itself."""

import argparse
import contextlib
import errno
import os
import sys
import warnings
from collections.abc import Iterator, Sequence
from typing import NoReturn

from dyn_cli.registry import NAMES, find, help_of, overview
from dyn_cli.setup import environment
from dyn_cli.setup.errors import SetupError


class _Parser(argparse.ArgumentParser):
    """Says what is wrong in one line, with exit status 2."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: {_one_line(message)} ({self.prog} --help shows its options)\n")


def _one_line(text: str) -> str:
    """Without the characters that a terminal would obey or could not show, and not without end."""
    shown = text if len(text) <= 500 else f"{text[:497]}..."
    return "".join(c if c.isprintable() else "?" for c in shown)


def build_parser(name: str) -> argparse.ArgumentParser:
    """The parser of one command's arguments."""
    command = find(name)
    parser = _Parser(
        prog=f"dyn {name}",
        description=". ".join(help_of(name)),
        epilog="examples:\n" + "\n".join(f"  {example}" for example in command.EXAMPLES),
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    command.options(parser)
    return parser


def parse(argv: Sequence[str]) -> argparse.Namespace:
    """The arguments of a command line, with `command` its name; ends the process on help and on errors."""
    if not argv or argv[0] in ("-h", "--help", "help"):
        sys.stdout.write(overview())
        raise SystemExit(0 if argv else 2)
    name, *rest = argv
    if name not in NAMES:
        sys.stderr.write(f"dyn: there is no command '{_one_line(name)}' (there are {', '.join(NAMES)})\n")
        raise SystemExit(2)
    parser = build_parser(name)
    if hasattr(find(name), "HANDS_ON") and not {"-h", "--help"} & set(rest):
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
        needs = args.tier if args.command == "setup" else find(args.command).NEEDS
        environment.enter(find(args.command).OFFLINE if getattr(args, "offline", False) else needs, arguments)
        with _warnings_in_one_line():
            status = _run(args)
        sys.stdout.flush()
        return status
    except SetupError as error:
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


def _drop_output() -> None:
    """What is still buffered for standard output goes nowhere, so that ending says nothing more."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)


def _run(args: argparse.Namespace) -> int:
    try:
        return int(find(args.command).run(args))
    except ModuleNotFoundError as error:
        if environment.in_checkout():
            raise
        raise SetupError(
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
