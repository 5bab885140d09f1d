"""Each watch barks at exactly what it watches, without ROS."""

from __future__ import annotations

import numpy as np
import pytest

from dyn_core import load_robot
from dyn_core.control.limits import KINDS, Limits
from dyn_core.control.watchdogs import REACTIONS, DeadlineWatch, LimitWatch, PeerWatch, SilenceWatch


def test_silence_is_counted_in_slices_that_this_process_saw() -> None:
    watch = SilenceWatch(0.1, now=0.0)
    assert watch.check(100.0) == "", "before the first joint state there is no silence"
    watch.hear(100.0)
    assert not watch.silent
    assert watch.check(160.0) == "", "a stall of this process counts as one slice"
    assert watch.check(160.02) == ""
    watch.hear(160.03)
    now = 160.03
    causes = []
    while not causes and now < 161.0:
        now += 0.02
        causes += [watch.check(now)] if watch.check(now) else []
    assert causes == ["no valid joint state in time"]
    assert now - 160.03 == pytest.approx(0.12)
    assert watch.silent


def test_silence_says_when_the_clock_went_back() -> None:
    watch = SilenceWatch(0.1, now=0.0)
    watch.hear(0.0)
    cause = ""
    for k in range(1, 200):
        watch.reject(5.0)
        cause = cause or watch.check(k * 0.001)
    assert cause == "the clock of the joint states jumped back by 5 s"


def test_deadlines_in_a_row() -> None:
    watch = DeadlineWatch(0.001, 10)
    assert all(watch.check(0.0014) == "" for _ in range(100))
    assert watch.missed == 0
    assert watch.check(0.011) == ""
    assert watch.missed == 10
    assert watch.check(0.001) == ""
    assert watch.check(0.012) == "11 deadlines missed in a row, 10 are allowed"
    assert [watch.check(0.002) for _ in range(11)][:10] == [""] * 10
    for _ in range(5):
        assert watch.check(0.003) == ""
        assert watch.check(0.001) == ""
    assert DeadlineWatch(0.001, 0).check(100.0) == ""


def test_a_peer_that_goes_away() -> None:
    watch = PeerWatch(1.0)
    assert watch.check(0, 0.0) == ""
    assert watch.check(0, 50.0) == "", "nobody was there yet"
    assert watch.check(1, 51.0) == ""
    assert watch.check(0, 51.9) == ""
    assert watch.alone
    assert watch.check(0, 52.1) == "nobody takes the motor commands any more"
    assert watch.check(2, 53.0) == ""
    never = PeerWatch(0.0)
    never.check(1, 0.0)
    assert never.check(0, 100.0) == ""


ROBOT = load_robot("planar_2r")
STILL = np.zeros(2)
EXCEEDING = {
    "soft_limit": (np.array([np.pi + 0.01, 0.0]), STILL, np.array([np.pi, 0.0]), STILL),
    "velocity": (STILL, np.array([4.5, 0.0]), STILL, np.array([-20.0, 0.0])),
    "torque": (STILL, STILL, STILL, np.array([61.0, 0.0])),
    "voltage": (STILL, np.array([0.0, 5.9]), STILL, np.array([0.0, 23.9]) * 10.0),
    "tracking_error": (STILL, STILL, np.array([0.0, 0.21]), STILL),
}


@pytest.mark.parametrize("reaction", REACTIONS)
@pytest.mark.parametrize("kind", EXCEEDING)
def test_every_limit_has_its_reaction(kind: str, reaction: str) -> None:
    reactions = dict.fromkeys(KINDS, "warn") | {kind: reaction}
    watch = LimitWatch(Limits(ROBOT), reactions, saturation_time=0.1)
    assert watch.check(STILL, STILL, STILL, STILL, 0.0) is None
    brief = watch.check(*EXCEEDING[kind], 1.0)
    assert (brief is None) == (kind in ("torque", "voltage"))
    verdict = watch.check(*EXCEEDING[kind], 1.2)
    assert verdict is not None
    assert verdict.reaction == reaction
    assert any(name in verdict.sentences[0] for name in ROBOT.joint_names)
    assert verdict.off_path == (kind == "tracking_error")
    watch.check(STILL, STILL, STILL, STILL, 1.3)
    again = watch.check(*EXCEEDING[kind], 1.31)
    assert (again is None) == (kind in ("torque", "voltage")), "the time counts anew"


def test_the_strongest_reaction_wins() -> None:
    reactions = dict.fromkeys(KINDS, "slow_down") | {"hard_limit": "safe_stop", "soft_limit": "warn"}
    watch = LimitWatch(Limits(ROBOT), reactions, 0.0)
    beyond = np.array([np.pi + 0.06, 0.0])
    verdict = watch.check(beyond, STILL, np.array([np.pi, 0.0]), STILL, 0.0)
    assert verdict is not None
    assert verdict.reaction == "safe_stop"
    assert len(verdict.sentences) == 1
    assert "hard" in verdict.sentences[0]
    assert [excess.sentence for excess in watch.present(beyond, STILL)] == list(verdict.sentences)
    assert watch.present(STILL, np.array([5.0, 0.0])) == [], "its reaction is not to stop"
