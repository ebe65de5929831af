"""What is bought together, where and on which days: the rank is chosen, and the model becomes a page of plots.

    python shop_orders.py                                    # orders that are made up: breakfast, lunch, weekends
    python shop_orders.py orders.csv --modes "product,city,ordered at:weekday" --value quantity --ranks 2,4,6
"""

import argparse
import csv
import datetime
import pathlib
import tempfile

import numpy as np

import blco

# Of each habit: products, cities, weekdays from 0 for Monday.
HABITS = [
    (["Croissant", "Café crème", "Orange juice"], ["Paris", "Lyon"], range(5)),
    (["Soup of the day", "Salad", "Mineral water"], ["London", "Paris"], range(5)),
    (["Flour, 1 kg", "Butter", "Vanilla sugar"], ["Kraków", "London"], range(5, 7)),
]


def write_orders(path: pathlib.Path, rows: int = 20000) -> None:
    random = np.random.default_rng(2)
    first = datetime.date(2025, 1, 6)
    with open(path, "w", encoding="utf-8", newline="") as file:
        table = csv.writer(file)
        table.writerow(["product", "city", "ordered at", "quantity"])
        for _ in range(rows):
            products, cities, days = HABITS[random.choice(3, p=[0.5, 0.3, 0.2])]
            day = first + datetime.timedelta(weeks=int(random.integers(20)), days=int(random.choice(days)))
            table.writerow([random.choice(products), random.choice(cities), day, random.integers(1, 4)])


def main() -> None:
    parser = argparse.ArgumentParser(description="Habits in a table of orders.")
    parser.add_argument("table", nargs="?")
    parser.add_argument("--modes", default="product,city,ordered at:weekday")
    parser.add_argument("--value", default="quantity")
    parser.add_argument("--ranks", default="2,3,4")
    parser.add_argument("--report", default="shop-orders.html")
    arguments = parser.parse_args()

    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        if arguments.table is None:
            arguments.table = folder / "orders.csv"
            write_orders(arguments.table)
        tensor = blco.ingest(arguments.table, folder / "orders.blco", modes=arguments.modes.split(","),
                             value=arguments.value, missing="skip")
        print(tensor)
        ranks = blco.fit_ranks(tensor, map(int, arguments.ranks.split(",")), starts=3, nonnegative=True)
        print(ranks)
        model = next(row.model for row in ranks.rows if row.rank == (ranks.choice or row.rank))
        print(model.top(3))
        model.report(arguments.report, tensor, title="Orders")
        print("report", arguments.report)


if __name__ == "__main__":
    main()
