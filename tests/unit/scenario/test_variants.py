"""[E20] Variants: keys laid over a scenario as overrides are, and what is wrong with them."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest

from pytest_rageval.errors import Problem, ScenarioError
from pytest_rageval.scenario.loader import LoadedScenario, inspect_tree, variants_in
from pytest_rageval.scenario.overrides import set_override
from pytest_rageval.scenario.yaml.tree import parse_yaml

ROWS = tomllib.loads(Path(__file__).with_name("variants.toml").read_text("utf-8"))

BASE = """\
name: bot
dataset: {path: bm25.jsonl, key_map: {answer: reply}, limit: 5}
metrics: [em, f1]
metric_weights: {f1: 2}
gates: {f1: 0.5}
"""


def inspected(
    text: str, variant: str = "", *overrides: str
) -> tuple[LoadedScenario, list[Problem]]:
    given = [set_override("--rag-set", one) for one in overrides]
    return inspect_tree(parse_yaml(text, "s.yaml"), Path("s.yaml"), given, variant=variant)


def laid(variant: str, base: str = BASE) -> dict[str, Any]:
    """Return the data of a scenario with the variant ``v`` laid over it."""
    loaded, problems = inspected(f"{base}variants: {{v: {variant}, other: {{}}}}\n", "v")
    assert problems == []
    data: dict[str, Any] = loaded.tree.data
    return data


@pytest.mark.parametrize(
    ("variant", "section", "expected"),
    ROWS["keys_are_laid_over_those_of_the_scenario"],
)
def test_keys_are_laid_over_those_of_the_scenario(
    variant: str, section: str, expected: object
) -> None:
    """Mappings merge, short forms are widened, lists replace; another source of rows takes over."""
    assert laid(variant)[section] == expected


@pytest.mark.parametrize(
    ("variant", "section", "expected"),
    [
        ("{dataset: a.jsonl}", "dataset", {"path": "a.jsonl", "limit": 5}),
        ("{dataset: {path: a.jsonl}}", "dataset", {"path": "a.jsonl", "limit": 5}),
        ("{dataset: a.jsonl, judge: gpt}", "judge", {"model": "gpt", "concurrency": 8}),
    ],
)
def test_a_short_form_keeps_what_keys_of_rag_eval_say(
    variant: str, section: str, expected: object
) -> None:
    """They are translated when the variant is known: the limit was dropped in silence."""
    runtime = "runtime: {max_samples: 5, metric_concurrency: 8}\njudge_model: small\n"
    assert laid(variant, f"name: s\nmetrics: [f1]\n{runtime}")[section] == expected


@pytest.mark.parametrize(
    ("variant", "expected"),
    [
        ("{target: {body: {k: 2}}}", {"type": "http", "url": "http://a", "body": {"q": 1, "k": 2}}),
        ("{target: 'http://b'}", {"type": "http", "url": "http://b", "body": {"q": 1}}),
        ("{target: {model: gpt}}", {"model": "gpt"}),
        ("{target: 'm:answer'}", "m:answer"),
    ],
)
def test_another_type_of_target_replaces_the_whole_target(variant: str, expected: object) -> None:
    """A URL is no option of a chat model; another body of the same service is merged."""
    base = BASE + "target: {type: http, url: http://a, body: {q: 1}}\n"
    loaded, _ = inspected(f"{base}variants: {{v: {variant}}}\n", "v")
    assert loaded.tree.data["target"] == expected


def test_null_removes_a_key() -> None:
    """As ``--rag-set gates=null`` does."""
    data = laid("{gates: null, metric_weights: {f1: null}}")
    assert "gates" not in data
    assert data["metric_weights"] == {}


def test_nothing_in_a_mapping_removes_nothing() -> None:
    """A variant with ``gates: {}`` had none, and was green."""
    empty, bare = laid("{gates: {}, metric_weights: {}}"), laid("{}")
    assert empty == bare
    assert bare["gates"]


@pytest.mark.parametrize(
    ("section", "variant", "at"),
    [
        ("dataset: {path: a, key_map: {answer: b}}", "{key_map: {}}", "key_map"),
        ("judge: {model: a, extra_body: {seed: 1}}", "{extra_body: {}}", "extra_body"),
        ("target: {url: 'http://a', headers: {X: y}}", "{headers: {}}", "headers"),
        ("target: {url: 'http://a', body: {q: 1}}", "{body: {}}", "body"),
        ("target: {use: 'm:f', options: {k: 1}}", "{options: {}}", "options"),
        ("models: {a: {base_url: 'http://p/v1'}}", "{a: {}}", "a"),
        ("gates: {no_regression: {mode: non_inferior}}", "{no_regression: {}}", "no_regression"),
        ("gates: {em: 0.5}", "{em: {}}", "em"),
        # At the top it keeps, within what is passed on as it is it is a value, over nothing both.
        ("human: [a.csv]", "{}", None),
        ("target: {url: 'http://a', body: {f: {k: 1}}}", "{body: {f: {}}}", None),
        ("target: {url: 'http://a', headers: {}}", "{headers: {}}", None),
        ("target: {url: 'http://a', body: {q: 1}}", "{use: 'm:f', options: {}}", None),
    ],
)
def test_nothing_in_an_inner_mapping_is_refused_where_there_is_something(
    section: str, variant: str, at: str | None
) -> None:
    """It emptied ``key_map``, and a variant judged another column; or was the base unsaid."""
    name = section.partition(":")[0]
    base = f"name: bot\nmetrics: [em]\n{section}\n"
    base += "" if name == "dataset" else "dataset: a.jsonl\n"
    _, problems = inspected(f"{base}variants: {{v: {{{name}: {variant}}}, w: {{}}}}\n", "v")
    said = f"variants.v.{name}.{at}: {{}} removes nothing: leave it out, or write null to remove"
    assert [said in problem.message for problem in problems] == [True] * (at is not None)


def test_a_variant_is_laid_over_keys_of_other_systems() -> None:
    """A17: rag_eval's ``run_old_path`` and ``judge_model`` are translated, ours win over them."""
    base = "scenario_name: bot\ndataset: a.jsonl\nmetrics: [em]\njudge_model: one\n"
    loaded, problems = inspected(base + "variants: {v: {judge: two}}\n", "v")
    assert problems == []
    assert loaded.scenario.judge is not None
    assert loaded.scenario.judge.model == "two"


def test_options_win_over_a_variant_and_may_change_one() -> None:
    """The command line comes last, whatever it names; a variant's own keys are no overrides."""
    text = BASE + "variants: {v: {dataset: {limit: 2}}}\n"
    loaded, _ = inspected(text, "v", "dataset.limit=3")
    assert (loaded.scenario.dataset.limit, loaded.overridden) == (3, ("dataset.limit",))
    loaded, _ = inspected(text, "v", "variants.v.dataset.limit=4")
    assert (loaded.scenario.dataset.limit, loaded.overridden) == (4, ("variants.v.dataset.limit",))
    loaded, _ = inspected(text, "v")
    assert (loaded.scenario.dataset.limit, loaded.overridden) == (2, ())


def test_a_limit_of_a_variant_on_the_command_line_makes_the_run_partial() -> None:
    """As ``--rag-set dataset.limit`` does: the rest of the data is not judged."""
    assert set_override("--rag-set", "variants.v.dataset.limit=4").limits
    assert set_override("--rag-set", "variants.v.dataset={limit: 4}").limits
    assert set_override("--rag-set", "variants.v={dataset: {limit: 4}}").limits
    assert set_override("--rag-set", "variants={u: null, v: {dataset: {limit: 4}}}").limits
    assert not set_override("--rag-set", "variants.v.dataset=a.jsonl").limits
    assert not set_override("--rag-set", "variants={v: {dataset: a.jsonl}}").limits


def test_problems_of_a_variant_are_at_its_own_lines() -> None:
    """Of mappings, of items of lists, and of short forms; what the scenario says stays there."""
    text = (
        "name: bot\ndataset: a.jsonl\nmetrics:\n- em\n- f1\n"  # lines 1 to 5
        "variants:\n  v:\n    metrics:\n    - em\n    - {f1: {nope: 1}}\n    - 7\n"  # 6 to 11
        "    dataset: {limt: 3}\n    thresholds: {em: x}\n"  # 12, 13
    )
    _, problems = inspected(text, "v")
    assert [(one.where, one.message.split(" ")[0]) for one in problems] == [
        ("s.yaml:11", "metrics[2]:"),
        ("s.yaml:12", "unknown"),
        ("s.yaml:13", "thresholds.em:"),
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    ROWS["what_is_wrong_with_variants_is_said_with_the_line"],
)
def test_what_is_wrong_with_variants_is_said_with_the_line(text: str, message: str) -> None:
    """Names that node ids and folders cannot hold, and keys that all variants share."""
    _, problems = inspected(f"{BASE}{text}\n", "v")
    assert [one.where for one in problems if message in one.message] == [
        f"s.yaml:{6 + text.count(chr(10))}"
    ]


def test_a_scenario_whose_name_has_the_separator_cannot_have_variants() -> None:
    """Their runs would be in the folders of another scenario."""
    _, problems = inspected(BASE.replace("bot", "a::b") + "variants: {v: {}}\n", "v")
    assert "separates a scenario from its variants" in problems[0].message


def test_names_of_models_may_be_variants() -> None:
    """A colon, a slash and Chinese are fine in node ids; folders replace what they cannot hold."""
    _, problems = inspected(f"{BASE}variants: {{'qwen2.5:7b': {{}}, a/b: {{}}, 稠密: {{}}}}\n")
    assert problems == []


def test_names_of_variants_are_read_without_the_rest(tmp_path: Path) -> None:
    """Whatever else is wrong with the file; an override may add some."""
    path = tmp_path / "s.yaml"
    path.write_text("name: bot\nmetrics: 7\nvariants: {b: {}, a: }\n", "utf-8")
    assert variants_in(path) == ("b", "a")
    path.write_text("name: bot\n", "utf-8")
    assert variants_in(path) == ()
    assert variants_in(path, [set_override("--rag-set", "variants.v.dataset=a")]) == ("v",)


def test_an_override_of_a_misspelt_variant_does_not_add_one(tmp_path: Path) -> None:
    """The nearest name is given; a variant that is given as a whole is added."""
    path = tmp_path / "s.yaml"
    path.write_text("name: bot\nvariants: {dense: {}}\n", "utf-8")
    with pytest.raises(ScenarioError, match="unknown variant 'dens'. Did you mean 'dense'"):
        variants_in(path, [set_override("--rag-set", "variants.dens.dataset.limit=4")])
    added = set_override("--rag-set", "variants.dens={dataset: a.jsonl}")
    assert variants_in(path, [added]) == ("dense", "dens")


@pytest.mark.parametrize(
    "given",
    [
        "variants.v.target.headers.X=hidden",
        "variants.v.judge={api_key: hidden}",
        "variants.v={target: {headers: {X: hidden}}}",
        "variants={v: {judge: {api_key: hidden}}}",
    ],
)
def test_no_message_repeats_what_may_be_a_key(given: str) -> None:
    """As without variants: the value may hold a password."""
    assert "hidden" not in set_override("--rag-set", given).flag
    assert "10" in set_override("--rag-set", "variants.v.dataset.limit=10").flag
