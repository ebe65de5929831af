"""What users of a program do, and at which hours: groups of users, and into which of them new users fall.

    python app_events.py                                     # events that are made up: writers, readers, administrators
    python app_events.py events.csv --modes user,action,time:hour-of-day
"""

import argparse
import csv
import pathlib
import tempfile

import numpy as np

import blco

# Of each group: its users' names, actions, hours.
GROUPS = [
    ("writer", ["open", "edit", "save"], range(9, 18)),
    ("reader", ["open", "search", "print"], range(18, 23)),
    ("admin", ["log in", "add user", "restart"], range(0, 6)),
]


def write_events(path: pathlib.Path, rows: int = 20000) -> None:
    random = np.random.default_rng(3)
    with open(path, "w", encoding="utf-8", newline="") as file:
        table = csv.writer(file)
        table.writerow(["user", "action", "time"])
        for _ in range(rows):
            group, actions, hours = GROUPS[random.choice(3, p=[0.5, 0.4, 0.1])]
            time = f"2025-05-{random.integers(1, 31):02}T{random.choice(hours):02}:{random.integers(60):02}:00"
            table.writerow([f"{group}-{random.integers(1, 31)}", random.choice(actions), time])


def main() -> None:
    parser = argparse.ArgumentParser(description="Groups of users in a table of events.")
    parser.add_argument("table", nargs="?")
    parser.add_argument("--modes", default="user,action,time:hour-of-day", help="the first has the users")
    parser.add_argument("--rank", type=int, default=3)
    parser.add_argument("--report", default="app-events.html")
    arguments = parser.parse_args()

    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        if arguments.table is None:
            arguments.table = folder / "events.csv"
            write_events(arguments.table)
        tensor = blco.ingest(arguments.table, folder / "events.blco", modes=arguments.modes.split(","))
        print(tensor)
        # A tenth of the users, at least one, stay out of the fit, as if they had come later.
        coords, values = tensor.to_coo()
        users = tensor.shape[0]
        new = coords[:, 0] >= users - max(1, users // 10)
        first_new = coords[new, 0].min()
        names = tensor.labels
        known = blco.tensor(coords[~new], values[~new], (first_new, *tensor.shape[1:]), mode_names=tensor.mode_names,
                            labels=[names[0][:first_new], *names[1:]])
        later = blco.tensor(coords[new] - [first_new, *[0] * (tensor.order - 1)], values[new],
                            (users - first_new, *tensor.shape[1:]), labels=[names[0][first_new:], *names[1:]])

        estimator = blco.CPD(arguments.rank, nonnegative=True).fit(known)
        print(estimator.model_.top(3))
        for user, row in zip(later.labels[0], estimator.transform(later)):
            print(f"{user} is of component {row.argmax()}")
        estimator.model_.report(arguments.report, known, title="Events")
        print("report", arguments.report)


if __name__ == "__main__":
    main()
