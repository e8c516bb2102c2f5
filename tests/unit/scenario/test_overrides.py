"""A14: values that replace values of the file, without editing it."""

from __future__ import annotations

import tomllib
from pathlib import Path
from threading import Lock
from typing import Any

import pytest

from pytest_rageval.errors import OptionError, ScenarioError
from pytest_rageval.scenario.overrides import (
    Override,
    compare_fail_override,
    fail_under_override,
    number_override,
    parse_assignment,
    set_override,
)
from pytest_rageval.scenario.yaml.tree import inline_text, parse_yaml

ROWS = tomllib.loads(Path(__file__).with_name("overrides.toml").read_text("utf-8"))


def applied(text: str, override: Override) -> tuple[Any, str | None]:
    tree = parse_yaml(text, "s.yaml")
    name = override.apply(tree)
    return tree.data, name


@pytest.mark.parametrize(
    ("text", "path", "value"),
    [
        ("dataset.limit=10", ("dataset", "limit"), 10),
        ("name=x", ("name",), "x"),
        ("metrics=[em, f1]", ("metrics",), ["em", "f1"]),
        ("thresholds.f1={max: 0.5}", ("thresholds", "f1"), {"max": 0.5}),
        ('doc_weights."a.pdf"=2', ("doc_weights", "a.pdf"), 2),
        ('doc_weights."a=b.pdf"=2', ("doc_weights", "a=b.pdf"), 2),
        (r'doc_weights."a\"b"=2', ("doc_weights", 'a"b'), 2),
        ("description=a=b", ("description",), "a=b"),
        ("description=null", ("description",), None),
        ("description=''", ("description",), ""),
        (" name = x ", ("name",), "x"),
        ("thresholds.rouge-l=0.5", ("thresholds", "rouge-l"), 0.5),
    ],
)
def test_a_path_and_a_value_as_yaml(text: str, path: tuple[str, ...], value: Any) -> None:
    """A14: --rag-set path.to.key=value."""
    found = set_override("--rag-set", text)
    assert (found.path, found.value) == (path, value)
    assert found.flag.startswith("--rag-set ")


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("skip.0.where.v", "3.10"),
        ("skip.0.where.v", "[3.10]"),
        ("skip", "[{where: {v: 3.10}}]"),
        ("dataset.rows.0.answer", "3.10"),
        ("dataset.0.answer", "2024_01"),
        ("datasets.0.prediction", "0x1F"),
        ("variants.v.dataset.rows.0", "{answer: 3.10}"),
    ],
)
def test_a_number_in_a_row_or_about_rows_keeps_its_text(path: str, value: str) -> None:
    """A14: as in a file; version 3.10 was 3.1."""
    assert inline_text(set_override("--rag-set", f"{path}={value}").value) == value
    assert set_override("--rag-set", "thresholds.v=3.10").value == 3.1


@pytest.mark.parametrize("text", ["", "name", "=x", ".a=1", "a..b=1", 'a."b=1', "a.=1", '"a"b=1'])
def test_what_is_no_assignment_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(OptionError, match=r"expected PATH=VALUE, for instance dataset\.limit=10"):
        set_override("--rag-set", text)


@pytest.mark.parametrize("value", ["[1", "{a: b: c}", "'x", "\x00", "*a", "\udcff"])
def test_a_value_that_is_no_yaml_is_refused(value: str) -> None:
    """A14: the last is what an argument becomes that is no UTF-8."""
    with pytest.raises(OptionError, match="--rag-set name="):
        set_override("--rag-set", f"name={value}")


@pytest.mark.parametrize(
    ("text", "found"),
    [("f1=0.5", ("f1", 0.5)), ("a=b.pdf=2", ("a=b.pdf", 2.0)), (" f1 = 1e-3 ", ("f1", 0.001))],
)
def test_a_name_and_a_number(text: str, found: tuple[str, float]) -> None:
    """A14: --rag-metric-weight M=W; a document's name may hold the sign itself."""
    assert parse_assignment("--rag-metric-weight", text) == found


@pytest.mark.parametrize("text", ["f1", "f1=", "=1", "f1=x", "f1=nan", "f1=inf", "", " =1"])
def test_what_is_no_name_and_number_is_refused(text: str) -> None:
    with pytest.raises(OptionError, match="expected NAME=NUMBER") as caught:
        parse_assignment("--rag-metric-weight", text)
    assert str(caught.value).startswith("--rag-metric-weight")


def test_a_number_goes_to_its_section() -> None:
    """A14: a dot in a document's name is part of it, one in a gate's name leads deeper."""
    weight = number_override("doc_weights")("--rag-doc-weight", "a.pdf=2")
    assert weight.path == ("doc_weights", "a.pdf")
    gate = number_override("gates")("--rag-gate", "f1.mean=0.5")
    assert gate.path == ("gates", "f1", "mean")


def test_an_override_replaces_and_names_what_it_replaced() -> None:
    """A14."""
    override = set_override("--rag-set", "dataset.limit=2")
    data, name = applied("dataset: {path: x, limit: 9}", override)
    assert data == {"dataset": {"path": "x", "limit": 2}}
    assert name == "dataset.limit"


def test_an_override_makes_the_section_that_is_not_there() -> None:
    data, _ = applied("name: x", number_override("thresholds")("--rag-threshold", "f1=0.5"))
    assert data == {"name": "x", "thresholds": {"f1": 0.5}}


def test_digits_are_places_where_there_is_a_list() -> None:
    data, name = applied("metrics: [em, f1]", set_override("--rag-set", "metrics.1=acc"))
    assert (data, name) == ({"metrics": ["em", "acc"]}, "metrics.1")
    data, _ = applied("doc_weights: {'1': 2}", set_override("--rag-set", "doc_weights.1=3"))
    assert data == {"doc_weights": {"1": 3}}


@pytest.mark.parametrize("text", ["metrics.5=acc", "metrics.x=acc", "name.x=1"])
def test_a_path_that_leads_nowhere_is_the_overrides_problem(text: str) -> None:
    with pytest.raises(ScenarioError, match="--rag-set"):
        applied("name: x\nmetrics: [em, f1]", set_override("--rag-set", text))


def test_a_number_for_a_gate_with_several_checks_is_its_mean() -> None:
    """A14: --rag-gate f1=0.9 leaves the other checks of f1 alone."""
    override = number_override("gates")("--rag-gate", "f1=0.9")
    data, name = applied("gates: {f1: {mean: 0.5, unscored: 0.1}}", override)
    assert data == {"gates": {"f1": {"mean": 0.9, "unscored": 0.1}}}
    assert name == "gates.f1.mean"
    data, name = applied("gates: {f1: 0.5}", override)
    assert (data, name) == ({"gates": {"f1": 0.9}}, "gates.f1")


# What a run is compared with


def test_no_baseline_and_lists_of_them_are_left_to_the_checks_of_the_file() -> None:
    """They ended in an IndexError and a TypeError."""
    assert applied("name: x", Override(("compare", "baseline"), [], "f"))[0]["compare"] == {
        "baseline": []
    }
    text = "compare: [{baseline: [a]}]"
    assert applied(text, compared_with("b"))[0]["compare"] == {"baseline": "b"}


def compared_with(name: str) -> Override:
    return Override(("compare", "baseline"), name, f"--rag-compare {name}")


@pytest.mark.parametrize(
    ("text", "compare"),
    [
        ("name: x", {"baseline": "main"}),
        ("compare: other", {"baseline": "main"}),
        ("compare:", {"baseline": "main"}),
        ("compare: {baseline: other, test: t}", {"baseline": "main", "test": "t"}),
        ("compare: {run_old_path: b.txt, alpha: 0.1}", {"baseline": "main", "alpha": 0.1}),
    ],
)
def test_a_baseline_takes_the_place_of_whatever_was_compared_with(text: str, compare: Any) -> None:
    """E15: --rag-compare main keeps the way in which it is compared."""
    data, name = applied(text, compared_with("main"))
    assert (data["compare"], name) == (compare, "compare.baseline")


PINNED = "compare: [other, {baseline: v1, looks: 50, test: t}]"


@pytest.mark.parametrize(
    ("text", "names", "compare"),
    [
        ("name: x", ["main", "v1"], [{"baseline": "main"}, {"baseline": "v1"}]),
        ("name: x", ["main", "main"], {"baseline": "main"}),
        # The keys of the only run that they take the place of are those of each.
        (
            "compare: {baseline: other, alpha: 0.1}",
            ["main", "v1"],
            [{"baseline": "main", "alpha": 0.1}, {"baseline": "v1", "alpha": 0.1}],
        ),
        ("compare: [a, {baseline: b, alpha: 0.1}]", "main", {"baseline": "main"}),
        # What is named keeps its own keys, and what is pinned stays.
        ("compare: [a, {baseline: b, alpha: 0.1}]", "b", {"baseline": "b", "alpha": 0.1}),
        (PINNED, "main", [{"baseline": "main"}, {"baseline": "v1", "looks": 50, "test": "t"}]),
        (PINNED, "v1", {"baseline": "v1", "looks": 50, "test": "t"}),
        (
            "compare: {baseline: v1, looks: 50}",
            "main",
            [{"baseline": "main"}, {"baseline": "v1", "looks": 50}],
        ),
        # One look is what every run has: it pins nothing.
        ("compare: {baseline: v1, looks: 1}", "main", {"baseline": "main", "looks": 1}),
        ("compare: {baseline: v1, looks: 1}", ["main"], {"baseline": "main"}),
        ("compare: {baseline: v1, looks: 1}", "v1", {"baseline": "v1", "looks": 1}),
        ("compare: [other, {baseline: v1, looks: '1'}]", "main", {"baseline": "main"}),
        ("compare: [{baseline: v1, looks: 1}, a]", "v1", {"baseline": "v1", "looks": 1}),
        ("compare: {baseline: v1, looks: null}", "main", {"baseline": "main", "looks": None}),
        (
            "compare: [{baseline: v1, looks: 1}, {baseline: v2, looks: 2}]",
            "main",
            [{"baseline": "main"}, {"baseline": "v2", "looks": 2}],
        ),
        ("compare: {run_old_path: b.txt, test: t}", ["main"], {"baseline": "main", "test": "t"}),
    ],
)
def test_several_baselines_take_the_place_of_those_in_the_file(
    text: str, names: Any, compare: Any
) -> None:
    """F7: --rag-compare main --rag-compare v1; a pinned run goes from no list unseen."""
    override = Override(("compare", "baseline"), names, "--rag-compare")
    data, name = applied(text, override)
    assert (data["compare"], name) == (compare, "compare.baseline")


@pytest.mark.parametrize(
    ("text", "option", "section", "value"),
    [
        ("compare: main", "compare.test=t", "compare", {"baseline": "main", "test": "t"}),
        (
            "corpus: c.csv",
            "corpus.encoding=gb18030",
            "corpus",
            {"path": "c.csv", "encoding": "gb18030"},
        ),
        ("dataset: r.csv", "dataset.limit=2", "dataset", {"path": "r.csv", "limit": 2}),
        ("judge: m", "judge.temperature=1", "judge", {"model": "m", "temperature": 1}),
    ],
)
def test_a_short_form_is_widened_where_a_part_of_it_is_set(
    text: str, option: str, section: str, value: Any
) -> None:
    """A14: the file says the same in fewer words."""
    data, name = applied(text, set_override("--rag-set", option))
    assert (data[section], name) == (value, option.partition("=")[0])


@pytest.mark.parametrize(
    ("text", "metric", "value"),
    [
        ("f1:0.02", "f1", {"max_drop": "0.02"}),
        ("weighted_score:0", "weighted_score", {"max_drop": "0"}),
        ("f1:5%", "f1", {"max_drop": "5%"}),
        ("f1:0.02:any", "f1", {"max_drop": "0.02", "mode": "any"}),
        ("f1:5%:non_inferior", "f1", {"max_drop": "5%", "mode": "non_inferior"}),
        (" f1 : 1e-3 : any ", "f1", {"max_drop": "1e-3", "mode": "any"}),
        ("P(rel=2)@5:0.1", "P(rel=2)@5", {"max_drop": "0.1"}),
        ("忠实度:0.1", "忠实度", {"max_drop": "0.1"}),
    ],
)
def test_a_metric_and_the_fall_that_is_too_much(text: str, metric: str, value: Any) -> None:
    """E5: --rag-compare-fail METRIC:DROP and METRIC:DROP:MODE; the gate checks the rest."""
    found = compare_fail_override("--rag-compare-fail", text)
    assert found.path == ("gates", "compare_fail", metric)
    assert found.value == value
    assert found.flag == f"--rag-compare-fail {text}"


@pytest.mark.parametrize(
    "text",
    ROWS["what_is_no_metric_and_fall_is_refused"],
)
def test_what_is_no_metric_and_fall_is_refused(text: str) -> None:
    """E12."""
    with pytest.raises(OptionError, match=r": expected METRIC:DROP, for instance weighted_score:0"):
        compare_fail_override("--rag-compare-fail", text)


def test_several_falls_are_several_entries() -> None:
    data: Any = {}
    tree = parse_yaml("gates: {f1: 0.5}", "s.yaml")
    for text in ("f1:0.1", "em:0.2"):
        compare_fail_override("--rag-compare-fail", text).apply(tree)
    data = tree.data["gates"]
    assert data == {
        "f1": 0.5,
        "compare_fail": {"f1": {"max_drop": "0.1"}, "em": {"max_drop": "0.2"}},
    }


@pytest.mark.parametrize(("text", "value"), [("0.8", 0.8), ("0", 0.0), ("1", 1.0), (" 5e-1 ", 0.5)])
def test_the_least_mean_of_all(text: str, value: float) -> None:
    """--rag-fail-under X."""
    found = fail_under_override("--rag-fail-under", text)
    assert (found.path, found.value) == (("gates", "fail_under"), value)


@pytest.mark.parametrize("text", ["", "x", "nan", "inf", "-0.1", "1.1", "80", "80%"])
def test_what_is_no_least_mean_is_refused(text: str) -> None:
    """80 is coverage's way of saying it; here scores are from 0 to 1."""
    with pytest.raises(OptionError, match=r"expected a number from 0 to 1, for instance 0\.8"):
        fail_under_override("--rag-fail-under", text)


def test_a_gate_of_a_quantile_is_set_by_its_number() -> None:
    """A14, E5: the dot of 0.1 leads no deeper."""
    override = number_override("gates")("--rag-gate", "f1.quantile.0.1=0.3")
    data, _ = applied("gates: {f1: {quantile: {0.1: 0.5}}}", override)
    assert data == {"gates": {"f1": {"quantile": {"0.1": 0.3}}}}


def test_a_check_beside_the_short_form_of_a_mean() -> None:
    """A14: f1: 0.5 is f1: {mean: 0.5}."""
    override = number_override("gates")("--rag-gate", "f1.lower_bound=0.3")
    data, name = applied("gates: {f1: 0.5}", override)
    assert data == {"gates": {"f1": {"mean": 0.5, "lower_bound": 0.3}}}
    assert name == "gates.f1.lower_bound"


@pytest.mark.parametrize(
    ("gate", "mean"),
    [("0.9", 0.9), ("{min: 0.1}", {"min": 0.1}), ("{min: 0, max: 1}", {"min": 0, "max": 1})],
)
def test_a_check_beside_any_short_form_of_a_mean(gate: str, mean: Any) -> None:
    """A14: a number, or the ends of a bound; at the top, and for each value of a field."""
    parse = number_override("gates")
    data, _ = applied(f"gates: {{f1: {gate}}}", parse("--rag-gate", "f1.quantile.0.5=0.01"))
    assert data == {"gates": {"f1": {"mean": mean, "quantile": {"0.5": 0.01}}}}
    override = parse("--rag-gate", "by.lang.f1.lower_bound=0.01")
    data, name = applied(f"gates: {{by: {{lang: {{f1: {gate}}}}}}}", override)
    assert data["gates"]["by"] == {"lang": {"f1": {"mean": mean, "lower_bound": 0.01}}}
    assert name == "gates.by.lang.f1.lower_bound"


@pytest.mark.parametrize(
    ("text", "override", "expected"),
    ROWS["what_is_no_short_form_is_not_widened"],
)
def test_what_is_no_short_form_is_not_widened(text: str, override: str, expected: Any) -> None:
    data, _ = applied(f"gates: {text}", number_override("gates")("--rag-gate", override))
    assert data["gates"] == expected


# Metrics by other names


NAMES = {"nDCG@10": "ndcg@10", "NDCG@10": "ndcg@10", "RR": "mrr", "recip_rank": "mrr"}


def by_name(text: str, option: str) -> tuple[Any, str | None]:
    tree = parse_yaml(text, "s.yaml")
    name = set_override("--rag-set", option).apply(tree, lambda name: NAMES.get(name, name))
    return tree.data, name


@pytest.mark.parametrize(
    ("text", "option", "name"),
    [
        ("metric_weights: {nDCG@10: 1, RR: 2}", "metric_weights.mrr=9", "metric_weights.RR"),
        ("metric_weights: {mrr: 2}", "metric_weights.recip_rank=9", "metric_weights.mrr"),
        ("thresholds: {nDCG@10: 0.1}", "thresholds.ndcg@10=9", "thresholds.nDCG@10"),
        ("gates: {nDCG@10: 0.1}", "gates.NDCG@10=9", "gates.nDCG@10"),
        ("gates: {RR: {mean: 1, unscored: 0}}", "gates.mrr=9", "gates.RR.mean"),
        ("gates: {RR: {mean: 1}}", "gates.mrr.lower_bound=9", "gates.RR.lower_bound"),
        ("gates: {by: {lang: {RR: 1}}}", "gates.by.lang.mrr=9", "gates.by.lang.RR"),
        ("gates: {compare_fail: {RR: 1}}", "gates.compare_fail.mrr=9", "gates.compare_fail.RR"),
    ],
)
def test_a_metric_by_another_name_is_replaced_and_not_named_twice(
    text: str, option: str, name: str
) -> None:
    """A14: weights, thresholds and gates may use any name of a metric, and so may overrides."""
    before = parse_yaml(text, "s.yaml")
    before.put(tuple(name.split(".")), 9)
    assert by_name(text, option) == (before.data, name)


@pytest.mark.parametrize(
    ("text", "option", "weights"),
    [
        # Its own name comes first, whatever else it could mean.
        ("metric_weights: {RR: 1, mrr: 2}", "metric_weights.mrr=9", {"RR": 1, "mrr": 9}),
        (
            "metrics: [mrr, {mrr: {k: 3, name: RR}}]\nmetric_weights: {RR: 1}",
            "metric_weights.mrr=9",
            {"RR": 1, "mrr": 9},
        ),
        (
            "metrics: [mrr, {use: 'm:f', name: RR}]\nmetric_weights: {mrr: 1}",
            "metric_weights.RR=9",
            {"RR": 9, "mrr": 1},
        ),
        ("metric_weights: {f1: 1}", "metric_weights.mrr=9", {"f1": 1, "mrr": 9}),
    ],
)
def test_a_name_of_its_own_means_no_other_metric(text: str, option: str, weights: Any) -> None:
    """A14: ``name: RR`` is the name of a metric that is not mrr."""
    data, _ = by_name(text, option)
    assert data["metric_weights"] == weights


@pytest.mark.parametrize(
    ("text", "path", "expected"),
    [
        ("doc_weights: {a: 2}", "doc_weights", {}),
        ("name: x", "doc_weights", {"name": "x"}),
        ("doc_weights: {a: 2, b: 3}", "doc_weights.a", {"doc_weights": {"b": 3}}),
        ("gates: {f1: {mean: 0.5, lower_bound: 0.4}}", "gates.f1", {"gates": {}}),
        ("dataset: {path: a, limit: 3}", "dataset.limit", {"dataset": {"path": "a"}}),
        ("dataset: a", "dataset.limit", {"dataset": {"path": "a"}}),
        ("judge: {model: m, timeout_s: 3}", "judge.timeout_s", {"judge": {"model": "m"}}),
        ("models: {m: {rpm: 3}}", "models.m.rpm", {"models": {"m": {}}}),
        ("target: {url: u, body: {q: 1}}", "target.body", {"target": {"url": "u"}}),
        ("ks: [1]", "ks", {}),
        # Here null is a value of its own: never, not sent, up to the metric.
        ("judge: m", "judge.max_failures", {"judge": {"model": "m", "max_failures": None}}),
        ("judge: m", "judge.temperature", {"judge": {"model": "m", "temperature": None}}),
        ("name: x", "empty_answer", {"name": "x", "empty_answer": None}),
        # The schema has to refuse these, with the nearest key.
        ("name: x", "doc_wieghts", {"name": "x", "doc_wieghts": None}),
        ("dataset: {path: a}", "dataset.limt", {"dataset": {"path": "a", "limt": None}}),
    ],
)
def test_null_takes_a_value_away(text: str, path: str, expected: Any) -> None:
    """F3: but where null says something of its own."""
    found = applied(text, set_override("--rag-set", f"{path}=null"))
    assert found == (expected, path)


def test_a_documents_weight_is_replaced_in_whatever_form_its_name_is() -> None:
    """F4: composed and decomposed would be two names of one document."""
    nfc, nfd = "Pr\u00fcfung.pdf", "Pru\u0308fung.pdf"
    override = number_override("doc_weights")("--rag-doc-weight", f"{nfc}=3")
    assert applied(f"doc_weights: {{{nfd}: 2}}", override)[0] == {"doc_weights": {nfd: 3.0}}
    assert applied(f"doc_weights: {{'{nfc} ': 2}}", override)[0] == {
        "doc_weights": {f"{nfc} ": 3.0}
    }


@pytest.mark.parametrize(
    "text",
    [
        "benchmark.limit=3",
        "benchmark.benchmark.limit=3",
        "benchmark={path: a.jsonl, limit: 3}",
        "benchmark={benchmark: {limit: 3}}",
        "variants.v.benchmark.limit=3",
    ],
)
def test_a_limit_of_ultrarag_makes_a_run_partial(text: str) -> None:
    """Such a run was green, and could be saved as a baseline."""
    assert set_override("--rag-set", text).limits
    assert not set_override("--rag-set", "benchmark={path: a.jsonl, limit: null}").limits


def test_a_limit_that_is_taken_away_limits_nothing() -> None:
    """F3: such a run is no partial one."""
    assert not set_override("--rag-set", "dataset.limit=null").limits
    assert set_override("--rag-set", "dataset.limit=3").limits


def test_limits_that_a_program_gives_its_variants_make_the_data_smaller() -> None:
    """As in a file; typed ones leave rows out."""
    variants = {"a": {"dataset": {"limit": 20}}}
    assert not Override(("variants",), variants, "variants").limits
    assert Override(("variants",), variants, "--rag-set variants={a: {...}}").limits


def test_what_cannot_be_copied_is_laid_as_it_is() -> None:
    """Rows that a program hands over may hold a lock, or a generator."""
    lock = Lock()
    override = Override(("dataset", "rows"), [{"id": "a", "lock": lock}], "overrides dataset.rows")
    found, _ = applied("dataset: {path: a.jsonl}", override)
    assert found["dataset"]["rows"][0]["lock"] is lock
