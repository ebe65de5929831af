"""Tables of pyarrow, pandas, polars and DuckDB: the same cells, whatever types and batches they come in."""
import datetime
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

import blco

pyarrow = pytest.importorskip("pyarrow")

START = datetime.datetime(2024, 3, 5, 23, 30, tzinfo=datetime.timezone.utc)
HOUR = datetime.timedelta(hours=1)
ROWS = {"shop": ["Oslo", "Rome", "Oslo", None, "Århus and its harbour"],
        "when": [START, START + HOUR, START + 30 * HOUR, START, None],
        "price": [2.5, 10.0, 0.0, 5.0, 7.0],
        "aisle": [3, 0, 3, 1, 2],
        "n": [2, 1, 4, 3, 1]}
MODES = ["shop", "when:day:utc", "price:bins=2", "aisle:index"]


def of_pandas():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(ROWS)
    frame["shop"] = frame["shop"].astype("category")
    return frame


def of_polars():
    polars = pytest.importorskip("polars")
    return polars.DataFrame(ROWS).with_columns(polars.col("shop").cast(polars.Categorical))


def of_polars_strings():
    return pytest.importorskip("polars").DataFrame(ROWS)


def of_duckdb():
    duckdb = pytest.importorskip("duckdb")
    rows = pyarrow.table(ROWS)
    connection = duckdb.connect()
    connection.register("rows", rows)
    # A sum of integers is a decimal, or an integer of 128 bits, there.
    return connection.sql("select shop, \"when\", price, aisle, sum(n) as n from rows group by all")


def of_pyarrow():
    return pyarrow.table(ROWS)


def of_pyarrow_dates():
    table = pyarrow.table(ROWS)
    days = [None if when is None else when.date() for when in ROWS["when"]]
    return table.set_column(1, "when", pyarrow.array(days, pyarrow.date32()))


def of_pyarrow_batches():
    """A dictionary of its own in each batch; aisles of 8 bits, values that are decimals."""
    table = pyarrow.table(ROWS).cast(pyarrow.schema([
        ("shop", pyarrow.large_string()), ("when", pyarrow.timestamp("ns", "Asia/Tokyo")), ("price", pyarrow.float32()),
        ("aisle", pyarrow.uint8()), ("n", pyarrow.decimal128(30, 3))]))
    parts = [table.slice(first, 2) for first in (0, 2, 4)]
    coded = [part.set_column(0, "shop", part["shop"].combine_chunks().dictionary_encode()) for part in parts]
    return pyarrow.RecordBatchReader.from_batches(coded[0].schema, [b for part in coded for b in part.to_batches()])


SOURCES = [of_pandas, of_polars, of_polars_strings, of_duckdb, of_pyarrow, of_pyarrow_dates, of_pyarrow_batches]


def cells_of(tensor):
    """Values by labels, or by indices where there are none."""
    columns = zip(tensor.labels, tensor.coords.T.tolist())
    names = [index if labels is None else [labels[i] for i in index] for labels, index in columns]
    return dict(zip(zip(*names), tensor.values.tolist()))


@pytest.mark.parametrize("make", SOURCES)
def test_a_table_of_any_library_is_the_same_tensor(make, tmp_path):
    tensor = blco.ingest(make(), tmp_path / "out.blco", modes=MODES, value="n", missing="skip")

    assert cells_of(tensor) == {("Oslo", "2024-03-05", "[0, 5)", 3): 2, ("Rome", "2024-03-06", "[5, 10]", 0): 1,
                                ("Oslo", "2024-03-07", "[0, 5)", 3): 4}
    assert tensor.report["skipped_rows"] == {"shop": 1, "when": 1}
    assert tensor.mode_names == ("shop", "when", "price", "aisle")


@pytest.mark.parametrize("make", SOURCES)
def test_a_key_in_the_place_of_nulls(make):
    tensor = blco.tensor(make(), modes=["shop", "when:year"], value="n", missing="unknown")

    assert cells_of(tensor) == {("Oslo", "2024"): 6, ("Rome", "2024"): 1, ("unknown", "2024"): 3,
                                ("Århus and its harbour", "unknown"): 1}


def test_a_table_and_its_text_are_the_same_container(tmp_path):
    csv = pytest.importorskip("pyarrow.csv")
    table = pyarrow.table({"who": ["b", "a", "b", "c"] * 50, "price": np.arange(200) / 8, "n": np.arange(200) + 1})
    csv.write_csv(table, tmp_path / "in.csv")
    options = {"modes": ["who", "price:quantiles=7"], "value": "n", "hold_out": 0.2}

    blco.ingest(tmp_path / "in.csv", tmp_path / "text.blco", held_out_to=tmp_path / "text.out", **options)
    blco.ingest(table, tmp_path / "table.blco", held_out_to=tmp_path / "table.out", **options)

    for name in ("blco", "out"):
        assert (tmp_path / f"table.{name}").read_bytes() == (tmp_path / f"text.{name}").read_bytes()


def test_labels_of_another_container_keep_their_numbers(tmp_path):
    blco.ingest(pyarrow.table({"who": ["b", "a"]}), tmp_path / "old.blco", modes=["who"])
    new = pyarrow.table({"who": ["c", "a"], "day": [0, 1]})

    grown = blco.ingest(new, tmp_path / "new.blco", modes=["who", "day:index"], labels_from=tmp_path / "old.blco")
    known = blco.ingest(new, tmp_path / "known.blco", modes=["who", "day:index"], labels_from=tmp_path / "old.blco",
                        skip_unknown=True)

    assert grown.labels == [["b", "a", "c"], None]
    assert cells_of(known) == {("a", 1): 1} and known.report["unknown_rows"] == 1


def test_what_a_stream_raises_is_told_and_leaves_nothing(tmp_path):
    batch = pyarrow.record_batch({"who": ["a", "b"]})

    def batches():
        yield batch
        yield batch
        raise RuntimeError("the line is dead")

    for call in (lambda stream: blco.ingest(stream, tmp_path / "out.blco", modes=["who"]),
                 lambda stream: blco.tensor(stream, modes=["who"])):
        with pytest.raises(blco.IoError, match="(?s)fails after 4 rows: .*the line is dead"):
            call(pyarrow.RecordBatchReader.from_batches(batch.schema, batches()))
    assert list(tmp_path.iterdir()) == []


class Mute(Exception):
    """Says nothing."""


def stream_that(act):
    """A batch, then what act() does."""
    batch = pyarrow.record_batch({"who": ["a", "b"]})

    def batches():
        yield batch
        act()

    return pyarrow.RecordBatchReader.from_batches(batch.schema, batches())


def raise_one(error):
    raise error


def interrupt():
    os.kill(os.getpid(), signal.SIGINT)
    time.sleep(10)


@pytest.mark.parametrize("act", [interrupt, lambda: raise_one(KeyboardInterrupt())])
def test_ctrl_c_within_a_stream_is_a_keyboard_interrupt_and_leaves_nothing(act, tmp_path):
    usual = signal.getsignal(signal.SIGINT)
    for call in (lambda stream: blco.ingest(stream, tmp_path / "out.blco", modes=["who"]),
                 lambda stream: blco.tensor(stream, modes=["who"])):
        with pytest.raises(KeyboardInterrupt):
            call(stream_that(act))

    assert list(tmp_path.iterdir()) == [] and signal.getsignal(signal.SIGINT) is usual


def test_what_a_handler_of_ctrl_c_raises_comes_through():
    usual = signal.signal(signal.SIGINT, lambda *signaled: raise_one(Mute()))
    try:
        with pytest.raises(Mute):
            blco.tensor(stream_that(interrupt), modes=["who"])
    finally:
        signal.signal(signal.SIGINT, usual)


def test_what_is_raised_without_words_is_told_by_its_type():
    class Unreadable:
        def __array__(self, *_, **__):
            raise ValueError

    class DeadLine:
        rank, size, neighbours = 0, 2, 1

        def send(self, to, message):
            raise Mute

    with pytest.raises(blco.IoError, match="^comm: Mute$"):
        blco.fit_cpd(blco.tensor([[0, 1]], 1), 1, comm=DeadLine())
    with pytest.raises(blco.IoError, match=r"(?s)fails after 2 rows: .*\bMute\b"):
        blco.tensor(stream_that(lambda: raise_one(Mute())), modes=["who"])
    with pytest.raises(blco.InvalidArgument, match="the coordinates are not an array: ValueError$"):
        blco.tensor(Unreadable(), 1)


def test_floats_of_16_bits_are_read_and_decimals_of_256_refused():
    halves = pyarrow.table({"i": [0, 1, 2], "n": np.array([0.5, -3, 65504], np.float16)})
    wide = pyarrow.table({"i": [0], "n": pyarrow.array([1]).cast(pyarrow.decimal256(60, 2))})

    assert blco.tensor(halves, modes=["i"], value="n").values.tolist() == [0.5, -3, 65504]
    for modes, value in ((["i"], "n"), (["n"], None)):
        with pytest.raises(blco.InvalidArgument, match=r"column 'n' has the type decimal\(60,2,256\); only decimals of "
                                                       "128 bits are read: cast it to decimal128 or float64"):
            blco.tensor(wide, modes=modes, value=value)


def test_memory_of_tables_is_given_back(tmp_path):
    before = pyarrow.total_allocated_bytes()
    for modes, missing in ((["who"], None), (["nobody"], None), (["gap"], None), (["gap"], "skip")):
        table = pyarrow.table({"who": [f"name {i}" for i in range(1000)], "gap": ["x", None] * 500})
        try:
            blco.tensor(table, modes=modes, missing=missing)
        except blco.InvalidArgument:
            pass
        del table

    assert pyarrow.total_allocated_bytes() == before


@pytest.mark.parametrize(("options", "message"), [
    ({"modes": ["who"], "separator": ";"}, "`separator` is about files of text; leave it out"),
    ({"modes": ["who"], "index_base": 0}, "`index_base` is about files of text; leave it out"),
    ({"modes": ["who"], "null": "?"}, "`null` is about files of text; leave it out"),
    ({"modes": ["who"], "labels": {"who": "names.txt"}}, "`labels` does not apply to a table"),
    ({"modes": ["who"], "labels_from": "absent.blco"}, "absent.blco"),
    ({"modes": ["who"], "skip_unknown": True}, "`skip_unknown` requires `labels_from`"),
    ({"modes": ["who", "gap"]}, "row 1 of column 'gap', counted from 0, is null; fill it in, or leave such rows out with "
                                "`missing='skip'`, or give `missing='unknown'`"),
    ({"modes": ["who", "debt:index"]}, "row 1 of column 'debt', counted from 0: the coordinate -7 is negative"),
    ({"modes": ["who:index"]}, "column 'who' has the type string; indices are whole numbers: cast it to int64"),
    ({"modes": ["code"]}, "column 'code' has the type blco.test, stored as int64; what it stores is read only where"),
    ({"modes": ["who"], "value": "odd"}, "row 1 of column 'odd', counted from 0, is NaN"),
    ({"modes": ["who"], "value": "endless"}, "row 1 of column 'endless', counted from 0"),
    ({"modes": ["list"]}, "column 'list' has the type list; a mode takes whole numbers or strings"),
    ({"modes": ["who"], "value": "when"}, "column 'when' has the type timestamp[us]; values are numbers"),
    ({"modes": ["when"]}, "or name a unit of time, such as when:day"),
])
def test_what_a_table_cannot_be_is_said(options, message, tmp_path):
    when = [START.replace(tzinfo=None)] * 2
    table = pyarrow.table({"who": ["a", "b"], "gap": ["x", None], "list": [[1], [2]], "when": when, "debt": [3, -7],
                           "odd": [1, float("nan")], "endless": [1, float("inf")]})
    table = table.append_column(pyarrow.field("code", pyarrow.int64(), metadata={"ARROW:extension:name": "blco.test"}),
                                [[1, 2]])

    with pytest.raises((blco.InvalidArgument, blco.IoError)) as caught:
        blco.ingest(table, tmp_path / "out.blco", **options)

    assert message in str(caught.value)
    assert list(tmp_path.iterdir()) == []


def test_polars_needs_no_pyarrow():
    pytest.importorskip("polars")
    script = ("import sys; sys.modules['pyarrow'] = None\n"
              "import blco, polars\n"
              "frame = polars.DataFrame({'who': ['a', 'b', 'a'], 'n': [1.0, 2.0, 4.0]})\n"
              "print(blco.tensor(frame, modes=['who'], value='n').values.tolist())")

    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)

    assert done.stdout.strip() == "[5.0, 2.0]", done.stderr


def test_what_an_input_may_mean_otherwise_is_a_warning(tmp_path):
    table = pyarrow.table({"when": [100_000, 31_535_999], "shop": ["1", "1.0"]})
    text = tmp_path / "clicks.tsv"
    text.write_text('prev\tcurr\tn\nA\tX\t1\nB\t"Heroes\t2\nC\tY\t4\nD\tZ"\t8\n')
    words = {"modes": ["prev", "curr"], "value": "n"}

    with pytest.warns(UserWarning) as of_table:
        blco.tensor(table, modes=["when:day", "shop"])
    with pytest.warns(UserWarning, match="a quoted key of the column 'curr' spans lines 3 to 5") as of_text:
        tensor = blco.ingest(text, tmp_path / "swallowed.blco", **words)

    assert "all of its times lie in 1970" in str(of_table[0].message)
    assert "1 pair of keys is equal as numbers ('1' and '1.0')" in str(of_table[1].message)
    assert tensor.report["notes"] == [str(of_text[0].message)]
    assert tensor.report["notes"][0].endswith("give `quotes='none'`")
    assert blco.ingest(text, tmp_path / "all.blco", quotes="none", **words).nnz == 4
    with pytest.raises(blco.InvalidArgument, match="'2024065' may be day 65 of 2024 or .* or cast the column"):
        blco.tensor(pyarrow.table({"when": [2024065]}), modes=["when:day"])


def test_whole_numbers_are_keys_in_frames_as_in_text(tmp_path):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"user": [10**9 + 7, 5, 10**9 + 7], "item": ["x", "y", "y"], "n": [1, 2, 3]})
    frame.to_csv(tmp_path / "in.csv", index=False)
    options = {"modes": ["user", "item"], "value": "n"}

    blco.ingest(tmp_path / "in.csv", tmp_path / "text.blco", **options)
    table = blco.ingest(frame, tmp_path / "table.blco", **options)

    assert table.labels == [["1000000007", "5"], ["x", "y"]]
    assert (tmp_path / "text.blco").read_bytes() == (tmp_path / "table.blco").read_bytes()
    known = {"labels_from": tmp_path / "table.blco", "skip_unknown": True}
    assert cells_of(blco.ingest(frame[1:], tmp_path / "some.blco", **options, **known)) == {
        ("5", "y"): 2, ("1000000007", "y"): 3}
    by_number = {"modes": ["n:index", "item"]}
    blco.ingest(tmp_path / "in.csv", tmp_path / "text.blco", **by_number)
    assert blco.ingest(frame, tmp_path / "table.blco", **by_number).shape == (4, 2)
    assert (tmp_path / "text.blco").read_bytes() == (tmp_path / "table.blco").read_bytes()
    with pytest.raises(blco.InvalidArgument, match="no labels of the mode 'n', whose indices a table has with n:index"):
        blco.ingest(frame, tmp_path / "out.blco", modes=["n", "item"], labels_from=tmp_path / "table.blco")


def test_categories_and_periods_keep_their_order():
    pandas = pytest.importorskip("pandas")
    sizes = ["small", "medium", "large", "huge"]
    frame = pandas.DataFrame({
        "size": pandas.Categorical(["large", "small", "large"], sizes),
        "grade": pandas.Categorical(["b", "a", "b"], ["c", "b", "a"], ordered=True),
        "month": pandas.PeriodIndex(["2024-03", "2023-12", "2024-03"], freq="M"),
        "number": pandas.Categorical([7, 3, 7], [3, 5, 7])})

    tensor = blco.tensor(frame, modes=list(frame.columns))

    assert tensor.labels == [["small", "large"], ["c", "b", "a"], ["2023-12", "2024-03"], ["3", "7"]]
    assert cells_of(tensor) == {("large", "b", "2024-03", "7"): 2, ("small", "a", "2023-12", "3"): 1}


@pytest.mark.parametrize("zone", ["Europe/Berlin", "America/New_York", "Asia/Kolkata", "Australia/Lord_Howe",
                                  "Africa/Casablanca", "America/Nuuk", "Europe/Dublin", "Pacific/Apia", "Asia/Tehran",
                                  "America/Santiago", "UTC", "+05:45", "-03:30"])
def test_times_count_by_the_clock_of_their_zone_as_zoneinfo_has_it(zone):
    zoneinfo = pytest.importorskip("zoneinfo")
    if zone[0] in "+-":
        hours, minutes = map(int, zone[1:].split(":"))
        clock = datetime.timezone((1 if zone[0] == "+" else -1) * datetime.timedelta(hours=hours, minutes=minutes))
    else:
        clock = zoneinfo.ZoneInfo(zone)
    random = np.random.default_rng(7)
    moments = random.integers(-2_208_988_800, 4_102_444_800, 3000)  # 1900 to 2100
    years = [datetime.datetime(year, month, 1, tzinfo=datetime.timezone.utc) for year in range(1990, 2060, 3)
             for month in range(1, 13)]
    for start in years:  # an hour of each day of some months: the changes of summer time
        moments = np.append(moments, int(start.timestamp()) + 86400 * np.arange(28) + 3600 * int(random.integers(24)))
    column = pyarrow.array(moments, pyarrow.timestamp("s", zone))
    table = pyarrow.table({"at": column, "row": np.arange(len(moments))})

    tensor = blco.tensor(table, modes=["at:minute", "row:index"])

    coords, labels = tensor.coords, tensor.labels[0]
    names = [labels[index] for index in coords[np.argsort(coords[:, 1]), 0]]
    local = [datetime.datetime.fromtimestamp(int(moment), clock) for moment in moments]
    assert names == [time.strftime("%Y-%m-%dT%H:%M") for time in local]


def test_a_mode_says_which_clock_counts_and_new_rows_follow_what_is_known(tmp_path):
    pandas = pytest.importorskip("pandas")
    times = pandas.to_datetime(["2024-07-01 09:00", "2024-01-01 17:30"]).tz_localize("Europe/Berlin")
    frame = pandas.DataFrame({"at": times, "x": ["a", "b"]})
    text = tmp_path / "in.csv"
    text.write_text("at,x\n2024-07-01T09:00+02:00,a\n2024-01-01 17:30+0100,b\n")
    by_clock, by_utc = {"modes": ["at:hour-of-day", "x"]}, {"modes": ["at:hour-of-day:utc", "x"]}

    for source in (frame, text):
        local = blco.ingest(source, tmp_path / "local.blco", **by_clock)
        utc = blco.ingest(source, tmp_path / "utc.blco", **by_utc)
        later = blco.ingest(source, tmp_path / "later.blco", **by_clock, labels_from=tmp_path / "utc.blco")
        again = blco.ingest(source, tmp_path / "again.blco", **by_clock, labels_from=tmp_path / "local.blco")

        assert local.labels[0] == again.labels[0] == ["09", "17"] and utc.labels[0] == later.labels[0] == ["07", "16"]
        assert local.mode_names == utc.mode_names == ("at", "x")
    with pytest.raises(blco.InvalidArgument, match="column 'at': the time zone 'Mars/Base' is not in the machine's"):
        blco.tensor(pyarrow.table({"at": pyarrow.array([0], pyarrow.timestamp("s", "Mars/Base"))}), modes=["at:day"])


def frame_of(**columns):
    return pytest.importorskip("pandas").DataFrame(columns)


UNREADABLE = {"mixed": [1, "x"], "complex": [1j, 2], "huge": [2**70, 1]}


@pytest.mark.parametrize("column", UNREADABLE)
def test_a_column_of_a_frame_is_read_only_if_it_is_asked_for(column, tmp_path):
    frame = frame_of(user=["a", "b"], other=UNREADABLE[column], n=[1, 2])

    for tensor in (blco.tensor(frame, modes=["user"], value="n"),
                   blco.ingest(frame, tmp_path / "out.blco", modes=["user"], value="n"),
                   blco.tensor(frame.set_index("other"), modes=["user"], value="n")):
        assert cells_of(tensor) == {("a",): 1, ("b",): 2}
    for words, said in (({"modes": ["user", "other"]}, "which `modes` asks for, cannot be read.*make all of it texts"),
                        ({"modes": ["user"], "value": "other"}, "which `value` asks for, cannot be read.*real numbers")):
        with pytest.raises(blco.InvalidArgument, match=f"column 'other' of the type (object|complex128), {said}"):
            blco.tensor(frame, **words)


def test_columns_of_frames_may_be_named_by_numbers_which_are_no_places():
    frame = frame_of(**{"n": ["x", "y"]}).set_axis([1], axis=1)
    frame[0] = [3, 4]
    named = frame_of(user=["a", "b"], n=[1, 2])

    for modes, value in (([1], 0), (["1"], "0"), ([np.int64(1)], "0")):
        tensor = blco.tensor(frame, modes=modes, value=value)
        assert tensor.mode_names == ("1",) and cells_of(tensor) == {("x",): 3, ("y",): 4}
    model = blco.fit_cpd(tensor, 1, max_sweeps=1)
    assert np.allclose(model.predict(frame), [3, 4])
    for table, words in ((named, {"modes": [0]}), (named, {"modes": ["user"], "value": 1}), (frame, {"modes": [2]}),
                         (pyarrow.table({"0": ["a"]}), {"modes": [0]})):
        with pytest.raises(blco.InvalidArgument, match="no column has the name [012]; give names of columns, which are "
                                                       "texts such as 'user', and not their places"):
            blco.tensor(table, **words)
    with pytest.raises(blco.InvalidArgument, match="the table has no column 'nobody', which `modes` asks for; its columns "
                                                   "are: user, n$"):
        blco.tensor(named, modes=["nobody"])


def test_columns_of_one_name_are_refused_only_if_they_are_asked_for():
    frame = frame_of(user=["a", "b"], item=["x", "y"], n=[1, 2])
    twice = frame.set_axis(["user", "n", "n"], axis=1)
    model = blco.fit_cpd(blco.tensor(frame, modes=["user", "n"]), 1, max_sweeps=1)

    assert cells_of(blco.tensor(twice, modes=["user"])) == {("a",): 1, ("b",): 1}
    for words, option in (({"modes": ["user", "n"]}, "modes"), ({"modes": ["user"], "value": "n"}, "value")):
        for table in (twice, pyarrow.table([["a"], [1], [2]], names=twice.columns)):
            with pytest.raises(blco.InvalidArgument, match=f"has 2 columns named 'n', which `{option}` asks for; rename"):
                blco.tensor(table, **words)
    for table in (twice, pyarrow.table([["a"], [1], [2]], names=twice.columns)):
        with pytest.raises(blco.InvalidArgument, match="the table has 2 columns named 'n', which is a mode; rename all but"):
            model.predict(table)


def test_named_levels_of_an_index_are_columns():
    frame = frame_of(user=["a", "b", "a"], day=["x", "y", "y"], n=[1, 2, 4])
    indexed = frame.set_index(["user", "day"])

    tensor = blco.tensor(indexed, modes=["user", "day"], value="n")

    assert cells_of(tensor) == cells_of(blco.tensor(frame, modes=["user", "day"], value="n"))
    model = blco.fit_cpd(tensor, 1, max_sweeps=1)
    assert np.array_equal(model.predict(indexed), model.predict(frame))


@pytest.mark.parametrize("make", [lambda: frame_of(user=["a"])["user"], lambda: of_polars()["shop"],
                                  lambda: pyarrow.chunked_array([["a"]])])
def test_a_column_alone_is_no_table(make):
    with pytest.raises(blco.InvalidArgument, match="name columns of a table with a column per mode, which a "
                                                   "(Series|ChunkedArray) is not"):
        blco.tensor(make(), modes=["user"])
    model = blco.fit_cpd(blco.tensor([[0, 1]], 1), 1, max_sweeps=1)
    with pytest.raises(blco.InvalidArgument, match="the cells have coordinates of 1 modes, but the model has 2"):
        model.predict(make())
