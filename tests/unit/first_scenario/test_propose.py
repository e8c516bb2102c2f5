"""E22: a data file becomes a scenario that runs, or a message says what it lacks."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest
from proposals import proposed, refused

from pytest_rageval.errors import ScenarioError
from pytest_rageval.first_scenario.propose import propose
from pytest_rageval.scenario.loader import inspect_scenario, parse_scenario

TABLES = tomllib.loads(Path(__file__).with_name("propose.toml").read_text("utf-8"))

ROWS = [
    {"question": "How long?", "answer": "five days", "expected": "five days", "kind": "a"},
    {"question": "A fee?", "answer": "yes", "expected": "none", "kind": "a"},
    {"question": "Who pays?", "answer": "the shop", "expected": "you", "kind": "b"},
    {"question": "How?", "answer": "by mail", "expected": "by mail", "kind": "b"},
]


def test_the_text_is_a_scenario(tmp_path: Path) -> None:
    """Three rows were tried: em 1, 0, 0 and f1 the same, so 0.3333; the fourth was not."""
    found = proposed(tmp_path, ROWS)
    assert found.file_name == "my data.rageval.yaml"
    data = parse_scenario(found.text, Path("x.yaml"), "x.yaml").data
    assert data == {
        "name": "my data",
        "dataset": {"path": "my data.json", "key_map": {"references": "expected"}},
        "metrics": ["em", "f1", "rouge-l"],
        "gates": {"weighted_score": 0.5},
    }
    assert "# the first 3 rows gave 0.3333: read their answers, then set what is" in found.text
    assert list(found.missed) == [("weighted_score", 0.5)]
    assert "# Found by their own names: question, answer." in found.text
    assert [one.name for one in tmp_path.iterdir()] == ["my data.json"]  # nothing is written


def test_the_comments_can_be_switched_on(tmp_path: Path) -> None:
    """With the marks of its commented gates removed, the text is still a scenario."""
    text = proposed(tmp_path, [*ROWS, {"question": "Lost?", "answer": "so"}]).text
    text = (
        text.replace("\n  #   ", "\n      ")
        .replace("\n  # by", "\n  by")
        .replace("\n  # un", "\n  un")
    )
    path = tmp_path / "x.rageval.yaml"
    path.write_text(text, encoding="utf-8")
    loaded, problems = inspect_scenario(path)
    assert not problems
    gates = loaded.tree.data["gates"]
    assert gates["by"] == {"kind": {"weighted_score": 0.4}}
    assert gates["unscored"] == 0.2  # 1 of 5 rows has nothing to compare with


def test_the_share_of_rows_without_gold_is_rounded_up(tmp_path: Path) -> None:
    """1 of 3: a bound of 0.33 would fail."""
    found = proposed(tmp_path, [*ROWS[:2], {"question": "Lost?", "answer": "so"}])
    assert "# unscored: 0.34 " in found.text
    assert found.measures.bare_rows == 1
    rows = [{**row, "answerable": at != 2} for at, row in enumerate(ROWS)]
    rows[2].pop("expected")  # is to be refused, and needs nothing to compare with
    assert "unscored" not in proposed(tmp_path, rows).text


def test_gold_alone_asks_a_system(tmp_path: Path) -> None:
    """By a module beside the scenario, whose function is to be written."""
    rows = [{"question": row["question"], "answer": row["expected"]} for row in ROWS]
    found = proposed(tmp_path, rows)
    assert found.tried is None
    assert list(found.missed) == []
    assert 'target: "my_data_target:answer"' in found.text
    assert "needs pytest-rageval[judge]" in found.text
    assert "controls: require}  # pytest-rageval[ragas]" in found.text
    assert "references: answer  " in found.text.replace("    ", " ").replace("  ", "  ")
    assert "the gold: it is alone" in found.text
    assert found.target is not None
    assert found.target[0] == "my_data_target.py"
    assert "def answer(question: str) -> str:" in found.target[1]
    assert "\n    Write it here, for example::\n\n        from my_app" in found.target[1]


def asked(target: tuple[str, str] | None) -> str:
    """Return what the function of the module says when it is called."""
    assert target is not None
    space: dict[str, Any] = {}
    exec(compile(target[1], target[0], "exec"), space)
    with pytest.raises(NotImplementedError) as caught:
        space["answer"]("How long?")
    return str(caught.value)


@pytest.mark.parametrize(
    ("name", "module"),
    [
        ("问题.json", "asked_target"),
        ("2 gold-set.json", "ask_2_gold_set_target"),
        ('it\'s """ \\.json', "it_s_target"),
    ],
)
def test_any_file_name_gives_a_module_that_can_be_imported(
    tmp_path: Path, name: str, module: str
) -> None:
    """Whatever the name, the text is Python."""
    file = tmp_path / name
    file.write_text(json.dumps([{"question": "Who?", "expected": "you"}]), encoding="utf-8")
    found = propose(file, tmp_path, {})
    assert f'target: "{module}:answer"' in found.text
    assert asked(found.target) == f"write in {module}.py how your system is asked"


def test_a_search_is_asked_for_what_it_found(tmp_path: Path) -> None:
    """The ids beside the answer; in a package, the module is named as it is imported."""
    (tmp_path / "evals").mkdir()
    (tmp_path / "evals" / "__init__.py").touch()
    file = tmp_path / "gold.json"
    file.write_text(json.dumps([{"question": "Who?", "relevant_ids": ["a"]}]), encoding="utf-8")
    found = propose(file, tmp_path / "evals", {})
    assert 'target: "evals.gold_target:answer"' in found.text
    assert "Write how in gold_target.py" in found.text
    assert found.target is not None
    assert '"retrieved_ids": rag.search(question)' in found.target[1]
    assert asked(found.target).startswith("write in gold_target.py")


LONG = "Employees who work full time get {} of paid leave in every year."


def test_answers_in_sentences_have_to_hold_the_reference(tmp_path: Path) -> None:
    """Two of three do; f1 is shown with the weight 0, and the comment says what nobody sees."""
    rows = [
        {"question": f"Leave {at}?", "answer": LONG.format(days), "expected": f"{at} days"}
        for at, days in ((25, "25 days"), (30, "30 days"), (5, "15 days"))
    ]
    found = proposed(tmp_path, rows)
    data = parse_scenario(found.text, Path("x.yaml"), "x.yaml").data
    assert data["metric_weights"] == {"coverem": 1.0, "f1": 0.0, "rouge-l": 0.0}
    assert "# the first 3 rows gave 0.6667\n" in found.text
    assert "# contradicts it counts as right, a right one in other words as wrong: " in found.text
    assert list(found.missed) == []


def test_checks_have_to_pass(tmp_path: Path) -> None:
    """All of them: half of the answers with forbidden texts are not good enough."""
    rows = [
        {"question": f"{one}?", "bot_answer": one, "must_not_include": ["sorry"]}
        for one in ("sorry", "yes", "no")
    ]
    found = proposed(tmp_path, rows)
    data = parse_scenario(found.text, Path("x.yaml"), "x.yaml").data
    assert data["gates"] == {"must_not_include": 1}
    assert "# the first 3 rows gave 0.6667: read their answers" in found.text


def test_a_second_file_is_joined_by_the_ids(tmp_path: Path) -> None:
    """Named as the data call them; without ids there is nothing to join by."""
    rows = [
        {"qid": f"q{at}", "question": row["question"], "expected": row["expected"]}
        for at, row in enumerate(ROWS)
    ]
    text = proposed(tmp_path, rows).text
    assert "no target is needed:  answers: {path: recorded.jsonl, key: qid}" in text
    text = proposed(tmp_path, [{**row, "qid": None} for row in rows]).text
    assert "second file" not in text


def test_data_elsewhere_are_named_relatively(tmp_path: Path) -> None:
    """From the folder of the scenario, with slashes."""
    folder = tmp_path / "evals" / "bot"
    folder.mkdir(parents=True)
    file = tmp_path / "rows.json"
    file.write_text(json.dumps(ROWS), encoding="utf-8")
    assert "path: ../../rows.json\n" in propose(file, folder, {}).text.replace('"', "")


def test_keys_that_the_user_gives_are_written(tmp_path: Path) -> None:
    """Such as the encoding; a key map settles a doubt."""
    rows = [
        {"question": row["question"], "answer": row["answer"], "context": "x y"} for row in ROWS
    ]
    assert "add --rag-set=dataset.key_map.references=answer" in refused(tmp_path, rows)
    given = {"key_map": {"references": "answer"}, "on_invalid": "skip"}
    text = proposed(tmp_path, rows, given).text
    assert "on_invalid: skip" in text
    assert "references: answer" in text


def test_of_other_columns_the_first_is_always_named(tmp_path: Path) -> None:
    """A name too long for the line left "Metadata:  and 1 more"."""
    text = proposed(tmp_path, [{"n" * 90: "x"} | row for row in ROWS]).text
    assert f"\n  # Metadata: {'n' * 39}…, kind.\n" in text


def test_without_gold_the_message_says_what_to_add(tmp_path: Path) -> None:
    """And which columns there are."""
    message = refused(tmp_path, [{"question": "Who?", "topic": "a"}])
    assert message.startswith("my data.json: no gold: no column says what is right")
    assert "Add a column 'reference' (the right answer)" in message
    assert "Found: question ('question'). Columns: 'question', 'topic'" in message
    message = refused(tmp_path, [{"question": "Who?", "expected_doc_ids": "a,b"}])
    assert "'expected_doc_ids' seems to hold several ids in a cell" in message


def test_without_questions_it_says_so(tmp_path: Path) -> None:
    """Scores of models, for instance, are no data to evaluate."""
    message = refused(tmp_path, [{"model": "a", "rank": 1}])
    assert "no column looks like questions. Columns: 'model', 'rank'" in message
    message = refused(tmp_path, [{"headline": f"Is it {at}?", "expected": "yes"} for at in "ab"])
    assert "If 'headline' is the question, add --rag-set=dataset.key_map.question=head" in message


def test_documents_named_by_the_data_of_a_column_with_blanks_are_quoted_for_a_shell(
    tmp_path: Path,
) -> None:
    """The message can be pasted."""
    message = refused(
        tmp_path, [{"Question": f"{at}?", "Answer (long)": "a b", "context": "x"} for at in "ab"]
    )
    assert "\"--rag-set=dataset.key_map.references='Answer (long)'\"" in message


def test_a_scenario_or_a_promptfoo_file_is_no_data(tmp_path: Path) -> None:
    """Run or import it instead."""
    path = tmp_path / "x.yaml"
    path.write_text("name: x\ndataset: a.jsonl\nmetrics: [f1]\n", encoding="utf-8")
    with pytest.raises(ScenarioError, match="no data, but a scenario; run it: pytest x.yaml"):
        propose(path, tmp_path, {})
    path.write_text("prompts: [a]\nproviders: [b]\ntests: [{vars: {q: c}}]\n", encoding="utf-8")
    with pytest.raises(ScenarioError, match="promptfoo configuration: pytest --rag-import=x.yaml"):
        propose(path, tmp_path, {})


def test_columns_that_the_first_rows_lack_are_no_hindrance(tmp_path: Path) -> None:
    """Optional ones come later, if at all."""
    rows = [*ROWS, {**ROWS[0], "question": "When?", "must_not_include": ["never"]}]
    assert proposed(tmp_path, rows).measures.metrics[-1] == "must_not_include"


def test_invalid_rows_are_counted_and_the_first_valid_ones_tried(tmp_path: Path) -> None:
    """No row is lost in silence."""
    found = proposed(tmp_path, [*({"question": ["no text"]} for _ in range(4)), *ROWS])
    assert len(found.invalid) == 4
    assert found.tried is not None
    assert found.tried.counts.passed + found.tried.counts.failed == 3


@pytest.mark.parametrize(
    "names", [("query-id", "corpus-id", "score"), ("q1", "0", "d7", "2"), ("qid", "docId", "rel")]
)
def test_judgements_go_with_a_run(tmp_path: Path, names: tuple[str, ...]) -> None:
    """qrels with a header, in JSON, or without one, whose first line is taken for it."""
    message = refused(tmp_path, [dict.fromkeys(names, "q2"), dict.fromkeys(names, "q3")])
    assert "dataset: {qrels_path: my data.json, run_path: YOUR_RUN}" in message


def test_hostile_names_and_cells_stay_within_their_lines(tmp_path: Path) -> None:
    """Comments would end at a line break, and YAML refuses control characters."""
    rows = [{**row, "a\nmetrics: [x]\x1b[2J": f"b\n{at % 2}\x07"} for at, row in enumerate(ROWS)]
    found = proposed(tmp_path, rows)
    data = parse_scenario(found.text, Path("x.yaml"), "x.yaml").data
    assert data["metrics"] == ["em", "f1", "rouge-l"]
    assert "\x1b" not in "".join("".join(column.examples) for column in found.table.columns)


def test_a_blank_column_is_no_answer(tmp_path: Path) -> None:
    """deepeval saves all its columns, those that a system is yet to fill, too."""
    file = tmp_path / "tests.csv"
    file.write_text("input,actual_output,expected_output\nHow long?,,five days\n", encoding="utf-8")
    assert propose(file, tmp_path, {}).measures.asks == ("answer",)


def test_two_golds_are_refused_until_one_is_named(tmp_path: Path) -> None:
    """A27: the ``key_map`` of the proposal would name the better one, and nobody would see."""
    rows = [{"question": "How long?", "reference_answer": "five", "expected_answer": "six days"}]
    message = refused(tmp_path, rows)
    assert "'reference_answer' and 'expected_answer' may both be the right answer" in message
    for column in ("reference_answer", "expected_answer"):
        assert f"add --rag-set=dataset.key_map.references={column}" in message
    given = {"key_map": {"references": "reference_answer"}}
    assert proposed(tmp_path, rows, given).mapped.fields["references"].column == "reference_answer"


def test_a_column_that_was_named_is_written_though_its_name_is_ours(tmp_path: Path) -> None:
    """A27: without the line, a column of the same meaning would be a doubt."""
    rows = [{"question": "How?", "answer": "five", "output": "six", "reference": "five days"}]
    found = proposed(tmp_path, rows, {"key_map": {"answer": "answer"}})
    assert "    answer: answer " in found.text


def test_typographic_quotes_make_no_right_answer_wrong(tmp_path: Path) -> None:
    """By hand: each answer holds the words of its reference, so coverem is 1."""
    rows = [
        {"question": "Where?", "answer": "Click on the “Forgot password” link", "expected": "link"},
        {"question": "Who?", "answer": "Our parcels go by “DHL”", "expected": "DHL"},
        {"question": "How long?", "answer": "Five working days—counted", "expected": "five days"},
    ]
    found = proposed(tmp_path, rows)
    data = parse_scenario(found.text, Path("x.yaml"), "x.yaml").data
    assert data["metric_options"] == {"normalizer": "unicode"}
    assert found.tried is not None
    assert found.tried.mean_of("coverem") == 1.0


def test_whole_objects_may_be_a_field(tmp_path: Path) -> None:
    """X2: the table has a column for each of their parts, the field has none."""
    found = proposed(
        tmp_path,
        [
            {"question": f"q{at}", "answer": "a", "references": ["a"], "reference_ids": {"d1": 2}}
            for at in range(3)
        ],
    )
    data = parse_scenario(found.text, Path("x.yaml"), "x.yaml").data
    assert data["metrics"] == ["em", "f1", "rouge-l"]


@pytest.mark.parametrize(
    ("row", "given"),
    TABLES["paths_that_were_given_are_read"],
)
def test_paths_that_were_given_are_read(
    tmp_path: Path, row: dict[str, Any], given: dict[str, str]
) -> None:
    """K17: the answers are those of the gold, so em is 1."""
    found = proposed(tmp_path, [row] * 3, {"key_map": given})
    data = parse_scenario(found.text, Path("x.yaml"), "x.yaml").data
    assert given.items() <= data["dataset"]["key_map"].items()
    assert data["metrics"] == ["em", "f1", "rouge-l"]
    assert "# the first 3 rows gave 1.0000" in found.text


def test_a_path_that_leads_nowhere_is_refused(tmp_path: Path) -> None:
    """X2, K17: in words."""
    with pytest.raises(ScenarioError, match="gold"):
        proposed(tmp_path, ROWS, {"key_map": {"references": "gold[*].text"}})
