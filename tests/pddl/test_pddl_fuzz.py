"""Whatever stands in the files: an exit code and one line, never a traceback."""

import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.fuzz_pddl import outcome
from oclgen.errors import OclgenError
from oclgen.pddl.plan_file import parse_plan
from oclgen.pddl.reading.problem import read_problem
from tests.pddl.samples import DELIVERY, ERRAND

PIECES = [
    "(",
    ")",
    "(",
    ")",
    " ",
    "\n",
    "define",
    "domain",
    "problem",
    ":action",
    ":types",
    ":init",
    ":goal",
    "-",
    "?x",
]
PIECES += [
    "either",
    "not",
    "and",
    "=",
    "a",
    "b",
    ":predicates",
    ":parameters",
    ":precondition",
    ":effect",
    ";",
    "é",
    "0",
]
quick = settings(max_examples=100, deadline=None, derandomize=True, database=None)


@pytest.mark.slow
@quick
@given(st.integers(min_value=10_000, max_value=10**9))
def test_mutated_files_end_in_a_documented_way(number: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        assert not outcome(number, Path(folder)).startswith("!")


@quick
@given(st.lists(st.sampled_from(PIECES), max_size=40))
def test_heaps_of_words_are_read_or_refused(pieces: list[str]) -> None:
    text = "(define (domain d)" + " ".join(pieces) + ")"
    for domain, problem in ((text, ERRAND), (DELIVERY, text.replace("domain", "problem", 1))):
        try:
            read_problem(domain, problem)
        except OclgenError as error:
            assert "\n" not in str(error)


@quick
@given(st.text(alphabet="(()) ab;-?:\n\r\t\x00\xe9\ufeff", max_size=60))
def test_any_text_is_a_plan_or_refused(text: str) -> None:
    try:
        plan = parse_plan(text)
    except OclgenError as error:
        assert "\n" not in str(error)
    else:
        assert all(plan)
