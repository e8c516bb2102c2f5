"""What the options mean: from command line, environment and ini file to settings and overrides."""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from fake_config import config_of

from pytest_rageval.engine.plan import Plan
from pytest_rageval.errors import UserError
from pytest_rageval.plugin.settings import Settings

TABLES = tomllib.loads(Path(__file__).with_name("settings.toml").read_text("utf-8"))


@pytest.fixture(autouse=True)
def _no_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OUTPUT", "REPORT", "SCENARIO", "THRESHOLD", "LIMIT"):
        monkeypatch.delenv(f"RAGEVAL_{name}", raising=False)


def refused(root: Path, *args: str) -> str:
    """Return why the command line is wrong."""
    with pytest.raises(pytest.UsageError) as caught:
        Settings.of(config_of(root, *args))
    return str(caught.value)


# --rag-scenario


@pytest.fixture
def two(tmp_path: Path) -> Path:
    """Return a folder with two scenarios, and a folder of the name ``evil``."""
    for name in ("eval/a.yaml", "eval/deep/b.yaml", "evil/x.txt"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    return tmp_path


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("eval/a.yaml", {"eval/a.yaml": ""}),
        ("eval/../eval/a.yaml::x[1]", {"eval/a.yaml": "::x(1)"}),
        ("eval/a.yaml::a::b", {"eval/a.yaml": "::a:b"}),
        ("eval/**/*.yaml::双源CT", {"eval/a.yaml": "::双源CT", "eval/deep/b.yaml": "::双源CT"}),
        # A gate needs every sample.
        ("eval/a.yaml::gate:f1.mean", {"eval/a.yaml": ""}),
    ],
)
def test_a_scenario_is_a_path_or_a_pattern_with_an_id(
    two: Path, text: str, found: dict[str, str]
) -> None:
    """[A1, A2, U3] The id is that of the data, also where a node id cannot spell it."""
    settings = Settings.of(config_of(two, f"--rag-scenario={text}"))
    assert dict(settings.scenarios) == {two / name: case for name, case in found.items()}


def test_scenarios_are_relative_to_the_working_directory(two: Path) -> None:
    """[A1] Not to the rootdir; the option is repeatable."""
    args = ("--rag-scenario=a.yaml", "--rag-scenario", "deep/b.yaml")
    settings = Settings.of(config_of(two, *args, folder=two / "eval"))
    assert [path for path, _ in settings.scenarios] == [
        two / "eval/a.yaml",
        two / "eval/deep/b.yaml",
    ]


def test_the_environment_names_scenarios_too(two: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """[A1] Several separated by ``;``; the command line takes their place."""
    monkeypatch.setenv("RAGEVAL_SCENARIO", "eval/a.yaml; eval/deep/b.yaml")
    assert len(Settings.of(config_of(two)).scenarios) == 2
    assert len(Settings.of(config_of(two, "--rag-scenario=eval/a.yaml")).scenarios) == 1


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("nowhere.yaml", "nowhere.yaml: no such file"),
        ("eval", "eval: is a folder, not a scenario file"),
        ("eval/*.json", "eval/*.json: no file matches it in {root}"),
        ("ev*", "ev*: no file matches it in {root}"),
        ("", "expected FILE[::ID], found nothing"),
    ],
)
def test_what_names_no_scenario_is_wrong_use(two: Path, text: str, message: str) -> None:
    """[A1, E12, U3] A folder is no match of a pattern; the last is an unset variable."""
    said = refused(two, f"--rag-scenario={text}")
    assert said == f"--rag-scenario: {message.format(root=two)}"


# Where runs go


def run_base(root: Path, *args: str, **more: Any) -> str:
    """Return the folder of the runs of a scenario with ``output_dir: own``, from the rootdir."""
    run_paths = Settings.of(config_of(root, *args, **more)).run_paths
    return run_paths.run_base("own").relative_to(root).as_posix()


def test_the_output_folder_is_that_of_the_nearest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """[A12] Option, environment, ini file, scenario; what is typed is relative to where it is."""
    ini = {"rageval_output": "from_ini"}
    assert run_base(tmp_path) == "own"
    assert run_base(tmp_path, ini=ini, folder=tmp_path / "deep") == "from_ini"
    monkeypatch.setenv("RAGEVAL_OUTPUT", "from_environment")
    assert run_base(tmp_path, ini=ini) == "from_environment"
    option = "--rag-output=typed"
    assert run_base(tmp_path, option, ini=ini, folder=tmp_path / "deep") == "deep/typed"


@pytest.mark.parametrize("option", ["--rag-save", "--rag-save-failed", "--rag-compare"])
@pytest.mark.parametrize("name", ["..", ".", "?"])
def test_a_saved_run_needs_a_name(tmp_path: Path, option: str, name: str) -> None:
    """Its file would get a name that nobody gave."""
    assert refused(tmp_path, f"{option}={name}") == (
        f"{option} {name}: expected a name, or the path of a .json file"
    )


@pytest.mark.parametrize(
    ("text", "name"),
    [("主干", "主干"), ("./b.json", "deep/b.json"), ("../b.json", "b.json")],
)
def test_a_saved_run_has_a_name_or_a_path_from_here(tmp_path: Path, text: str, name: str) -> None:
    """Chinese is a name like any other; what lies below the rootdir is relative to that."""
    config = config_of(tmp_path, f"--rag-save={text}", folder=tmp_path / "deep")
    assert Settings.of(config).run_paths.saving == name


# Other options


def test_reports_come_from_the_ini_file_and_the_command_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """[E15] Between commas, by short names or those of the files; those of the ini file stay."""
    ini = {"rageval_reports": ["badge"]}
    found = Settings.of(config_of(tmp_path, "--rag-report=html, md,html", ini=ini)).reports
    assert set(found) == {"badge.svg", "report.html", "summary.md"}
    monkeypatch.setenv("RAGEVAL_REPORT", "html")
    assert set(Settings.of(config_of(tmp_path)).reports) == {"report.html"}


@pytest.mark.parametrize(
    ("name", "guess"), [("metadata.jsn", "metadata.json"), ("bagde", "badge"), ("htm", "html")]
)
def test_an_unknown_report_is_wrong_use(tmp_path: Path, name: str, guess: str) -> None:
    """[E12] With the nearest of the names that users type."""
    said = refused(tmp_path, f"--rag-report={name}")
    assert said.startswith(f"--rag-report: unknown report {name!r}. Did you mean {guess!r}?")


def test_an_unknown_report_is_named_where_it_stands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(pytest.UsageError, match="^rageval_reports: unknown report 'htlm'"):
        Settings.of(config_of(tmp_path, "--rag-report=md", ini={"rageval_reports": ["htlm"]}))
    monkeypatch.setenv("RAGEVAL_REPORT", "htlm")
    assert refused(tmp_path).startswith("RAGEVAL_REPORT: unknown report 'htlm'")


# What the command line overrides in scenarios

BASE = "name: qa\nmetrics: [em]\ndataset: {rows: [{answer: a, references: [a]}]}\n"


@pytest.mark.parametrize(
    ("option", "path", "value"),
    [
        ("--rag-metric-weight=acc=3", ("metric_weights", "acc"), 3),
        ("--rag-doc-weight=b.pdf=3", ("doc_weights", "b.pdf"), 3),
        ("--rag-threshold=em=0.5", ("thresholds", "em"), 0.5),
        ("--rag-gate=by.level.em=0.5", ("gates", "by", "level", "em"), 0.5),
        ("--rag-set=a.b=[1]", ("a", "b"), [1]),
        ("--rag-compare=main", ("compare", "baseline"), "main"),
        ("--rag-judge-model=m", ("judge", "model"), "m"),
        ("--rag-target-concurrency=2", ("target", "concurrency"), 2),
        ("--rag-limit=2", ("dataset", "limit"), 2),
    ],
)
def test_an_option_overrides_a_value_of_the_scenario(
    tmp_path: Path, option: str, path: tuple[str, ...], value: object
) -> None:
    """[A14] Each says what the user wrote, for messages."""
    (found,) = Settings.of(config_of(tmp_path, option)).overrides
    flag, _, text = option.partition("=")
    assert (found.path, found.value, found.flag) == (path, value, f"{flag} {text}")


def test_the_environment_overrides_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """[A14, G10] Several values separated by ``;``; messages name the variable."""
    monkeypatch.setenv("RAGEVAL_THRESHOLD", "em=0.5;weighted_score=0.9")
    monkeypatch.setenv("RAGEVAL_LIMIT", "1")
    found = Settings.of(config_of(tmp_path)).overrides
    assert [(one.path[-1], one.value) for one in found] == [
        ("em", 0.5),
        ("weighted_score", 0.9),
        ("limit", 1),
    ]
    assert [one.flag for one in found[1:]] == [
        "RAGEVAL_THRESHOLD weighted_score=0.9",
        "RAGEVAL_LIMIT 1",
    ]


@pytest.mark.parametrize(
    ("option", "expected"),
    [
        *((option, "") for option in TABLES["an_override_that_cannot_be_read_is_wrong_use"]),
        *((f"--rag-shard={text}", "I/N with I from 1 to N") for text in ("0/2", "3/2", "2", "x/y")),
        *((f"--rag-budget={text}", "US dollars") for text in ("free", "-1", "nan", "inf")),
        ("--rag-cache=replays", "one of off, read, readwrite, refresh, replay"),
    ],
)
def test_a_value_that_an_option_does_not_take_is_wrong_use(
    tmp_path: Path, option: str, expected: str
) -> None:
    """[A14, E9, E10, E12, E17] Quoting what was written, with what it takes."""
    flag, _, text = option.partition("=")
    said = f" expected {expected}" if expected else ""
    assert refused(tmp_path, option).startswith(f"{flag} {text}:{said}")


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ("--rag-metric-weight=emm=1", "--rag-metric-weight emm=1: .*emm.*Did you mean 'em'?"),
        ("--rag-threshold=f1=0.5", "--rag-threshold f1=0.5: .*f1.*not among"),
        ("--rag-threshold=em=7", r"--rag-threshold em=7: .*outside.*0\.\.1"),
        ("--rag-gate=pas_rate=0.5", "--rag-gate pas_rate=0.5: .*Did you mean 'pass_rate'?"),
        ("--rag-set=metrcs=[em]", r"--rag-set metrcs=\[em\]: .*Did you mean 'metrics'?"),
        ("--rag-set=name.first=x", "--rag-set name.first=x: "),
        ("--rag-limit=0", "--rag-limit 0: "),
    ],
)
def test_an_override_that_no_scenario_can_use_names_its_option(
    tmp_path: Path, plan: Callable[..., Plan], option: str, message: str
) -> None:
    """[A14, E12] As a mistake of the scenario would be, with the option for its place."""
    changed = Settings.of(config_of(tmp_path, option)).overrides
    with pytest.raises(UserError, match=message):
        plan(BASE, overrides=changed)


# --rag-keep


@pytest.mark.parametrize("text", ["0", "-1", "1.5", "two", "\u0662"])
def test_how_many_runs_to_keep_is_a_whole_number(tmp_path: Path, text: str) -> None:
    """[E22] None is the error of a script, not a wish to lose every run."""
    assert refused(tmp_path, f"--rag-keep={text}").startswith(f"--rag-keep {text}: expected")
    with pytest.raises(pytest.UsageError, match="rageval_keep"):
        Settings.of(config_of(tmp_path, ini={"rageval_keep": text}))
    assert Settings.of(config_of(tmp_path)).keep is None


# true and false


@pytest.mark.parametrize("name", ["STRICT", "NO_FAST"])
@pytest.mark.parametrize("text", ["maybe", "2", "tru", "-1", "oui"])
def test_a_variable_that_is_neither_true_nor_false_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, text: str
) -> None:
    """V8: with the words that are allowed."""
    monkeypatch.setenv(f"RAGEVAL_{name}", text)
    said = refused(tmp_path)
    assert said.startswith(f"RAGEVAL_{name}: expected true (1, true, yes, on, y, t) or false (0, ")
    assert said.endswith(f"found {text!r}")


@pytest.mark.parametrize(
    ("text", "means"),
    [("1", True), ("True", True), ("YES", True), (" on ", True), ("0", False), ("Off", False)],
)
def test_a_variable_is_true_or_false_in_any_case(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, means: bool
) -> None:
    """V8, E4: also with blanks around it; before the ini file."""
    monkeypatch.setenv("RAGEVAL_STRICT", text)
    config = config_of(tmp_path, ini={"rageval_strict": not means})
    assert Settings.of(config).strict is means
