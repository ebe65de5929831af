#!/usr/bin/env python3
"""README's chart: draws chart.svg from the measurements of chart.json, for light and dark pages.

usage: chart.py [--check]

--check writes nothing and fails if chart.svg is not what chart.json gives.
"""
import json
import pathlib
import sys
from xml.sax.saxutils import escape

HERE = pathlib.Path(__file__).parent
WIDTH = 760
LEFT = 240  # where bars begin
BAR = 12
COLOURS = ("ours", "second", "third")

STYLE = """
  text { font: 13px system-ui, sans-serif; fill: #1f2328 }
  .title { font-weight: 600 }
  .note, .value { font-size: 11px; fill: #59636e }
  .ours { fill: #0969da } .second { fill: #9a6700 } .third { fill: #848d97 }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6edf3 }
    .note, .value { fill: #9198a1 }
    .ours { fill: #4493f8 } .second { fill: #d29922 } .third { fill: #656c76 }
  }
"""


def relative_times(row):
    label, ours, *others = row
    return label, [time / ours for time in (ours, *others)]


def bytes_per_nonzero(row):
    label, order, nonzeros, file_bytes = row
    return label, [file_bytes / nonzeros, 4 * order + 8]


class Drawing:
    def __init__(self):
        self.parts = []
        self.y = 0

    def text(self, x, y, words, of="label", anchor="start"):
        self.parts.append(f'<text class="{of}" x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(words)}</text>')

    def bar(self, x, y, width, height, of):
        self.parts.append(f'<rect class="{of}" x="{x}" y="{y}" width="{width:.1f}" height="{height}"/>')

    def panel(self, panel, numbers_of, form):
        rows = [numbers_of(row) for row in panel["rows"]]
        scale = (WIDTH - LEFT - 40) / max(number for _, numbers in rows for number in numbers)
        self.y += 20
        self.text(0, self.y, panel["title"], "title")
        for i, (name, of) in enumerate(zip(panel["names"], COLOURS)):
            self.bar(LEFT + 100 * i, self.y - 9, 10, 10, of)
            self.text(LEFT + 100 * i + 15, self.y, name)
        self.y += 14
        for label, numbers in rows:
            self.text(LEFT - 8, self.y + len(numbers) * BAR / 2 + 5, label, anchor="end")
            for number, of in zip(numbers, COLOURS):
                self.bar(LEFT, self.y, number * scale, BAR - 1, of)
                self.text(LEFT + number * scale + 5, self.y + BAR - 2, form.format(number), "value")
                self.y += BAR
            self.y += 10
        self.y += 8
        self.text(0, self.y, panel["note"], "note")
        self.y += 18

    def svg(self):
        return "\n".join([
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {self.y}" width="{WIDTH}" height="{self.y}">',
            f"<style>{STYLE}</style>", *self.parts, "</svg>", ""
        ])


def main():
    results = json.loads((HERE / "chart.json").read_text())
    drawing = Drawing()
    for panel in results["times"]:
        drawing.panel(panel, relative_times, "{:.1f}")
    drawing.panel(results["bytes"], bytes_per_nonzero, "{:.3g}")
    path = HERE / "chart.svg"
    if sys.argv[1:] == ["--check"]:
        if path.read_text() != drawing.svg():
            sys.exit("chart.svg is not what chart.json gives; run tests/experiments/chart.py")
    elif sys.argv[1:]:
        sys.exit(__doc__)
    else:
        path.write_text(drawing.svg())


if __name__ == "__main__":
    main()
