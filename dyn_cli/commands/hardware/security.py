"""Report what of this machine's robot is open to whom.

Discovery, listening nodes, keys, who publishes motor commands; status 1 if anything is open.
"""

import argparse
import json
import os
from dataclasses import asdict
from pathlib import Path

from dyn_cli.options import json_option, namespace_option
from dyn_cli.table import table

NEEDS = "ros"
EXAMPLES = ("./dyn security check", "./dyn security check --json")


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("action", choices=("check",), help="look, and say what is open")
    json_option(parser)
    namespace_option(parser)


def run(args: argparse.Namespace) -> int:
    """Print what is open; status 1 if anything is."""
    from . import security_findings as look

    findings = [
        *look.discovery(os.environ),
        *look.processes(),
        *look.security(os.environ),
        *look.policy(),
        *look.outputs(Path("/sys/bus/iio/devices")),
        *look.speakers(args.namespace),
    ]
    if args.json:
        print(json.dumps({"closed": all(f.closed for f in findings), "findings": [asdict(f) for f in findings]}))
    else:
        print("\n".join(table([("closed" if f.closed else "OPEN", f.what, f.sentence) for f in findings])))
    return 0 if all(finding.closed for finding in findings) else 1
