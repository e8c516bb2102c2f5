"""A13, A24, E15: report.html as a file; what it does in a browser is tested in tests/browser."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from decided_result import decided as decided_run
from page_data import data_of

from pytest_rageval.engine.verdict.decide import Extent, decide_gates
from pytest_rageval.gates.base import make_gates
from pytest_rageval.model import (
    NOT_DRAWN,
    WEIGHTED_SCORE,
    Baseline,
    Bound,
    Comparing,
    ControlVerdict,
    Estimate,
    GateResult,
    MetricColumn,
    RunInfo,
    SampleResult,
    Sampling,
    ScenarioResult,
)
from pytest_rageval.reports import html
from pytest_rageval.reports.base import REPORT_REGISTRY, RunFolder
from pytest_rageval.reports.html import write_page
from pytest_rageval.reports.labels.label_sheet import LabelSheet
from pytest_rageval.reports.labels.review_sheet import ReviewSheet
from pytest_rageval.reports.page import assemble
from pytest_rageval.reports.page.assemble import TextPool, embedded_json, longest_that_fits
from pytest_rageval.reports.page.pages import VARIANT_SCRIPTS
from pytest_rageval.reports.write_run import write_run

RUN = RunInfo("20261121T093011-123456", "2026-11-21T09:30:11", "2026-11-21T09:30:12", "0.1.0")
Result = Callable[..., ScenarioResult]


def decided(result: ScenarioResult) -> ScenarioResult:
    n = len(result.samples)
    return decide_gates(result, Extent(n, n, n))


def page_of(result: ScenarioResult, folder: Path, run: RunInfo = RUN) -> str:
    write_page(result, run, RunFolder(folder, folder))
    return (folder / "report.html").read_text("utf-8")


@pytest.fixture
def samples() -> list[SampleResult]:
    return [
        SampleResult(
            "a",
            0,
            sample_weight=2.0,
            weighted_score=0.5,
            doc_name="d.pdf",
            question="q?",
            answer="one",
            contexts=("same", "same"),
            references=("r",),
            metadata={"level": 1},
            scores={"f1": 0.5, "em": 0.5},
        ),
        SampleResult("b", 1, "error", scores={"f1": None, "em": None}, errors={"f1": "boom"}),
        SampleResult("c", 2, "error", invalid="no answer", row=3, line=4, raw="{}"),
        SampleResult("d", 3, "skipped"),
    ]


def test_it_is_written_on_request(
    result: Result, samples: Sequence[SampleResult], tmp_path: Path
) -> None:
    ran = decided(result(samples))
    assert REPORT_REGISTRY.get("html").name == "report.html"
    without = write_run(ran, RUN, tmp_path, tmp_path / "out")
    assert not (without / "report.html").exists()
    asked = write_run(ran, RUN, tmp_path, tmp_path / "out", ["report.html"])
    assert (asked / "report.html").exists()


def test_two_runs_differ_in_run_alone(
    result: Result, samples: Sequence[SampleResult], tmp_path: Path
) -> None:
    ran = decided(result(samples, gates={"f1": 0.4}, metadata_columns=("level",)))
    later = replace(RUN, id="20270101T000000-000000", started_at="x", workers=4, latency_s={"a": 1})
    first, second = (data_of(page_of(ran, tmp_path, run)) for run in (RUN, later))
    assert first.pop("run") != second.pop("run")
    assert first == second
    text = page_of(ran, tmp_path)
    assert page_of(ran, tmp_path) == text


@pytest.mark.parametrize(
    ("ids", "shown"),
    [
        (["a", "b"], None),
        (["支持 #1", "</script>"], None),
        (["", " a "], None),
        (["x" * 299, "y" * 300], None),
        (["/wiki/" + "a" * 330 + end for end in "12"], None),
        (["中" * 2000, "b"], None),
        (["x" * 9000, "b"], ["x" * 2000 + "…", "b"]),
    ],
)
def test_ids_are_whole(
    result: Result, tmp_path: Path, ids: list[str], shown: list[str] | None
) -> None:
    """A page that people label downloads them: cut, they were in no data, or two were one."""
    samples = [SampleResult(name, at, scores={"f1": 0.5}) for at, name in enumerate(ids)]
    found = data_of(page_of(decided(result(samples)), tmp_path))
    assert found["samples"]["id"] == (shown or ids)


def test_the_policy_allows_the_very_script_and_style(
    result: Result, samples: Sequence[SampleResult], tmp_path: Path
) -> None:
    page = page_of(decided(result(samples)), tmp_path)
    found = re.search(r'Content-Security-Policy" content="([^"]*)"', page)
    assert found is not None
    rules = dict(rule.split(" ", 1) for rule in found[1].split("; "))
    assert rules["default-src"] == rules["base-uri"] == rules["form-action"] == "'none'"
    assert "unsafe" not in found[1]
    (style,) = re.findall(r"<style>(.*?)</style>", page, re.DOTALL)
    (script,) = re.findall(r"<script>(.*?)</script>", page, re.DOTALL)
    for text, rule in ((style, "style-src"), (script, "script-src")):
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert rules[rule] == f"'sha256-{digest}'"
    assert page.count("http") == page.count("http-equiv") + page.count("http://www.w3.org/2000/svg")


def test_no_two_scripts_have_a_function_of_one_name() -> None:
    """They share one scope, in which the second takes the place of the first without a word."""
    assets = Path(assemble.__file__).with_name("assets")
    script = "\n".join(assets.joinpath(name).read_text("utf-8") for name in assemble.SCRIPTS)
    names = re.findall(r"^(?:async )?(?:function|const|let|class) (\w+)", script, re.MULTILINE)
    assert len(names) > 200
    assert [name for name in set(names) if names.count(name) > 1] == []


@pytest.mark.parametrize(
    "text",
    ["</script><script>x()</script>", "<!--<script>", "\u2028\u2029", "\ud800", "a\ud83db", "\x00"],
)
def test_embedded_text_comes_back_and_ends_nothing(text: str) -> None:
    found = embedded_json([text])
    assert json.loads(found) == [text]
    assert found.isprintable()
    assert not set("<>&") & set(found)
    found.encode("utf-8")


def test_hostile_names_stay_in_the_head(
    result: Result, samples: Sequence[SampleResult], tmp_path: Path
) -> None:
    ran = decided(result(samples))
    name = "</title><script>\ud800{{data}}{{style}}"
    page = page_of(replace(ran, info=replace(ran.info, name=name)), tmp_path)
    assert page.count("<script>") == 1
    assert "<title>&lt;/title&gt;&lt;script&gt;" in page
    assert data_of(page)["scenario"]["name"] == name.replace("\ud800", r"\ud800")


def test_texts_stand_once(result: Result, samples: Sequence[SampleResult], tmp_path: Path) -> None:
    data = data_of(page_of(decided(result(samples)), tmp_path))
    assert data["texts"].count("same") == 1
    same = data["texts"].index("same")
    assert data["contexts"] == [[same, same], None, None, None]
    assert data["question"][1] == -1


def test_what_is_said_of_samples_is_there(
    result: Result, samples: Sequence[SampleResult], tmp_path: Path
) -> None:
    data = data_of(page_of(decided(result(samples)), tmp_path))
    said = [
        (at, kind, data["remark_names"][name], data["texts"][text])
        for at, kind, name, text in data["remarks"]
    ]
    assert said == [(1, 0, "f1", "boom"), (2, 3, "row 3, line 4", "{}")]
    assert data["samples"]["invalid"] == [2]


def ordinary(n: int) -> list[SampleResult]:
    """Rows as they come: a question, an answer of 600 characters, five contexts of 1,000."""
    return [
        SampleResult(
            f"sample-{at}",
            at,
            weighted_score=1 / (at + 3),
            doc_name=f"document-{at % 40}.pdf",
            question=f"What does paragraph {at} of the contract say about returns?",
            answer=f"{at} says: " + "the goods may be returned. " * 22,
            contexts=tuple(f"{at}.{k} " + "Section of the contract. " * 40 for k in range(5)),
            references=(f"{at} " + "returned within thirty days " * 5,),
            metadata={"level": at % 3, "path": f"contracts/{at % 90}/terms"},
            scores={name: 1 / (at + k + 3) for k, name in enumerate("abcdef")},
            reasons={"a": f"{at}: two of three claims are supported by the contexts"},
        )
        for at in range(n)
    ]


COLUMNS = tuple(MetricColumn(name) for name in "abcdef")


@pytest.mark.full
def test_1000_samples_stay_below_a_megabyte(result: Result, tmp_path: Path) -> None:
    ran = result(ordinary(1000), *COLUMNS, metadata_columns=("level", "path"))
    page = page_of(decided(ran), tmp_path)
    assert 900_000 < len(page.encode()) < 1_000_000
    data = data_of(page)
    # The figures are whole, texts are cut and say how long they were.
    assert data["metrics"][0]["scores"][2] == 1 / 5
    shown, length = data["texts"][data["answer"][7]]
    assert length == len(ran.samples[7].answer or "")
    assert (ran.samples[7].answer or "").startswith(shown)


def test_few_samples_are_whole(result: Result, tmp_path: Path) -> None:
    data = data_of(page_of(decided(result(ordinary(20), *COLUMNS)), tmp_path))
    assert all(isinstance(text, str) for text in data["texts"])


def test_texts_are_cut_to_a_budget_by_their_share() -> None:
    """Two texts of 100 characters, 103 bytes each with quotes and comma; one at half the share.

    Cut at 80 and 40: 103 * 0.8 + 103 * 0.4 + 12 for each mark = 147.6.
    """
    texts = [("x" * 100, 1), ("y" * 100, 2)]
    assert longest_that_fits(texts, 148) == 80
    assert longest_that_fits(texts, 147) == 79
    assert longest_that_fits(texts, 0) == 60
    assert longest_that_fits(texts, 10_000) == 20_000
    # A Chinese character has three bytes: 303 * 0.7 + 12 = 224.1; what is escaped has six.
    assert longest_that_fits([("中" * 100, 1)], 225) == 70
    assert longest_that_fits([("<" * 100, 1)], 435) == 70


def test_a_pool_cuts_and_counts() -> None:
    pool = TextPool(10)
    assert [pool.add(text) for text in ("short", None, "short", "a" * 12)] == [0, -1, 0, 1]
    assert pool.add("a" * 12, 2) == 2
    assert pool.texts == ["short", ["a" * 10, 12], ["a" * 5, 12]]


def test_many_contexts_are_counted(result: Result, tmp_path: Path) -> None:
    made = SampleResult("a", 0, contexts=tuple(f"c{at}" for at in range(13)))
    data = data_of(page_of(decided(result([made])), tmp_path))
    (found,) = data["contexts"]
    assert [data["texts"][at] for at in found[:-1]] == [f"c{at}" for at in range(10)]
    assert found[-1] == -3


def test_weights_of_documents_are_the_scenarios(
    result: Result, samples: Sequence[SampleResult], tmp_path: Path
) -> None:
    """Also of documents that are not here."""
    weights = {"d.pdf": 2.0, "手册.pdf": 0.5}
    data = data_of(page_of(decided(result(samples, doc_weights=weights)), tmp_path))
    assert data["scenario"]["doc_weights"] == [["d.pdf", 2.0], ["手册.pdf", 0.5]]


def test_samples_without_a_score_that_is_asked_for_are_errors_for_good(
    result: Result, tmp_path: Path
) -> None:
    """f1 has a threshold, em a gate in a slice; rouge is nobody's, unless the budget was spent."""
    columns = [MetricColumn(name) for name in ("f1", "em", "rouge")]
    whole = {"f1": 1.0, "em": 1.0, "rouge": 1.0}
    made = [
        SampleResult(f"{at}", at, scores={**whole, **dict.fromkeys(missing)}, errors=errors)
        for at, (missing, errors) in enumerate(
            [
                (["f1"], {}),
                (["em"], {}),
                (["rouge"], {}),
                (["rouge"], {"rouge": "budget: spent"}),
                ([], {}),
            ]
        )
    ]
    ran = result(
        made,
        *columns,
        thresholds={"f1": Bound(min=0.5)},
        gates={"by": {"doc_name": {"em": 0.5}}},
    )
    assert data_of(page_of(decided(ran), tmp_path))["samples"]["unjudged"] == [0, 1, 3]


def test_gates_are_data(result: Result) -> None:
    info = result(
        [],
        thresholds={"f1": Bound(min=0.5)},
        compare=(Comparing("main"),),
        baselines={"main": Baseline("main", ["a"], {"f1": {"a": 0.5}, WEIGHTED_SCORE: {"a": 0.5}})},
        gates={
            "f1": {"mean": {"min": 0.1, "max": 0.9}, "quantile": {0.1: 0.3}, "lower_bound": 0.2},
            "pass_rate": 0.9,
            "unscored": 0.1,
            "by": {"doc_name": {"weighted_score": 0.6}},
            "no_regression": {"max_drop": "5%", "metrics": ["f1"], "alpha": 0.1},
        },
    ).info
    assert [gate.for_page() for gate in make_gates(info.gates, info)] == [
        {"kind": "mean", "target": "f1", "ends": [0.1, 0.9]},
        {"kind": "quantile", "target": "f1", "ends": [0.3, None], "q": 0.1},
        {"kind": "lower_bound", "target": "f1", "ends": [0.2, None], "confidence": 0.95},
        {"kind": "pass_rate", "ends": [0.9, None]},
        {"kind": "unscored", "ends": [None, 0.1], "shares": [], "required": []},
        {
            "kind": "by",
            "field": "doc_name",
            "inner": {"kind": "mean", "target": WEIGHTED_SCORE, "ends": [0.6, None]},
        },
        {"kind": "as_run", "targets": ["f1"]},
    ]


def test_scores_of_the_baseline_stand_beside_the_samples(result: Result, tmp_path: Path) -> None:
    """Weighted scores are of what both runs have: of a f1 alone, where this run's own is 0.7."""
    both = (MetricColumn("f1"), MetricColumn("em"))
    then = {"f1": {"a": 0.6, "b": 0.5}, "em": {"a": None, "b": 0.5}}
    ran = result(
        [
            SampleResult("a", 0, weighted_score=0.7, scores={"f1": 0.4, "em": 1.0}),
            SampleResult("b", 1, weighted_score=1.0, scores={"f1": 1.0, "em": 1.0}),
            SampleResult("new", 2, weighted_score=1.0, scores={"f1": 1.0, "em": 1.0}),
        ],
        *both,
        compare=(Comparing("main"),),
        baselines={
            "main": Baseline("main", ["a", "b"], {**then, WEIGHTED_SCORE: {"a": 0.6, "b": 0.5}})
        },
        gates={"no_regression": {"metrics": ["f1", WEIGHTED_SCORE]}},
    )
    found = data_of(page_of(decided(ran), tmp_path))["comparisons"][0]
    assert found["then"]["f1"] == [0.6, 0.5, None]
    assert found["then"][WEIGHTED_SCORE] == [0.6, 0.5, None]
    assert found["now"] == {name: {} for name in found["then"]} | {WEIGHTED_SCORE: {"0": 0.4}}


def test_the_page_decides_no_gate_of_a_sampled_run(result: Result, tmp_path: Path) -> None:
    """[F9] The mean over all rows fails though that of the asked row does not: it has no others."""
    sample = SampleResult("a", 0, weighted_score=1.0, scores={"f1": 1.0})
    skipped = SampleResult("b", 1, outcome="skipped", errors={"f1": NOT_DRAWN})
    asked = Sampling(1, 7, "main", 2, frozenset({"a"}))
    ran = result([sample, skipped], MetricColumn("f1"), gates={"f1": 0.8}, sample=asked)
    estimate = Estimate(0.75, 0.7, 0.8, 0.6, 0.9, 1, 2)
    failed = GateResult("f1.mean", "failed", 0.75, 0.8, "0.7500 < 0.8000")
    ran = replace(ran, gates=[failed], estimates={"f1": estimate})
    data = data_of(page_of(ran, tmp_path))
    assert [(gate["kind"], gate["run"][0]) for gate in data["gates"]] == [("as_run", "failed")]
    assert data["scenario"]["sampled"] == {
        "asked": 1,
        "rows": 2,
        "seed": 7,
        "against": "main",
        "means": [["f1", 0.75, 0.6, 0.9]],
    }
    whole = replace(ran, info=replace(ran.info, sample=None), estimates={})
    data = data_of(page_of(whole, tmp_path))
    assert data["gates"][0]["kind"] == "mean"
    assert "sampled" not in data["scenario"]


def test_each_baseline_has_its_scores_and_its_gates(tmp_path: Path) -> None:
    """[F7] And the looks that share its alpha; one alone leaves gates as they were."""
    now, gates = {"f1": (0.5, 0.5)}, {"no_regression": {"metrics": ["f1"], "undecided": "pass"}}
    both = {"before": {"f1": (0.5, 1.0)}, "pinned": {"f1": (1.0, None)}}
    data = data_of(page_of(decided_run(now, gates, looks=50, **both), tmp_path))
    found = [(one["baseline"], one["looks"], one["then"]["f1"]) for one in data["comparisons"]]
    assert found == [("main", 1, [0.5, 1.0]), ("release-1.4", 50, [1.0, None])]
    assert [gate.get("against") for gate in data["gates"]] == ["main", "release-1.4", ""]
    data = data_of(page_of(decided_run(now, gates, before=both["before"]), tmp_path))
    assert ["against" in gate for gate in data["gates"]] == [False, False]
    assert len(data["comparisons"]) == 1


def test_what_is_missing_is_data(
    result: Result, samples: Sequence[SampleResult], tmp_path: Path
) -> None:
    """In the words that every output has."""
    data = data_of(page_of(decided(result(samples)), tmp_path))
    assert data["missing"][:2] == [
        ["1 of 4 rows is invalid and in no figure", "no answer", True],
        ["1 of 4 samples is skipped and in no figure", "", False],
    ]
    assert ["f1 failed on 1 of 3 samples", "boom", True] in data["missing"]


def test_a_gate_on_a_mean_has_what_the_run_says_beside_it(result: Result, tmp_path: Path) -> None:
    """Two of four answers count as the worst; the gate of em has nothing to add."""
    made = [
        SampleResult(
            f"{at}",
            at,
            weighted_score=0.5,
            scores={"f1": score, "em": 1.0},
            left_out={} if score else {"f1": "answer"},
            reasons={} if score else {"f1": "refused"},
        )
        for at, score in enumerate((1.0, 0.0, 0.5, 0.0))
    ]
    columns = (MetricColumn("f1"), MetricColumn("em"))
    ran = decided(result(made, *columns, gates={"f1": 0.5, "em": 0.5}))
    gates = {gate["name"]: gate for gate in data_of(page_of(ran, tmp_path))["gates"]}
    remark = "0.7500 without 2 of 4 that count as the worst: refused"
    assert gates["f1.mean"]["remark"] == remark
    assert remark in gates["f1.mean"]["run"][3]
    assert "remark" not in gates["em.mean"]


def test_that_a_figure_is_not_to_be_trusted_is_not_cut(result: Result, tmp_path: Path) -> None:
    """It stands at the end, behind all that the judge did not tell apart."""
    ran = replace(result([]), controls={"f1": ControlVerdict(False, 1, reason="x" * 400)})
    (warning,) = data_of(page_of(ran, tmp_path))["scenario"]["warnings"]
    assert warning.endswith("do not trust this figure")


def test_the_trend_is_of_complete_runs(
    result: Result, samples: Sequence[SampleResult], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The two newest, whatever the number of partial ones behind them."""
    monkeypatch.setattr(html, "_RUNS", 2)
    ran = decided(result(samples))
    for run_id in ("20261120T000000-000000", "20261119T000000-000000"):
        write_run(ran, replace(RUN, id=run_id, started_at=run_id), tmp_path, tmp_path)
    partial = replace(RUN, id="20261121T000000-000000", started_at="20261121T000000")
    write_run(replace(ran, complete=False), partial, tmp_path, tmp_path)
    folder = write_run(ran, RUN, tmp_path, tmp_path, ["report.html"])
    trend = data_of((folder / "report.html").read_text("utf-8"))["run"]["trend"]
    assert [point["id"] for point in trend] == [
        "20261119T000000-000000",
        "20261120T000000-000000",
        RUN.id,
    ]
    assert trend[0]["means"] == {"weighted_score": 0.5, "f1": 0.5, "em": 0.5}


def test_every_script_is_used() -> None:
    """What lies in the folder and is not inlined would be dead."""
    assets = {path.name for path in Path(assemble.__file__).with_name("assets").iterdir()}
    scripts = {*assemble.SCRIPTS, *LabelSheet.scripts, *ReviewSheet.scripts, *VARIANT_SCRIPTS}
    assert assets == {*scripts, "report.css", "report.html"}
