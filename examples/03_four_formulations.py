"""Do four independent formulations of a closed chain agree?"""

import numpy as np

from dyn_core import load_robot

robot = load_robot("four_bar_wang")
q, qd, qdd = np.array([1.2]), np.array([0.5]), np.array([2.0])  # of the driven joint
answers = {
    formulation: robot.using(formulation).inverse_dynamics(q, qd, qdd)[0]
    for formulation in ("projection", "denoc", "multipliers", "virtual_spring")
}
for formulation, torque in answers.items():
    print(f"{formulation:15}{torque:20.14f} N m")
spread = max(answers.values()) - min(answers.values())
print(f"they differ by {spread:.1e} N m")
assert spread < 1e-9 * abs(answers["projection"])
