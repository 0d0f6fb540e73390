"""The chart of `bench.py --peers`: one panel a kind of work, one bar a library."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import matplotlib as mpl
from bench_peers import MEMORY, WORK, Result, Sizes, shown_value

OURS, THEIRS = "#0072b2", "#b8b8b8"


def draw(results: Sequence[Result], sizes: Sizes, path: Path) -> None:
    """Writes the chart in the format that the file's name ends in, such as .svg or .png."""
    mpl.use("agg")
    # Text as text and not as curves: a smaller file, in which one can search.
    mpl.rcParams["svg.fonttype"] = "none"
    from matplotlib import pyplot

    panels = [*WORK, MEMORY]
    figure, axes = pyplot.subplots(2, 4, figsize=(16, 7), layout="constrained")
    for panel, axis in zip(panels, axes.flat, strict=True):
        bars = [(result, shown_value(result, panel)[0]) for result in reversed(results)]
        shown = [(result.peer, value) for result, value in bars if value is not None]
        names, values = [name for name, _ in shown], [value for _, value in shown]
        colors = [OURS if name.startswith("twindex") else THEIRS for name in names]
        drawn = axis.barh(names, values, color=colors)
        axis.bar_label(drawn, fmt=lambda value: f"{value:.3g}", padding=3)
        axis.margins(x=0.18)
        axis.set_title(title_of(panel), fontsize=11)
        axis.spines[["top", "right"]].set_visible(False)
        axis.xaxis.set_visible(False)
    figure.suptitle(
        f"{sizes.pairs:,} pairs of {sizes.key_bytes}-byte keys and {sizes.value_bytes}-byte values, "
        f"median of {sizes.rounds}"
    )
    figure.savefig(path)
    pyplot.close(figure)


def title_of(panel: str) -> str:
    """What a panel shows, with its unit, and which way is better."""
    if panel == MEMORY:
        return f"{MEMORY} (less is better)"
    unit = "thousand ranges/s" if WORK[panel] == "ranges" else "million pairs/s"
    return f"{panel}: {unit}"
