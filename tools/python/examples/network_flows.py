"""Who talks to whom, and when: patterns in network flows, as a page of plots.

    python network_flows.py                                  # flows that are made up: backups at night, web by day, a scan
    python network_flows.py flows.csv --modes source,destination,time:hour-of-day --value bytes
"""

import argparse
import csv
import pathlib
import tempfile

import numpy as np

import blco

# Of each pattern: sources, destinations, hours.
PATTERNS = [
    ([f"desk-{n}" for n in range(1, 21)], ["web-1", "web-2", "mail"], range(8, 18)),
    (["web-1", "web-2", "mail", "files"], ["backup"], range(1, 4)),
    (["10.9.8.7"], [f"server-{n}" for n in range(1, 41)], [13]),
]


def write_flows(path: pathlib.Path, rows: int = 20000) -> None:
    random = np.random.default_rng(1)
    with open(path, "w", encoding="utf-8", newline="") as file:
        table = csv.writer(file)
        table.writerow(["source", "destination", "time", "connections"])
        for _ in range(rows):
            sources, destinations, hours = PATTERNS[random.choice(3, p=[0.6, 0.25, 0.15])]
            time = f"2025-03-{random.integers(1, 29):02}T{random.choice(hours):02}:{random.integers(60):02}:00"
            table.writerow([random.choice(sources), random.choice(destinations), time, random.integers(1, 9)])


def main() -> None:
    parser = argparse.ArgumentParser(description="Patterns in a table of network flows.")
    parser.add_argument("table", nargs="?")
    parser.add_argument("--modes", default="source,destination,time:hour-of-day")
    parser.add_argument("--value", default="connections")
    parser.add_argument("--rank", type=int, default=3)
    parser.add_argument("--report", default="network-flows.html")
    arguments = parser.parse_args()

    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        if arguments.table is None:
            arguments.table = folder / "flows.csv"
            write_flows(arguments.table)
        tensor = blco.ingest(arguments.table, folder / "flows.blco", modes=arguments.modes.split(","),
                             value=arguments.value)
        print(tensor)
        # Few hosts have most of the traffic; numbers of connections are counts.
        model = blco.fit_cpd(tensor, arguments.rank, "apr")
        print(model.top(3))
        model.report(arguments.report, tensor, title="Network flows")
        print("report", arguments.report)


if __name__ == "__main__":
    main()
