"""A15: weights and models are written into a scenario file, and all the rest of it stays."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from load_scenario import load_scenario

from pytest_rageval import UserError, patch_scenario
from pytest_rageval.errors import ScenarioError
from pytest_rageval.scenario import patch
from pytest_rageval.scenario.yaml.tree import parse_yaml

Write = Callable[..., Path]

LONG = "a description that is far longer than any width at which a writer of YAML breaks " * 2
FILE = f"""\
# 客服机器人, reviewed in March
name:   support-bot        # blanks on purpose
"description": '{LONG.strip()}'
dataset: &data
    path: "r.jsonl"
    key_map: {{question: q,answer: a}}
metrics:
- f1
-   em      # strict
x-notes: |+
  # not a comment

metric_weights:   # by hand
      f1: 0.40     # deep

      # the strict one
      em: 1.0e-1
# who judges
judge: 'gpt-4o'  # the large one
doc_weights: {{"322_双源CT成像技术.pdf": 2.0}}   # the handbook
x-copy: *data
gates: {{weighted_score: 0.5, f1: 0.4}}
# the end
"""


@pytest.fixture
def scenario(write: Write) -> Callable[..., Path]:
    """Return a function that writes a scenario, and rows that it can name."""
    return lambda text=FILE: write(text, {"r.jsonl": '{"q": "?", "a": "x", "references": "x"}\n'})


def patched(path: Path, changes: dict[str, Any]) -> tuple[tuple[str, ...], list[str], list[str]]:
    """Patch; return the names, the lines that are gone and those that are new."""
    before = path.read_bytes().decode().splitlines(keepends=True)
    names = patch_scenario(path, changes)
    after = path.read_bytes().decode().splitlines(keepends=True)
    gone = [line for line in before if line not in after]
    fresh = [line for line in after if line not in before]
    kept = [line for line in before if line not in gone]
    assert kept == [line for line in after if line not in fresh]  # and in their order
    return names, gone, fresh


def refusal(path: Path, changes: dict[str, Any]) -> str:
    """Return why a patch is refused; the file must be what it was."""
    before = path.read_bytes(), path.stat()
    with pytest.raises(ScenarioError) as caught:
        patch_scenario(path, changes)
    assert (path.read_bytes(), path.stat()) == before
    assert [found.name for found in path.parent.iterdir() if found.name.startswith(".")] == []
    return str(caught.value)


def test_a_weight_changes_and_every_other_character_stays(scenario: Any) -> None:
    """A15: comments, order, quotes, indentation, anchors, long lines, Chinese."""
    path = scenario()
    names = patch_scenario(path, {"metric_weights": {"f1": 0.25}})
    assert names == ("metric_weights.f1",)
    assert path.read_text(encoding="utf-8") == FILE.replace(
        "f1: 0.40     # deep", "f1: 0.25     # deep"
    )


def test_weights_models_and_judge_at_once(scenario: Any) -> None:
    """A15, A16: the file that comes out says what was asked for."""
    path = scenario()
    names, gone, fresh = patched(
        path,
        {
            "metric_weights": {"f1": 0.3, "em": None},
            "doc_weights": {"b.pdf": 3, "322_双源CT成像技术.pdf": 2},
            "models": {"strong": {"model": "gpt-4o", "price": {"input": 0.00001, "output": 2}}},
            "judge": {"temperature": 0.2},
        },
    )
    assert names == (
        "metric_weights.f1",
        "metric_weights.em",
        "doc_weights.b.pdf",
        "models.strong.model",
        "models.strong.price.input",
        "models.strong.price.output",
        "judge.temperature",
    )
    assert gone == [
        "      f1: 0.40     # deep\n",
        "      em: 1.0e-1\n",
        "judge: 'gpt-4o'  # the large one\n",
        'doc_weights: {"322_双源CT成像技术.pdf": 2.0}   # the handbook\n',
    ]
    assert fresh == [
        "      f1: 0.3     # deep\n",
        "judge: {model: gpt-4o, temperature: 0.2}  # the large one\n",
        'doc_weights: {"322_双源CT成像技术.pdf": 2.0, "b.pdf": 3}   # the handbook\n',
        "models:\n",
        "  strong:\n",
        "    model: gpt-4o\n",
        "    price: {input: 1.0e-05, output: 2}\n",
    ]
    loaded = load_scenario(path).scenario
    assert loaded.metric_weights == {"f1": 0.3}
    assert loaded.doc_weights == {"322_双源CT成像技术.pdf": 2.0, "b.pdf": 3.0}
    assert loaded.judge is not None
    assert (loaded.judge.model, loaded.judge.temperature) == ("gpt-4o", 0.2)


@pytest.mark.parametrize(
    "changes",
    [
        {"metric_weights": {"f1": 0.4}},
        {"metric_weights": {"f1": 0.4, "em": 0.1}, "name": "support-bot"},
        {"judge": "gpt-4o"},
        {"judge": {"model": "gpt-4o"}},
        {"gates": {"f1": {"mean": 0.4}}},
        {"dataset": "r.jsonl"},
        {"metric_weights": {"rouge-l": None}, "thresholds": None},
        {"metrics": ["f1", "em"]},
        {},
    ],
)
def test_what_is_there_already_is_no_change(scenario: Any, changes: dict[str, Any]) -> None:
    """A15: also where a short form says it. The file is not even written anew."""
    path = scenario()
    before = path.stat()
    assert patch_scenario(path, changes) == ()
    assert (path.stat().st_ino, path.stat().st_mtime_ns) == (before.st_ino, before.st_mtime_ns)


def test_numbers_of_one_value_are_no_change_and_booleans_are_no_numbers(scenario: Any) -> None:
    path = scenario("name: s\nmetrics: [em]\ndataset: {rows: [{answer: x}], shuffle: true}\n")
    assert patch_scenario(path, {"dataset": {"shuffle": True}}) == ()
    assert patch_scenario(path, {"dataset": {"shuffle": 1}}) == ("dataset.shuffle",)


@pytest.mark.parametrize(
    ("changes", "names", "line"),
    [
        ({"judge": "gpt-4o-mini"}, ("judge",), "judge: 'gpt-4o-mini'  # the large one"),
        (
            {"gates": {"f1": {"lower_bound": 0.3}}},
            ("gates.f1.lower_bound",),
            "gates: {weighted_score: 0.5, f1: {mean: 0.4, lower_bound: 0.3}}",
        ),
        ({"gates.f1": 0.5}, ("gates.f1",), "gates: {weighted_score: 0.5, f1: 0.5}"),
        ({"gates": {"weighted_score": None}}, ("gates.weighted_score",), "gates: {f1: 0.4}"),
        ({"gates": {"f1": None}}, ("gates.f1",), "gates: {weighted_score: 0.5}"),
        (
            {"doc_weights": {"322_双源CT成像技术.pdf": None}},
            ("doc_weights.322_双源CT成像技术.pdf",),
            "doc_weights: {}   # the handbook",
        ),
        ({'doc_weights."a.pdf"': 2}, ("doc_weights.a.pdf",), None),
        (
            {"name": "支持: v2"},
            ("name",),
            'name:   "支持: v2"        # blanks on purpose',
        ),
        ({"name": "2024"}, ("name",), 'name:   "2024"        # blanks on purpose'),
        ({"metrics": ["f1", "em", "acc"]}, ("metrics",), "- acc"),
    ],
)
def test_one_change_is_one_line(
    scenario: Any, changes: dict[str, Any], names: tuple[str, ...], line: str | None
) -> None:
    found, gone, fresh = patched(scenario(), changes)
    assert found == names
    assert len(gone) <= 1
    assert len(fresh) == 1
    assert line is None or fresh == [line + "\n"]


def test_a_judge_with_settings_keeps_them_when_another_model_is_named(scenario: Any) -> None:
    """A16: as ``--rag-judge-model`` does; a profile says itself where its model is."""
    path = scenario(
        "name: s\nmetrics: [em]\ndataset: r.jsonl\n"
        "models: {strong: {model: big, base_url: 'http://127.0.0.1:9/v1'}}\n"
        "judge: {model: small, base_url: 'http://127.0.0.1:8/v1', temperature: 1}\n"
    )
    assert patch_scenario(path, {"judge": "other"}) == ("judge.model",)
    judge = load_scenario(path).scenario.judge
    assert judge is not None
    assert (judge.model, judge.base_url, judge.temperature) == ("other", "http://127.0.0.1:8/v1", 1)
    assert patch_scenario(path, {"judge": "strong"}) == ("judge.model",)
    judge = load_scenario(path).scenario.judge
    assert judge is not None
    assert (judge.model, judge.base_url, judge.temperature) == ("big", "http://127.0.0.1:9/v1", 1)


def test_a_price_of_one_number_becomes_two(scenario: Any) -> None:
    path = scenario(FILE.replace("judge: 'gpt-4o'", "judge: {model: x, price: 0.15}"))
    names, _, fresh = patched(path, {"judge": {"price": {"input": 0.15, "output": 0.6}}})
    assert names == ("judge.price.output",)
    line = "judge: {model: x, price: {input: 0.15, output: 0.6}}  # the large one\n"
    assert fresh == [line]


def test_a_short_form_goes_with_the_key_that_it_stands_for(scenario: Any) -> None:
    names, gone, fresh = patched(scenario(), {"judge": {"model": None}})
    assert (names, fresh) == (("judge.model",), [])
    assert gone == ["judge: 'gpt-4o'  # the large one\n"]


def test_the_models_of_a_rag_eval_file_keep_their_keys(scenario: Any) -> None:
    """A15, A23."""
    path = scenario("scenario_name: s\ndataset: r.jsonl\njudge_model: a  # !\nmetrics: [em]\n")
    names, _, fresh = patched(path, {"judge": "b", "embedding": {"model": "c"}})
    assert names == ("judge_model", "embedding.model")
    assert fresh == ["judge_model: b  # !\n", "embedding: {model: c}\n"]


def test_the_last_weight_taken_out_leaves_an_empty_mapping(scenario: Any) -> None:
    path = scenario()
    names, gone, fresh = patched(path, {"metric_weights": {"f1": None, "em": None}})
    assert names == ("metric_weights.f1", "metric_weights.em")
    assert fresh == ["metric_weights: {}   # by hand\n"]
    assert "      # the strict one\n" in path.read_text(encoding="utf-8").splitlines(keepends=True)
    assert load_scenario(path).scenario.metric_weights == {}
    assert len(gone) == 3


def test_a_section_that_is_removed_goes_with_its_lines(scenario: Any) -> None:
    path = scenario()
    assert patch_scenario(path, {"metric_weights": None}) == ("metric_weights",)
    start, end = FILE.index("metric_weights:"), FILE.index("# who judges")
    assert path.read_text(encoding="utf-8") == FILE[:start] + FILE[end:]


def test_windows_line_ends_and_a_byte_order_mark_stay(write: Write) -> None:
    """A15."""
    text = "name: s\r\nmetrics: [em, f1]\r\ndataset: r.jsonl\r\nmetric_weights:\r\n  em: 1 # c\r\n"
    path = write(b"\xef\xbb\xbf" + text.encode())
    patch_scenario(path, {"metric_weights": {"em": 2, "f1": 1}, "doc_weights": {"d": 2}})
    assert path.read_bytes() == b"\xef\xbb\xbf" + text.replace("em: 1", "em: 2").encode() + (
        b"  f1: 1\r\ndoc_weights: {d: 2}\r\n"
    )


@pytest.mark.parametrize("end", ["", "\n"])
def test_a_file_without_a_last_line_end_is_added_to(write: Write, end: str) -> None:
    path = write("name: s\nmetrics: [em]\ndataset: r.jsonl" + end)
    patch_scenario(path, {"metric_weights": {"em": 2}})
    assert path.read_text() == (
        "name: s\nmetrics: [em]\ndataset: r.jsonl\nmetric_weights: {em: 2}" + end
    )


def test_a_section_that_is_empty_so_far_is_filled(write: Write) -> None:
    path = write("name: s\nmetrics: [em]\ndataset: r.jsonl\nmetric_weights:  # none yet\n# end\n")
    patch_scenario(path, {"metric_weights": {"em": 2}})
    assert path.read_text().splitlines()[3:] == ["metric_weights: {em: 2}  # none yet", "# end"]


def test_a_json_file_stays_json(tmp_path: Path) -> None:
    """A15, B12: one entry a line where it was so, quotes everywhere, tabs as they are."""
    path = tmp_path / "s.json"
    path.write_text(
        '{\n\t"name": "s",\n\t"dataset": "r.jsonl", "metrics": ["em"],\n'
        '\t"metric_weights": {\n\t\t"em": 1,\n\t\t"f1": 2\n\t}\n}\n'
    )
    changes = {"metric_weights": {"em": None, "acc": 0.5}, "judge": {"model": "支持"}}
    patch_scenario(path, changes)
    assert path.read_text(encoding="utf-8") == (
        '{\n\t"name": "s",\n\t"dataset": "r.jsonl", "metrics": ["em"],\n'
        '\t"metric_weights": {\n\t\t"f1": 2, "acc": 0.5\n\t},\n\t"judge": {"model": "支持"}\n}\n'
    )


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"metric_weights": {"f1": -1}}, "metric_weights.f1: expected a number >= 0, found -1"),
        ({"metric_wieghts": {"f1": 1}}, "Did you mean 'metric_weights'"),
        (
            {"metric_weights": {"f2": 1}},
            "s.yaml:18: metric_weights: unknown metric 'f2'. Known: em, f1",
        ),
        ({"metric_weights": {"f1": 0, "em": 0}}, "all weights are 0; at least one metric must"),
        ({"metrics": ["f1"]}, "metric 'em' is not among the scenario's metrics"),
        ({"thresholds": {"f1": 3}}, "thresholds.f1: min 3 is outside the range 0..1"),
        ({"gates": {"pass_rat": 1}}, "pass_rat"),
        ({"name": None}, "name: required, and missing"),
        ({"judge": {"api_key": "abc"}}, "judge.api_key: looks like a key or password"),
        ({"metric_weights": {"f1": object()}}, "metric_weights.f1: expected text, a number"),
        ({"judge": {"retries": 99}}, "judge.retries: expected a number <= 20"),
    ],
)
def test_a_patch_that_makes_the_file_wrong_is_refused(
    scenario: Any, changes: dict[str, Any], message: str
) -> None:
    """A15: and the file stays what it was."""
    assert message in refusal(scenario(), changes)


def test_problems_that_were_there_before_do_not_stand_in_the_way(write: Write) -> None:
    path = write("name: s\nmetrics: [em]\ndataset: r.jsonl\nmatch: never\nx: 1\n")
    assert patch_scenario(path, {"metric_weights": {"em": 2}}) == ("metric_weights.em",)
    assert "expected a number >= 0" in refusal(path, {"metric_weights": {"em": -2}})


def test_metrics_that_only_pytest_knows_can_be_weighed(write: Write) -> None:
    """B10: a hook may add them; here they are unknown, and so is their weight."""
    path = write("name: s\nmetrics: [em, of_a_hook]\ndataset: r.jsonl\n")
    changes = {"metric_weights": {"of_a_hook": 2}, "thresholds": {"of_a_hook": 0.5}}
    assert len(patch_scenario(path, changes)) == 2


@pytest.mark.parametrize(
    "changes",
    [
        {"judge": {"headers": {"Authorization": "Bearer abcdefghijk"}}},
        {"judge": {"headers": {"X-Api-Key": "s3cret"}}},
        {"embedding": {"base_url": "https://me:s3cret@models.example/v1"}},
        {"models": {"m": {"model": "x", "api_key_env": "sk-abcdefghijklmnopqrst"}}},
        {"models": {"m": {"model": "x", "extra_body": {"token": "s3cret"}}}},
        {"target": {"type": "http", "url": "http://x/", "headers": {"authorization": "s3cret"}}},
        {"target": {"type": "of_a_plugin", "client_secret": "s3cret"}},
        {"judge": {"extra_body": {"openaiApiKey": "s3cret"}}},
    ],
)
def test_keys_and_passwords_are_refused_and_not_quoted(scenario: Any, changes: Any) -> None:
    """A12, A15."""
    message = refusal(scenario(), changes)
    assert "looks like a key or password" in message
    for secret in ("abcdefghijk", "s3cret"):
        assert secret not in message


def test_a_key_that_is_named_is_no_key(scenario: Any) -> None:
    path = scenario()
    headers = {"Authorization": "Bearer ${BOT_TOKEN}"}
    changes = {"judge": {"api_key_env": "BOT_KEY", "headers": headers, "max_tokens": 100}}
    assert len(patch_scenario(path, changes)) == 3
    body = {"session": "{id}", "token": "${BOT_TOKEN}", "max_tokens": "5"}
    assert patch_scenario(path, {"target": {"url": "http://x/", "body": body}})


def test_what_an_alias_shares_is_not_changed_behind_its_back(scenario: Any) -> None:
    """A15: the file says so, and what to do."""
    message = refusal(scenario(), {"dataset": {"limit": 3}})
    assert "dataset.limit cannot be changed in place: aliases (&, *, <<)" in message
    assert "by hand" in message


def test_an_alias_is_written_out_where_its_place_changes(write: Write) -> None:
    path = write(
        "name: s\nmetrics: [em]\ndataset: r.jsonl\n"
        "x-weights: &w {em: 1}\nmetric_weights: *w  # shared\n"
    )
    patch_scenario(path, {"metric_weights": {"em": 2}})
    assert path.read_text().splitlines()[3:] == [
        "x-weights: &w {em: 1}",
        "metric_weights: {em: 2}  # shared",
    ]


def test_a_merged_mapping_gets_a_key_of_its_own(write: Write) -> None:
    text = "name: s\nmetrics: [em]\ndataset: r.jsonl\nx-m: &m {model: a, retries: 1}\n"
    path = write(text + "judge:\n  <<: *m\n  temperature: 0\n")
    assert patch_scenario(path, {"judge": {"retries": 2}}) == ("judge.retries",)
    assert path.read_text() == text + "judge:\n  <<: *m\n  temperature: 0\n  retries: 2\n"
    assert "comes from a merge" in refusal(path, {"judge": {"model": None}})


def test_permissions_and_links_stay(scenario: Any, tmp_path: Path) -> None:
    """A15."""
    path = scenario()
    path.chmod(0o640)
    link = tmp_path / "link.yaml"
    link.symlink_to(path.name)
    assert patch_scenario(link, {"name": "other"}) == ("name",)
    assert link.is_symlink()
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert "name:   other " in path.read_text(encoding="utf-8")


def test_a_write_that_fails_leaves_the_file_and_nothing_else(
    scenario: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A15: the new file comes into place in one step."""

    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    path = scenario()
    monkeypatch.setattr(os, "fsync", fail)
    assert "cannot be written: No space left on device" in refusal(path, {"name": "other"})


@pytest.mark.full
def test_two_processes_do_not_undo_each_others_patches(scenario: Any) -> None:
    """A15: twice eight weights, written at the same time, are all there in the end."""
    path = scenario()
    code = (
        "import sys\nfrom pytest_rageval import patch_scenario\n"
        "for at in range(8):\n"
        "    patch_scenario(sys.argv[1], {'doc_weights': {sys.argv[2] + str(at): at + 1}})\n"
    )
    running = [
        subprocess.Popen([sys.executable, "-c", code, str(path), name], stderr=subprocess.PIPE)
        for name in ("a", "b")
    ]
    for process in running:
        _, errors = process.communicate(timeout=60)
        assert process.returncode == 0, errors
    weights = load_scenario(path).scenario.doc_weights
    expected = {f"{name}{at}": at + 1.0 for name in "ab" for at in range(8)}
    assert weights == {"322_双源CT成像技术.pdf": 2.0} | expected


def test_what_an_editor_saves_meanwhile_is_kept(
    scenario: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A15: it knows of no lock; the patch is made anew of what it wrote."""
    path, made = scenario(), patch.patched_text

    def slow(*arguments: Any) -> Any:
        found = made(*arguments)
        if "# saved meanwhile" not in path.read_text("utf-8"):
            path.write_text(FILE + "# saved meanwhile\n", "utf-8")
        return found

    monkeypatch.setattr(patch, "patched_text", slow)
    assert patch_scenario(path, {"metric_weights": {"f1": 0.5}}) == ("metric_weights.f1",)
    assert path.read_text("utf-8") == FILE.replace("f1: 0.40 ", "f1: 0.5 ") + "# saved meanwhile\n"


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="cannot be read: No such file"):
        patch_scenario(tmp_path / "none.yaml", {"name": "s"})


def test_the_rest_of_a_judge_stands_beside_the_model_of_a_rag_eval_file(scenario: Any) -> None:
    """A15, A23."""
    path = scenario("scenario_name: s\ndataset: r.jsonl\njudge_model: a  # !\nmetrics: [em]\n")
    names, gone, fresh = patched(path, {"judge": {"model": "b", "temperature": 0.2}})
    assert names == ("judge_model", "judge.temperature")
    assert (gone, fresh) == (
        ["judge_model: a  # !\n"],
        ["judge_model: b  # !\n", "judge: {temperature: 0.2}\n"],
    )
    judge = load_scenario(path).scenario.judge
    assert judge is not None
    assert (judge.model, judge.temperature) == ("b", 0.2)


BOTH = """\
scenario_name: s
dataset: r.jsonl
judge_model: a  # !
judge: {temperature: 0.2}
embedding_model: e
embedding: {batch_size: 8}
metrics: [em]
"""


@pytest.mark.parametrize(
    "changes",
    [
        {"judge": {"model": "b"}, "embedding": {"model": "f"}},
        {"judge": "b", "embedding": "f"},
        {"judge.model": "b", "embedding_model": "f"},
    ],
)
def test_a_model_is_written_where_the_file_says_it(scenario: Any, changes: Any) -> None:
    """M1: beside ``judge``, which says the rest."""
    path = scenario(BOTH)
    names, _, fresh = patched(path, changes)
    assert names == ("judge_model", "embedding_model")
    assert fresh == ["judge_model: b  # !\n", "embedding_model: f\n"]
    found = load_scenario(path).scenario
    assert found.judge is not None
    assert (found.judge.model, found.judge.temperature) == ("b", 0.2)


def test_twice_is_as_once(scenario: Any) -> None:
    """M1: the first patch adds ``judge`` beside ``judge_model``, the second finds both."""
    path = scenario("scenario_name: s\ndataset: r.jsonl\njudge_model: a\nmetrics: [em]\n")
    for model in ("b", "c"):
        names = patch_scenario(path, {"judge": {"model": model, "temperature": 0.2}})
        assert "judge_model" in names
        found = load_scenario(path).scenario.judge
        assert found is not None
        assert (found.model, found.temperature) == (model, 0.2)


def test_a_judge_that_is_taken_out_is_gone_by_both_names(scenario: Any) -> None:
    """M1: what would stay, would judge on, or need a model."""
    path = scenario(BOTH)
    names, gone, fresh = patched(path, {"judge": None})
    assert names == ("judge", "judge_model")
    assert (gone, fresh) == (["judge_model: a  # !\n", "judge: {temperature: 0.2}\n"], [])


def test_a_model_that_both_names_say_is_written_under_ours(scenario: Any) -> None:
    """M1: a patch does not repair what is wrong with the file already."""
    path = scenario(BOTH.replace("{temperature", "{model: j, temperature"))
    names, _, fresh = patched(path, {"judge": {"model": "b"}})
    assert names == ("judge.model",)
    assert fresh == ["judge: {model: b, temperature: 0.2}\n"]


@pytest.mark.parametrize(
    ("text", "changes", "message"),
    [
        (
            "benchmark: {path: r.jsonl, limit: 5}\nevaluation: {metrics: [em]}\n",
            {"dataset": {"limit": 7}},
            "dataset.limit: has no effect in this file",
        ),
        (
            "scenario_name: s\ndataset: r.jsonl\nmetrics: [em]\nruntime: {max_samples: 5}\n",
            {"dataset.limit": 7},
            "runtime.max_samples and dataset.limit say the same",
        ),
    ],
    ids=["ultrarag", "rag_eval"],
)
def test_what_would_change_nothing_is_not_written(
    scenario: Any, text: str, changes: dict[str, Any], message: str
) -> None:
    """A15: the file says it by the other system's key; that one can be changed."""
    path = scenario(text)
    with pytest.raises(UserError, match=message):
        patch_scenario(path, changes)
    assert path.read_text() == text
    own = "benchmark.limit" if "benchmark" in text else "runtime.max_samples"
    assert patch_scenario(path, {own: 7}) == (own,)
    assert load_scenario(path).scenario.dataset.limit == 7


@pytest.mark.parametrize(
    ("section", "changes", "name", "line"),
    [
        ("metric_weights: {RR: 2}", {"metric_weights": {"mrr": 3}}, "RR", "{RR: 3}"),
        ("thresholds: {nDCG@10: 0.1}", {"thresholds.ndcg@10": 0.2}, "nDCG@10", "{nDCG@10: 0.2}"),
        ("gates: {RR: 0.1}", {"gates": {"mrr": 0.2}}, "RR", "{RR: 0.2}"),
        ("gates: {RR: 0.1}", {"gates": {"recip_rank": 0.1}}, "", "{RR: 0.1}"),
        (
            "gates: {by: {lang: {RR: 0.1}}}",
            {"gates": {"by": {"lang": {"mrr": 0.2}}}},
            "by.lang.RR",
            "{by: {lang: {RR: 0.2}}}",
        ),
    ],
)
def test_a_metric_by_another_name_is_changed_where_it_stands(
    write: Write, section: str, changes: dict[str, Any], name: str, line: str
) -> None:
    """A15: it would be named twice otherwise."""
    rows = "dataset: [{retrieved_ids: [a], reference_ids: [a], lang: de}]\n"
    path = write(f"name: s\nmetrics: [nDCG@10, RR]\n{rows}{section}\n")
    key = section.partition(":")[0]
    names, _, fresh = patched(path, changes)
    assert names == ((f"{key}.{name}",) if name else ())
    assert fresh == ([f"{key}: {line}\n"] if name else [])


@pytest.mark.parametrize(
    ("gates", "expected"),
    [
        ("{by: {lang: {em: 0.9}}}", "{by: {lang: {em: {mean: 0.9, lower_bound: 0.01}}}}"),
        (
            "{by: {lang: {em: {min: 0.9}}}}",
            "{by: {lang: {em: {mean: {min: 0.9}, lower_bound: 0.01}}}}",
        ),
    ],
)
def test_a_check_is_added_beside_the_short_form_of_a_mean(
    write: Write, gates: str, expected: str
) -> None:
    """A15: at the top and in slices; the bound of the mean stays."""
    head = "name: s\nmetrics: [em]\ndataset: [{answer: x, references: [x], lang: de}]\n"
    path = write(f"{head}gates: {gates}\n")
    check = {"em": {"lower_bound": 0.01}}
    assert patch_scenario(path, {"gates": {"by": {"lang": check}}}) == (
        "gates.by.lang.em.lower_bound",
    )
    assert load_scenario(path).scenario.gates == parse_yaml(expected, "").data
    path = write(f"{head}gates: {gates.removeprefix('{by: {lang: ').removesuffix('}}')}\n")
    assert patch_scenario(path, {"gates": check}) == ("gates.em.lower_bound",)
    assert load_scenario(path).scenario.gates == parse_yaml(expected, "").data["by"]["lang"]


def test_changes_nested_too_deeply_are_refused(scenario: Callable[..., Path]) -> None:
    """[E12]"""
    deep: Any = "x"
    for _ in range(3000):
        deep = [deep]
    assert "nested too deeply" in refusal(scenario(), {"x-own": deep})
