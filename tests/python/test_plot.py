"""Figures of models say what the models do."""
import blco
import numpy as np
import pytest
from blco._plot import own_order

pyplot = pytest.importorskip("matplotlib.pyplot")


@pytest.fixture
def model():
    pyplot.switch_backend("Agg")
    coords = np.array([[0, 0, 0], [1, 1, 2], [2, 1, 4], [0, 1, 1]])
    tensor = blco.tensor(coords, [1.0, 2.0, 3.0, 4.0], labels=[["a", "b", "c"], None, None])
    return blco.fit_cpd(tensor, rank=3, max_sweeps=5)


def test_lines_are_columns_and_bars_the_largest_entries(model):
    figure = model.plot(components=2, entries=2)
    axes = np.array(figure.axes).reshape(2, 3)
    for row in range(2):
        np.testing.assert_array_equal(axes[row, 1].lines[0].get_ydata(), model.factors[1][:, row])
        bars = [bar.get_width() for bar in axes[row, 0].patches]
        expected = model.top(2)[row].modes[model.mode_names[0]]
        assert sorted(bars) == pytest.approx(sorted(value for _, value in expected))
        assert {text.get_text() for text in axes[row, 0].get_yticklabels()} == {name for name, _ in expected}
    assert axes[0, 2].get_ylim() == axes[1, 2].get_ylim()
    pyplot.close(figure)


def bars_of(axes):
    return {text.get_text(): bar.get_height() for text, bar in zip(axes.get_xticklabels(), axes.patches)}


def test_weekdays_times_and_numbers_are_shown_in_their_own_order():
    days = ["Wednesday", "Monday", "Friday"]
    hours = [f"{hour:02}" for hour in (7, 23, 0)] + ["unknown"]
    random = np.random.default_rng(3)
    factors = [random.random((length, 1)) for length in (3, 4, 3, 60)]
    labels = [days, hours, ["10", "9", "-1.5"], [f"2024-{n // 28 + 1:02}-{n % 28 + 1:02}" for n in range(60)][::-1]]
    figure = blco.Model(factors, labels=labels).plot()

    axes = figure.axes
    assert bars_of(axes[0]) == {day: factors[0][days.index(day), 0] for day in ("Monday", "Wednesday", "Friday")}
    assert list(bars_of(axes[0])) == ["Monday", "Wednesday", "Friday"]
    assert list(bars_of(axes[1])) == ["00", "07", "23", "unknown"]
    assert list(bars_of(axes[2])) == ["-1.5", "9", "10"]
    np.testing.assert_array_equal(axes[3].lines[0].get_ydata(), factors[3][::-1, 0])
    assert axes[3].get_xticklabels()[0].get_text() == "2024-01-01"
    pyplot.close(figure)


def test_bins_stay_in_order_and_names_do_not():
    assert own_order(["(10, 20]", "[0, 10]"]) == [1, 0]
    assert own_order(["2024-W05", "2023-W50"]) == [1, 0] and own_order(["2024-Q2", "2024-Q1"]) == [1, 0]
    for labels in (["a", "b"], ["7", "Monday"], ["1", "x", "2"], ["10.0.0.1", "10.0.0.2"]):
        assert own_order(labels) is None


def test_dollars_are_letters(tmp_path):
    coords = np.array([[0, 0], [1, 1], [2, 0], [3, 1]])
    names = ["$10-$20", "$20-$50", "$x^$", "free"]
    tensor = blco.tensor(coords, 1, labels=[names, None], mode_names=["$pr$", "day"])
    figure = blco.fit_cpd(tensor, 2).plot()

    figure.savefig(tmp_path / "page.png")

    for axes in figure.axes[::2]:
        shown = [text.get_text() for text in axes.get_yticklabels()]
        assert shown and set(shown) <= {name.replace("$", r"\$") for name in names}
    assert figure.axes[0].get_title() == r"\$pr\$"
    pyplot.close(figure)


def test_axes_may_be_given_and_modes_chosen(model):
    figure, axes = pyplot.subplots(2, 1)

    same = model.plot(2, modes=[1], ax=axes)

    assert same is figure
    for row in range(2):
        np.testing.assert_array_equal(axes[row].lines[0].get_ydata(), model.factors[1][:, row])
    with pytest.raises(blco.InvalidArgument, match="give 6 axes of matplotlib, for 2 components of 3 modes"):
        model.plot(2, ax=axes)
    pyplot.close(figure)


def test_a_notebook_shows_a_figure_once_and_labels_are_read_once(model, monkeypatch):
    read = []
    monkeypatch.setattr(type(model), "labels", property(lambda self: read.append(1) or [["a", "b", "c"], None, None]))
    monkeypatch.setattr(pyplot, "get_backend", lambda: "module://matplotlib_inline.backend_inline")
    before = pyplot.get_fignums()

    figure = model.plot(3)

    assert pyplot.get_fignums() == before and len(figure.axes) == 9 and len(read) == 1
