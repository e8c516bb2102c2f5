"""E22: what a red run says is to be run next: which command, spelled how, and when none."""

from __future__ import annotations

import shlex
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from decided_result import decided

from pytest_rageval.model import GateResult, ScenarioResult
from pytest_rageval.plugin.show.next_command import Step, Told, _expanded, next_command
from pytest_rageval.plugin.show.next_steps import Ended, is_to_be_read, next_step


@pytest.fixture(autouse=True)
def _started_as_pytest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["/usr/bin/pytest"])


def result(*gates: GateResult, **counts: int) -> ScenarioResult:
    made = decided({"em": [1.0, 0.0]}, {})
    return replace(made, gates=gates, counts=replace(made.counts, **counts))


def gate(name: str = "em.mean", outcome: Any = "failed", message: str = "0.5 < 0.9") -> GateResult:
    return GateResult(name, outcome, 0.5, 0.9, message)


def asked(made: ScenarioResult) -> ScenarioResult:
    return replace(made, info=replace(made.info, target="app:answer"))


def unwritten(*overridden: str) -> ScenarioResult:
    """Return the result of a scenario whose function is still to be written."""
    made = asked(result(gate(), error=1))
    error = {"target": "app:answer: NotImplementedError: write it"}
    samples = [replace(one, errors=error) for one in made.samples]
    return replace(made, samples=samples, info=replace(made.info, overridden=overridden))


STRICT = gate(message="2 of 9 samples ran (strict: undecided fails)")


@pytest.mark.parametrize(
    ("results", "more", "step"),
    [
        ([result()], {}, None),
        ([result(gate(outcome="passed")), result(gate(outcome="skipped"))], {}, None),
        ([result(failed=1)], {}, "failed"),
        ([result(), result(error=1)], {}, "failed"),
        ([result(gate())], {}, "failed"),
        ([result()], {"gates": [gate("best")]}, "failed"),
        ([result()], {"has_broken_cases": True}, "failed"),
        # Samples that were left over have to run: only then a gate is decided, or a run saved.
        ([result(STRICT)], {}, "whole"),
        ([result(STRICT, gate("save:main"))], {}, "whole"),
        ([result(STRICT, failed=1)], {}, "failed"),
        ([result(STRICT, gate("f1.mean"))], {}, "failed"),
        ([result(failed=1)], {"is_stopped": True}, "stopped"),
        ([result(STRICT)], {"is_stopped": True}, "stopped"),
        ([result()], {"is_stopped": True}, None),
        ([], {"refusals": ["qa.yaml:3: metrics.0: no metric"]}, "check"),
        ([result(failed=1)], {"refusals": ["qa.yaml:3: metrics.0: no metric"]}, "check"),
        ([], {"refusals": ["qa.csv: not UTF-8. Here: --rag-set=x=VALUE: or"]}, "check"),
        ([unwritten()], {}, "answers"),
        ([unwritten(), result()], {"is_stopped": True}, "answers"),
        ([unwritten(), result(failed=1)], {}, "failed"),
        ([unwritten("target")], {}, "failed"),
        ([unwritten("target.import")], {}, "failed"),
        # The same option would be refused again.
        ([], {"refusals": ["my bot.yaml: --rag-where a=b: unknown field 'a'"]}, None),
        ([], {"refusals": ["\nRAGEVAL_SET judge=x: no model"]}, None),
        (
            [],
            {"refusals": ["metric 'em' needs 'answer'; no. Or under 'target'"]},
            "answers",
        ),
    ],
)
def test_what_is_next(
    results: list[ScenarioResult], more: dict[str, Any], step: Step | None
) -> None:
    """[E22] What failed; after ``-x`` that first and then the rest, else some would never run."""
    assert next_step(Ended([(one, "no folder") for one in results], **more)) == step


@pytest.mark.parametrize(
    ("given", "step", "expected"),
    [
        # As the user named it, from the folder where the user is.
        ("", "failed", "--lf"),
        ("'my bot/qa.yaml' -n 2 -v", "failed", "'my bot/qa.yaml' -n 2 -v --lf"),
        ("--rag-scenario='eval/**/*.yaml' -c o.ini", "failed", "'--rag-scenario=eval/**/*.yaml' "
         "-c o.ini --lf"),
        ("--rag-scenario qa.yaml::q1 --rag-gate f1=0.5", "failed", "--rag-scenario qa.yaml::q1 "
         "--rag-gate f1=0.5 --lf"),
        # Once, and without what a part of the samples cannot do.
        ("--lf -k fees", "failed", "-k fees --lf"),
        ("--last-failed --sw a.yaml", "failed", "a.yaml --lf"),
        ("a.yaml --rag-save main --rag-strict -q", "failed", "a.yaml -q --lf"),
        ("--rag-save=main --rag-save-answers=x.csv a.yaml", "failed", "a.yaml --lf"),
        ("-x --lf a.yaml --rag-save main", "stopped", "-x a.yaml --rag-save main --ff"),
        # Every sample: nothing that chooses some, and no sample's name after a path.
        ("-k fees -mslow a.yaml --rag-strict", "whole", "a.yaml --rag-strict"),
        ("--rag-where=t=a --rag-where t=b --rag-limit 3 a.yaml", "whole", "a.yaml"),
        ("a.yaml::q1 a.yaml::q2 t.py::test_it", "whole", "a.yaml t.py::test_it"),
        ("--rag-scenario=a.yaml::v::q1 --rag-variant v", "whole", "--rag-scenario=a.yaml"),
        ("--rag-scenario a.yaml::a --rag-scenario a.yaml::b -q", "whole",
         "--rag-scenario a.yaml -q"),
        ("a.yaml --rag-doc-weight d1=2 --rag-doc-weight d2=1 -n 2 --rag-keep 2 --rag-limit 2",
         "whole", "a.yaml --rag-doc-weight d1=2 --rag-doc-weight d2=1 -n 2 --rag-keep 2"),
        ("a.yaml::q -W ignore::UserWarning -W ::UserWarning", "whole",
         "a.yaml -W ignore::UserWarning -W ::UserWarning"),
        ("a.yaml --rag-set dataset.limit=1 --rag-set=dataset.limit=2 --rag-set seed=1", "whole",
         "a.yaml --rag-set seed=1"),
        ("""a.yaml --rag-set 'dataset={"path": "a b.csv", "limit": 1}'""", "whole",
         """a.yaml --rag-set 'dataset={"path": "a b.csv"}'"""),
        ("""a.yaml '--rag-set=dataset={"path": "a", "limit": 1}' --rag-set=dataset=b.csv""",
         "whole",
         """a.yaml '--rag-set=dataset={"path": "a"}' --rag-set=dataset=b.csv"""),
        ("-qk sample-1 a.yaml", "whole", "-q a.yaml"),
        ("a.yaml -vvmslow", "whole", "a.yaml -vv"),
        ("a.yaml -k q --rag-keep 1", "failed", "a.yaml -k q --lf"),
        ("a.yaml --lf", "failed", "a.yaml --lf"),
        ("--cache-clear a.yaml", "failed", "a.yaml --lf"),
        ("a.yaml --rag-dry-run", "answers", "a.yaml --rag-set=target=MODULE:FUNCTION"),
        ("--lf a.yaml --rag-save m", "page", "a.yaml --rag-save m --rag-report=html"),
        ("--deselect a.yaml::gate:x --rag-save m", "whole", "--rag-save m"),
        ("a.yaml --rag-label=20", "check", "a.yaml --rag-dry-run"),
        ("a.yaml --rag-label 20", "check", "a.yaml --rag-dry-run"),
    ],
)  # fmt: skip
def test_the_command_is_the_users_own(given: str, step: Step, expected: str) -> None:
    """[E22] Only words that are paths lose what follows ``::``, or a second mention."""
    words = shlex.split(given)
    paths = [one for one in words if one.startswith(("a.yaml", "t.py", "my bot"))]
    assert next_command(Told(words, paths), step) == f"pytest {expected}"


@pytest.mark.parametrize("name", ["my  dir/b.yaml", "退款\u3000政策.yaml", "a\tb.yaml"])
def test_white_space_in_a_name_stays(name: str) -> None:
    """[E22] With a blank less it would be another file."""
    said = next_command(Told([name]), "failed")
    assert said is not None
    assert shlex.split(said) == ["pytest", name, "--lf"]


@pytest.mark.parametrize("name", ["a\nb.yaml", "a\x1b[2J.yaml", "a\u202eb.yaml"])
def test_a_name_that_cannot_be_shown_is_not_shown_as_another(name: str) -> None:
    assert next_command(Told([name]), "failed") is None


@pytest.mark.parametrize(
    ("told", "step", "expected"),
    [
        (Told(["a.yaml"], environ={"RAGEVAL_LIMIT": "2", "RAGEVAL_WHERE": "t=a"}), "whole",
         "env -u RAGEVAL_WHERE -u RAGEVAL_LIMIT pytest a.yaml"),
        (Told(["a.yaml"], environ={"RAGEVAL_SET": "dataset.limit=2; seed=1 "}), "whole",
         "RAGEVAL_SET=seed=1 pytest a.yaml"),
        (Told(["a.yaml"], environ={"PYTEST_ADDOPTS": "-n 2 -k 'a b'"}), "whole",
         "PYTEST_ADDOPTS='-n 2' pytest a.yaml"),
        (Told(["a.yaml"], addopts=["--rag-limit", "2", "-ra", "-W", "a b"]), "whole",
         """pytest a.yaml -o 'addopts=-ra -W '"'"'a b'"'"''"""),
        (Told(["a.yaml"], addopts=["--rag-strict"], is_strict=True), "failed",
         "pytest a.yaml -o addopts= -o rageval_strict=false --lf"),
        (Told([], environ={"RAGEVAL_STRICT": "1", "RAGEVAL_SAVE": "main"}), "failed",
         "env -u RAGEVAL_SAVE -u RAGEVAL_STRICT pytest --lf"),
        # What another than these chose is not known; the same command would end the same.
        (Told(["a.yaml"], environ={"RAGEVAL_STRICT": "1"}, is_strict=True), "whole", None),
    ],
)  # fmt: skip
def test_what_is_not_on_the_command_line_counts_too(
    told: Told, step: Step, expected: str | None
) -> None:
    """[E22] Else the command would leave out the same samples, or fail for what it left out."""
    assert next_command(told, step) == expected
    assert next_command(Told(["a.yaml", "--rag-report=html"]), "page") is None


def test_a_file_of_arguments_is_read(tmp_path: Path) -> None:
    """[E22] What it chooses could not be left out otherwise."""
    (tmp_path / "args.txt").write_text("--rag-limit=2\n-k\nmy words\n")
    words = list(_expanded(["a.yaml", "@args.txt", "@none"], tmp_path))
    assert words == ["a.yaml", "--rag-limit=2", "-k", "my words", "@none"]


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        ([result(gate())], True),
        ([result(gate(), failed=1)], False),
        ([result(STRICT)], False),
        ([asked(result(gate()))], False),
        ([asked(result()), result(gate())], True),
    ],
)
def test_answers_from_a_file_are_to_be_read(made: list[ScenarioResult], expected: bool) -> None:
    """[E22] Where only their gates failed: a further run would say the same."""
    assert is_to_be_read(Ended([(one, "no folder") for one in made])) is expected


def test_so_are_those_of_variants_of_which_none_is_best() -> None:
    """[E20, E22] No variant by itself is red then."""
    best = [gate("best")]
    assert is_to_be_read(Ended([(result(), "no folder")], best))
    assert not is_to_be_read(Ended([(asked(result()), "no folder")], best))


@pytest.mark.parametrize(
    "given",
    [
        ["--api-key=hunter2hunter2"],
        ["--password", "hunter2hunter2"],
        ["--rag-set", "judge.extra_body.api_key=hunter2hunter2"],
        ["--rag-set=judge.headers.Authorization=Bearer hunter2hunter2"],
        ["--rag-set", "judge={api_key: hunter2hunter2}"],
        ["--rag-set=judge.base_url=https://me:hunter2hunter2@host/v1"],
        ["--url=https://host/?q=hunter2hunter2"],
        ["https://me:hunter2hunter2@host/"],
        ["-o", "addopts=--rag-set=target.api_key=hunter2hunter2"],
        ["-oaddopts=-q --rag-set target.api_key=hunter2hunter2"],
        ["--override-ini=addopts=--url='https://host/?sig=hunter2hunter2'"],
        ["--override-ini", "addopts='--api-key=hunter2hunter2"],
        ["-o", "my_token=hunter2hunter2"],
        ["--pwd=hunter2hunter2"],
    ],
)
def test_a_secret_is_not_repeated(given: list[str]) -> None:
    """[E22] What a script puts on the command line would stand in the log of CI."""
    said = next_command(Told(["a.yaml", *given]), "failed")
    assert said is not None
    assert "hunter2" not in said
    assert "***" in said


def test_what_only_sounds_like_a_secret_stays() -> None:
    given = ["--rag-set", "judge.max_tokens=5", "--rag-set=judge.base_url=http://host:8000/v1"]
    given += ["-o", "addopts=-q -k 'a b'", "-oaddopts=-v", "-o", "pythonpath=. src"]
    assert next_command(Told(given), "failed") == f"pytest {shlex.join(given)} --lf"


def test_a_module_is_started_as_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["/lib/site-packages/pytest/__main__.py"])
    assert next_command(Told(["a.yaml"]), "stopped") == "python -m pytest a.yaml --ff"
