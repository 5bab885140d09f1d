"""Published results, computed again: one module per paper, each with `compute() -> Report`."""

from importlib import import_module

from dyn_core.errors import InputError

from .report import Report

PAPERS = {
    "benchmarks": "Benchmarks of the IFToMM library and of the Test Set for IVP Solvers",
    "saha2001": "Saha and Schiehlen, Recursive Kinematics and Dynamics for Closed Loop Multibody Systems",
    "wang2001": "Wang, Gosselin and Cheng, Modeling and Simulation of Robotic Systems with Closed Kinematic Chains",
    "wu2014": "Wu, Bai and Kepler, Mobile platform center shift in spherical parallel manipulators with flexible limbs",
}
"""The papers' names, each that of a module here, and what they stand for."""


def reproduce(name: str) -> Report:
    """Everything that a paper prints or plots, beside what comes out here."""
    if name not in PAPERS:
        raise InputError(f"no paper '{name}'; there are {', '.join(PAPERS)}")
    report = import_module(f"{__name__}.{name}").compute()
    assert isinstance(report, Report)
    return report
