"""E22: --rag-import writes a scenario beside a promptfoo configuration, which then runs."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest

from pytest_rageval.plugin.scaffold import needed_by

ROWS = tomllib.loads(Path(__file__).with_name("import.toml").read_text("utf-8"))

CONFIG = """\
prompts: ["Hello {{name}}"]
providers: [echo]
tests:
  - {vars: {name: Ann}, assert: [{type: contains, value: Ann}]}
  - {vars: {name: Bob}, assert: [{type: contains, value: bob}, {type: javascript, value: "1"}]}
  - {vars: {name: Cem}, assert: [{type: javascript, value: "2"}]}
"""


@pytest.mark.full
def test_an_import_runs_with_the_verdicts_of_promptfoo(pytester: pytest.Pytester) -> None:
    """[E22] From where the command was typed; nothing is overwritten."""
    pytester.mkdir("evals").joinpath("promptfooconfig.yaml").write_text(CONFIG, encoding="utf-8")
    found = pytester.runpytest("--rag-import=evals/promptfooconfig.yaml")
    assert found.ret == 0
    found.stdout.fnmatch_lines(
        [
            "wrote evals/promptfooconfig.rageval.yaml",
            "wrote evals/promptfooconfig.jsonl (3 rows, 4 checks)",
            "wrote evals/promptfooconfig_asserts.py, with the asserts that you write: see below",
            "not taken, also listed in evals/promptfooconfig.rageval.yaml:",
            "  promptfooconfig.yaml:5: assert javascript: runs code; write the function "
            "javascript_1, until then it is an ERROR",
            "run it:  pytest evals/promptfooconfig.rageval.yaml",
        ]
    )
    found = pytester.runpytest("evals/promptfooconfig.rageval.yaml")
    found.assert_outcomes(passed=1, failed=1, errors=2)  # what failed is the gate "unscored"
    again = pytester.runpytest("--rag-import=evals/promptfooconfig.yaml")
    assert again.ret == 4
    again.stderr.fnmatch_lines(
        ["*already has promptfooconfig.rageval.yaml, promptfooconfig.jsonl, *_asserts.py"]
    )


SCRIPTS = """\
prompts: ["Hello {{name}}"]
providers: [echo]
defaultTest: {options: {transform: output.trim()}}
tests:
  - {vars: {name: Ann}, assert: [{type: javascript, value: "output.length < context.vars.max"}]}
  - {vars: {name: Bob}, assert: [{type: contains, value: Bob}, {type: javascript, value: file://s.js}]}
  - {vars: {name: Cem}, assert: [{type: contains, value: Cem}]}
  - {vars: {name: Dan}, assert: [{type: javascript, value: "file://s.js"}]}
"""


@pytest.mark.full
def test_an_assert_in_javascript_is_an_error_until_it_is_written(
    pytester: pytest.Pytester,
) -> None:
    """[K16] Only in the rows that have it; then it passes or fails them."""
    pytester.path.joinpath("bot.yaml").write_text(SCRIPTS, encoding="utf-8")
    pytester.path.joinpath("s.js").write_text("module.exports = (o) => /B/.test(o)\n", "utf-8")
    assert pytester.runpytest("--rag-import=bot.yaml").ret == 0
    found = pytester.runpytest("bot.rageval.yaml")
    found.assert_outcomes(passed=1, failed=1, errors=3)  # what failed is the gate "unscored"
    found.stdout.fnmatch_lines(["*not written: javascript_1 in bot_asserts.py*"])
    module = pytester.path / "bot_asserts.py"
    text = module.read_text("utf-8")
    assert "    # output.length < context.vars.max" in text
    assert "    # module.exports = (o) => /B/.test(o)" in text
    written = text.replace(
        'raise NotImplementedError("not written: javascript_1 in bot_asserts.py")',
        "return context['vars']['name'] == 'Ann' and output == 'Hello Ann'",
    ).replace(
        'raise NotImplementedError("not written: javascript_2 in bot_asserts.py")',
        "return 'B' in output",
    )
    assert "NotImplementedError(" not in written
    module.write_text(written, "utf-8")
    # A process of its own: this one has imported the module already.
    found = pytester.runpytest_subprocess("bot.rageval.yaml")
    found.assert_outcomes(passed=3, failed=1)
    found.stdout.fnmatch_lines(["FAILED *test-4*javascript_2*"])


@pytest.mark.parametrize(
    ("scenario", "needs"),
    ROWS["an_import_says_what_its_scenario_needs"],
)
def test_an_import_says_what_its_scenario_needs(scenario: dict[str, Any], needs: str) -> None:
    """[E22] The first run is not red for what the import knew."""
    assert needed_by(scenario) == needs


@pytest.mark.full
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
