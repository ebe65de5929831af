#!/usr/bin/env python3
"""Makes tables (results.md) and plots (SVG) of what run.sh measured.

usage: results.py FOLDER
"""
import json
import math
import os
import pathlib
import platform
import re
import sys

from plots import plot_bars, plot_roofline

OURS = ["ours", "ours-packed", "ours-streamed"]


def processor():
    text = pathlib.Path("/proc/cpuinfo")
    found = re.search(r"model name\s*:\s*(.*)", text.read_text()) if text.exists() else None
    return found.group(1) if found else platform.machine()


def measured(report):
    """Formats with times that count: outputs were right."""
    return [f for f in report["formats"] if f.get("right")]


def by_name(report):
    return {f["format"]: f for f in measured(report)}


def table(header, rows):
    lines = ["| " + " | ".join(header) + " |", "| " + " | ".join(["---"] + ["---:"] * (len(header) - 1)) + " |"]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows]) + "\n"


def names_of(reports):
    names = []
    for report in reports.values():
        names += [f["format"] for f in report["formats"] if f["format"] not in names]
    return names


def cells(reports, of_format):
    """A row per format: a cell per tensor, '-' where the format was not measured."""
    rows = []
    for name in names_of(reports):
        row = [name]
        for report in reports.values():
            found = by_name(report).get(name)
            row.append("-" if found is None else of_format(report, found))
        rows.append(row)
    return rows


def ratio_to_ours(report, found):
    """None where ours was not measured."""
    ours = by_name(report).get("ours")
    return found["sweep_seconds"] / ours["sweep_seconds"] if ours else None


def as_text(ratio):
    return f"{ratio:.2f}" if ratio else "-"


def bytes_per_nonzero(report, found):
    return (found["index_bytes"] + found["value_bytes"]) / report["nonzeros"]


def geometric_mean(numbers):
    return math.exp(sum(map(math.log, numbers)) / len(numbers))


def sweep_table(reports):
    rows = cells(reports, lambda report, f: f"{f['sweep_seconds'] * 1e3:.1f} ({as_text(ratio_to_ours(report, f))})")
    for row in rows:
        ratios = [ratio_to_ours(r, by_name(r)[row[0]]) for r in reports.values() if row[0] in by_name(r)]
        ratios = [ratio for ratio in ratios if ratio]
        row.append(as_text(geometric_mean(ratios)) if ratios else "-")
    return table(["format", *reports, "mean ratio"], rows)


def mode_table(report):
    modes = range(len(report["shape"]))
    rows = []
    for f in measured(report):
        best = [f"{p['min_seconds'] * 1e3:.2f} ({p['seconds'] * 1e3:.2f})" for p in f["passes"]]
        rows.append([f["format"], *best, f"{f['nominal_gflops']:.2f}", f["settings"]])
    header = ["format", *(f"mode {m}, ms" for m in modes), "GFLOP/s", "settings"]
    refused = [f"- {f['format']} was not measured: {f['refusal']}\n" for f in report["formats"] if "refusal" in f]
    refused += [f"- the output of {f['format']} is WRONG\n" for f in report["formats"] if f.get("right") is False]
    return table(header, rows) + "\n" + "".join(refused)


def section(rank, reports):
    tensors = [[name, "x".join(map(str, r["shape"])), f"{r['nonzeros']:,}"] for name, r in reports.items()]
    text = f"## Rank {rank}\n\n" + table(["tensor", "shape", "nonzeros"], tensors)
    text += "\n### All modes: least milliseconds, and their ratio to ours\n\n" + sweep_table(reports)
    text += f"\n![ratios](ratios-rank{rank}.svg)\n"
    text += "\n### Storage: bytes per nonzero, indices and values\n\n"
    text += table(["format", *reports], cells(reports, lambda r, f: f"{bytes_per_nonzero(r, f):.1f}"))
    text += f"\n![storage](storage-rank{rank}.svg)\n"
    text += "\n### Construction: seconds, and how many sweeps take as long\n\n"
    text += table(["format", *reports], cells(reports, lambda _, f: f"{f['build_seconds']:.2f} ({f['build_sweeps']:.1f})"))
    text += "\n### In memory against streamed: speed of ours, decoded chunks being 1\n\n"
    streamed = cells(reports, lambda r, f: as_text(ratio_to_ours(r, f) and 1 / ratio_to_ours(r, f)))
    text += table(["format", *reports], [row for row in streamed if row[0] in OURS])
    for name, report in reports.items():
        text += f"\n### {name}, mode by mode: least milliseconds (median)\n\n" + mode_table(report)
        text += f"\n![roofline]({name}-rank{rank}-roofline.svg)\n"
    return text


def plot(path, reports, of_format, title, unit, base=None):
    names = names_of(reports)
    values = [[of_format(r, by_name(r)[n]) if n in by_name(r) else None for n in names] for r in reports.values()]
    plot_bars(path, list(reports), names, values, title, unit, base)


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__.strip().split("\n")[-1])
    folder = pathlib.Path(sys.argv[1])
    of_rank = {}
    for path in sorted(folder.glob("*-rank*.json")):
        name, rank = re.fullmatch(r"(.*)-rank(\d+)", path.stem).groups()
        of_rank.setdefault(int(rank), {})[name] = json.loads(path.read_text())
    if not of_rank:
        sys.exit(f"results.py: no measurements in {folder}; run run.sh first")
    first = next(iter(next(iter(of_rank.values())).values()))
    text = f"# Formats of sparse tensors, measured\n\nProcessor: {processor()}, {os.cpu_count()} cores. "
    text += f"Device: {first['device']}, {first['threads']} threads, {first['precision']}. GFLOP/s are nominal: order x "
    text += "nonzeros x rank per mode. Repeats of all formats alternate.\n\n"
    for rank, reports in sorted(of_rank.items()):
        text += section(rank, reports) + "\n"
        for name, report in reports.items():
            plot_roofline(report, folder / f"{name}-rank{rank}-roofline.svg")
        plot(folder / f"ratios-rank{rank}.svg", reports, ratio_to_ours,
             f"Time of all modes, rank {rank}, relative to ours", "times ours", 1)
        plot(folder / f"storage-rank{rank}.svg", reports, bytes_per_nonzero, "Indices and values", "bytes per nonzero")
    (folder / "results.md").write_text(text)


if __name__ == "__main__":
    main()
