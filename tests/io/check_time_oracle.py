#!/usr/bin/env python3
"""Ingests random tables of times and numbers and holds labels, their order and the counts of cells to pandas and numpy:
times of many forms against to_datetime, isocalendar and dt, empty units against date_range and period_range, bins
against cut, quantiles against qcut and a search for the nearest cut.

usage: check_time_oracle.py BIN_FOLDER
"""
import collections
import concurrent.futures
import csv
import datetime
import os
import pathlib
import random
import subprocess
import sys
import tempfile

try:
    import numpy as np
    import pandas as pd
except ImportError as missing:
    print(f"SKIPPED: {missing}")
    sys.exit(77)

SEED = 8601
TABLES = 300
UNITS = ["year", "quarter", "month", "week", "day", "hour", "minute", "weekday", "hour-of-day"]
WEEKDAYS = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]
EPOCH = datetime.datetime(1970, 1, 1)


def labels_by_pandas(moments, unit):
    """The label of each moment; pandas has nanoseconds, so from 1678 to 2261."""
    times = pd.Series(pd.to_datetime(moments))
    if unit == "week":
        calendar = times.dt.isocalendar()
        return [f"{year:04}-W{week:02}" for year, week in zip(calendar.year, calendar.week)]
    if unit == "quarter":
        return [f"{year:04}-Q{quarter}" for year, quarter in zip(times.dt.year, times.dt.quarter)]
    if unit == "weekday":
        return list(times.dt.day_name())
    forms = {"year": "%Y", "month": "%Y-%m", "day": "%Y-%m-%d", "hour": "%Y-%m-%dT%H", "minute": "%Y-%m-%dT%H:%M",
             "hour-of-day": "%H"}
    return list(times.dt.strftime(forms[unit]))


def labels_by_datetime(moments, unit):
    """The same for all years, by the standard library."""
    texts = []
    for moment in moments:
        year, week, day = moment.isocalendar()
        texts.append({"year": f"{moment.year:04}", "quarter": f"{moment.year:04}-Q{(moment.month + 2) // 3}",
                      "month": moment.isoformat()[:7], "week": f"{year:04}-W{week:02}", "day": moment.isoformat()[:10],
                      "hour": moment.isoformat()[:13], "minute": moment.isoformat()[:16], "weekday": WEEKDAYS[day - 1],
                      "hour-of-day": f"{moment.hour:02}"}[unit])
    return texts


def every_label(moments, unit):
    """All units from the first to the last."""
    first, last = min(moments), max(moments)
    if unit in ("year", "quarter", "month"):
        periods = pd.period_range(first, last, freq=unit[0].upper())
        return [str(period).replace("Q", "-Q") for period in periods]
    if unit == "week":
        first -= datetime.timedelta(days=first.weekday())
    step = {"week": "D", "day": "D", "hour": "h", "minute": "min"}[unit]
    floor = pd.Timestamp(first).floor(step)
    texts = labels_by_pandas(pd.date_range(floor, last, freq="7D" if unit == "week" else step), unit)
    return texts


def write_time(source, moment):
    """One of the forms that mean this moment, which has whole seconds."""
    count = write_count(source, moment)
    # Of 18 digits, or beginning like a year, it may be refused.
    is_doubtful = "1900" <= count[:4] < "2200" or len(count) == 18
    if count and not is_doubtful and source.random() < 0.5:
        return count
    form = source.randrange(7)
    text = moment.strftime("%m-%dT%H:%M:%S")
    text = f"{moment.year:04}-{text}"
    if form == 0:
        return text.replace("T", " ") + source.choice(["", "Z", ".25", ",999Z", " UTC"])
    if form == 1:
        return text.replace("-", "").replace(":", "") + source.choice(["", "Z"])
    if form in (2, 3):
        minutes = source.randint(-14 * 60, 14 * 60)
        try:
            local = moment + datetime.timedelta(minutes=minutes)
        except OverflowError:
            return text
        zone = f"{'-' if minutes < 0 else '+'}{abs(minutes) // 60:02}{source.choice([':', ''])}{abs(minutes) % 60:02}"
        if minutes % 60 == 0 and form == 3:
            zone = zone[:3]
        return f"{local.year:04}-" + local.strftime("%m-%dT%H:%M:%S") + zone
    if form in (4, 5) and 1900 <= moment.year < 2200:
        digits = moment.strftime("%Y%m%d%H%M%S")
        return digits + source.choice(["", ".25", ",75", f"{source.randrange(1000):03}"])
    if form == 6 and 1900 <= moment.year < 2200 and moment.second == 0:
        return moment.strftime("%Y%m%d%H%M")
    return text


def write_count(source, moment):
    """A number since 1970 in one of its units, or nothing: fewer digits may be refused."""
    seconds = int((moment - EPOCH).total_seconds())
    form = source.randrange(4)
    if form == 0 and 10**8 <= abs(seconds) < 10**11:
        return str(seconds) + source.choice(["", ".0", ".25", ",5"] if seconds >= 0 else ["", ".0"])
    if form == 1 and 10**11 <= abs(seconds) * 1000 < 10**14:
        return str(seconds * 1000 + source.randrange(1000))
    if form == 2 and 10**14 <= abs(seconds) * 10**6 < 10**17:
        return str(seconds * 10**6 + source.randrange(10**6))
    if form == 3 and 10**17 <= abs(seconds) * 10**9 < 9 * 10**18:
        return str(seconds * 10**9 + source.randrange(10**9))
    return ""


def random_moments(source, rows):
    span = source.choice(["hours", "weeks", "years", "centuries", "all"])
    if span == "all":
        lower, upper = datetime.datetime(1, 1, 1), datetime.datetime(9999, 12, 31, 23, 59, 59)
        seconds = int((upper - lower).total_seconds())
    else:
        lower = datetime.datetime(source.randint(1700, 2050), source.randint(1, 12), source.randint(1, 28))
        seconds = {"hours": 7200, "weeks": 40 * 86400, "years": 5 * 366 * 86400, "centuries": 200 * 365 * 86400}[span]
    moments = [lower + datetime.timedelta(seconds=source.randint(0, seconds)) for _ in range(rows)]
    if span == "all" and source.random() < 0.5:
        moments[0] = source.choice([lower, upper])
    return moments, span


def time_case(source, rows):
    moments, span = random_moments(source, rows)
    unit = source.choice(UNITS)
    counts = {"year": 300, "quarter": 1200, "month": 3600, "week": 15000}
    can_fill = unit in UNITS[:7] and span != "all" and (unit in counts or span in ("hours", "weeks"))
    every = can_fill and source.random() < 0.5
    fields = [write_time(source, moment) for moment in moments]
    if span == "all":
        labels = labels_by_datetime(moments, unit)
    else:
        labels = labels_by_pandas(moments, unit)
        assert labels == labels_by_datetime(moments, unit)
    present = set(labels)
    order = [day for day in WEEKDAYS if day in present] if unit == "weekday" else sorted(present)
    if every:
        order = every_label(moments, unit)
        assert set(order) >= present
    return f"{unit}:utc{':every' if every else ''}", fields, labels, order


def random_numbers(source, rows):
    kind = source.choice(["uniform", "ties", "skewed", "negative", "large", "one"])
    draw = {"uniform": lambda: source.uniform(0, 10), "ties": lambda: float(source.randint(0, 6)),
            "skewed": lambda: round(source.lognormvariate(0, 2), 3), "negative": lambda: round(source.gauss(-5, 20), 2),
            "large": lambda: source.uniform(-1e300, 1e300), "one": lambda: 4.25}[kind]
    return [draw() for _ in range(rows)]


def number_text(number):
    return f"{number:.17g}" if number == int(number) else repr(number)


def shortest(number):
    text = repr(float(number))
    return text[:-2] if text.endswith(".0") else text


def labels_of_edges(edges):
    last = len(edges) - 2
    pairs = enumerate(zip(edges, edges[1:]))
    return [f"[{shortest(lower)}, {shortest(upper)}{']' if i == last else ')'}" for i, (lower, upper) in pairs]


def bins_case(source, rows):
    numbers = random_numbers(source, rows)
    count = source.randint(2, 40)
    lower, upper = min(numbers), max(numbers)
    edges = sorted({lower + (upper - lower) * i / count for i in range(count)} | {upper})
    if lower == upper:
        edges = [lower, upper]
    order = labels_of_edges(edges)
    places = np.minimum(np.searchsorted(edges, numbers, side="right") - 1, len(order) - 1)
    if lower < upper:  # pandas cuts to the left of an edge; so does the mirror image of the numbers
        mirrored = pd.cut([-number for number in numbers], sorted(-edge for edge in edges), labels=False,
                          include_lowest=True)
        assert [len(order) - 1 - place for place in mirrored] == list(places)
    return f"bins={count}", [number_text(n) for n in numbers], [order[place] for place in places], order


def quantiles_case(source, rows):
    numbers = random_numbers(source, rows)
    count = source.randint(2, 40)
    ordered = sorted(numbers)
    starts = sorted({ordered.index(number) for number in set(numbers)})
    cuts = {min(starts, key=lambda start, k=k: (abs(start * count - k * rows), start)) for k in range(1, count)} - {0}
    edges = [ordered[cut] for cut in [0, *sorted(cuts)]] + [ordered[-1]]
    order = labels_of_edges(edges)
    inner = edges[1:-1]
    places = [int(np.searchsorted(inner, number, side="right")) for number in numbers]
    if len(starts) == rows and rows % count == 0:
        assert places == list(pd.qcut(numbers, count, labels=False))
    return f"quantiles={count}", [number_text(n) for n in numbers], [order[place] for place in places], order


def try_table(bin_folder, seed):
    """Empty if all is well."""
    source = random.Random(seed)
    rows = source.choice([1, 2, 20, 120, 400])
    cases = [source.choice([time_case, time_case, bins_case, quantiles_case])(source, rows)
             for _ in range(source.randint(1, 2))]
    with tempfile.TemporaryDirectory(prefix="blco-time-") as temporary:
        folder = pathlib.Path(temporary)
        with open(folder / "t.csv", "w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            writer.writerow([f"c{i}" for i in range(len(cases))])
            writer.writerows(zip(*(fields for _, fields, _, _ in cases)))
        modes = ",".join(f"c{i}:{how}" for i, (how, _, _, _) in enumerate(cases))
        options = ["--threads", str(source.randint(1, 2)), "--reorder", source.choice(["none", "frequency"])]

        def run(*arguments):
            subprocess.run([os.path.join(bin_folder, arguments[0]), *arguments[1:], "--quiet"], cwd=folder, check=True)

        run("blco-ingest", "t.csv", "--modes", modes, "-o", "t.blco", *options)
        run("blco-export", "t.blco", "-o", "back.csv")
        run("blco-export", "t.blco", "-o", "back.tns")
        with open(folder / "back.csv", newline="", encoding="utf-8") as file:
            labelled = list(csv.reader(file))[1:]
        coordinates = [line.split() for line in (folder / "back.tns").read_text().splitlines()]

        expected = collections.Counter(zip(*(labels for _, _, labels, _ in cases)))
        if {tuple(row[:-1]): float(row[-1]) for row in labelled} != expected:
            return f"table {seed}: {modes}: other cells than pandas has"
        for row, line in zip(labelled, coordinates):
            for (_, _, _, order), label, coordinate in zip(cases, row, line):
                if order[int(coordinate) - 1] != label:
                    return f"table {seed}: {modes}: '{label}' is at {coordinate}"

        if seed % 2:
            return ""
        # A mode is as long as all its labels, and known ones keep their places when it is read again.
        lengths = [len(order) for _, _, _, order in cases]
        with open(folder / "t.csv", "a", newline="", encoding="utf-8") as file:
            csv.writer(file).writerows(zip(*(fields for _, fields, _, _ in cases)))
        run("blco-ingest", "t.csv", "--modes", modes, "-o", "again.blco", "--labels-from", "t.blco", *options)
        info = subprocess.run([os.path.join(bin_folder, "blco-info"), "again.blco", "--json"], cwd=folder, check=True,
                              capture_output=True, text=True).stdout
        if f'"shape":{lengths}'.replace(" ", "") not in info:
            return f"table {seed}: {modes}: not of the lengths {lengths}: {info}"
    return ""


def main():
    with concurrent.futures.ThreadPoolExecutor(max_workers=2) as pool:
        wrong = [text for text in pool.map(lambda i: try_table(os.path.abspath(sys.argv[1]), SEED + i), range(TABLES))
                 if text]
    print("\n".join(wrong[:20]))
    print(f"{TABLES} tables, {len(wrong)} unlike pandas {pd.__version__}")
    return 1 if wrong else 0


sys.exit(main())
