"""E22: --rag-import writes a scenario beside a promptfoo configuration, which then runs."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_rageval.plugin.importer import needed_by

CONFIG = """\
prompts: ["Hello {{name}}"]
providers: [echo]
tests:
  - {vars: {name: Ann}, assert: [{type: contains, value: Ann}]}
  - {vars: {name: Bob}, assert: [{type: contains, value: bob}, {type: javascript, value: "1"}]}
  - {vars: {name: Cem}, assert: [{type: javascript, value: "2"}]}
"""


def test_an_import_runs_with_the_verdicts_of_promptfoo(pytester: pytest.Pytester) -> None:
    """[E22] From where the command was typed; nothing is overwritten."""
    pytester.mkdir("evals").joinpath("promptfooconfig.yaml").write_text(CONFIG, encoding="utf-8")
    found = pytester.runpytest("--rag-import=evals/promptfooconfig.yaml")
    assert found.ret == 0
    found.stdout.fnmatch_lines(
        [
            "wrote evals/promptfooconfig.rageval.yaml",
            "wrote evals/promptfooconfig.jsonl "
            "(3 rows, 2 checks; 1 row skipped: 'skip' in it says why)",
            "not taken, also listed in evals/promptfooconfig.rageval.yaml:",
            "  promptfooconfig.yaml:5, 6: assert javascript: runs code; write a metric of your own",
            "run it:  pytest evals/promptfooconfig.rageval.yaml",
        ]
    )
    pytester.runpytest("evals/promptfooconfig.rageval.yaml").assert_outcomes(
        passed=1, failed=1, skipped=1
    )
    again = pytester.runpytest("--rag-import=evals/promptfooconfig.yaml")
    assert again.ret == 4
    again.stderr.fnmatch_lines(["*already has promptfooconfig.rageval.yaml, promptfooconfig.jsonl"])


@pytest.mark.parametrize(
    ("scenario", "needs"),
    [
        ({"metrics": ["answer_checks"]}, ""),
        ({"metrics": ["answer_checks"], "target": {"use": "m:f"}}, ""),
        (
            {"metrics": ["must_satisfy"], "judge": {"model": "g"}},
            'pip install "pytest-rageval[judge]"; in the environment OPENAI_API_KEY',
        ),
        (
            {
                "metrics": ["faithfulness"],
                "judge": {"model": "g", "base_url": "http://x", "api_key_env": "K"},
                "variants": {"a": {"target": {"url": "http://x?k=${A}"}}},
            },
            'pip install "pytest-rageval[judge,ragas]"; in the environment A, K',
        ),
    ],
)
def test_an_import_says_what_its_scenario_needs(scenario: dict[str, Any], needs: str) -> None:
    """[E22] The first run is not red for what the import knew."""
    assert needed_by(scenario) == needs


def test_a_configuration_named_as_a_scenario_says_what_to_do(pytester: pytest.Pytester) -> None:
    """[E22]"""
    pytester.path.joinpath("p.yaml").write_text(CONFIG, encoding="utf-8")
    said = "*a promptfoo configuration: pytest --rag-import=p.yaml makes a scenario of it"
    named = pytester.runpytest("--rag-scenario=p.yaml")
    assert named.ret == 2
    named.stdout.fnmatch_lines([said])
    given = pytester.runpytest("p.yaml")
    assert given.ret == 4
    (given.stdout if "promptfoo" in given.stdout.str() else given.stderr).fnmatch_lines([said])
