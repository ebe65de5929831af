#!/usr/bin/env python3
"""Writes a table of orders as shops export them: quotes, commas, line breaks, letters beyond ASCII, missing fields, time
stamps, prices. Four habits are planted in it: breakfast, office lunch, weekend baking and
late evenings.

usage: make_orders.py ROWS FILE
"""
import csv
import datetime
import random
import sys

# Per habit: its share of the rows, products, cities, weekdays (Monday is 0) and hours.
HABITS = [
    (4, ["Café crème", "Croissant", "Brötchen, 4 pieces", "Orange juice"], ["Paris", "Köln", "Genève"], range(5), (6, 9)),
    (3, ["Soup of the day", "Salad, large", 'Sandwich "Club"', "Mineral water"], ["Köln", "London", "Paris"], range(5),
     (11, 14)),
    (2, ["Flour, 1 kg", "Butter", "Eggs, 10 pieces", "Vanilla sugar"], ["Kraków", "Genève", "London"], (5, 6), (9, 12)),
    (2, ["Crisps, paprika", "Lemonade 0.5 l", "Ice cream", "Peanuts"], ["London", "Kraków", "Köln"], (4, 5), (19, 23)),
]
PRICES = {product: 1 + 0.45 * number
          for number, product in enumerate(product for habit in HABITS for product in habit[1])}
NOTES = ["", "", "", "ring twice", "second floor, left", 'says "thank you"', "leave it\nat the door", "merci, à bientôt"]
FIRST_DAY = datetime.datetime(2025, 1, 6)
WEEKS = 26


def order(source, number):
    if source.random() < 0.1:  # no habit
        product, city = source.choice(list(PRICES)), source.choice(["Paris", "Köln", "Genève", "London", "Kraków"])
        day, hour = source.randrange(7), source.randrange(6, 24)
    else:
        _, products, cities, days, hours = source.choices(HABITS, [habit[0] for habit in HABITS])[0]
        product = source.choices(products, range(len(products), 0, -1))[0]
        city = source.choices(cities, range(len(cities), 0, -1))[0]
        day, hour = source.choice(list(days)), source.randint(*hours)
    time = FIRST_DAY + datetime.timedelta(weeks=source.randrange(WEEKS), days=day, hours=hour,
                                          seconds=source.randrange(3600))
    price = f"{PRICES[product] * source.uniform(0.9, 1.1):.2f}"
    missing = source.random()
    return [number, time.isoformat(), f"c{source.randrange(40000):05}", city if missing > 0.002 else "",
            product if missing < 0.997 else "NA", source.choices([1, 2, 3, 12], [80, 15, 4, 1])[0], price,
            source.choice(NOTES)]


def main():
    rows, name = int(sys.argv[1]), sys.argv[2]
    source = random.Random(2025)
    with open(name, "w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["order", "ordered at", "customer", "city", "product", "quantity", "price", "note"])
        for number in range(rows):
            writer.writerow(order(source, number))


main()
