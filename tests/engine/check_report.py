"""The JSON in the page of `blco-info --report` has the numbers of the model or tensor, as numpy finds them, and what
labels say never ends it. In a browser the page's script runs without an error, shows what the JSON has, and finds
labels.

usage: check_report.py BIN_FOLDER [browser]     browser: the last sentence alone
"""
import html.parser
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

from blco_commands import Commands, skip

try:
    import h5py
    import numpy as np
except ImportError as error:
    skip(f"numpy and h5py are needed: {error}")

RANK = 3
SHAPE = [7, 30, 3000, 900]
NAMES = ["who", "da<y", "item", "place"]
WHO = ["</script><script>alert(1)</script>", '"><img src=x onerror=alert(1)>', "<!-- A & B", "&lt;i&gt;\\", "w'x",
       "Zoë\u2028", "漢字" * 60]
SHOWN_WHO = [name if len(name.encode()) <= 120 else "漢字" * 20 + "…" for name in WHO]
DAYS = [f"2024-06-{day:02}T07" for day in range(1, 31)]
WITHOUT_END = {"meta", "input"}
DATA = '<script id="data" type="application/json">'


def data_of(path):
    text = path.read_text()
    _, start, rest = text.partition(DATA)
    written, end, _ = rest.partition("</script>")
    assert start and end and "<" not in written
    return json.loads(written)


class Page(html.parser.HTMLParser):
    """Its elements in order, with their text; ends must match."""

    def __init__(self, text):
        super().__init__()
        self.elements, self.open = [], []
        self.feed(text)
        assert not self.open, self.open

    def handle_starttag(self, tag, attributes):
        element = {"tag": tag, "text": "", "within": list(self.open), **dict(attributes)}
        self.elements.append(element)
        if tag not in WITHOUT_END:
            self.open.append(element)

    def handle_startendtag(self, tag, attributes):
        self.handle_starttag(tag, attributes)
        self.handle_endtag(tag)

    def handle_endtag(self, tag):
        assert self.open.pop()["tag"] == tag

    def handle_data(self, text):
        for element in self.open:
            element["text"] += text

    def all(self, tag, within=None):
        return [element for element in self.elements
                if element["tag"] == tag and (within is None or any(one is within for one in element["within"]))]

    def with_id(self, name):
        (found,) = [element for element in self.elements if element.get("id") == name]
        return found

    def rows(self, within):
        """Of each table its rows, and of each cell the text and the bar behind it: a share, below 0 if it is minus."""
        tables = []
        for table in self.all("table", within):
            (body,) = self.all("tbody", table)
            tables.append([[(cell["text"], bar_of(cell)) for cell in self.elements
                            if cell["tag"] in ("th", "td") and row in cell["within"]] for row in self.all("tr", body)])
        return tables

    def facts(self):
        return dict(zip([one["text"] for one in self.all("dt")], [one["text"] for one in self.all("dd")]))


def bar_of(cell):
    size = re.search(r"--size: ([\d.]+)%", cell.get("style", ""))
    return size and float(size[1]) / 100 * (-1 if "minus" in cell["class"] else 1)


def write_model(path, factors, weights, names, labels):
    with h5py.File(path, "w") as file:
        file.attrs.update(format="blco-model", version=np.uint32(1), rank=np.uint64(len(weights)),
                          shape=np.array([len(factor) for factor in factors], "u8"),
                          mode_names=[name.encode() for name in names], stop_reason="tolerance", seed=np.uint64(5),
                          fit=0.625, sweeps=np.uint64(3))
        file["weights"], file["fit_history"] = np.array(weights, float), [0.25, 0.5, 0.625]
        for n, factor in enumerate(factors):
            file[f"factors/{n}"] = factor
        for n, of_mode in enumerate(labels):
            texts = [label.encode() for label in of_mode]
            file[f"modes/{n}/labels"] = np.frombuffer(b"".join(texts), "u1")
            file[f"modes/{n}/label_ends"] = np.cumsum([len(text) for text in texts]).astype("u8")


def make_model(path):
    source = np.random.default_rng(7)
    factors = [source.random((length, RANK)) ** 4 for length in SHAPE]
    factors[3][:, 1] *= -1
    factors = [factor / np.linalg.norm(factor, axis=0) for factor in factors]
    write_model(path, factors, [1, 5, 2], NAMES, [WHO, DAYS])
    return factors


def make_tensor(commands, folder):
    """Its values per index of each mode."""
    source = np.random.default_rng(8)
    cells = np.stack([source.integers(length, size=5000) for length in SHAPE], axis=1)
    cells = np.unique(cells, axis=0)
    values = source.normal(size=len(cells))
    np.savetxt(folder / "in.tns", np.column_stack([cells + 1, values]), fmt=["%d"] * len(SHAPE) + ["%.17g"])
    commands.run("blco-ingest", folder / "in.tns", "-o", folder / "in.blco", "--shape", "x".join(map(str, SHAPE)))
    return [np.bincount(cells[:, n], np.abs(values), length) for n, length in enumerate(SHAPE)]


def check_rows(rows, column, names, most, marginal):
    order = np.argsort(-np.abs(column), kind="stable")[:most]
    order = [row for row in order if abs(column[row]) >= abs(column[order[0]]) / 100]
    assert len(rows) == len(order) > 0
    for row, (name, value, *lift) in zip(order, rows):
        assert name == names[row] and value == column[row], (name, value, names[row])
        if marginal is None:
            assert lift == []
        elif marginal[row] == 0:
            assert lift == [None]
        else:
            expected = (abs(column[row]) / np.abs(column).sum()) / (marginal[row] / marginal.sum())
            assert np.isclose(lift[0], expected, rtol=1e-9)


def check_points(points, column, low, high):
    count = min(len(column), 200)
    parts = [column[np.arange(len(column)) * count // len(column) == i] for i in range(count)]
    largest = np.array([part[np.argmax(np.abs(part))] for part in parts])
    assert len(points) == count and np.abs(np.array(points) - 1000 * (largest - low) / (high - low)).max() <= 0.5001


def check_page(path, factors, base, most, marginals):
    text = path.read_text()
    page = Page(text)
    for element in page.elements:
        assert not {"src", "href"} & set(element) and not any(name.startswith("on") for name in element), element
    assert len(page.all("script")) == 2 and not page.all("img")
    assert "http" not in text.replace("http-equiv", "").replace("http://www.w3.org/2000/svg", "")
    data = data_of(path)
    assert data["kind"] == "cp" and data["title"] == "model.h5" and data["method"] == "als" and data["seed"] == "5"
    assert data["rank"] == RANK and data["history_of"] == "fit" and data["history"] == [0.25, 0.5, 0.625]
    assert data["stopped_by"] == "tolerance" and data["has_tensor"] == (marginals is not None)
    assert [(mode["name"], mode["length"]) for mode in data["modes"]] == list(zip(NAMES, SHAPE))
    assert [part["component"] for part in data["parts"]] == [1, 2, 0]
    assert [(part["share"], part["weight"]) for part in data["parts"]] == [(0.625, 5), (0.25, 2), (0.125, 1)]
    for n, mode in enumerate(data["modes"]):
        low, high = min(0, factors[n].min()), max(0, factors[n].max())
        assert (mode["low"], mode["high"]) == (low, high)
        names = [SHOWN_WHO, DAYS][n] if n < 2 else [str(i + base) for i in range(SHAPE[n])]
        is_line = n in (1, 3)
        assert mode.get("ticks") == ([names[0], names[(len(names) - 1) // 2], names[-1]] if is_line else None)
        for part in data["parts"]:
            assert len(part["columns"]) == len(SHAPE)
            shown, column = part["columns"][n], factors[n][:, part["component"]]
            marginal = None if marginals is None else marginals[n]
            check_rows(shown["top"], column, names, min(most, 5) if is_line else most, marginal)
            assert ("points" in shown) == is_line
            if is_line:
                check_points(shown["points"], column, low, high)


def check_tucker(commands, folder):
    shape = [9, 14, 6]
    source = np.random.default_rng(9)
    dense = source.normal(size=shape)
    cells = np.argwhere(np.ones(shape))
    np.savetxt(folder / "small.tns", np.column_stack([cells + 1, dense.ravel()]), fmt=["%d"] * 3 + ["%.17g"])
    commands.run("blco-ingest", folder / "small.tns", "-o", folder / "small.blco")
    commands.run("blco-tucker", folder / "small.blco", "--ranks", "3,4,2", "--sweeps", 4, "-o", folder / "tucker.h5")
    commands.run("blco-info", folder / "tucker.h5", "--report", folder / "page.html", "--top", 3, "--components", 7)

    data = data_of(folder / "page.html")
    with h5py.File(folder / "tucker.h5") as file:
        core = file["core"][:].reshape(3, 4, 2)
        factors = [file[f"factors/{n}"][:].reshape(shape[n], -1) for n in range(3)]
    assert data["kind"] == "tucker" and data["ranks"] == [3, 4, 2] and data["core_size"] == 24
    assert [mode["name"] for mode in data["modes"]] == ["mode0", "mode1", "mode2"]
    order = np.argsort(-np.abs(core), axis=None, kind="stable")[:7]
    assert len(data["core"]) == 7
    squares = core**2 / (core**2).sum()
    for place, entry in zip(order, data["core"]):
        index = np.unravel_index(place, core.shape)
        assert tuple(entry["index"]) == index and entry["value"] == core[index]
        assert np.isclose(entry["share"], squares[index], rtol=1e-12)
    for n, factor in enumerate(factors):
        columns = data["parts"][n]["columns"]
        shares = squares.sum(axis=tuple({0, 1, 2} - {n}))
        assert np.allclose([column["share"] for column in columns], shares, rtol=1e-12)
        for number, column in enumerate(columns):
            check_rows(column["top"], factor[:, number], [str(i + 1) for i in range(shape[n])], 3, None)
            check_points(column["points"], factor[:, number], min(0, factor.min()), max(0, factor.max()))


def check_outliers(commands, folder):
    """Leverage and residuals of a model of the tensor of check_tucker(), by dense arrays."""
    commands.run("blco-cpd", folder / "small.blco", "--rank", 3, "--sweeps", 5, "-o", folder / "cp.h5")
    commands.run("blco-info", folder / "cp.h5", "--report", folder / "page.html", "--tensor", folder / "small.blco")

    modes = data_of(folder / "page.html")["outliers"]
    entries = np.loadtxt(folder / "small.tns")
    dense = np.zeros([9, 14, 6])
    dense[tuple(entries[:, :3].astype(int).T - 1)] = entries[:, 3]
    with h5py.File(folder / "cp.h5") as file:
        factors = [file[f"factors/{n}"][:].reshape(length, 3) for n, length in enumerate(dense.shape)]
        squares = (dense - np.einsum("r,ir,jr,kr->ijk", file["weights"][:], *factors)) ** 2
    for n, (mode, factor) in enumerate(zip(modes, factors, strict=True)):
        errors = squares.sum(axis=tuple({0, 1, 2} - {n}))
        leverage = np.diag(factor @ np.linalg.pinv(factor))
        across, up = leverage / leverage.max(), np.sqrt(errors / errors.max())
        order = np.argsort(-np.hypot(across, up))[:5]
        dots = set(zip(np.rint(160 * across).astype(int), np.rint(80 * up).astype(int)))
        assert set(map(tuple, mode["dots"])) == dots and len(mode["dots"]) == len(dots)
        assert np.isclose(mode["leverage"], leverage.max())
        assert np.isclose(mode["residual"], errors.max() / errors.sum())
        assert [row[0] for row in mode["top"]] == [str(i + 1) for i in order]
        assert np.allclose([row[1:] for row in mode["top"]], np.column_stack([leverage, errors / errors.sum()])[order])


def check_tensor(commands, folder):
    """That of make_tensor()."""
    commands.run("blco-info", folder / "in.blco", "--report", folder / "page.html", "--top", 4, "--index-base", 0)

    data = data_of(folder / "page.html")
    entries = np.loadtxt(folder / "in.tns")
    cells, values = entries[:, :-1].astype(int) - 1, entries[:, -1]
    assert data["kind"] == "tensor" and data["nonzeros"] == len(values)
    assert np.isclose(data["norm"], np.linalg.norm(values))
    assert np.allclose([data["values"][name] for name in ("minimum", "maximum", "mean")],
                       [values.min(), values.max(), values.mean()])
    assert not data["values"]["whole_numbers"] and data["values"]["more_distinct"]
    for lower, upper, count in data["histogram"]:
        inside = (values > upper) & (values <= lower) if lower < 0 else (values >= lower) & (values < upper)
        assert count == inside.sum() > 0
    assert sum(count for *_, count in data["histogram"]) == len(values)
    for n, length in enumerate(SHAPE):
        part = data["parts"][n]
        sums = np.bincount(cells[:, n], minlength=length), np.bincount(cells[:, n], np.abs(values), length)
        assert (part["empty"], part["most"]) == ((sums[0] == 0).sum(), sums[0].max())
        assert np.isclose(part["median"], np.median(sums[0])) and np.isclose(part["mean"], sums[0].mean())
        for numbers, column in zip(sums, part["columns"], strict=True):
            largest = np.argsort(-numbers, kind="stable")[:4]
            assert [name for name, _ in column["top"]] == [str(i) for i in largest]
            assert np.allclose([number for _, number in column["top"]], numbers[largest])
            assert np.isclose(column["whole"], numbers.sum()) and np.isclose(column["largest"], numbers.max())
            if "points" in column:
                check_points(column["points"], numbers, 0, numbers.max())


class Browser:
    """Opens pages, and gives what their scripts made of them."""

    def __init__(self, program, folder):
        self.program, self.folder = program, folder

    def open(self, text, script):
        """The page with all of its parts drawn, after `script`, whose errors count as those of the page's own do."""
        watch = """<script>
            addEventListener("error", event => { document.documentElement.dataset.error ??= event.message; });
            </script>"""
        last = f"<script>articles.forEach(fill);\n{script}\ndocument.documentElement.dataset.ran = 'yes';</script>"
        assert text.count("<head>") == 1 and text.count("</body>") == 1
        opened = self.folder / "opened.html"
        opened.write_text(text.replace("<head>", "<head>" + watch).replace("</body>", last + "</body>"))
        command = [self.program, "--headless", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=5000",
                   "--dump-dom", f"--user-data-dir={self.folder}/profile", f"file://{opened}"]
        try:
            shown = subprocess.run(command, capture_output=True, text=True, timeout=300, check=True).stdout
        except (subprocess.TimeoutExpired, subprocess.CalledProcessError) as error:
            skip(f"{self.program} does not run here: {error}")
        page = Page(shown)
        (root,) = page.all("html")
        assert root.get("data-ran") == "yes" and "data-error" not in root, root.get("data-error")
        assert not page.all("img") and len(page.all("script")) == 4
        return page


def shown_label(label):
    """Hours are shown as other times are."""
    return re.sub(r"^(\d{4}-\d\d-\d\d)T(\d\d)$", r"\1 \2:00", label)


def shown_lift(lift):
    return "" if lift is None else f"×{lift:.{2 if lift < 1 else 1 if lift < 10 else 0}f}"


def is_shown(cell, text, size=None):
    assert cell[0] == text, (cell, text)
    assert (cell[1] is None) == (size is None) and (size is None or abs(cell[1] - size) <= 0.00051), (cell, size)


def check_columns(page, data, element, columns):
    """Those of a CP or Tucker model's part."""
    tables = page.rows(element)
    assert len(tables) == len(columns)
    for rows, (mode, column) in zip(tables, columns):
        scale = max(-mode["low"], mode["high"])
        assert len(rows) == len(column["top"])
        for cells, (name, value, *lift) in zip(rows, column["top"]):
            is_shown(cells[0], shown_label(name), value / scale)
            is_shown(cells[1], f"{value:.3f}")
            assert [text for text, _ in cells[2:]] == [shown_lift(one) for one in lift]
    drawn = [path["d"] for path in page.all("path", element) if path.get("class") is None]
    assert drawn == ["M" + " ".join(f"{i} {1000 - height}" for i, height in enumerate(column["points"]))
                     for _, column in columns if "points" in column]


def check_cp_in_browser(browser, path):
    """With starts, which no program writes, and with what this model has not."""
    data = data_of(path)
    start = {"seed": "7", "value": 0.25, "best": False, "match": 0.75, "components": [1, 0.5, 0]}
    best = {"seed": str(2**64 - 1), "value": 0.625, "best": True, "match": None, "components": []}
    more = {"starts": [start, best], "constraints": ["nonnegative", "", "nonnegative", "box=0:1"],
            "cancellation": {"first": 0, "second": 2, "excess": 3.456}}
    text = path.read_text()
    assert '"starts":[]' in text and not {"constraints", "cancellation"} & set(data)
    text = text.replace('"starts":[]', json.dumps(more)[1:-1])

    page = browser.open(text, """
        const seen = [];
        for (const word of ["", "2024-06-02 07", "2024-06-02T07:00", "ALERT(1)</SCR", "nobody", "Zoë"]) {
          box.value = word;
          box.dispatchEvent(new Event("input"));
          seen.push([document.querySelectorAll("article:not([hidden])").length,
                     document.querySelectorAll("#overview tbody tr:not([hidden])").length,
                     document.querySelectorAll("article .hit").length, found.textContent]);
        }
        document.body.dataset.seen = JSON.stringify(seen);
        box.value = "";
        box.dispatchEvent(new Event("input"));""")

    (title,) = page.all("title")
    (heading,) = page.all("h1")
    assert title["text"] == heading["text"] == "model.h5"
    facts = page.facts()
    assert facts["rank"] == "3" and facts["fit"].split()[0] == "0.625" and facts["method"] == "als"
    assert facts["sweeps"] == "3 stopped by tolerance" and facts["seed"] == "5"
    assert facts["shape"] == "7 who × 30 da<y × 3,000 item × 900 place"
    assert facts["constraints"] == "nonnegative: who, item; box=0:1: place"
    (warning,) = [one for one in page.all("p") if one.get("class") == "warning"]
    assert warning["text"].startswith("Components 0 and 2 cancel each other, and the largest component is 3.46 times")
    (figure,) = page.all("figure")
    assert page.all("path", figure)[-1]["d"] == "M0 1000 1 333 2 0"  # of 0.25, 0.5, 0.625
    ((*overview,),) = page.rows(page.with_id("overview"))
    assert [[text for text, _ in row[:3]] for row in overview] == [
        ["1", "62.5%", "5"], ["2", "25.0%", "2"], ["0", "12.5%", "1"]]
    for row, part in zip(overview, data["parts"]):
        for (text, _), column in zip(row[3:], part["columns"], strict=True):
            strongest = [name for name, value, _ in column["top"] if abs(value) >= abs(column["top"][0][1]) / 2]
            assert text == ", ".join(map(shown_label, strongest[:1 if "points" in column else 3]))
        element = page.with_id(f"component-{part['component']}")
        assert [one["text"] for one in page.all("h3", element)] == NAMES
        check_columns(page, data, element, list(zip(data["modes"], part["columns"])))
    starts, = page.rows(page.with_id("starts"))
    assert [[text for text, _ in row] for row in starts] == [
        ["7", "0.25", "0.750", ""], [best["seed"], "0.625", "best", ""]]
    cells = [cell["fill-opacity"] for cell in page.all("rect", page.with_id("starts"))]
    assert cells == ["1.00", "0.50", "0.00"] + 3 * ["1.00"]
    for rows, mode in zip(page.rows(page.with_id("outliers")), data["outliers"], strict=True):
        for mark, row, (name, leverage, residual) in zip("①②③④⑤", rows, mode["top"], strict=True):
            is_shown(row[0], f"{mark} {shown_label(name)}", residual / mode["residual"])
            is_shown(row[1], f"{100 * residual:.1f}%")
            is_shown(row[2], f"{leverage:.3f}")

    (body,) = page.all("body")
    labels = [[shown_label(row[0]).lower() for column in part["columns"] for row in column["top"]]
              for part in data["parts"]]
    expected = [[3, 3, 0, ""]]
    for word in ("2024-06-02 07", "2024-06-02 07:00", "alert(1)</scr", "nobody", "zoë"):
        hits = [sum(word in label for label in of_part) for of_part in labels]
        parts = np.count_nonzero(hits)
        expected.append([parts, parts, sum(hits), f"{parts} of 3 components"])
    assert json.loads(body["data-seen"]) == expected, (body["data-seen"], expected)


def check_many_in_browser(browser, commands, folder):
    """A search that comes before all rows of the overview are there hides those too."""
    rank = 250
    write_model(folder / "many.h5", [np.eye(rank), np.ones((2, rank)) / np.sqrt(2)], np.ones(rank), ["who", "what"],
                [[f"w{i}" for i in range(rank)]])
    commands.run("blco-info", folder / "many.h5", "--report", folder / "page.html")

    page = browser.open((folder / "page.html").read_text(), """
        box.value = "W24";
        box.dispatchEvent(new Event("input"));""")

    rows = page.all("tr", page.all("tbody", page.with_id("overview"))[0])
    articles = page.all("article")
    assert len(rows) == len(articles) == rank
    for i, (row, article) in enumerate(zip(rows, articles)):
        assert ("hidden" not in row) == ("hidden" not in article) == str(i).startswith("24"), i


def check_tucker_in_browser(browser, path):
    data = data_of(path)

    page = browser.open(path.read_text(), "")

    assert page.facts()["ranks"] == "3 mode0 × 4 mode1 × 2 mode2"
    (core,) = page.rows(page.with_id("core"))
    largest = abs(data["core"][0]["value"])
    for row, entry in zip(core, data["core"], strict=True):
        is_shown(row[0], f"{entry['value']:.3f}", entry["value"] / largest)
        is_shown(row[1], f"{100 * entry['share']:.1f}%")
        names = [data["parts"][n]["columns"][column]["top"][0][0] for n, column in enumerate(entry["index"])]
        assert [text for text, _ in row[2:]] == [f"{column} {name}" for column, name in zip(entry["index"], names)]
    for n, part in enumerate(data["parts"]):
        element = page.with_id(f"mode-{n}")
        assert [one["text"] for one in page.all("h3", element)] == [
            f"Column {i} share {100 * column['share']:.1f}%" for i, column in enumerate(part["columns"])]
        check_columns(page, data, element, [(data["modes"][n], column) for column in part["columns"]])


def check_tensor_in_browser(browser, path):
    data = data_of(path)

    page = browser.open(path.read_text(), "")

    facts = page.facts()
    assert facts["nonzeros"] == f"{data['nonzeros']:,}"
    assert float(facts["density"]) == float(f"{data['nonzeros'] / np.prod(SHAPE, dtype=float):.3g}")
    (buckets,) = page.rows(page.with_id("values"))
    for row, (lower, upper, count) in zip(buckets, data["histogram"], strict=True):
        name, bar = row[0]
        assert name[0] + name[-1] == ("(]" if lower < 0 else "[)") and np.signbit(bar) == (lower < 0), (row, lower)
        assert np.allclose([float(end) for end in name[1:-1].split(",")], sorted([lower, upper]), rtol=1e-5)
        is_shown(row[2], f"{100 * count / data['nonzeros']:.1f}%")
    for n, part in enumerate(data["parts"]):
        element = page.with_id(f"mode-{n}")
        assert [one["text"] for one in page.all("h3", element)] == ["Nonzeros", "Values"]
        for rows, column in zip(page.rows(element), part["columns"], strict=True):
            for row, (name, number) in zip(rows, column["top"], strict=True):
                is_shown(row[0], name, number / column["largest"])
                shown = float(row[1][0].rstrip("kM")) * {"k": 1e3, "M": 1e6}.get(row[1][0][-1], 1)
                assert abs(shown - number) <= 0.00501 * number
                is_shown(row[2], f"{100 * number / column['whole']:.1f}%")


def main(folder, what="numbers"):
    commands = Commands(folder)
    program = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if what == "browser" and program is None:
        skip("no browser: install chromium")
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        browser = Browser(program, folder) if what == "browser" else None
        factors = make_model(folder / "model.h5")
        page = folder / "page.html"
        if browser is None:
            commands.run("blco-info", folder / "model.h5", "--report", page)
            check_page(page, factors, 1, 10, None)
            commands.run("blco-info", folder / "model.h5", "--report", page, "--components", 2)
            assert [part["component"] for part in data_of(page)["parts"]] == [1, 2]
        marginals = make_tensor(commands, folder)
        commands.run("blco-info", folder / "model.h5", "--report", page, "--tensor", folder / "in.blco", "--top", 4,
                     "--index-base", 0)
        check_page(page, factors, 0, 4, marginals)
        if browser:
            check_cp_in_browser(browser, page)
            check_many_in_browser(browser, commands, folder)
        check_tucker(commands, folder)
        if browser:
            check_tucker_in_browser(browser, page)
        check_outliers(commands, folder)
        check_tensor(commands, folder)
        if browser:
            check_tensor_in_browser(browser, page)


main(*sys.argv[1:])
