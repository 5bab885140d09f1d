"""A map of deflections as a figure."""

from typing import Any

import numpy as np

from dyn_core.arrays import Floats
from dyn_core.stiffness_maps import COMPUTED, STATUS, StiffnessMap

from .figure import Plot


def deflection_plot(table: StiffnessMap) -> Plot:
    """Isocontours of the translation (mm) and of the rotation (degrees), side by side."""
    return Plot("map", (11.0, 5.2), lambda figure: _draw(figure, table))


def _draw(figure: Any, table: StiffnessMap) -> None:
    """Polar over azimuth and tilt (degrees); otherwise over the two joints."""
    polar = "torsion" in table.fixed
    panels = (
        ("shift of the point", 1e3 * table.translation, table.largest_translation, 1e3, "mm"),
        ("orientation error", np.degrees(table.rotation), table.largest_rotation, np.degrees(1.0), "°"),
    )
    x, y = (np.degrees(a.values) if a.unit == "rad" else a.values for a in (table.columns, table.rows))
    for k, (title, values, peak, scale, unit) in enumerate(panels):
        axes = figure.add_subplot(1, 2, k + 1, projection="polar" if polar else None)
        heading = f"{title} ({unit})"
        if peak is not None:
            across, along = (
                f"{np.degrees(v):.3g}°" if a.unit == "rad" else f"{v:.3g} m"
                for v, a in ((peak.column, table.columns), (peak.row, table.rows))
            )
            heading += (
                f"\nlargest {scale * peak.value:#.3g}{' ' if unit == 'mm' else ''}{unit}"
                f" at {table.columns.name} {across}, {table.rows.name} {along}"
            )
            contours(figure, axes, x, y, values, polar)
        axes.set_title(heading, fontsize=10)
        if polar:
            axes.set_rlim(0.0, y[-1])
            axes.set_rlabel_position(112.5)
            axes.tick_params(axis="y", labelsize=7, labelcolor="white")
            axes.grid(linewidth=0.4)
        else:
            for name, axis in (("x", table.columns), ("y", table.rows)):
                getattr(axes, f"set_{name}label")(f"{axis.name} ({'°' if axis.unit == 'rad' else 'm'})")
    names = [f"{name} {np.degrees(value):.4g}°" for name, value in table.fixed.items()]
    missing = [f"{count} {word}" for word, count in table.counts.items() if count and word != STATUS[COMPUTED]]
    heading = f"{table.robot}: largest deflection under {len(table.wrenches)} wrenches"
    figure.suptitle("; ".join([", ".join([heading, *names]), *missing]), fontsize=11)


def contours(figure: Any, axes: Any, x: Floats, y: Floats, values: Floats, polar: bool) -> None:
    """Isocontours of values (rows, columns) over y and x; polar: x is the azimuth round the circle (degrees)."""
    from matplotlib.ticker import MaxNLocator

    if polar:
        x, values = np.radians(np.append(x, 360.0)), np.column_stack([values, values[:, 0]])
    shown = np.ma.masked_invalid(values)
    # Beside a singular pose values have no bound: the scale is that of the rest.
    low, top = float(shown.min()), float(shown.max())
    usual = 2.0 * float(np.percentile(shown.compressed(), 98.0))
    levels = MaxNLocator(12).tick_values(low, min(top, usual) if top > low else low + 1.0)
    axes.set_facecolor("0.85")
    filled = axes.contourf(x, y, shown, levels=levels, extend="max" if top > levels[-1] else "neither", cmap="viridis")
    lines = axes.contour(x, y, shown, levels=levels, colors="black", linewidths=0.5)
    axes.clabel(lines, fontsize=7)
    figure.colorbar(filled, ax=axes, shrink=0.8, pad=0.1 if polar else 0.02)
