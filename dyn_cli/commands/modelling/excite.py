"""Plan a motion that shows a robot's parameters well.

The motion is within the joints' limits.
"""

import argparse
import json

from dyn_cli.options import json_option, numbers, positive, robot_argument, whole
from dyn_cli.output_file import output_file

NEEDS = "core"
EXAMPLES = ("./dyn excite puma560 --noise 5e-5 0.03 --output motion.csv",)

MOST_SAMPLES = 1_000_000


def options(parser: argparse.ArgumentParser) -> None:
    robot_argument(parser, "robot")
    parser.add_argument("--output", metavar="CSV", help="default: <robot>_excitation.csv")
    parser.add_argument("--duration", type=positive, metavar="S", help="one period (default: the most telling)")
    parser.add_argument("--harmonics", type=whole, default=5, metavar="N", help="default: 5")
    parser.add_argument("--rate", type=positive, default=100.0, metavar="HZ", help="samples (default: 100)")
    parser.add_argument("--evaluations", type=whole, default=300, metavar="N", help="motions tried (default: 300)")
    parser.add_argument("--seed", type=whole, default=1, metavar="N", help="another seed, another motion (default: 1)")
    parser.add_argument("--torques", action="store_true", help="add the model's torques, to rehearse `identify`")
    numbers(parser, "--noise", 2, "rehearse: position step, part of the torque")
    json_option(parser)


def run(args: argparse.Namespace) -> int:
    """Search an exciting trajectory and write it."""
    import numpy as np

    from dyn_core import load_robot
    from dyn_core.errors import InputError
    from dyn_core.files import write_whole
    from dyn_core.identification import excite, motion_csv, rehearsed

    robot = load_robot(args.robot)
    output = output_file(args.output, f"{robot.name}_excitation.csv")
    if args.rate > MOST_SAMPLES or (args.duration and not 2 <= args.duration * args.rate <= MOST_SAMPLES):
        raise InputError(f"{args.duration or 1:g} s at {args.rate:g} Hz: 2 to {MOST_SAMPLES} samples can be written")
    if args.noise and min(args.noise) < 0.0:
        raise InputError(f"--noise: found {args.noise}, expected a step and a part of the torque, neither below 0")
    found = excite(robot, args.duration, args.harmonics, args.evaluations, args.seed)
    duration = found.trajectory.duration
    t = np.arange(round(duration * args.rate) + 1) / args.rate
    q, qd, qdd = found.trajectory.sample(t)
    motion = {"q": q, "qd": qd, "qdd": qdd}
    if args.torques or args.noise:
        motion["tau"] = robot.inverse_dynamics(q, qd, qdd)
    if args.noise:
        step, part = args.noise
        motion = rehearsed(q, motion["tau"], step, part, args.seed)
    write_whole(output, motion_csv(robot.mechanism, t, **motion))
    if args.json:
        report = {
            "robot": robot.name, "output": str(output), "condition": found.condition, "start": q[0].tolist(),
            "duration": duration, "notes": list(found.notes),
        }  # fmt: skip
        print(json.dumps(report, indent=2))
        return 0
    print(f"start at  {'  '.join(f'{name} {x:.4g}' for name, x in zip(robot.joint_names, q[0], strict=True))}")
    print(f"one period of {duration:g} s")
    print(f"condition number {found.condition:.4g} (first tried: {found.start_condition:.4g})")
    for note in found.notes:
        print(f"note: {note}")
    print("note: joint limits are respected; obstacles and the robot's own body are not known here")
    print(f"written: {output}")
    return 0
