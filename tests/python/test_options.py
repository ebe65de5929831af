"""The library's table of options beside the signatures, the docstring, --help and the pages."""
import inspect
import pathlib
import re
import typing

import pytest

import blco
from blco import _blco

ROOT = pathlib.Path(__file__).parents[2]
OPTIONS = {option["name"]: option for option in _blco.options()}
# What is not one fit's option, and what an estimator gives by itself.
OF_FITS = {"tensor", "starts", "progress", "callback", "comm"}
NOT_OF_ESTIMATORS = {"initial", "resume", "hold"}
# Those that are not the keyword with hyphens.
FLAGS = {"initial": "init", "max_sweeps": "sweeps"}


def names_of(call):
    return set(inspect.signature(call).parameters)


def test_signatures_have_the_keywords_of_the_table():
    assert names_of(blco.fit_cpd) == set(OPTIONS) | OF_FITS
    assert names_of(blco.plan) == (set(OPTIONS) | OF_FITS) - {"progress", "callback", "comm"}
    assert names_of(blco.fit_ranks) == (set(OPTIONS) | OF_FITS | {"ranks"}) - {"rank", "comm"}
    assert names_of(blco.CPD) == (set(OPTIONS) | OF_FITS | {"mode"}) - NOT_OF_ESTIMATORS - {"tensor", "comm"}


def test_the_docstring_explains_every_option():
    text = inspect.getdoc(blco.fit_cpd)
    paragraphs = dict(re.findall(r"^`(\w+)`(?: \([a-z, -]+\))?: (.*(?:\n {4}.*)*)", text, re.MULTILINE))

    assert set(paragraphs) == set(OPTIONS)
    assert "Default: 10." in paragraphs["inner"] and "`method='als'`" in paragraphs["nonnegative"]
    assert max(map(len, text.split("\n"))) <= 120 and "`" in paragraphs["every"]


def test_help_shows_a_signature_with_types_and_defaults():
    signature = inspect.signature(blco.fit_cpd)

    assert str(signature).startswith("(tensor: 'Tensor', rank: 'int | None' = None, method: ")
    assert "cg_steps: 'int | None' = None" in str(signature) and "starts: 'int' = 1" in str(signature)
    assert typing.get_type_hints(blco.fit_cpd)["return"] is blco.Model


@pytest.mark.parametrize("call", [blco.fit_cpd, blco.plan, blco.fit_ranks, blco.CPD.__init__])
def test_functions_refuse_other_keywords_by_their_names_and_have_types(call):
    with pytest.raises(TypeError, match=rf"^{call.__qualname__}\(\) got an unexpected keyword argument 'cg_stepz'"):
        call(None, None, cg_stepz=3)

    types = typing.get_type_hints(call)
    assert types["cg_steps"] == int | None and "options" not in types


def flags_of(page):
    return set(re.findall(r"(?<![\w-])--([a-z0-9][a-z0-9-]*)", (ROOT / page).read_text()))


def flag_of(option):
    return FLAGS.get(option["name"], option["name"].replace("_", "-"))


def test_help_has_every_flag():
    of_the_program = {"output", "rank", "starts", "keep-starts", "dry-run", "declare-gpu", "peer-timeout", "quiet",
                      "json", "help", "version"}
    of_others = {"held-out-to", "labels-from", "shape"}

    assert flags_of("tests/tools/cases/help_cpd.out") - of_the_program - of_others == {
        flag_of(option) for option in OPTIONS.values()} - {"rank"}


def test_the_page_of_methods_has_their_options_and_no_others():
    flags = flags_of("engine/fit/METHODS.md")
    own = {flag_of(option) for option in OPTIONS.values() if option["methods"]}
    of_others = {"compare", "error", "held-out-to", "hold-out", "labels-from", "ranks", "json", "starts", "keep-starts"}

    assert own - flags == set()
    assert flags - {flag_of(option) for option in OPTIONS.values()} - of_others == set()
