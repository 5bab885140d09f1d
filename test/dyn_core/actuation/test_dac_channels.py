"""From codes to raw values of real channels: voltages, inversion, calibration, slew, limits."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from dyn_core import load_robot
from dyn_core.actuation.dac_channels import Calibration, Channel, ChannelMap
from dyn_core.actuation.motors import CODES, GAIN, LOW, OFFSET, STEP, V_MAX
from dyn_core.errors import InputError

ROBOT = load_robot("planar_2r")
MOTORS = ROBOT.actuation.motors
SIXTEEN_BITS = {"scale": 20.0 / 2**16, "offset": -32768.0, "lowest": 0, "highest": 65535}


def channels(**changes: object) -> list[Channel]:
    return [Channel(joint, **{**SIXTEEN_BITS, **changes}) for joint in ROBOT.joint_names]  # type: ignore[arg-type]


def channel_map(**changes: object) -> ChannelMap:
    return ChannelMap(ROBOT.joint_names, MOTORS, channels(**changes))


def volts(raw: list[int], calibration: Calibration | None = None) -> np.ndarray:
    """What a meter at the channel shows."""
    nominal = (np.array(raw) - 32768.0) * 20.0 / 2**16
    return nominal if calibration is None else calibration.offset + calibration.gain * nominal


@pytest.mark.parametrize("calibration", [Calibration(), Calibration(1.02, -0.05), Calibration(0.97, 0.2)])
@pytest.mark.parametrize("inverted", [False, True])
def test_the_motor_sees_what_the_code_says(calibration: Calibration, inverted: bool) -> None:
    channel = channel_map(calibration=calibration, inverted=inverted)
    step = calibration.gain * 20.0 / 2**16
    for codes in np.random.default_rng(1).integers(100, 3990, (200, 2)):
        shown = volts(channel.step(codes.astype(float), 1.0), calibration)
        at_motor = 4.8 * shown * (-1.0 if inverted else 1.0)
        np.testing.assert_allclose(at_motor, ROBOT.dac_volts(codes), atol=4.8 * step * 0.5001)
    assert channel.clipped == 0


def test_safe_is_zero_volts_at_the_motor_with_an_offset_amplifier_and_a_reversed_gain() -> None:
    motors = MOTORS.copy()
    motors[:, OFFSET], motors[:, LOW], motors[:, STEP], motors[:, GAIN] = 2.5, 0.0, 5.0 / 4096, -9.0
    motors[:, V_MAX] = 20.0
    own = [Channel(j, 5.0 / 4096, 0.0, 0, 4095, inverted=True) for j in ROBOT.joint_names]
    channel = ChannelMap(ROBOT.joint_names, motors, own)
    assert channel.safe == [2048, 2048]
    assert channel.step(np.array([2048.0, 3000.0]), 1.0) == [2048, 4096 - 3000]
    assert channel.rest() == channel.safe


def test_the_output_moves_no_faster_than_its_slew_rate() -> None:
    channel = channel_map(slew=100.0)
    wanted, reached = np.array([4000.0, 100.0]), []
    for _ in range(200):
        reached.append(volts(channel.step(wanted, 1e-3)))
    steps = np.diff(np.vstack((np.zeros(2), reached)), axis=0)
    assert np.abs(steps).max() <= 0.1 + 20.0 / 2**16
    np.testing.assert_allclose(reached[-1], ROBOT.dac_volts([4000, 100]) / 4.8, atol=1e-3)
    np.testing.assert_allclose(reached[49], [5.0, -5.0], atol=1e-3)
    assert channel.rest() == [32768, 32768], "the safe code is not kept waiting"
    np.testing.assert_allclose(volts(channel.step(wanted, 1e-3)), [0.1, -0.1], atol=1e-3)
    assert volts(channel.step(wanted, 0.0)) == pytest.approx([0.1, -0.1], abs=1e-3)


def test_what_a_channel_cannot_reach_is_clipped_and_counted() -> None:
    channel = channel_map(calibration=Calibration(0.99, 0.0))
    assert channel.step(np.array([4095.0, 0.0]), 1.0) == [65535, 0]
    assert channel.clipped == 1


@pytest.mark.parametrize("codes", [[-1.0, 2048.0], [2048.0, 4096.0], [np.nan, 2048.0]])
def test_codes_that_the_dac_does_not_have_are_refused(codes: list[float]) -> None:
    with pytest.raises(InputError, match="DAC code"):
        channel_map().step(np.array(codes), 1.0)


def test_a_voltage_beyond_the_motors_limit_is_refused() -> None:
    motors = MOTORS.copy()
    motors[1, V_MAX] = 24.0
    channel = ChannelMap(ROBOT.joint_names, motors, channels())
    channel.step(np.array([4000.0, 3070.0]), 1.0)
    with pytest.raises(InputError, match=r"elbow.*24 V"):
        channel.step(np.array([2048.0, 3200.0]), 1.0)


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        (channels()[:1], "elbow has a motor but no channel"),
        ([*channels(), channels()[0]], "shoulder has two channels"),
        ([*channels(), replace(channels()[0], joint="wrist")], "wrist has a channel but no motor"),
        (channels(scale=5.0 / 2**16), "needs -10 to"),
        (channels(offset=0.0), "needs -10 to"),
        (channels(calibration=Calibration(-1.0, 0.0)), "gain of -1"),
        (channels(calibration=Calibration(1.0, 3.0)), "offset of 3"),
        (channels(lowest=40000, highest=90000), "needs -10 to"),
    ],
)
def test_channels_that_do_not_fit_the_robot_are_refused(wrong: list[Channel], sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        ChannelMap(ROBOT.joint_names, MOTORS, wrong)


def test_joints_without_motors_need_no_channel() -> None:
    motors = MOTORS.copy()
    motors[0, CODES] = 1.0
    channel = ChannelMap(ROBOT.joint_names, motors, channels()[1:])
    assert channel.joints == ["elbow"]
    assert len(channel.step(np.array([0.0, 2100.0]), 1.0)) == 1


def test_a_calibration_is_the_line_of_least_squares() -> None:
    rng = np.random.default_rng(2)
    nominal = np.linspace(-0.5, 0.5, 7)
    measured = 0.012 + 1.03 * nominal + 1e-3 * rng.standard_normal(7)
    found, residual = Calibration.fit(nominal, measured)
    slope, intercept = np.polyfit(nominal, measured, 1)
    assert (found.gain, found.offset) == pytest.approx((slope, intercept))
    assert residual == pytest.approx(np.abs(np.polyval((slope, intercept), nominal) - measured).max())
    for bad in ([1.0], [1.0, 1.0], [1.0, np.nan]):
        with pytest.raises(InputError):
            Calibration.fit(np.array(bad), np.array(bad))
