"""The page of `blco-info --report` has the numbers of the model or tensor, as numpy finds them, and shows what labels say
without taking them for HTML. In a browser its script runs without an error, finds labels and shows them.

usage: check_report.py BIN_FOLDER [browser]     browser: the last sentence alone
"""
import html.parser
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
WHO = ["<script>alert(1)</script>", '"><img src=x onerror=alert(1)>', "A & B", "&lt;i&gt;", "Zoë", "w'x", "漢字" * 60]
DAYS = [f"2024-06-{day:02}" for day in range(1, 31)]
WITHOUT_END = {"meta", "input"}


class Page(html.parser.HTMLParser):
    """Its elements in order, with the text right within them; ends must match."""

    def __init__(self, text):
        super().__init__()
        self.elements, self.open = [], []
        self.feed(text)
        assert not self.open, self.open

    def handle_starttag(self, tag, attributes):
        element = {"tag": tag, "text": "", "within": [one["tag"] for one in self.open], **dict(attributes)}
        self.elements.append(element)
        if tag not in WITHOUT_END:
            self.open.append(element)

    def handle_startendtag(self, tag, attributes):
        self.handle_starttag(tag, attributes)
        self.handle_endtag(tag)

    def handle_endtag(self, tag):
        assert self.open.pop()["tag"] == tag

    def handle_data(self, text):
        if self.open:
            self.open[-1]["text"] += text

    def all(self, tag):
        return [element for element in self.elements if element["tag"] == tag]

    def sections(self):
        """Of each component its heading, and per mode the plot's heights and the rows of its list."""
        components = []
        for element in self.elements:
            if "details" in element["within"]:
                continue
            if element["tag"] == "article":
                components.append([int(element["id"].removeprefix("component-")), "", []])
            elif element["tag"] == "small" and "article" in element["within"]:
                components[-1][1] = element["text"]
            elif element["tag"] == "h3":
                components[-1][2].append({"name": element, "heights": None, "rows": []})
            elif element["tag"] == "path" and "article" in element["within"] and element.get("class") != "zero":
                components[-1][2][-1]["heights"] = [int(word) for word in re.findall(r"\d+", element["d"])[1::2]]
            elif element["tag"] == "li":
                components[-1][2][-1]["rows"].append({})
            elif element["tag"] in ("bdi", "i", "b", "em"):
                components[-1][2][-1]["rows"][-1][element["tag"]] = element
        return components

    def outliers(self):
        """Per mode its name, the dots of the plot, the largest leverage, and the rows of its list."""
        modes = []
        for element in self.elements:
            if "details" not in element["within"]:
                continue
            if element["tag"] == "h3":
                modes.append({"name": element["text"], "dots": [], "rows": []})
            elif element["tag"] == "path":
                modes[-1]["dots"].append([tuple(map(int, dot)) for dot in re.findall(r"M(\d+) (\d+)h0", element["d"])])
            elif element["tag"] == "span" and "scatter" not in element["within"]:
                modes[-1]["most"] = element["text"]
            elif element["tag"] == "li":
                modes[-1]["rows"].append({})
            elif element["tag"] in ("bdi", "b", "em"):
                modes[-1]["rows"][-1][element["tag"]] = element["text"]
        return modes

    def articles(self):
        """Of each by its id, lists of rows by their headings; those without one come first."""
        parts = {}
        for element in self.elements:
            if element["tag"] == "article":
                lists = parts[element["id"]] = []
            elif element["tag"] == "ol":
                lists.append([])
            elif element["tag"] in ("bdi", "i", "b", "em"):
                if element["tag"] == "bdi":
                    lists[-1].append({})
                lists[-1][-1][element["tag"]] = element["text"]
        return parts

    def facts(self):
        return dict(zip([one["text"] for one in self.all("dt")], [one["text"].strip() for one in self.all("dd")]))


def make_model(path):
    source = np.random.default_rng(7)
    factors = [source.random((length, RANK)) ** 4 for length in SHAPE]
    factors[3][:, 1] *= -1
    factors = [factor / np.linalg.norm(factor, axis=0) for factor in factors]
    with h5py.File(path, "w") as file:
        file.attrs.update(format="blco-model", version=np.uint32(1), rank=np.uint64(RANK), shape=np.array(SHAPE, "u8"),
                          mode_names=[name.encode() for name in NAMES], stop_reason="tolerance", seed=np.uint64(5),
                          fit=0.625, sweeps=np.uint64(3))
        file["weights"], file["fit_history"] = [1.0, 5.0, 2.0], [0.25, 0.5, 0.625]
        for n, factor in enumerate(factors):
            file[f"factors/{n}"] = factor
        for n, labels in ((0, WHO), (1, DAYS)):
            texts = [label.encode() for label in labels]
            file[f"modes/{n}/labels"] = np.frombuffer(b"".join(texts), "u1")
            file[f"modes/{n}/label_ends"] = np.cumsum([len(text) for text in texts]).astype("u8")
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


def check_rows(section, column, scale, names, most, marginal):
    order = np.argsort(-np.abs(column), kind="stable")[:most]
    order = [row for row in order if abs(column[row]) >= abs(column[order[0]]) / 100]
    assert len(section["rows"]) == len(order) > 0
    for row, shown in zip(order, section["rows"]):
        assert shown["bdi"]["text"] == names[row], (shown, names[row])
        assert shown["b"]["text"] == f"{column[row]:.3f}"
        assert (shown["i"].get("class") == "minus") == (column[row] < 0)
        width = float(shown["i"]["style"].removeprefix("width:").removesuffix("%"))
        assert abs(width - 100 * abs(column[row]) / scale) <= 0.051
        if marginal is None:
            assert "em" not in shown
        elif marginal[row] == 0:
            assert shown["em"]["text"] == ""
        else:
            lift = (abs(column[row]) / np.abs(column).sum()) / (marginal[row] / marginal.sum())
            digits = 2 if lift < 1 else 1 if lift < 10 else 0
            assert abs(float(shown["em"]["text"].removeprefix("×")) - lift) <= 0.501 * 10.0**-digits


def check_heights(heights, column, low, high):
    expected = 100 - 100 * (column - low) / (high - low)
    if len(column) > 200:
        assert len(heights) == 200
        assert min(heights) == round(expected.min()) and max(heights) == round(expected.max())
    else:
        assert np.abs(np.array(heights) - expected).max() <= 0.5001


def check_page(path, factors, base, most, marginals):
    text = path.read_text()
    page = Page(text)
    for element in page.elements:
        assert not {"src", "href"} & set(element) and not any(name.startswith("on") for name in element), element
    assert len(page.all("script")) == 1 and not page.all("img") and "http:" not in text and "https:" not in text
    assert page.all("title")[0]["text"] == "model.h5"
    facts = page.facts()
    assert facts["rank"] == "3" and facts["fit"] == "0.625" and facts["sweeps"] == "3" and facts["method"] == "als"
    assert facts["shape"] == "7 who × 30 da<y × 3000 item × 900 place"
    (curve,) = [one for one in page.all("path") if "figure" in one["within"]]
    assert curve["d"] == "M0 100 1 33 2 0"  # of 0.25, 0.5, 0.625
    assert ("left out" in text) == (marginals is None)

    components = page.sections()
    assert [number for number, *_ in components] == [1, 2, 0]
    assert [heading for _, heading, _ in components] == [
        "share 62.5%, weight 5", "share 25.0%, weight 2", "share 12.5%, weight 1"]
    who = [name if len(name.encode()) <= 120 else "漢字" * 20 + "…" for name in WHO]
    for number, _, sections in components:
        assert [section["name"]["text"] for section in sections] == NAMES
        for n, section in enumerate(sections):
            names = [who, DAYS][n] if n < 2 else [str(i + base) for i in range(SHAPE[n])]
            is_line = n in (1, 3)
            scale = np.abs(factors[n]).max()
            marginal = None if marginals is None else marginals[n]
            check_rows(section, factors[n][:, number], scale, names, min(most, 5) if is_line else most, marginal)
            assert (section["heights"] is not None) == is_line
            if is_line:
                check_heights(section["heights"], factors[n][:, number], min(0, factors[n].min()), factors[n].max())


def check_tucker(commands, folder):
    shape = [9, 14, 6]
    source = np.random.default_rng(9)
    dense = source.normal(size=shape)
    cells = np.argwhere(np.ones(shape))
    np.savetxt(folder / "small.tns", np.column_stack([cells + 1, dense.ravel()]), fmt=["%d"] * 3 + ["%.17g"])
    commands.run("blco-ingest", folder / "small.tns", "-o", folder / "small.blco")
    commands.run("blco-tucker", folder / "small.blco", "--ranks", "3,4,2", "--sweeps", 4, "-o", folder / "tucker.h5")
    commands.run("blco-info", folder / "tucker.h5", "--report", folder / "page.html", "--top", 3, "--components", 7)

    page = Page((folder / "page.html").read_text())
    with h5py.File(folder / "tucker.h5") as file:
        core = file["core"][:].reshape(3, 4, 2)
        factors = [file[f"factors/{n}"][:].reshape(shape[n], -1) for n in range(3)]
    assert page.facts()["ranks"] == "3 mode0 × 4 mode1 × 2 mode2"
    parts = page.articles()
    assert list(parts) == ["core", "mode-0", "mode-1", "mode-2"]
    order = np.argsort(-np.abs(core), axis=None, kind="stable")[:7]
    squares = core**2 / (core**2).sum()
    expected = []
    for place in order:
        index = np.unravel_index(place, core.shape)
        expected.append({"bdi": ", ".join(f"mode{n} {column}" for n, column in enumerate(index)), "i": "",
                         "b": f"{core[index]:.3f}", "em": f"{100 * squares[index]:.1f}%"})
    assert parts["core"] == [expected], (parts["core"], expected)
    shares = [text for text in (one["text"] for one in page.all("small")) if text.startswith("share ")]
    by_column = [squares.sum(axis=tuple({0, 1, 2} - {n})) for n in range(3)]
    assert shares == [f"share {100 * share:.1f}%" for mode in by_column for share in mode]
    for n, factor in enumerate(factors):
        for column, rows in enumerate(parts[f"mode-{n}"]):
            largest = np.argsort(-np.abs(factor[:, column]), kind="stable")[:3]
            assert [(row["bdi"], row["b"]) for row in rows] == [
                (str(i + 1), f"{factor[i, column]:.3f}") for i in largest]


def check_outliers(commands, folder):
    """Leverage and residuals of a model of the tensor of check_tucker(), by dense arrays."""
    commands.run("blco-cpd", folder / "small.blco", "--rank", 3, "--sweeps", 5, "-o", folder / "cp.h5")
    commands.run("blco-info", folder / "cp.h5", "--report", folder / "page.html", "--tensor", folder / "small.blco")

    modes = Page((folder / "page.html").read_text()).outliers()
    entries = np.loadtxt(folder / "small.tns")
    dense = np.zeros([9, 14, 6])
    dense[tuple(entries[:, :3].astype(int).T - 1)] = entries[:, 3]
    with h5py.File(folder / "cp.h5") as file:
        factors = [file[f"factors/{n}"][:].reshape(length, 3) for n, length in enumerate(dense.shape)]
        squares = (dense - np.einsum("r,ir,jr,kr->ijk", file["weights"][:], *factors)) ** 2
    assert [mode["name"] for mode in modes] == ["mode0", "mode1", "mode2"]
    for n, (mode, factor) in enumerate(zip(modes, factors)):
        errors = squares.sum(axis=tuple({0, 1, 2} - {n}))
        leverage = np.diag(factor @ np.linalg.pinv(factor))
        across, up = leverage / leverage.max(), np.sqrt(errors / errors.max())
        order = np.argsort(-np.hypot(across, up))[:5]
        dots = set(zip(np.rint(160 * across).astype(int), 80 - np.rint(80 * up).astype(int)))
        assert set(mode["dots"][0]) == dots and len(mode["dots"][0]) == len(dots)
        assert mode["dots"][1] == [(round(160 * across[i]), 80 - round(80 * up[i])) for i in order]
        assert mode["most"] == f"{leverage.max():.3g}"
        assert mode["rows"] == [
            {"bdi": f"{mark} {i + 1}", "b": f"{100 * errors[i] / errors.sum():.1f}%", "em": f"{leverage[i]:.3f}"}
            for mark, i in zip("①②③④⑤", order)], (mode["rows"], order)


def check_tensor(commands, folder):
    """That of make_tensor()."""
    commands.run("blco-info", folder / "in.blco", "--report", folder / "page.html", "--top", 4, "--index-base", 0)

    page = Page((folder / "page.html").read_text())
    entries = np.loadtxt(folder / "in.tns")
    cells, values = entries[:, :-1].astype(int) - 1, entries[:, -1]
    facts = page.facts()
    assert facts["nonzeros"] == str(len(values))
    assert float(facts["density"]) == float(f"{len(values) / np.prod(SHAPE, dtype=float):.3g}")
    parts = page.articles()
    assert list(parts) == ["values", *(f"mode-{n}" for n in range(len(SHAPE)))]
    (buckets,) = parts["values"]
    for row in buckets:
        closed = row["bdi"][0] == "["
        low, high = map(float, row["bdi"][1:-1].split(","))
        count = np.sum((values >= low) & (values < high) if closed else (values > low) & (values <= high))
        assert row["em"] == f"{100 * count / len(values):.1f}%" and count > 0, row
    for n, length in enumerate(SHAPE):
        sums = np.bincount(cells[:, n], minlength=length), np.bincount(cells[:, n], np.abs(values), length)
        for numbers, rows in zip(sums, parts[f"mode-{n}"]):
            largest = np.argsort(-numbers, kind="stable")[:4]
            assert [row["bdi"] for row in rows] == [str(i) for i in largest]
            assert [row["em"] for row in rows] == [f"{100 * numbers[i] / numbers.sum():.1f}%" for i in largest]
            for i, row in zip(largest, rows):
                shown = float(row["b"].rstrip("kM")) * {"k": 1e3, "M": 1e6}.get(row["b"][-1], 1)
                assert abs(shown - numbers[i]) <= 0.00501 * numbers[i]


def check_browser(folder, browser):
    """Types into the page's search field, and tells the components that are left by the title."""
    text = (folder / "page.html").read_text()
    watch = '<script>window.onerror = message => { document.title = "error: " + message; };</script>'
    typing = """<script>
    const field = document.querySelector("input"), seen = [];
    for (const word of ["", "2024-06-", "ALERT(1)</SCR", "nobody", "Zoë"]) {
      field.value = word;
      field.dispatchEvent(new Event("input"));
      seen.push(document.querySelectorAll("article:not([hidden])").length + " " + document.querySelectorAll(".hit").length);
    }
    document.title = seen.join(", ");
    </script>"""
    assert text.count("<head>") == 1 and text.count("</body>") == 1
    (folder / "typed.html").write_text(text.replace("<head>", "<head>" + watch).replace("</body>", typing + "</body>"))
    command = [browser, "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={folder}/profile", "--dump-dom",
               f"file://{folder}/typed.html"]
    try:
        shown = subprocess.run(command, capture_output=True, text=True, timeout=300, check=True).stdout
    except (subprocess.TimeoutExpired, subprocess.CalledProcessError) as error:
        skip(f"{browser} does not run here: {error}")
    page = Page(text)
    counts = []
    for word in ("2024-06-", "alert(1)</scr", "nobody", "zoë"):
        hits = [sum(word in row["bdi"]["text"].lower() for section in sections for row in section["rows"])
                for _, _, sections in page.sections()]
        counts.append(f"{np.count_nonzero(hits)} {sum(hits)}")
    title = re.search("<title>(.*?)</title>", shown)[1]
    assert title == ", ".join(["3 0", *counts]), (title, counts)


def main(folder, what="numbers"):
    commands = Commands(folder)
    browser = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if what == "browser" and browser is None:
        skip("no browser: install chromium")
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        factors = make_model(folder / "model.h5")
        page = folder / "page.html"
        commands.run("blco-info", folder / "model.h5", "--report", page)
        if what == "browser":
            return check_browser(folder, browser)
        check_page(page, factors, 1, 10, None)
        marginals = make_tensor(commands, folder)
        commands.run("blco-info", folder / "model.h5", "--report", page, "--tensor", folder / "in.blco", "--top", 4,
                     "--index-base", 0)
        check_page(page, factors, 0, 4, marginals)
        commands.run("blco-info", folder / "model.h5", "--report", page, "--components", 2)
        assert [number for number, *_ in Page(page.read_text()).sections()] == [1, 2]
        check_tucker(commands, folder)
        check_outliers(commands, folder)
        check_tensor(commands, folder)


main(*sys.argv[1:])
