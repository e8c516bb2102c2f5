"""An empty value is refused: a gate must not go with a variable that a script did not set."""

from __future__ import annotations

import pytest

from tests.plugin.conftest import Project, Run, interrupted, wrong_use

# em: 1 and 0, so the gate fails wherever it is there.
RED = """
    name: qa
    metrics: [em]
    thresholds: {em: 0}
    gates: {em: 0.9}
    dataset:
      - {id: a, answer: Paris, references: [Paris]}
      - {id: b, answer: Rome, references: [Paris]}
"""


@pytest.fixture(autouse=True)
def _red(project: Project) -> None:
    project.scenario(RED)


def test_the_message_says_how_to_remove_a_key(project: Project) -> None:
    """V4: ``null``, in words."""
    said = project.pytest("--rag-set=gates.em=").stderr.str()
    assert "--rag-set gates.em=: found no value; expected one, or null to remove the key" in said


@pytest.mark.full
@pytest.mark.parametrize("word", ["null", "~", "Null", "NULL"])
def test_null_in_words_removes_the_gate(
    project: Project, monkeypatch: pytest.MonkeyPatch, word: str
) -> None:
    """V4: by an option and a variable; in the file it is a value like others."""
    assert project.pytest(f"--rag-set=gates.em={word}").ret == pytest.ExitCode.OK
    monkeypatch.setenv("RAGEVAL_SET", f"gates.em={word}")
    assert project.pytest().ret == pytest.ExitCode.OK
    monkeypatch.delenv("RAGEVAL_SET")
    project.scenario(RED.replace("{em: 0.9}", "{em: 0.5}") + f"    empty_answer: {word}")
    assert project.pytest().ret == pytest.ExitCode.OK


@pytest.mark.parametrize("text", ["em=0.5;", ";", "em=0.5;;pass_rate=0.5"])
def test_an_empty_part_of_a_variable_is_wrong_use(
    project: Project, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    """V4: ``RAGEVAL_GATE="em=0.5;$MORE"`` without ``MORE``."""
    monkeypatch.setenv("RAGEVAL_GATE", text)
    result = wrong_use(project.pytest())
    result.stderr.fnmatch_lines(["*RAGEVAL_GATE: expected *between*;*"])


@pytest.mark.full
@pytest.mark.parametrize(
    ("old", "new", "at"),
    [
        ("gates: {em: 0.9}", "gates: {em: }", "4: gates.em"),
        ("gates: {em: 0.9}", "gates: {em: {mean: }}", "4: gates.em.mean"),
        ("gates: {em: 0.9}", "gates:", "4: gates"),
        ("gates: {em: 0.9}", "gates:\n      # em: 0.9", "4: gates"),
        ("gates: {em: 0.9}", "variants: {one: {gates: {em: }}}", "4: variants.one.gates.em"),
        ("thresholds: {em: 0}", "thresholds: {em: }", "3: thresholds.em"),
        ("thresholds: {em: 0}", "empty_answer:", "3: empty_answer"),
    ],
)
def test_an_empty_value_in_the_file_is_refused(
    project: Project, run: Run, old: str, new: str, at: str
) -> None:
    """V4: by line and key; of a scenario, that is exit status 2."""
    assert old in RED
    project.scenario(RED.replace(old, new))
    result = interrupted(run())
    result.stdout.fnmatch_lines([f"*qa.rageval.yaml:{at}: is empty; *null*"])
    assert project.wrote_nothing


@pytest.mark.full
def test_other_keys_and_rows_may_be_empty(project: Project) -> None:
    """V4: a row's empty cell is a missing value, as in a table; what is no key of ours is not."""
    text = RED.replace("answer: Rome", "answer: ").replace("name: qa", "name: qa\n    x-owner:")
    project.scenario(text)
    project.pytest()
    assert project.results()["counts"]["invalid"] == 1
    project.scenario(RED.replace("gates: {em: 0.9}", "variants: {plain: , strict: {seed: 1}}"))
    assert "is empty" not in project.pytest().stdout.str()
