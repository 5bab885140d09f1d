"""Run all checks.

Ruff, lint-imports, mypy and pytest; arguments go to pytest.
"""

import argparse
import json
import os
import subprocess
import sys

from dyn_cli.setup import environment
from dyn_cli.setup.errors import SetupError
from dyn_nodes.claims import claim_domain

NEEDS = "test"
EXAMPLES = ("./dyn test", "./dyn test test/dyn_core -x", "./dyn test -k stiffness")
HANDS_ON = True

RUNNING = ("-m", "running")
"""Tests that run nodes, whose timing other work would disturb."""
TESTS_FAILED = 1
"""pytest's exit status."""
DISTURBED = 3
"""So many tests of running nodes that fail are tried once more; more than that is no disturbance by other work."""
LINT_IMPORTS = "from importlinter.cli import lint_imports_command; lint_imports_command()"
"""It cannot be run with -m; the layers that it checks are in pyproject.toml."""


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("arguments", nargs="*", metavar="ARG", help="handed to pytest: paths, -k, -x, ...")


def run(args: argparse.Namespace) -> int:
    """Run the checks one after the other, then the tests; status 1 if one of them fails."""
    if not environment.in_checkout():
        raise SetupError("the tests are not installed: run ./dyn test in a checkout of the repo.")
    os.environ["ROS_DOMAIN_ID"] = str(claim_domain())
    pytest = [sys.executable, "-m", "pytest"]
    if args.arguments:
        runs = {"pytest": [*pytest, *args.arguments]}
    else:  # tests of running nodes have the machine to themselves, the others share its cores
        runs = {
            "pytest of the core": [*pytest, "-n", "auto", "-m", "not running"],
            "pytest of the nodes": [*pytest, *RUNNING],
        }
    failed = []
    for name, command in {
        "ruff": [sys.executable, "-m", "ruff", "check", "."],
        "lint-imports": [sys.executable, "-c", LINT_IMPORTS, "--no-cache", "--no-logo"],
        "mypy": [sys.executable, "-m", "mypy"],
        **runs,
    }.items():
        print(f"dyn: {name}: {' '.join(command[2:])}", flush=True)
        status = subprocess.run(command, cwd=environment.ROOT, check=False).returncode
        lasting = environment.ROOT / ".pytest_cache" / "v" / "cache" / "lastfailed"
        retried = status == TESTS_FAILED and command[-len(RUNNING) :] == list(RUNNING)
        if retried and len(json.loads(lasting.read_text())) <= DISTURBED:
            print("dyn: what failed is tried once more: timing on a busy machine is no proof", flush=True)
            status = subprocess.run([*command, "--last-failed"], cwd=environment.ROOT, check=False).returncode
        if status != 0:
            failed.append(name)
    print(
        f"dyn: failed: {', '.join(failed)}" if failed else "dyn: ruff, lint-imports, mypy and pytest passed", flush=True
    )
    return 1 if failed else 0
