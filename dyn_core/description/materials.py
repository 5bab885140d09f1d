"""Densities of common materials at room temperature, each with the table that it was read from.

Alloys, castings and plastics differ by some per cent: where a part can be weighed, its mass says more.
"""

from __future__ import annotations

from typing import NamedTuple


class Material(NamedTuple):
    """A density in kg/m^3 and where it comes from."""

    density: float
    source: str


ALUMINIUM = "Nominal densities of aluminium alloys (Aluminum Association), as tabulated by amesweb.info"
METALS = "simetric.co.uk, Density of metals"
TITANIUM = "iteraio.com, Material properties database"
MAGNETS = "Magnet Sales & Service, Table of properties for SmCo magnets"
PLASTICS = "engineersedge.com, Typical engineering properties of plastics materials (specific gravity)"

MATERIALS = {
    "aluminium_2024": Material(2780.0, ALUMINIUM),
    "aluminium_6061": Material(2700.0, ALUMINIUM),
    "aluminium_7075": Material(2810.0, ALUMINIUM),
    "copper": Material(8930.0, METALS),
    "lead": Material(11340.0, METALS),
    "magnesium": Material(1738.0, METALS),
    "steel": Material(7850.0, METALS),
    "titanium_6al4v": Material(4430.0, TITANIUM),
    "neodymium_magnet": Material(7400.0, MAGNETS),
    "samarium_cobalt_magnet": Material(8400.0, MAGNETS),
    "abs": Material(1050.0, PLASTICS),
    "acetal": Material(1410.0, PLASTICS),
    "acrylic": Material(1190.0, PLASTICS),
    "nylon_66": Material(1140.0, PLASTICS),
    "polycarbonate": Material(1190.0, PLASTICS),
    "ptfe": Material(2190.0, PLASTICS),
}
