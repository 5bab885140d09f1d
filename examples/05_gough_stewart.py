"""How do the legs of a Gough-Stewart platform move, and what do they carry, for a motion of the platform?"""

import numpy as np

from dyn_core import load_robot
from dyn_core.spatial import poses_apart
from dyn_core.trajectory import displaced, leg_trajectory, straight

robot = load_robot("gough_stewart")
start = robot.platform.home
target = displaced(start, [0.05, 0.0, 0.03, 0.0, 0.0, 0.1])  # m, and a rotation vector in rad
legs = leg_trajectory(robot, straight(start, target, duration=2.0))
print(f"{len(legs.times)} points keep the platform within {legs.distance:.1e} m of its path")

t = np.linspace(0.0, 2.0, 5)
q, qd, qdd = legs.trajectory().sample(t)
forces = robot.inverse_dynamics(q, qd, qdd)
for time, lengths, carried in zip(t, q, forces, strict=True):
    print(f"{time:.1f} s  legs (m): {np.round(lengths, 4)}  forces (N): {np.round(carried, 1)}")

distance, angle = poses_apart(robot.forward_kinematics(q[-1]), target)
assert max(distance, angle) < 1e-6
