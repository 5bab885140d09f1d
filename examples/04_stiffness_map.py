"""Where in its workspace is a spherical parallel manipulator soft?

Draws isocontours of the largest deflection under ±10 N m about each axis into stiffness_map.png.
"""

import numpy as np
from matplotlib.figure import Figure

from dyn_core import load_robot, stiffness_map
from dyn_core.stiffness_maps import OrientationGrid

robot = load_robot("spm_coaxial")
grid = OrientationGrid(tilt_max=np.radians(45.0), azimuths=90, tilts=30)
found = stiffness_map(robot, grid)
worst = found.largest_rotation
print(f"{found.size} orientations, largest rotation {np.degrees(worst.value):.2f}°")
print(f"at azimuth {np.degrees(worst.column):.0f}°, tilt {np.degrees(worst.row):.0f}°")

azimuth = np.append(found.columns.values, 2.0 * np.pi)
rotation = np.degrees(np.column_stack([found.rotation, found.rotation[:, 0]]))
figure = Figure(figsize=(5.0, 4.5), layout="constrained")
axes = figure.add_subplot(projection="polar")
filled = axes.contourf(azimuth, np.degrees(found.rows.values), np.ma.masked_invalid(rotation), levels=12)
figure.colorbar(filled, ax=axes, label="largest rotation (°)")
axes.set_title(f"{robot.name}: azimuth and tilt (°)")
figure.savefig("stiffness_map.png", dpi=150)
