"""Densities of common materials at room temperature, each with the table that it was read from.

Alloys, castings and plastics differ by some per cent: where a part can be weighed, its mass says more.
"""

from __future__ import annotations

from typing import NamedTuple


class Density(NamedTuple):
    """A density in kg/m^3 and where it comes from."""

    value: float
    source: str


ALUMINIUM = "Nominal densities of aluminium alloys (Aluminum Association), as tabulated by amesweb.info"
METALS = "simetric.co.uk, Density of metals"
TITANIUM = "iteraio.com, Material properties database"
MAGNETS = "Magnet Sales & Service, Table of properties for SmCo magnets"
PLASTICS = "engineersedge.com, Typical engineering properties of plastics materials (specific gravity)"

DENSITIES = {
    "aluminium_2024": Density(2780.0, ALUMINIUM),
    "aluminium_6061": Density(2700.0, ALUMINIUM),
    "aluminium_7075": Density(2810.0, ALUMINIUM),
    "copper": Density(8930.0, METALS),
    "lead": Density(11340.0, METALS),
    "magnesium": Density(1738.0, METALS),
    "steel": Density(7850.0, METALS),
    "titanium_6al4v": Density(4430.0, TITANIUM),
    "neodymium_magnet": Density(7400.0, MAGNETS),
    "samarium_cobalt_magnet": Density(8400.0, MAGNETS),
    "abs": Density(1050.0, PLASTICS),
    "acetal": Density(1410.0, PLASTICS),
    "acrylic": Density(1190.0, PLASTICS),
    "nylon_66": Density(1140.0, PLASTICS),
    "polycarbonate": Density(1190.0, PLASTICS),
    "ptfe": Density(2190.0, PLASTICS),
}
