"""A folder that behaves like the IIO interface of sysfs, and the DAC file of an arm on it."""

from __future__ import annotations

import time
from pathlib import Path

SCALE, OFFSET = 4.8828125, -2048
"""mV per step, and steps: 12 bits over +-10 V."""
SAFE = ["2048", "2048"]

DAC_FILE = """\
robot: planar_2r
devices:
  - {name: main, iio: ad5754}
  - {name: second, iio: wrist_dac}
channels:
  - {joint: shoulder, device: main, channel: 0}
  - {joint: elbow, device: second, channel: 2, inverted: true}
enable: {file: enable}
"""


class IioFolder:
    """Two devices, one found by its name, one by its label; the attributes have what a crashed program left."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.dac = root / "dac.yaml"
        self.dac.write_text(DAC_FILE)
        self.enable = root / "enable"
        self.enable.write_text("1\n")
        for folder, name, label, channels in (("0", "ad5754", "", (0, 1)), ("1", "ad5686", "wrist_dac", (2,))):
            device = root / f"iio:device{folder}"
            device.mkdir()
            (device / "name").write_text(f"{name}\n")
            if label:
                (device / "label").write_text(f"{label}\n")
            for channel in channels:
                stem = device / f"out_voltage{channel}"
                Path(f"{stem}_raw").write_text("3999\n")
                Path(f"{stem}_scale").write_text(f"{SCALE}\n")
                Path(f"{stem}_powerdown").write_text("1\n")
            (device / "out_voltage_offset").write_text(f"{OFFSET}\n")
        self.shoulder = root / "iio:device0" / "out_voltage0_raw"
        self.elbow = root / "iio:device1" / "out_voltage2_raw"

    def raws(self) -> list[str]:
        """What the two motors' channels hold."""
        return [path.read_text().strip() for path in (self.shoulder, self.elbow)]

    def safe(self) -> bool:
        return self.raws() == SAFE and self.enable.read_text().strip() == "0"

    def wait_safe(self, seconds: float) -> float:
        """Wait until the safe codes are out and the amplifiers off; returns how long it took (s)."""
        begin = time.monotonic()
        while not self.safe():
            taken = time.monotonic() - begin
            assert taken < seconds, f"not safe after {taken:.3g} s: {self.raws()}, enable {self.enable.read_text()!r}"
            time.sleep(0.001)
        return time.monotonic() - begin
