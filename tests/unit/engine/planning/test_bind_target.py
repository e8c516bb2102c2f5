"""A target as it stands in the file: its type, its options, and every mistake with its line."""

from __future__ import annotations

import sys
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pytest_rageval.clients.settings import RunSettings
from pytest_rageval.engine.plan import Plan
from pytest_rageval.engine.planning.plan_scenario import make_plan
from pytest_rageval.errors import ScenarioError
from pytest_rageval.run_paths import RunPaths

TABLES = tomllib.loads(Path(__file__).with_name("bind_target.toml").read_text("utf-8"))

pytest.importorskip("aiohttp")

HEAD = "name: s\nmetrics: [em]\ndataset: [{question: q, references: [r], lang: en}]\n"
Make = Callable[..., Plan]
Problems = Callable[..., list[str]]


def target(plan: Make, text: str) -> Any:
    found = plan(HEAD + text).target
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("text", "shown", "retries", "is_remote"),
    [
        ("target: 'os.path:basename'", "os.path:basename", 0, False),
        ("target: {use: 'os.path:basename', retries: 3}", "os.path:basename", 3, False),
        ("target: http://127.0.0.1:9/ask", "POST http://127.0.0.1:9/ask", 2, True),
        ("target: {url: 'http://h.test/a', method: get}", "GET http://h.test/a", 2, True),
        ("target: {url: 'http://h.test', retries: 0}", "POST http://h.test", 0, True),
        ("target: HTTP://h.test/ask?to=ftp://a", "POST http://h.test/ask", 2, True),
        ("target: {fixture: f, url: '/ask?to=http://me/x', type: http}", "POST /ask", 2, True),
        ("target: {fixture: f, url: '${A}/x#http://b', type: http}", "POST ${A}/x", 2, True),
        ("target: {model: m, base_url: 'http://h.test/v1'}", "chat 'm'", 4, True),
        ("target: {fixture: my_bot}", "fixture 'my_bot'", 0, False),
    ],
)
def test_the_type_follows_from_the_keys(
    plan: Make, text: str, shown: str, retries: int, is_remote: bool
) -> None:
    """[A21] And how often is asked again, when the scenario does not say."""
    found = target(plan, text)
    assert (found.shown, found.settings.retries, found.is_remote) == (shown, retries, is_remote)


def test_limits_are_those_of_every_target(plan: Make) -> None:
    """[A22]"""
    found = target(plan, "target: {url: 'http://h', concurrency: 3, rpm: 60, timeout_s: 5}")
    assert (found.settings.concurrency, found.settings.rpm, found.settings.timeout_s) == (3, 60, 5)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("target: fixture", "rag_target"),
        ("target: {type: http, fixture: app_url, url: /ask}", "app_url"),
    ],
)
def test_a_fixture_is_waited_for(plan: Make, text: str, name: str) -> None:
    """[E6] Nothing can be asked before its value is there."""
    found = target(plan, text)
    assert (found.fixture, found.make) == (name, None)


@pytest.mark.parametrize(
    "text",
    [
        "models: {local: {model: m, base_url: 'http://h.test/v1', repeats: 3, form: text}}\n"
        "target: {profile: local, temperature: 1, concurrency: 2}",
        "models: {local: {model: m, base_url: 'http://h.test/v1'}}\ntarget: {model: local}",
        "models: {local: {model: m, base_url: 'http://h.test/v1'}}\ntarget: local",
    ],
)
def test_a_profile_is_a_target(plan: Make, text: str) -> None:
    """[A16] What only judges have is left out."""
    found = target(plan, text)
    assert (found.shown, found.provides) == ("chat 'm'", {"answer"})
    assert found.identity["options"]["endpoint"] == "http://h.test/v1"


@pytest.mark.parametrize(
    ("text", "message"),
    TABLES["a_mistake_is_one_problem_at_its_line"],
)
def test_a_mistake_is_one_problem_at_its_line(problems: Problems, text: str, message: str) -> None:
    """[E12]"""
    (problem,) = problems(HEAD + text)
    assert problem.startswith(f"s.yaml:{4 + text.count(chr(10))}: ")
    assert message in problem


@pytest.mark.parametrize(
    ("keys", "warning"),
    [
        ("prompt: 'Ask: {{question}}'", "neither prompt nor system names a field of the row, such"),
        ("prompt: 'Go on.', system: 'As a clerk: {question}'", None),
        ("prompt: '{metadata.lang}'", None),
        ("query: {doc: '{doc_name}'}", "{question}: url or query name another field, so it is not"),
        ("query: {l: '{metadata.lang}'}", "write it into body (or 'body: {}', if it is asked"),
        ("method: GET, query: {l: '{metadata.lang}'}", "write it into query"),
        ("body: {q: '{{question}}'}", "no request holds a field of its row, such as {question}"),
        ("body: {id: '{id}', h: '{history}'}", None),
        ("body: {q: '{metadata.lang}'}", None),
        ("body: {}, query: {l: '{metadata.lang}'}", None),
        ("query: {ticket: '{id}'}", None),
        ("method: GET, query: {q: '{metadata.lang}'}", None),
        ("method: GET, query: {k: 3}", None),
        ("query: {q: '{question}'}", None),
        ("query: {k: 3}", None),
    ],
)
def test_a_target_that_is_never_told_the_question_is_a_warning(
    plan: Make, keys: str, warning: str | None
) -> None:
    """A column may hold it in other words; but no body is sent where the query names one."""
    system = "model: m, base_url: 'http://h/v1'" if "prompt" in keys else "url: 'http://h'"
    text = f"conversation: true\ntarget: {{{system}, {keys}}}"
    found = [one for one in plan(HEAD + text).info.warnings if ": target: " in one]
    assert [str(warning) in one for one in found] == [True] * (warning is not None)


def test_a_column_inside_of_a_metadata_column_is_known(plan: Make) -> None:
    body = "target: {url: 'http://h', body: {l: '{metadata.lang.code}', q: '{question}'}}"
    assert target(plan, body).fields == {"question", "metadata.lang.code"}


def test_an_answer_of_another_version_is_another_answer(
    plan: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    """[E9] As the environment says it."""
    monkeypatch.setenv("GIT_SHA_1", "abc")
    text = "target: {use: 'os.path:basename', version: 'v${GIT_SHA_1}', cache_answers: true}"
    found = target(plan, text)
    assert (found.identity["version"], found.cache_answers) == ("vabc", True)


def one(question: str) -> str:
    return question


def two(question: str) -> str:
    return question


def placed(
    root: Path, folder: str, text: str, given: object = None, variant: str = "", **run: Any
) -> Any:
    """Return the target of a scenario, or of its variant, in a folder of a checkout."""
    path = root / folder / "s.yaml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(HEAD + text, "utf-8")
    settings = RunSettings(**{"cache_dir": root / "kept", **run})
    return make_plan(
        path,
        run_paths=RunPaths(root),
        run=settings,
        give_target=lambda _: given,
        variant=variant,
    ).target


def test_a_module_without_its_function(tmp_path: Path) -> None:
    """[E22] Its functions are named; it is not imported."""
    (tmp_path / "bot_of_mine.py").write_text("1 / 0\ndef ask(question): ...\n", "utf-8")
    with pytest.raises(ScenarioError) as caught:
        placed(tmp_path, ".", "target: bot_of_mine")
    message = "expected 'module:function', found 'bot_of_mine'; names in bot_of_mine.py: ask"
    assert f"target: {message}" in str(caught.value)


@pytest.mark.parametrize(
    "text",
    ["target: {type: fixture, cache_answers: true}", "target: {fixture: app_url, url: /ask}"],
)
def test_a_fixture_of_another_folder_is_another_system(tmp_path: Path, text: str) -> None:
    """[E9] Each conftest.py has its own; the place of the checkout itself does not matter."""
    checkouts = tmp_path / "one", tmp_path / "two"
    (a, b), (other_a, _) = (
        [placed(root, folder, text).identity for folder in "ab"] for root in checkouts
    )
    assert (a["scenario"], b["scenario"]) == ("a/s.yaml", "b/s.yaml")
    assert a == other_a


def test_another_function_of_a_fixture_is_another_system(tmp_path: Path) -> None:
    """[E9]"""
    plan = placed(tmp_path, "a", "target: {type: fixture, cache_answers: true}")
    assert plan.of_fixture(one).identity == plan.of_fixture(one).identity
    assert plan.of_fixture(one).identity != plan.of_fixture(two).identity


def test_an_import_path_that_leads_to_another_file_is_another_system(tmp_path: Path) -> None:
    """[E9] Two folders may have an app.py each; scenarios of one folder share its answers."""
    text, found = "target: {use: 'app_in_two_folders:answer', cache_answers: true}", []
    for folder in ("a", "b", "a"):
        file = tmp_path / folder / "app_in_two_folders.py"
        file.parent.mkdir(exist_ok=True)
        file.write_text("def answer(question):\n    return 'x'\n", "utf-8")
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("sys.path", [str(file.parent)])
            found.append(placed(tmp_path, folder, text).identity)
            del sys.modules["app_in_two_folders"]
    assert found[0] == found[2] != found[1]


@pytest.mark.parametrize("own", ["type: hook", "use: 'os.path:basename'"])
def test_answers_of_a_given_function_are_kept_under_a_version_only(
    tmp_path: Path, own: str
) -> None:
    """[E9] Two objects of one class, a bot for each tenant, cannot be told apart."""
    text = f"target: {{{own}, cache_answers: true}}"
    with pytest.raises(ScenarioError) as caught:
        placed(tmp_path, "a", text, one)
    (problem,) = caught.value.problems
    assert str(problem).endswith(
        ":4: target: cache_answers: a function that is passed in does not say which system it "
        "asks: add a 'version' that differs for each system, or leave out cache_answers"
    )
    assert placed(tmp_path, "a", text, one, cache_mode="off").cache_answers
    assert placed(tmp_path, "a", text, one, cache_dir=None).cache_answers
    versioned = text.replace("cache_answers", "version: v1, cache_answers")
    first = placed(tmp_path, "a", versioned, one).identity
    assert first == placed(tmp_path, "a", versioned, one).identity
    assert first != placed(tmp_path, "a", versioned, two).identity
    assert first != placed(tmp_path, "b", versioned, one).identity
    assert first != placed(tmp_path, "a", versioned.replace("v1", "v2"), one).identity


VARIANTS = "\nvariants: {old: {}, new: {gates: {em: 0.5}}}"


@pytest.mark.parametrize("own", ["type: hook", "use: 'os.path:basename'", "url: 'http://h.test'"])
def test_each_variant_has_the_answers_of_the_function_that_it_was_given(
    tmp_path: Path, own: str
) -> None:
    """[E9] The hook is told the variant, and ``targets`` names it: partials look alike."""
    text = f"target: {{{own}, version: v1, cache_answers: true}}"
    plain = placed(tmp_path, "a", text, one).identity
    old, new, again = (
        placed(tmp_path, "a", text + VARIANTS, one, variant).identity
        for variant in ("old", "new", "old")
    )
    assert old == again != new
    assert plain == {name: part for name, part in old.items() if name != "variant"}


@pytest.mark.parametrize(
    "own",
    [
        "use: 'os.path:basename'",
        "url: 'http://h.test'",
        "dbgpt: 'http://h.test', app: a, model: m",
        "model: m, base_url: 'http://h.test/v1'",
        "type: fixture",
        "fixture: app_url, url: /ask",
    ],
)
def test_variants_share_the_answers_of_one_system(tmp_path: Path, own: str) -> None:
    """[E9] They differ in metrics or gates, and nobody is asked twice."""
    text = f"target: {{{own}, cache_answers: true}}"
    old, new = (
        placed(tmp_path, "a", text + VARIANTS, variant=name).identity for name in ("old", "new")
    )
    assert old == new == placed(tmp_path, "a", text).identity


@pytest.mark.parametrize(("own", "given"), [("type: hook", one), ("use: 'os.path:basename'", None)])
def test_a_version_of_a_variable_that_is_not_set_is_a_mistake(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, own: str, given: object
) -> None:
    """[E9] The answers of an earlier system would be found. Without a cache there are none."""
    text = f"target: {{{own}, version: 'v${{GIT_SHA_1}}', cache_answers: true}}"
    monkeypatch.delenv("GIT_SHA_1", raising=False)
    assert placed(tmp_path, "a", text, given, cache_mode="off").identity["version"] == "v"
    for empty in (None, " "):
        if empty is not None:
            monkeypatch.setenv("GIT_SHA_1", empty)
        with pytest.raises(ScenarioError) as caught:
            placed(tmp_path, "a", text, given)
        (problem,) = caught.value.problems
        assert str(problem).endswith(
            ":4: target: version: the environment variable GIT_SHA_1 is not set"
        )
    monkeypatch.setenv("GIT_SHA_1", "abc")
    assert placed(tmp_path, "a", text, given).identity["version"] == "vabc"
    for version in ("$GIT_SHA_1", "${GIT_SHA_1:-dev}", "${{ github.sha }}"):
        with pytest.raises(
            ScenarioError, match=r"only \$\{NAME\} is known; '\$.* has another '\$'"
        ):
            placed(tmp_path, "a", text.replace("v${GIT_SHA_1}", version), given)
    for version in ("$GIT_SHA_1", "${GIT_SHA_1:-dev}", "${{ github.sha }}"):
        with pytest.raises(
            ScenarioError, match=r"only \$\{NAME\} is known; '\$.* has another '\$'"
        ):
            placed(tmp_path, "a", text.replace("v${GIT_SHA_1}", version), given)
