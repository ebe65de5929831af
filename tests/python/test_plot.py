"""Figures of models say what the models do."""
import blco
import numpy as np
import pytest

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
