"""Leave a stop or fault.

Releases the emergency stop that `dyn stop` pressed, and clears a fault whose cause is gone.
"""

import argparse

from dyn_cli.options import namespace_option

NEEDS = "ros"
EXAMPLES = ("./dyn clear", "./dyn clear --namespace left")
options = namespace_option

STOPPED = 2.0
"""Seconds in which a robot that brakes comes to rest."""


def run(args: argparse.Namespace) -> int:
    """Release the emergency stop of ``dyn stop`` and clear a fault; a robot that still brakes is waited for."""
    from std_srvs.srv import SetBool

    from dyn_cli.client.robot_client import CONTROLLER, connected

    with connected(args.namespace) as client:
        client.call(SetBool, f"{CONTROLLER}/emergency_stop", SetBool.Request(data=False))
        print(client.clear_fault(timeout=STOPPED))
    return 0
