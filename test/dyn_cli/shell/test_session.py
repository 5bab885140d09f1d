"""The arm shell without a terminal: variables that belong together, commands, questions, files, undo."""

from __future__ import annotations

import os
import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dyn_cli.figures.recording import RESULT_ROWS
from dyn_cli.shell import COMMANDS, VARIABLES, Quit, Session, completions
from dyn_core import DynError, load_robot, simulate

NO_MOTORS = """\
name: bare
gravity: [0, 0, -9.81]
joints:
  - {name: a, type: revolute, origin: {}, axis: [0, 1, 0], link: {name: one, mass: 1, com: [0.1, 0, 0]}}
  - {name: b, type: prismatic, origin: {xyz: [0.3, 0, 0]}, axis: [1, 0, 0], link: {name: two, mass: 2}}
"""


@pytest.fixture
def session(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Session:
    monkeypatch.chdir(tmp_path)
    return Session(COMMANDS, "planar_2r")


def run(session: Session, *lines: str) -> str:
    """What the last line says."""
    text = ""
    for line in lines:
        text = session.execute(line)
    return text


def numbers(text: str) -> np.ndarray:
    return np.array([float(word) for word in text.partition("#")[0].partition("=")[2].split()])


def test_the_cmu_arm_is_read_at_the_start() -> None:
    session = Session(COMMANDS)
    assert session.state.robot.name == "cmu_dd_arm"
    assert session.execute("gravity") == "gravity = -9.80621  # m/s^2 along z of the base"


# variables


def test_a_variable_is_set_and_shown(session: Session) -> None:
    assert run(session, "theta = 0.5 -1e-1") == ""
    assert run(session, "theta") == "theta = 0.5 -0.1  # rad"
    assert run(session, "theta=1, 2 # a remark", "theta") == "theta = 1 2  # rad"


def test_torque_and_voltage_follow_each_other(session: Session) -> None:
    robot = session.state.robot
    run(session, "omega = 0.3 -0.2", "torque = 1.5 -0.5")
    np.testing.assert_array_equal(session.state.volts, robot.voltages([1.5, -0.5], [0.3, -0.2]))
    run(session, "voltage = 2 1")
    np.testing.assert_array_equal(session.state.torque, robot.torques([2.0, 1.0], [0.3, -0.2]))
    run(session, "omega = 0 0")
    np.testing.assert_array_equal(session.state.volts, [2.0, 1.0])
    np.testing.assert_array_equal(session.state.torque, robot.torques([2.0, 1.0], [0.0, 0.0]))


def test_the_dac_follows_the_voltage_and_leads_it(session: Session) -> None:
    robot = session.state.robot
    motors = robot.mechanism.motors
    run(session, "voltage = 3.3 -2.1")
    codes = robot.dac_codes([3.3, -2.1])
    step = (motors.dac_high - motors.dac_low) / 2.0**motors.dac_bits
    text = run(session, "DACOut")
    np.testing.assert_allclose(numbers(text), motors.dac_low + codes * step, rtol=1e-5)
    assert text.endswith(f"codes {codes[0]} {codes[1]}")
    run(session, "DACOut = 0.5 -0.25")
    gain = motors.dac_gain * motors.dac_sign
    wanted = gain * (np.array([0.5, -0.25]) - motors.dac_offset)
    assert (np.abs(session.state.volts - wanted) <= np.abs(gain) * step / 2).all()
    np.testing.assert_array_equal(session.state.volts, robot.dac_volts(robot.dac_codes(session.state.volts)))
    np.testing.assert_array_equal(session.state.torque, robot.torques(session.state.volts, [0.0, 0.0]))


def test_what_a_limit_cuts_is_said(session: Session) -> None:
    assert "note: shoulder: the motor cannot give this torque" in run(session, "torque = 1e6 0")
    assert "note: shoulder, elbow: cut by the limits of the motor" in run(session, "voltage = 1e3 -1e3")
    np.testing.assert_array_equal(session.state.volts, session.state.robot.mechanism.motors.voltage_limit * [1, -1])
    assert "note: elbow: cut by the range of the DAC" in run(session, "DACOut = 0 1e3")


def test_degrees(session: Session) -> None:
    run(session, "units deg", "theta = 90 -45", "omega = 180 0")
    np.testing.assert_allclose(session.state.theta, [np.pi / 2, -np.pi / 4])
    assert run(session, "theta") == "theta = 90 -45  # deg"
    assert run(session, "omega") == "omega = 180 0  # deg/s"
    assert run(session, "units rad", "omega") == "omega = 3.14159 0  # rad/s"


def test_gravity_is_one_number_or_three(session: Session) -> None:
    described = session.state.robot.mechanism.gravity.copy()
    axis = int(np.argmax(np.abs(described)))
    run(session, "gravity = -1.62")
    assert session.state.robot.mechanism.gravity[axis] == -1.62
    assert np.count_nonzero(session.state.robot.mechanism.gravity) == 1
    run(session, "gravity = 1 2 -3", "theta = 0.2 0.3", "inverse_arm")
    np.testing.assert_array_equal(session.state.robot.mechanism.gravity, [1, 2, -3])
    other = load_robot("planar_2r")
    assert not np.allclose(session.state.torque, other.gravity_forces([0.2, 0.3]))
    run(session, "gravity = 0", "inverse_arm")
    np.testing.assert_allclose(session.state.torque, 0.0, atol=1e-12)


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ("theta = 1", "theta needs 2 numbers, one per joint, found 1"),
        ("theta = 1 x", "'x' is not a number"),
        ("theta = 1 inf", "'inf' is not a finite number"),
        ("theta 1 2", "theta is a variable"),
        ("thetta = 1 2", "no command or variable 'thetta'; did you mean theta?"),
        ("simulat", "did you mean simulate?"),
        ("qwertz", "`help` lists them"),
        ("gravity = 1 2", "gravity needs 1 number or 3"),
        ("DACTimePeriod = 0", "DACTimePeriod must be above 0 s"),
        ("DACTimePeriod = 0.0015", "not a whole number of steps"),
        ("method = midpoint", "method is one of rk3, rk4, euler"),
        ("units grad", "units are deg or rad"),
        ("inverse_arm now", "takes nothing after it"),
        ("simulate steps", "steps needs a number"),
        ("simulate steps 1.5", "whole and above 0"),
        ("simulate steps 1e12", "too many for the memory"),
        ("simulate fast", "simulate does not know 'fast'"),
        ("simulate continue", "nothing has been simulated yet"),
        ("simulate ramp", "add `schedule FILE`"),
        ("simulate schedule none.csv", "none.csv: cannot be read"),
        ("print_simulation", "nothing has been simulated yet"),
        ("close_output_file", "no output file is open"),
        ("database_read nobody", "no robot 'nobody'"),
        ("database_read eel", "has a floating base"),
        ("load none.sim", "none.sim: cannot be read"),
        ("help nothing", "there is no help on 'nothing'"),
        ('save "a', "a quotation mark has no partner"),
    ],
)
def test_a_mistake_is_one_sentence_and_changes_nothing(session: Session, line: str, sentence: str) -> None:
    before = session.state
    with pytest.raises(DynError) as found:
        session.execute(line)
    assert sentence in str(found.value)
    assert session.state is before


# models and simulations


def test_inverse_and_forward_arm_undo_each_other(session: Session) -> None:
    run(session, "theta = 0.2 -0.4", "omega = 0.5 0.1", "alpha = 1 -2", "inverse_arm")
    robot = session.state.robot
    np.testing.assert_array_equal(session.state.torque, robot.inverse_dynamics([0.2, -0.4], [0.5, 0.1], [1.0, -2.0]))
    run(session, "alpha = 0 0", "forward_arm")
    np.testing.assert_allclose(session.state.alpha, [1.0, -2.0], rtol=1e-9)


def test_a_simulation_is_that_of_dyn_core_to_the_last_bit(session: Session) -> None:
    Path("volts.csv").write_text("t,v1,v2\n0,1,-1\n0.3,2,0.5\n1.5,0,0\n")
    run(session, "theta = 0.3 -0.2", "DACTimePeriod = 0.002", "simulate new schedule volts.csv")
    found = session.recording().result
    table = np.repeat([[1.0, -1.0], [2.0, 0.5]], [150, 600], axis=0)
    robot = load_robot("planar_2r")
    expected = simulate(robot, [0.3, -0.2], duration=1.5, volts=table, dac_period=2e-3)
    for name in RESULT_ROWS:
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name))
    np.testing.assert_array_equal(session.state.theta, expected.q[-1])


def test_a_simulation_in_two_parts_is_the_whole(session: Session) -> None:
    run(session, "voltage = 1 0.5", "simulate steps 400", "units deg", "simulate continue steps 600")
    found = session.recording().result
    expected = simulate(load_robot("planar_2r"), duration=1.0, volts=[1.0, 0.5])
    for name in RESULT_ROWS:
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name))
    run(session, "theta = 0 0", "simulate continue steps 10")
    assert session.recording().result.t[-1] == pytest.approx(1.01)
    assert len(session.recording()) == 1011


def test_rest_sets_theta_and_omega_to_zero(session: Session) -> None:
    run(session, "theta = 1 1", "omega = 2 2", "simulate rest steps 5")
    np.testing.assert_array_equal(session.recording().result.q[0], 0.0)
    np.testing.assert_array_equal(session.recording().result.qd[0], 0.0)
    with pytest.raises(DynError, match="cannot start from rest"):
        session.execute("simulate continue rest")


def test_questions_have_their_defaults(session: Session) -> None:
    asked: list[tuple[str, str]] = []
    answers = {"Number of time steps of 0.001 s": "7", "Set theta": "yes"}

    def ask(question: str, default: str) -> str:
        asked.append((question, default))
        return next((answer for start, answer in answers.items() if question.startswith(start)), "")

    asking = Session(COMMANDS, "planar_2r", ask=ask)
    run(asking, "theta = 1 1", "simulate")
    assert [default for _, default in asked] == ["no", "none", "1000"]
    assert len(asking.recording()) == 8
    np.testing.assert_array_equal(asking.recording().result.q[0], 0.0)
    asked.clear()
    run(asking, "simulate continue steps 3", "print_simulation 0")
    assert asked == []
    run(asking, "simulate")
    assert asked[0][0].startswith("Start a new simulation")
    run(session, "simulate")  # nobody answers: the defaults
    assert len(session.recording()) == 1001


def test_a_simulation_can_be_stopped(session: Session) -> None:
    seen: list[float] = []

    def watch(start: float, t: float, end: float) -> bool:
        seen.append(t)
        return t < 2.0

    watched = Session(COMMANDS, "planar_2r", watch=watch)
    text = run(watched, "simulate steps 100000")
    assert "stopped at t = 2 s, as asked" in text
    assert seen == pytest.approx([0.0, 1.0, 2.0])
    assert len(watched.recording()) == 2001
    whole = simulate(load_robot("planar_2r"), duration=2.0, volts=[0.0, 0.0])
    np.testing.assert_array_equal(watched.state.theta, whole.q[-1])


def test_a_robot_without_motors_is_driven_by_torque(session: Session) -> None:
    Path("bare.yaml").write_text(NO_MOTORS)
    assert run(session, "database_read bare.yaml") == "bare: 2 joints (a, b), no motors"
    assert run(session, "torque") == "torque = 0 0  # N m, N"
    assert run(session, "units deg", "theta") == "theta = 0 0  # deg, m"
    run(session, "theta = 90 0.5", "torque = 1 2", "simulate steps 20")
    expected = simulate(load_robot("bare.yaml"), [np.pi / 2, 0.5], duration=0.02, torques=[1.0, 2.0])
    np.testing.assert_array_equal(session.recording().result.q, expected.q)
    for line in ("voltage", "DACOut", "voltage = 1 1"):
        with pytest.raises(DynError, match="describes no motors"):
            session.execute(line)
    run(session, "plot_simulation bare", "write_results bare.mcap", "write_graphic_file bare.html", "show", "save s")
    assert run(session, "load s") == "bare: 2 joints (a, b), no motors"


def test_closed_chains(session: Session) -> None:
    run(session, "database_read four_bar_saha", "voltage = 2")
    run(session, "simulate rest steps 50")
    robot = load_robot("four_bar_saha")
    expected = simulate(robot, robot.neutral(), duration=0.05, volts=[2.0])
    np.testing.assert_array_equal(session.recording().result.q, expected.q)
    assert "joint_1" in run(session, "print_simulation 0 50 10 theta")


# files


def test_printing_goes_to_the_screen_or_to_a_file(session: Session) -> None:
    run(session, "voltage = 1 1", "simulate steps 100")
    table = run(session, "print_simulation 0 0.1s 25 theta voltage")
    assert table.count("\n") == 2 * 7 - 1
    assert table.splitlines()[0] == "# planar_2r: theta, rad"
    run(session, "open_output_file out.txt", "print_simulation 0 100 25", "print_simulation 0 0 1 theta")
    assert run(session, "close_output_file") == "closed: out.txt"
    assert "0.1000" in run(session, "print_simulation 100 100 1")
    assert Path("out.txt").read_text().count("# planar_2r: theta, rad") == 2
    with pytest.raises(DynError, match="add the word `over`"):
        session.execute("open_output_file out.txt")
    for line in ("print_simulation 5 2", "print_simulation 0 101", "print_simulation 0 10 0", "print_simulation 0.5"):
        with pytest.raises(DynError, match=r"start, finish and step|whole number"):
            session.execute(line)


def test_plots_results_and_pages_are_written(session: Session) -> None:
    run(session, "voltage = 1 1", "simulate steps 100")
    text = run(session, "plot_simulation run theta torque")
    assert text.endswith("written: run.png, run.pdf")
    assert "torque, N m: shoulder, elbow" in text
    for name in ("run.csv", "run.mcap"):
        assert run(session, f"write_results {name}") == f"written: {name}"
    assert run(session, "write_graphic_file") == "written: planar_2r_simulation.html"
    for line in ("plot_simulation run", "write_results run.csv", "write_graphic_file"):
        with pytest.raises(DynError, match="add the word `over`"):
            session.execute(line)
        session.execute(f"{line} over")
    before = session.recording().result
    run(session, "simulate steps 5", "read_results run.csv")
    for name in RESULT_ROWS:
        np.testing.assert_array_equal(getattr(session.recording().result, name), getattr(before, name))
    with pytest.raises(DynError, match="takes one file"):
        session.execute("plot_simulation run speed over")


def test_where_there_is_a_screen_the_plot_is_shown_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    shown: list[Path] = []
    session = Session(COMMANDS, "planar_2r", show=lambda path: shown.append(path) or "opened")  # type: ignore[func-returns-value]
    assert run(session, "simulate steps 5", "plot_simulation run theta") == "written: run.png, run.pdf (opened)"
    assert shown == [Path("run.png")]


def test_a_saved_session_is_restored_to_the_last_bit(session: Session, tmp_path: Path) -> None:
    run(session, "gravity = 0.1 0.2 -9.7", "theta = 0.1 0.7", "omega = 0.3 0.4", "voltage = 1.7 0.3")
    run(session, "TimeStep = 0.0005")
    run(session, "DACTimePeriod = 0.001", "method = rk4", "simulate steps 20", "units deg", "save work.sim")
    other = Session(COMMANDS)
    assert "planar_2r" in run(other, f"load {tmp_path}/work.sim")
    for name in ("theta", "omega", "alpha", "volts", "dac_period", "time_step", "method", "degrees"):
        np.testing.assert_array_equal(getattr(other.state, name), getattr(session.state, name))
    np.testing.assert_array_equal(other.state.robot.mechanism.gravity, [0.1, 0.2, -9.7])
    np.testing.assert_array_equal(other.recording().result.q, session.recording().result.q)
    run(other, "undo")
    assert other.state.robot.name == "cmu_dd_arm"


def test_a_damaged_session_is_refused_with_its_line_and_changes_nothing(session: Session) -> None:
    before = session.state
    Path("bad.sim").write_text("database_read planar_2r\ntheta = 1 2\nomega = 1\n")
    with pytest.raises(DynError, match=r"bad\.sim:3: omega needs 2 numbers"):
        session.execute("load bad.sim")
    Path("bad.sim").write_text("database_read planar_2r\nwrite_results /elsewhere\n")
    with pytest.raises(DynError, match=r"bad\.sim:2: a saved session sets variables only"):
        session.execute("load bad.sim")
    assert session.state is before


def test_undo_takes_back_one_change_after_the_other(session: Session) -> None:
    run(session, "theta = 1 2", "voltage = 1 1", "simulate steps 10", "database_read puma560")
    assert run(session, "undo") == "taken back"
    assert len(session.recording()) == 11
    run(session, "undo")
    assert session.state.recording is None
    run(session, "undo", "undo")
    np.testing.assert_array_equal(session.state.theta, 0.0)
    assert run(session, "undo") == "there is nothing to take back"


# help and completion


def test_everything_has_help(session: Session) -> None:
    overview = run(session, "help")
    for name in (*COMMANDS, *VARIABLES):
        assert re.search(rf"^  {name} +\S", overview, re.MULTILINE)
        text = run(session, f"help {name}")
        assert len(text.splitlines()) >= 2
        assert max(map(len, text.splitlines())) <= 85
    assert max(map(len, overview.splitlines())) <= 79
    assert set(VARIABLES) >= {"gravity", "DACTimePeriod", "theta", "omega", "alpha", "torque", "voltage", "DACOut"}


def test_robots_are_listed(session: Session) -> None:
    text = run(session, "robots")
    assert re.search(r"^puma560 +6 joints", text, re.MULTILINE)
    assert re.search(r"^eel .*not for this shell", text, re.MULTILINE)


def test_quit() -> None:
    with pytest.raises(Quit):
        Session(COMMANDS, "planar_2r").execute("quit")


def test_completion(session: Session) -> None:
    Path("volts.csv").touch()
    Path("folder").mkdir()
    assert completions("the") == ["theta"]
    assert completions("simulate n") == ["new"]
    assert completions("simulate new schedule v") == ["volts.csv"]
    assert completions("write_results ") == ["folder/", "over", "volts.csv"]
    assert completions("database_read pu") == ["puma560"]
    assert completions("units ") == ["deg", "rad"]
    assert completions("help DAC") == ["DACOut", "DACTimePeriod"]
    assert completions("nothing ") == []
    assert completions("load none/") == []


# lines that nobody means

WORDS = [
    *COMMANDS, *VARIABLES, "new", "continue", "steps", "schedule", "ramp", "over", "=", "#", "0", "1", "-1", "1 2",
    "1e50", "-1e50", "1e-300", "1e308", "nan", "9" * 400, "0.5s", "x", "", "\0", "\x1b[2J", "\udcff", "'", "a.csv",
    "~nobody/x", ".", "/", "n" * 300, "planar_2r", "eel", "RK45", "euler", "deg",
]  # fmt: skip


@settings(max_examples=150, deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck))
@given(
    lines=st.lists(
        st.lists(st.sampled_from(WORDS), min_size=1, max_size=5).map(" ".join)
        | st.tuples(st.sampled_from(sorted(VARIABLES)), st.lists(st.sampled_from(WORDS), max_size=3)).map(
            lambda set_to: f"{set_to[0]} = {' '.join(set_to[1])}"
        ),
        max_size=4,
    )
)
def test_any_line_is_done_or_refused_in_one_line(session: Session, lines: list[str]) -> None:
    refused: list[str] = []
    for line in ["simulate steps 2", *lines, "show"]:
        if "RK45" in line or ("plot" in line and "over" in line):
            continue  # much work, and none of reading
        try:
            session.execute(line)
        except DynError as error:
            refused.append(str(error))
        except Quit:
            pass
    assert all(sentence.isprintable() for sentence in refused)
    for file in Path().iterdir():
        assert not (file.name.startswith(".") and file.name != ".csv"), file


@pytest.mark.parametrize(
    ("lines", "sentence"),
    [
        (("load pipe",), "pipe: cannot be read (it is not a file)"),
        (("save ~no_such_user/x",), "there is no user of that name"),
        (("save 'a\0b'",), "no file can have this name"),
        (("save " + "n" * 300,), "File name too long"),
        (("simulate steps 2", "plot_simulation / over"), "/: is a folder"),
        (("theta = 1e60 0",), "'1e60' is not a finite number of at most 1e+50 in size"),
        (("TimeStep = 1e-300", "simulate schedule late.csv"), "late.csv: its 1e+50 s are too many steps of 1e-300 s"),
        (("TimeStep = 1e-300", "DACTimePeriod = 1e20"), "is not a whole number of steps"),
        (("read_results late_rows.csv", "simulate continue steps 2"), "too late to be continued in steps of 0.001 s"),
        (("read_results late_rows.csv", "write_results a.mcap"), "MCAP has times from 0 to 2^31 s"),
    ],
)
def test_what_fuzzing_found_is_refused_in_a_sentence(
    session: Session, lines: tuple[str, ...], sentence: str, tmp_path: Path
) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "late.csv").write_text("t,v1,v2\n0,1,1\n1e50,1,1\n")
    rows = "t,q1,q2,qd1,qd2,qdd1,qdd2,tau1,tau2,voltage1,voltage2\n0" + ",0" * 10 + "\n1e40" + ",0" * 10 + "\n"
    (tmp_path / "late_rows.csv").write_text(rows)
    with pytest.raises(DynError) as found:
        run(session, *lines)
    assert sentence in str(found.value)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["late.csv", "late_rows.csv", "pipe"]


def test_an_adaptive_method_gives_up_on_endless_work(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dyn_core.simulation.stepper.MOST_EVALUATIONS", 500)
    text = run(session, "method = RK45", "omega = 1e9 1e9", "simulate steps 2")
    assert "RK45 needs more than 500 evaluations for a step of 0.001 s after t = 0 s" in text
