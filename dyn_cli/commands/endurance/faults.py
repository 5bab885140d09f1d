"""Break a running system; check that it stays safe."""

from __future__ import annotations

import argparse
import json
import os
import sys
from dataclasses import asdict
from typing import TYPE_CHECKING

from dyn_cli.options import json_option
from dyn_cli.table import table
from dyn_nodes.claims import claim_domain

if TYPE_CHECKING:
    from .fault_campaign import Outcome

NEEDS = "ros"
EXAMPLES = ("./dyn faults", "./dyn faults --short", "./dyn faults --only kill burst --json")


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--short", action="store_true", help="only a few faults, under a minute")
    parser.add_argument("--only", nargs="+", metavar="WORDS", help="only faults with one of these words in their name")
    parser.add_argument("--list", action="store_true", help="print the faults, and try none")
    json_option(parser)


def run(args: argparse.Namespace) -> int:
    """Run the campaign; status 0 only if every fault was survived."""
    from dyn_cli.client.robot_client import ClientError
    from dyn_core.errors import InputError

    from .fault_campaign import ROBOT, Campaign
    from .fault_injections import FAULTS

    chosen = [fault for fault in FAULTS if fault.short or not args.short]
    if args.only:
        chosen = [fault for fault in FAULTS if any(words.lower() in fault.name.lower() for words in args.only)]
        if not chosen:
            words = " or ".join(map(repr, args.only))
            raise InputError(f"no fault has {words} in its name; ./dyn faults --list has them")
    if args.list:
        print("\n".join(fault.name for fault in chosen))
        return 0
    os.environ["ROS_DOMAIN_ID"] = str(claim_domain())
    os.environ.setdefault("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST")
    os.environ.setdefault("FASTDDS_BUILTIN_TRANSPORTS", "UDPv4")
    results: list[Outcome] = []
    _say(f"starting {ROBOT} with its nodes; {len(chosen)} faults")
    try:
        with Campaign() as campaign:
            problems = campaign.recover()
            if problems:
                raise ClientError(f"the system does not work before any fault: {problems[0]}")
            for number, fault in enumerate(chosen, 1):
                _say(f"{number} of {len(chosen)}: {fault.name}")
                results.append(campaign.try_fault(fault))
    except KeyboardInterrupt:
        _say("interrupted")
    survived = sum(result.survived for result in results)
    if args.json:
        rows = [{"survived": result.survived, **asdict(result)} for result in results]
        print(json.dumps({"faults": len(results), "survived": survived, "asked": len(chosen), "results": rows}))
    else:
        print("\n".join(_lines(results)))
        print(f"{len(results)} faults, {survived} survived")
    return 0 if survived == len(chosen) else 1


def _lines(results: list[Outcome]) -> list[str]:
    rows = [("fault", "", "safe after", "highest", "outcome")]
    for result in results:
        safe = "-" if result.safe_after is None else f"{1e3 * result.safe_after:.0f} ms"
        said = "; ".join([result.outcome, *result.problems])
        verdict = "ok" if result.survived else "FAIL"
        rows.append((result.fault, verdict, safe, f"{result.highest_voltage:.1f} V", said))
    return table(rows, "<<>><")


def _say(text: str) -> None:
    print(f"dyn faults: {text}", file=sys.stderr, flush=True)
