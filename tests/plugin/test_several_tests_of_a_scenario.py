"""[E4, E6] Several test functions over one scenario file, and the file itself: each is a run."""

from __future__ import annotations

import pytest

from tests.plugin.conftest import Project, Run, green, red

SCENARIO = """
name: qa
metrics: [em]
gates: {em: 0.9}
dataset:
  - {id: a, answer: x, references: [x]}
  - {id: b, answer: x, references: [x]}
"""
HEAD = "import pytest\n\nover = pytest.mark.rag_scenario('qa.rageval.yaml')\n"
ONE = "\n@over\ndef test_one(rageval):\n    rageval.check('x')\n"
TWO = ONE.replace("one", "two")
K = "\n@pytest.mark.parametrize('k', [1, 2])"
K_TWO = K + TWO.replace("rageval)", "rageval, k)")
FIXTURE = "\n@pytest.fixture(params=[1, 2])\ndef k(request):\n    return request.param\n"
F_TWO = FIXTURE + TWO.replace("rageval)", "rageval, k)")
METHODS = """
@over
class TestBase:
    def test_it(self, rageval):
        rageval.check("x")

class TestMore(TestBase):
    pass
"""
FILE = "qa.rageval.yaml"
DROPS_FILE = ("--deselect", FILE)
LEFT = "NOT DECIDED: qa{}, none of its 2 cases was selected"


def undecided(result: pytest.RunResult) -> list[str]:
    """Return the lines that say what was left out."""
    return [line for line in result.outlines if line.startswith("NOT DECIDED: ")]


@pytest.fixture
def bot(project: Project) -> Project:
    """Return a project with a scenario of which all answers are right."""
    project.file(FILE, SCENARIO)
    return project


@pytest.mark.parametrize("strict", [(), ("--rag-strict",)], ids=["", "strict"])
@pytest.mark.parametrize(
    ("tests", "args", "passed"),
    [
        (ONE + TWO, (), 8),
        (ONE + TWO, (FILE, "test_a.py"), 12),
        (ONE + TWO, ("test_a.py", FILE), 12),
        (ONE + TWO, ("test_a.py::test_one",), 4),
        (ONE + TWO, ("-k", "not other"), 8),
        (ONE + K_TWO, (), 12),
        (ONE + F_TWO, (), 12),
        (ONE + K_TWO, ("test_a.py::test_one",), 4),
        (METHODS, (), 8),
        (ONE + TWO, ("-m", "not slow"), 8),
    ],
)
def test_what_was_named_and_ran_is_decided(
    bot: Project, run: Run, tests: str, args: tuple[str, ...], passed: int, strict: tuple[str, ...]
) -> None:
    """Each has two cases and two gates."""
    bot.file("test_a.py", HEAD + tests)
    named = args if any(arg.startswith(("test_a", FILE)) for arg in args) else ("test_a.py", *args)
    result = run(*named, *strict)
    result.assert_outcomes(passed=passed, **_deselected(result))
    assert (result.ret, undecided(result)) == (pytest.ExitCode.OK, [])


def _deselected(result: pytest.RunResult) -> dict[str, int]:
    return {"deselected": result.parseoutcomes().get("deselected", 0)}


@pytest.mark.parametrize(
    ("tests", "args", "left"),
    [
        (ONE + TWO, (FILE, "test_a.py", *DROPS_FILE), [LEFT.format("")]),
        (K_TWO, ("test_a.py",), []),
        (F_TWO + ONE, ("test_a.py",), []),
    ],
    ids=["a file that tests run", "parameters", "parameters of a fixture"],
)
def test_without_strictness_what_ran_otherwise_is_green(
    bot: Project, run: Run, tests: str, args: tuple[str, ...], left: list[str]
) -> None:
    """The file's own run is named: its answers are those of the data, not those of the tests."""
    bot.file("test_a.py", HEAD + tests)
    result = run(*args)
    assert (result.ret, undecided(result)) == (pytest.ExitCode.OK, left)


@pytest.mark.parametrize(
    ("tests", "args", "left"),
    [
        (ONE + TWO, ("-k", "test_one"), ["test_two"]),
        (ONE + TWO, ("-k", "test_two"), ["test_one"]),
        (ONE + TWO, ("--deselect", "test_a.py::test_two"), ["test_two"]),
        (ONE + K_TWO, ("-k", "test_one"), ["test_two(1)", "test_two(2)"]),
        (ONE + K_TWO, ("-k", "test_one or 1"), ["test_two(2)"]),
        (ONE + F_TWO, ("-k", "test_one"), ["test_two(1)", "test_two(2)"]),
        (METHODS, ("-k", "TestBase"), ["TestMore::test_it"]),
        (METHODS, ("-k", "TestMore"), ["TestBase::test_it"]),
    ],
)
def test_a_test_none_of_whose_cases_was_selected_is_missed(
    bot: Project, plain: Run, tests: str, args: tuple[str, ...], left: list[str]
) -> None:
    """Whichever stands first. Red with --rag-strict on the command line, else named."""
    bot.file("test_a.py", HEAD + tests)
    result = green(plain("test_a.py", *args))
    names = [f"[{one[-2]}]" * one.endswith(")") + f" (test_a.py::{one})" for one in left]
    assert undecided(result) == [LEFT.format(name) for name in names]
    result = red(plain("test_a.py", *args, "--rag-strict"))
    result.stdout.fnmatch_lines([f"FAILED test_a.py::{one}::gate:em.mean*0 of 2*" for one in left])
    assert result.parseoutcomes()["failed"] == 2 * len(left)


def test_strictness_of_a_variable_misses_no_test(
    bot: Project, plain: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    bot.file("test_a.py", HEAD + ONE + TWO)
    monkeypatch.setenv("RAGEVAL_STRICT", "true")
    assert plain("test_a.py", "-k", "test_one").ret == pytest.ExitCode.OK


@pytest.mark.parametrize("order", [(FILE, "test_a.py"), ("test_a.py", FILE)])
@pytest.mark.parametrize(
    ("args", "left"),
    [(DROPS_FILE, FILE), (("--deselect", "test_a.py"), "test_a.py::test_one")],
)
def test_a_file_and_a_test_of_it_are_two_runs(
    bot: Project, run: Run, order: tuple[str, ...], args: tuple[str, ...], left: str
) -> None:
    """Also where the test claimed the name first."""
    bot.file("test_a.py", HEAD + ONE)
    result = red(run(*order, *args, "--rag-strict"))
    result.stdout.fnmatch_lines([f"FAILED {left}::gate:em.mean*0 of 2 samples ran*"])
    assert result.parseoutcomes()["failed"] == 2
