"""Which torques does a Puma 560 need, to stand still and to move?"""

import numpy as np

from dyn_core import load_robot

robot = load_robot("puma560")
q = np.radians([0.0, -30.0, 60.0, 0.0, 45.0, 0.0])
qd = np.full(robot.n, 0.5)  # rad/s
qdd = np.full(robot.n, 1.0)  # rad/s²

print(f"{'joint':10}{'at rest':>12}{'moving':>12}   N m")
at_rest = robot.gravity_forces(q)
moving = robot.inverse_dynamics(q, qd, qdd)
for name, first, second in zip(robot.joint_names, at_rest, moving, strict=True):
    print(f"{name:10}{first:12.3f}{second:12.3f}")

# Forward dynamics is the inverse: the same torques give the same acceleration.
assert np.allclose(robot.forward_dynamics(q, qd, moving), qdd)

# A leading axis makes a batch: 1,000 postures in one call.
many = np.random.default_rng(0).uniform(-1.0, 1.0, (1000, robot.n))
print(f"largest torque that holds one of 1,000 postures: {np.abs(robot.gravity_forces(many)).max():.1f} N m")
