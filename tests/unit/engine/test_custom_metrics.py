"""B10: metrics of the user's own in a scenario: found by their path, scored like all others."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from pytest_rageval import ScenarioResult
from pytest_rageval.engine.module_digests import digests_of
from pytest_rageval.engine.plan import Plan

Run = Callable[..., ScenarioResult]
Problems = Callable[..., list[str]]

JUDGE = "judge: {model: gpt-4o-mini, base_url: 'http://127.0.0.1:1/v1'}\n"
HEAD = "name: s\ndataset: [{question: q, answer: 'please, now', references: [x]}]\nmetrics:\n"


@pytest.fixture(autouse=True)
def _own_imports(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Give ``sys.path`` back as it was, and drop the modules of the tests: all begin with own."""
    monkeypatch.setattr(sys, "path", list(sys.path))
    yield
    for name in [name for name in sys.modules if name.startswith("own")]:
        del sys.modules[name]


def use(body: str, entry: str = "{use: 'own_metrics:m'}", more: str = "") -> tuple[str, Any]:
    """Return a scenario with a metric, and the module beside it."""
    return f"{HEAD}  - {entry}\n{more}", {"own_metrics.py": body}


class TestScoring:
    @pytest.mark.parametrize("kind", ["def", "async def"])
    def test_the_scores_come_into_the_results(self, run: Run, kind: str) -> None:
        body = (
            f"{kind} m(sample, words=('please',)):\n"
            "    return sum(word in sample.answer for word in words) / len(words), 'counted'\n"
        )
        entry = "{use: 'own_metrics:m', name: polite, words: [please, thanks]}"
        sample = run(*use(body, entry)).samples[0]
        assert sample.scores == {"polite": 0.5}
        assert sample.reasons == {"polite": "counted"}

    @pytest.mark.parametrize("kind", ["def", "async def"])
    @pytest.mark.parametrize(
        ("body", "error"),
        [
            (
                "raise ValueError('the service is down')",
                "ValueError: the service is down (own_metrics.py:2)",
            ),
            # The place is never what is cut off, nor that of Python's own code.
            ("raise ValueError('x' * 900)", "x… (own_metrics.py:2)"),
            ("import json; return json.loads('{')", "(char 1) (own_metrics.py:2)"),
            ("assert not sample.answer", "AssertionError (own_metrics.py:2)"),
            ("return float('nan')", "returned nan, which is no score"),
            ("return 1.5", "1.5 is outside the range 0..1"),
            ("return '0.5'", "returned '0.5' (str), not a number or a Score"),
            ("raise SystemExit(2)", "CustomMetricError: SystemExit: 2 (own_metrics.py:2)"),
            # What pytest raises is no Exception: its skip would take the whole sample along.
            ("import pytest; pytest.fail('bad')", "CustomMetricError: Failed: bad"),
            ("return sample.answer.upper", "not a number or a Score"),
        ],
    )
    def test_what_goes_wrong_is_the_error_of_that_score(
        self, run: Run, kind: str, body: str, error: str
    ) -> None:
        """A20, G1: the other metrics are scored; there is no weighted score without this one."""
        scenario, files = use(f"{kind} m(sample):\n    {body}\n")
        sample = run(f"{scenario}  - em\n", files).samples[0]
        assert error in sample.errors["m"]
        assert sample.scores == {"m": None, "em": 0.0}
        assert sample.weighted_score is None
        assert sample.outcome == "error"

    def test_a_numpy_scalar_is_a_plain_float(self, run: Run) -> None:
        body = "import numpy\ndef m(sample):\n    return numpy.float32(0.5)\n"
        found = run(*use(body)).samples[0].scores["m"]
        assert found == 0.5
        assert type(found) is float

    def test_none_is_unscored_with_a_reason(self, run: Run) -> None:
        sample = run(*use("def m(sample):\n    pass\n")).samples[0]
        assert sample.scores == {"m": None}
        assert sample.reasons == {"m": "the metric returned None"}
        assert sample.outcome == "error"  # nothing else scored it

    def test_a_range_of_its_own_is_normalised_for_the_weighted_score(self, run: Run) -> None:
        # (4 - 1) / (5 - 1) = 0.75
        sample = run(*use("def m(sample): return 4", "{use: 'own_metrics:m', range: [1, 5]}"))
        assert sample.samples[0].weighted_score == 0.75

    def test_a_needed_field_that_a_row_lacks_leaves_it_unscored(self, run: Run) -> None:
        scenario, files = use(
            "def m(sample): return len(sample.contexts)",
            "{use: 'own_metrics:m', needs: [contexts]}",
        )
        rows = (
            "dataset: [{answer: x, references: [x], contexts: [c]}, {answer: x, references: [x]}]"
        )
        scenario = scenario.replace(scenario.splitlines()[1], rows)
        found = run(f"{scenario}  - em\n", files)
        assert [sample.scores["m"] for sample in found.samples] == [1.0, None]
        assert found.samples[1].reasons == {"m": "the row has no contexts"}

    def test_async_ones_run_at_the_same_time(self, run: Run) -> None:
        """Each waits for another sample's: one after the other, none would ever end."""
        body = (
            "import asyncio\nstarted = []\n"
            "async def m(sample):\n"
            "    started.append(sample.id)\n"
            "    while len(started) < 8:\n"
            "        await asyncio.sleep(0.001)\n"
            "    return 1.0\n"
        )
        rows = ", ".join("{answer: x}" for _ in range(8))
        scenario = (
            f"name: s\ndataset: [{rows}]\nmetrics: [{{use: 'own_metrics:m', timeout_s: 30}}]\n"
        )
        found = run(scenario, {"own_metrics.py": body})
        assert [sample.scores["m"] for sample in found.samples] == [1.0] * 8

    def test_one_may_change_the_metadata_that_a_row_lacks(self, run: Run) -> None:
        body = "def m(metadata):\n    metadata['n'] = 1\n    return True\n"
        sample = run(*use(body)).samples[0]
        assert (sample.scores, sample.metadata) == ({"m": 1.0}, {})

    def test_one_that_hangs_is_an_error_after_its_time(self, run: Run) -> None:
        body = "import asyncio\nasync def m(sample):\n    await asyncio.sleep(60)\n"
        sample = run(*use(body, "{use: 'own_metrics:m', timeout_s: 0.05}")).samples[0]
        assert sample.errors == {"m": "TimeoutError: no score after 0.05 s (own_metrics.py:3)"}

    def test_a_row_that_lacks_nothing_needs_no_field_at_all(self, run: Run) -> None:
        assert run(*use("def m(sample): return 1")).samples[0].outcome == "passed"

    @pytest.mark.parametrize(
        "beside",
        [
            "made = lambda x: x",
            "import functools\nmade = functools.partial(len)",
            "import collections\nmade = collections.namedtuple('made', 'a b')",
            "import dataclasses\nmade = dataclasses.make_dataclass('made', ['a'])",
            "made = type('made', (), {})",
            "import json as made",
            "def made(): pass\nmade.__module__ = 'elsewhere'",
            # Code of a text, as by a template or a library of signatures, is of no module.
            "made = eval('lambda x: x', {})",
            "space = {}\nexec('def made(): pass', space)\nmade = space['made']",
            "def made(): pass\nmade.__module__ = None",
            "class made: __module__ = ['a', 'b']",
            "import types\nmade = types.ModuleType('made')\ndel made.__name__",
            "import types\nmade = types.ModuleType('made')\nmade.__name__ = None",
        ],
    )
    def test_what_stands_beside_it_may_be_of_any_module_and_of_none(
        self, run: Run, plan: Callable[..., Plan], beside: str
    ) -> None:
        """Each has a digest of its code: of the module itself, whatever it holds."""
        given = use(f"{beside}\ndef m(answer): return 0.5\n")
        assert dict(run(*given).samples[0].scores) == {"m": 0.5}
        made = plan(*given)
        assert made.source is not None
        assert list(digests_of(made.source, made.metrics)) == ["own_metrics"]


class TestComparing:
    """What a score means is part of a saved run."""

    def definition(self, plan: Callable[..., Plan], entry: str, body: str) -> str:
        return plan(*use(body, entry)).info.metrics[0].definition

    def test_it_names_path_version_and_options(self, plan: Callable[..., Plan]) -> None:
        body = "def m(sample, words=3, *, strict=False): return 1"
        entry = "{use: 'own_metrics:m', name: polite, version: 2, strict: true}"
        assert self.definition(plan, entry, body) == "own_metrics:m v2 (strict=True, words=3)"

    def test_a_judge_is_part_of_it(self, plan: Callable[..., Plan]) -> None:
        pytest.importorskip("aiohttp")
        scenario, files = use("async def m(sample, judge): return 1", more=JUDGE)
        found = plan(scenario, files).info.metrics[0].definition
        assert found == "own_metrics:m v1 () by gpt-4o-mini"

    @pytest.mark.parametrize(
        ("parameter", "asked_in"), [("judge", ""), ("models", ", asked in zh-TW")]
    )
    def test_the_judges_language_is_part_of_it_where_it_is_told(
        self, plan: Callable[..., Plan], parameter: str, asked_in: str
    ) -> None:
        entry = "{use: 'own_metrics:m', asks: [judge]}"
        judge = JUDGE.replace("{", "{language: zh-TW, ")
        scenario = use(f"async def m(sample, {parameter}): return 1", entry, judge)
        found = plan(*scenario).info.metrics[0].definition
        assert found == f"own_metrics:m v1 () by gpt-4o-mini{asked_in}"

    def test_a_judge_that_it_can_do_without_is_part_of_it_where_there_is_one(
        self, plan: Callable[..., Plan]
    ) -> None:
        pytest.importorskip("aiohttp")
        scenario, files = use("async def m(answer, judge=None): return 1")
        found = plan(scenario, files)
        assert found.info.metrics[0].definition == "own_metrics:m v1 ()"
        assert found.models.judge is None
        found = plan(scenario + JUDGE, files)
        assert found.info.metrics[0].definition == "own_metrics:m v1 () by gpt-4o-mini"
        assert found.models.judge is not None


class TestAMetricDefinition:
    BODY = (
        "from pytest_rageval.metrics.base import MetricDefinition, MetricInfo, NoOptions\n"
        "from pytest_rageval.model import Score\n"
        "class Options(NoOptions):\n    range: tuple[int, int] = (1, 2)\n    words: int = 2\n"
        "class M:\n"
        "    def __init__(self, name, options): self.name, self.options = name, options\n"
        "    def score(self, sample, context): return Score(self.name, self.options.words / 10)\n"
        "m = MetricDefinition(MetricInfo('told', frozenset({'answer'})), M, Options)\n"
    )

    def test_it_has_its_own_name_and_options(self, run: Run, plan: Callable[..., Plan]) -> None:
        scenario = use(self.BODY, "{use: 'own_metrics:m', words: 5, range: [3, 4]}")
        assert run(*scenario).samples[0].scores == {"told": 0.5}
        column = plan(*scenario).info.metrics[0]
        assert column.definition == "own_metrics:m v1 (range=[3, 4], words=5)"
        assert column.range == (0.0, 1.0)

    def test_what_is_said_of_it_and_no_option_is_refused(self, problems: Problems) -> None:
        (found,) = problems(*use(self.BODY, "{use: 'own_metrics:m', version: 3}"))
        assert "s.yaml:4: metrics[0]: unknown option 'version'" in found


class TestProblems:
    BODY = "def m(sample, strict: bool = False): return 1\nasync def j(sample, judge): return 1\n"

    @pytest.mark.parametrize(
        ("entry", "message"),
        [
            ("{use: 'own_metrics:mm'}", "has no attribute 'mm'. Did you mean 'm'?"),
            ("{use: 'own_metric:m'}", "no module named 'own_metric' in "),
            (
                "{use: own_metrics.m}",
                "metrics[0].use: expected 'pkg.mod:attr', found 'own_metrics.m'. "
                "Did you mean 'own_metrics:m'?",
            ),
            (
                "{use: 'own_metrics:m', strickt: 1}",
                "metrics[0]: unknown option 'strickt'. Did you mean 'strict'? "
                "Known: asks, higher_is_better, name, needs, range, strict, timeout_s, version",
            ),
            ("{use: 'own_metrics:m', strict: often}", "metrics[0].strict: expected "),
            (
                "{use: 'own_metrics:m', range: 5}",
                "metrics[0].range: expected [lowest, highest], found 5",
            ),
            (
                "{use: 'own_metrics:m', range: [5, 0]}",
                "metrics[0].range: expected the lower end first, found 5 and 0",
            ),
            (
                "{use: 'own_metrics:m', needs: [anwser]}",
                "metrics[0].needs: unknown field 'anwser'. Did you mean 'answer'?",
            ),
            (
                "{use: 'own_metrics:m', version: 0}",
                "metrics[0].version: expected a number >= 1, found 0",
            ),
            ("{use: 'own_metrics:m', needs: [contexts]}", "metric 'm' needs 'contexts'; "),
            ("{use: 'own_metrics:m', name: weighted_score}", "is a reserved name"),
            ("{use: 'own_metrics:m', name: retrieval}", "'retrieval' is a reserved name"),
            ("{use: 'own_metrics:j'}", "metric 'j' asks a model: name it under 'judge'"),
            ("{use: 'own_metrics:m', asks: [judge]}", "only an async function can ask models"),
            (
                "own_metrics:m",
                "'own_metrics:m' is no metric's name; to import it, write {use: 'own_metrics:m'}",
            ),
            *(
                (written, "is no metric's name; to import it, write {use: 'own_metrics:j'}")
                for written in ("own_metrics.j", "j")
            ),
            (
                "numbers_match",
                "docs/reference/metrics.md lists all. "
                "A function of your own: {use: 'my_metrics:numbers_match'}",
            ),
            ("mine.check", "lists all. A function of your own: {use: 'mine:check'}"),
            ("{use: 'sys:path'}", "not a metric: expected a function of a sample"),
        ],
    )
    def test_each_has_its_line(self, problems: Problems, entry: str, message: str) -> None:
        (found,) = problems(*use(self.BODY, entry))
        assert found.startswith("s.yaml:4: ")
        assert message in found

    def test_the_same_name_twice(self, problems: Problems) -> None:
        scenario, files = use(self.BODY)
        (found,) = problems(f"{scenario}  - {{use: 'own_metrics:m', strict: true}}\n", files)
        assert found.startswith("s.yaml:5: metrics[1]: 'm' is named twice")

    def test_a_required_option_that_is_missing(self, problems: Problems) -> None:
        (found,) = problems(*use("def m(sample, words: int): return 1"))
        assert found.startswith("s.yaml:4: metrics[0].words: required, and missing (no option")

    def test_a_module_that_raises_shows_its_own_line(self, problems: Problems) -> None:
        (found,) = problems(*use("\nraise RuntimeError('no licence')"))
        assert "importing 'own_metrics' raised RuntimeError: no licence (" in found
        assert found.endswith("own_metrics.py:2)")

    @pytest.mark.parametrize(
        "entry", ["{use: 'own_metrics:mm'}", "{use: 'own_metrics:x', name: mm}"]
    )
    def test_what_is_said_of_it_elsewhere_is_no_second_problem(
        self, problems: Problems, entry: str
    ) -> None:
        more = "gates: {mm: 0.5}\nmetric_weights: {mm: 2}\nthresholds: {mm: 0.5}\n"
        assert len(problems(*use(self.BODY, entry, more))) == 1

    def test_all_problems_of_a_file_are_told_at_once(self, problems: Problems) -> None:
        scenario, files = use(
            self.BODY, "{use: 'own_metrics:x'}", "thresholds: {weighted_scor: 1}\n"
        )
        assert len(problems(scenario, files)) == 2


class TestForms:
    BODY = "def m(sample, strict=False): return 1 if strict else 0\n"

    @pytest.mark.parametrize(
        "entry",
        [
            "{use: 'own_metrics:m', name: kind, strict: true}",
            "{kind: {use: 'own_metrics:m', strict: true}}",
            "kind: {use: 'own_metrics:m', strict: true, x-why: a note}",
        ],
    )
    def test_a_name_of_its_own(self, run: Run, entry: str) -> None:
        found = run(*use(self.BODY, entry, "metric_weights: {kind: 2}\ngates: {kind: 0.5}\n"))
        assert found.samples[0].scores == {"kind": 1.0}
        assert [gate.outcome for gate in found.gates] == ["passed", "passed"]

    def test_one_function_twice_with_other_options(self, run: Run) -> None:
        scenario, files = use(self.BODY)
        entry = "  - {use: 'own_metrics:m', name: strict, strict: true}\n"
        assert run(scenario + entry, files).samples[0].scores == {"m": 0.0, "strict": 1.0}

    def test_options_at_the_top_are_for_it_too(self, run: Run) -> None:
        scenario = use(self.BODY, more="metric_options: {strict: true}\n")
        assert run(*scenario).samples[0].scores == {"m": 1.0}

    def test_beside_an_invalid_metric_that_is_the_only_problem(
        self, problems: Callable[..., list[str]]
    ) -> None:
        """V6: the digest of its code is looked for at its place among the valid ones."""
        text, files = use(self.BODY, "{use: 'own_metrics:m'}")
        (problem,) = problems(text.replace("metrics:\n", "metrics:\n  - 1.5\n"), files)
        assert "metrics[0]: " in problem

    def test_the_snapshot_says_it_as_it_was_written(self, plan: Callable[..., Plan]) -> None:
        entry = "{use: 'own_metrics:m', name: kind, range: [0, 1], strict: true}"
        snapshot = plan(*use(self.BODY, entry)).info.snapshot
        assert (
            "metrics:\n- name: kind\n  use: own_metrics:m\n"
            "  range:\n  - 0.0\n  - 1.0\n  strict: true\n" in snapshot
        )
