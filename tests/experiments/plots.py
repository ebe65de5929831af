#!/usr/bin/env python3
"""Plots of what blco-bench measured: a roofline with the formats' points under it, and grouped bars for results.py.

usage: plots.py REPORT IMAGE

REPORT: what `blco-bench --roofline --json` printed. IMAGE: a file such as roofline.svg or roofline.png. Needs
matplotlib (Debian's python3-matplotlib).
"""
import json
import pathlib
import sys

try:
    import matplotlib
except ImportError:
    sys.exit("plots.py: this Python has no matplotlib; Debian's, /usr/bin/python3, has it with python3-matplotlib")
matplotlib.use("Agg")
matplotlib.rcParams["svg.fonttype"] = "none"  # text stays text
from matplotlib import pyplot  # noqa: E402

MARKERS = "osD^v<>pPX*hdH8s"


def points_of(report):
    """Per format whose outputs were right: (mode, flops per byte, GFLOP/s) of what has both."""
    for of_format in report.get("formats", []):
        if of_format.get("right"):
            yield of_format["format"], [(p["mode"], p["flops"] / p["bytes"], p["flops"] / p["min_seconds"] / 1e9)
                                        for p in of_format["passes"] if min(p["flops"], p["bytes"], p["min_seconds"]) > 0]


def title_of(report):
    machine = report["roofline"]
    threads = f", {machine['threads']} thread{'s' if machine['threads'] > 1 else ''}" if machine["threads"] else ""
    title = machine["device"] + threads
    if "shape" in report:
        title = (f"{report.get('product', 'mttkrp').upper()} of {'x'.join(map(str, report['shape']))}, {report['nonzeros']:,} nonzeros, "
                 f"rank {report['rank']}, {report['precision']}\n{title}")
    return title


def plot_roofline(report, path):
    """Ilic, Pratas and Sousa, IEEE CAL 2014: a line for each level of memory and each peak, a marker for each pass."""
    machine = report["roofline"]
    formats = list(points_of(report))
    peaks = {peak["name"]: peak["flops_per_second"] / 1e9 for peak in machine["peaks"]}
    levels = {level["name"]: level["bytes_per_second"] / 1e9 for level in machine["levels"]}
    top = max(peaks.values())
    intensities = [point[1] for _, points in formats for point in points]
    left = min([0.02, *(x / 2 for x in intensities)])
    right = max([2 * top / min(levels.values()), *(2 * x for x in intensities)])
    figure, axes = pyplot.subplots(figsize=(10, 6.5))
    for name, speed in levels.items():
        axes.plot([left, top / speed], [left * speed, top], color="gray", linewidth=1)
        axes.annotate(f"{name}, {speed:.3g} GB/s", (left, left * speed), xytext=(4, -3), textcoords="offset points",
                      color="dimgray", fontsize=8, bbox={"facecolor": "white", "edgecolor": "none", "pad": 1})
    for name, speed in peaks.items():
        axes.plot([speed / max(levels.values()), right], [speed, speed], color="black", linewidth=1)
        axes.annotate(f"{name}, {speed:.3g} GFLOP/s", (right, speed), xytext=(-4, 4), textcoords="offset points",
                      horizontalalignment="right", fontsize=8)
    colours = pyplot.get_cmap("tab20").colors
    for number, (name, points) in enumerate(formats):
        axes.scatter([p[1] for p in points], [p[2] for p in points], label=name, color=colours[number % len(colours)],
                     marker=MARKERS[number % len(MARKERS)], s=30, zorder=3)
        for mode, x, y in points:
            axes.annotate(str(mode), (x, y), xytext=(5, -3), textcoords="offset points", fontsize=6)
    axes.set(xscale="log", yscale="log", xlim=(left, right), xlabel="flops per byte that loads and stores request",
             ylabel="GFLOP/s", title=title_of(report))
    axes.grid(which="major", color="gainsboro", linewidth=0.5)
    if formats:
        axes.legend(fontsize=8, title="format; mode beside it", title_fontsize=8, loc="lower right")
    figure.savefig(path, bbox_inches="tight", dpi=150)
    pyplot.close(figure)


def plot_bars(path, groups, series, values, title, unit, base=None):
    """values[group][series]: a number above 0, or None where there is none. Bars start at `base`, or at the bottom."""
    figure, axes = pyplot.subplots(figsize=(13, 6))
    width = 0.86 / len(series)
    colours = pyplot.get_cmap("tab20").colors
    given = [value for of_group in values for value in of_group if value]
    foot = base or min(given) / 1.3
    for s, name in enumerate(series):
        places = [(g + s * width, of_group[s]) for g, of_group in enumerate(values) if of_group[s]]
        axes.bar([place for place, _ in places], [value - foot for _, value in places], 0.92 * width, bottom=foot,
                 align="edge", label=name, color=colours[s % len(colours)])
    axes.set(yscale="log", ylim=(min(given) / 1.3, max(given) * 1.3), ylabel=unit, title=title)
    axes.set_xticks([g + 0.43 for g in range(len(groups))], groups)
    axes.grid(axis="y", which="both", color="gainsboro", linewidth=0.5)
    axes.set_axisbelow(True)
    axes.legend(ncols=8, fontsize=8, loc="upper center", bbox_to_anchor=(0.5, -0.06))
    figure.savefig(path, bbox_inches="tight")
    pyplot.close(figure)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    measured = json.loads(pathlib.Path(sys.argv[1]).read_text())
    if "roofline" not in measured:
        sys.exit(f"plots.py: {sys.argv[1]} has no roofline; measure with blco-bench --roofline --json")
    plot_roofline(measured, sys.argv[2])
