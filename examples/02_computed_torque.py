"""How well does computed torque follow a trajectory, through motor voltages and 12-bit DAC codes?

Draws the tracking error into tracking_error.png.
"""

import numpy as np
from matplotlib.figure import Figure

from dyn_core import ComputedTorque, cycloidal, load_robot, simulate

robot = load_robot("planar_2r")
path = cycloidal([0.0, 0.5], [1.0, -0.5], duration=2.0)
controller = ComputedTorque(robot, bandwidth=40.0, friction="desired")


def volts(t, q, qd):
    """The voltages (V) that the motors see: those of the nearest DAC codes."""
    return robot.dac_volts(controller.command(path.sample(t), q, qd).code)


motion = simulate(robot, q0=[0.0, 0.5], duration=2.5, volts=volts, h=1e-3, dac_period=1e-3)
error = motion.q - path.sample(motion.t)[0]
print(f"root mean square error: {1e3 * np.sqrt((error**2).mean(axis=0))} mrad")

figure = Figure(figsize=(7.0, 3.5), layout="constrained")
axes = figure.subplots()
axes.plot(motion.t, 1e3 * error, label=robot.joint_names)
axes.set(xlabel="time (s)", ylabel="tracking error (mrad)", title="planar_2r under computed torque")
axes.grid(alpha=0.3)
axes.legend()
figure.savefig("tracking_error.png", dpi=150)
