"""Can a recorded motion correct a wrong model of an arm?"""

import numpy as np

from dyn_core import excite, identify, load_robot
from dyn_core.identification import MotionLog

model = load_robot("planar_2r")  # what is believed of the arm
truth = model.standard_parameters.copy()
truth[22] *= 1.5  # the real forearm is heavier

# A motion that shows the parameters well, and what sensors would record of it.
t = np.linspace(0.0, 10.0, 1001)
q, qd, qdd = excite(model, duration=10.0, evaluations=50).trajectory.sample(t)
noise = 0.05 * np.random.default_rng(0).normal(size=q.shape)
tau = model.regressor(q, qd, qdd) @ truth + noise

found = identify(model, MotionLog("example", t, q, qd, qdd, tau))
print(f"{'base parameter':46}{'believed':>12}{'identified':>12}{'true':>12}")
rows = zip(found.base.expressions(), found.prior, found.beta, found.base.values(truth), strict=True)
for name, believed, identified, true in rows:
    print(f"{name:46}{believed:12.4f}{identified:12.4f}{true:12.4f}")
print(f"torque error before: {found.rms['prior']} N m, after: {found.rms['physical']} N m")
assert (found.rms["physical"] < 0.06).all()
