"""E18: what takes the fast protocol cannot be told apart from what does not."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import xml.etree.ElementTree as ET
from collections.abc import Callable
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

import pytest

from pytest_rageval.plugin.run.fast_protocol import FastProtocol
from pytest_rageval.plugin.run.items import SampleItem
from tests.plugin.conftest import Project

SCENARIO = """\
name: garden
metrics: [em, f1, rouge-l]
metric_weights: {em: 1, f1: 2, rouge-l: 1}
doc_weights: {b.md: 3}
thresholds: {em: 1}
gates: {em: 0.5, pass_rate: 0.1, unscored: 0.4, by: {kind: {f1: 0.1}}}
dataset: {path: garden.jsonl, on_invalid: fail}
"""
ROWS = [
    {"id": "first", "answer": "a rose", "references": ["rose"]},
    {"id": "right", "answer": "oak", "references": ["oak"], "doc_name": "b.md", "kind": "tree"},
    {"id": "tagged", "answer": "elm", "references": ["elm"], "tags": ["smoke"]},
    {"id": "wrong", "answer": "fir", "references": ["oak"], "kind": "tree"},
    {"id": "again", "answer": "ash", "references": ["ash"]},
    {"id": "没有", "answer": "月季", "references": ["月季"]},
    {"id": "skipped", "answer": "x", "references": ["x"], "skip": "later"},
    {"id": "known", "answer": "x", "references": ["y"], "xfail": "known"},
    {"id": "broken", "answer": ["no", "text"], "references": ["y"]},
    {"id": "silent", "references": ["y"]},
    {"id": "well", "answer": "yew", "references": ["yew"]},
    {"id": "unexpected", "answer": "yes", "references": ["yes"], "xfail": "known"},
    {"id": "fine", "answer": "box", "references": ["box"]},
    {"id": "last", "answer": "bay", "references": ["bay"]},
]
VARIANTS = """\
name: shed
metrics: [em]
variants:
  old: {}
  new: {metrics: [em, f1]}
dataset:
  - {id: a, answer: x, references: [x]}
  - {id: b, answer: x, references: [x]}
  - {id: c, answer: y, references: [x]}
  - {id: d, answer: x, references: [x]}
"""
OWN = """\
name: own
metrics: [em, {use: 'mine:loud'}]
dataset:
  - {id: a, answer: x, references: [x]}
  - {id: b, answer: x, references: [x]}
  - {id: c, answer: x, references: [x]}
"""
MINE = """\
import logging
def loud(sample):
    print("heard", sample.id)
    logging.getLogger("mine").warning("logged %s", sample.id)
    return 1.0
"""
TESTS = """\
import os
def test_before():
    pass
def test_current():
    assert "test_current (call)" in os.environ["PYTEST_CURRENT_TEST"]
def test_red():
    assert 1 == 2
"""
# Passes itself off as a plugin of pytest's own, and records what such plugins see; any other
# plugin would switch the fast protocol off.
WITNESS = """
    import os

    SEEN = []

    def pytest_configure(config):
        if not hasattr(config, "workerinput"):
            config.pluginmanager.register(Witness())

    class Witness:
        __module__ = "_pytest.witness"

        def pytest_runtest_logstart(self, nodeid, location):
            SEEN.append(["start", nodeid, location])

        def pytest_runtest_logreport(self, report):
            facts = {name: value for name, value in vars(report).items() if name not in VARY}
            facts["sections"] = [title for title, _ in report.sections]
            SEEN.append(["report", report.nodeid, report.when, sorted(facts.items(), key=str)])

        def pytest_runtest_logfinish(self, nodeid, location):
            SEEN.append(["finish", nodeid, location])

        def pytest_rageval_sample_scored(self, result):
            SEEN.append(["scored", result.sample_id])

        def pytest_unconfigure(self):
            text = os.linesep.join(map(repr, SEEN))
            with open(os.environ["WITNESS"], "w", encoding="utf-8") as file:
                file.write(text)

    for hook in vars(Witness).values():
        if callable(hook):
            hook.__module__ = Witness.__module__
    VARY = {"start", "stop", "duration", "longrepr", "node", "worker_id", "testrun_uid",
            "item_index", "rageval_score", "rageval_phases"}
"""

LIGHT = ["", "-v -rA", "-q -x", "--junitxml=j.xml --durations=0 -vv", "--sw -m smoke"]
FULL = [
    "-q",
    "-vv -rP",
    "-s -v",
    "--lf",
    "--ff",
    "--maxfail=2",
    "--tb=no --no-summary",
    "-k 'not wrong' --rag-strict",
    "--deselect garden.rageval.yaml::right",
    "garden.rageval.yaml::right garden.rageval.yaml::again",
    "-o console_output_style=count",
    "-o console_output_style=classic",
    "-o console_output_style=times",
    "-p no:terminal",
    "-p no:logging",
    "-p no:cacheprovider --junitxml=j.xml -o junit_family=xunit1 -o junit_logging=all",
    "--setup-show",
    "--setup-only",
    "--setup-plan",
    "--collect-only",
    "--log-cli-level=DEBUG",
    "-W error",
    "--rag-shard=1/2",
    "--rag-limit=6",
    "--rag-report=html",
    "-n 2",
    "-n 2 -v --junitxml=j.xml",
    "-n 2 --dist loadfile -v",
]
OTHERS = {
    "sugar": "-p sugar",
    "sugar with workers": "-p sugar -n 2",
    "html": "-p metadata -p html -p html_fixtures --html=page.html",
    "allure_pytest": "-p allure_pytest --alluredir=allure",
    "randomly": "-p randomly -p no:cacheprovider --randomly-seed=1",
    "rerunfailures": "-p rerunfailures --reruns 1",
    "timeout": "-p timeout --timeout 60",
}
INSTALLED = {point.name for point in entry_points(group="pytest11")}


@pytest.fixture
def mixed(project: Project) -> Project:
    """A project with cases of every kind, variants, and tests that are no cases."""
    project.rows(ROWS, "garden.jsonl")
    project.scenario(SCENARIO, "garden")
    project.scenario(VARIANTS, "shed")
    project.scenario(OWN, "own")
    project.file("mine.py", MINE)
    project.file("test_z.py", TESTS)
    project.file("pytest.ini", "[pytest]\nmarkers = smoke\n")
    return project


@pytest.fixture
def compare(
    mixed: Project, monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> Callable[[str], None]:
    """Run pytest with and without the fast protocol, and assert that nothing differs."""

    def ran(options: str) -> None:
        words = shlex.split(options)
        if {"--lf", "--ff", "--sw"} & {*words}:
            mixed.pytest()  # what failed before
        start = tmp_path_factory.mktemp("start")
        shutil.copytree(mixed.path, start, dirs_exist_ok=True, symlinks=True)
        monkeypatch.setenv("WITNESS", str(mixed.path / "seen.txt"))
        monkeypatch.setenv("RAGEVAL_NO_FAST", "0")
        fast = _traces(mixed, words)
        for path in mixed.path.iterdir():
            shutil.rmtree(path) if path.is_dir() else path.unlink()
        shutil.copytree(start, mixed.path, dirs_exist_ok=True, symlinks=True)
        monkeypatch.setenv("RAGEVAL_NO_FAST", "1")
        slow = _traces(mixed, words)
        for name in slow:
            assert fast[name] == slow[name], name

    return ran


@pytest.mark.parametrize(
    "conftest", [pytest.param("", id="alone"), pytest.param(WITNESS, id="seen")]
)
@pytest.mark.parametrize(
    "options",
    [
        *LIGHT,
        *(pytest.param(one, marks=pytest.mark.full) for one in FULL),
    ],
)
def test_nothing_differs(
    options: str, conftest: str, mixed: Project, compare: Callable[[str], None]
) -> None:
    """[E18] Output, reports in their order, JUnit XML, the cache, files and exit status."""
    mixed.conftest(conftest)
    compare(options)


# A conftest.py in whose run scoring acts otherwise, whoever calls it.
SCORING = """
from pytest_rageval.engine.scoring import score_sample
from pytest_rageval.plugin.run import fast_protocol, items
MonkeyPatch = pytest.MonkeyPatch()
SEEN = []
def pytest_configure():
    score = score_sample.score_case
    def acting(plan, case, judgement=None):{action}
        return score(plan, case, judgement)
    for module in (fast_protocol, items):
        MonkeyPatch.setattr(module, "score_case", acting)
def pytest_unconfigure():
    MonkeyPatch.undo()
"""
# What a conftest.py, or a plugin that it registers, may do during a run.
MEDDLING = {
    "replaces a method of an item": """
def pytest_collection_modifyitems(items):
    for item in items:
        if item.name == "right":
            item.runtest = lambda: pytest.fail("no", pytrace=False)
""",
    "replaces a method of all items": """
def pytest_collection_modifyitems(items):
    kind, = {type(item) for item in items if item.name == "right"}
    old = kind.runtest
    def runtest(self):
        if self.name == "right":
            pytest.fail("no", pytrace=False)
        old(self)
    MonkeyPatch.setattr(kind, "runtest", runtest)
MonkeyPatch = pytest.MonkeyPatch()
def pytest_unconfigure():
    MonkeyPatch.undo()
""",
    "registers a plugin in mid-run": """
class Guard:
    def pytest_runtest_call(self, item):
        if item.name == "again":
            pytest.fail("no", pytrace=False)
def pytest_exception_interact(node):
    if node.name == "wrong":
        node.config.pluginmanager.register(Guard())
""",
    "fails a setup": """
def pytest_runtest_logreport(report):
    if report.when == "setup" and report.nodeid.endswith("::right"):
        report.outcome, report.longrepr = "failed", "no"
""",
    "marks what starts": """
ITEMS = {}
def pytest_collection_modifyitems(items):
    ITEMS.update((item.nodeid, item) for item in items)
def pytest_runtest_logstart(nodeid):
    if nodeid.endswith("::right"):
        ITEMS[nodeid].add_marker(pytest.mark.xfail(strict=True))
""",
    "looks at what the terminal kept": """
@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session):
    stats = session.config.pluginmanager.get_plugin("terminalreporter").stats
    print("kept", len(stats.get("", ())))
""",
    "has words of its own": """
def pytest_report_teststatus(report):
    if report.when == "setup" and report.passed:
        return "set up", "u", "UP"
""",
    "listens": """
import os
def pytest_rageval_sample_scored(result):
    print(result.sample_id, os.environ.get("PYTEST_CURRENT_TEST"))
""",
    "replaces a method before anything is collected": """
from pytest_rageval.plugin.run.items import SampleItem
MonkeyPatch = pytest.MonkeyPatch()
def runtest(self, old=SampleItem.runtest):
    if self.name == "right":
        pytest.fail("no", pytrace=False)
    old(self)
MonkeyPatch.setattr(SampleItem, "runtest", runtest)
def pytest_unconfigure():
    MonkeyPatch.undo()
""",
    "runs items twice": """
def pytest_collection_modifyitems(items):
    items[:] = [item for one in items for item in (one, one)]
""",
    "looks while it runs": """
@pytest.hookimpl(wrapper=True)
def pytest_runtestloop(session):
    found = yield
    stats = session.config.pluginmanager.get_plugin("terminalreporter").stats
    print("kept", len(stats.get("", ())))
    return found
""",
    "interrupts": SCORING.format(
        action="""
        if case.id == "again":
            raise KeyboardInterrupt
"""
    ),
    "raises once": SCORING.format(
        action="""
        if case.id == "again" and not SEEN:
            SEEN.append(case.id)
            raise RuntimeError("no second chance")
"""
    ),
    "gives no score once": SCORING.format(
        action="""
        if case.id == "again" and not SEEN:
            SEEN.append(case.id)
            return score_sample.unscored_result(plan, case)
"""
    ),
}


@pytest.mark.full
@pytest.mark.parametrize(
    "conftest",
    [
        pytest.param(text, id=name, marks=[pytest.mark.full] * (name == "runs items twice"))
        for name, text in MEDDLING.items()
    ],
)
def test_nothing_differs_where_somebody_meddles(
    conftest: str, mixed: Project, compare: Callable[[str], None]
) -> None:
    """[E18] The verdict above all."""
    mixed.conftest(f"import pytest\n{conftest}")
    compare("-v --tb=line")  # tracebacks go through other functions


@pytest.mark.full
def test_a_plugin_of_the_xdist_controller_sees_what_it_saw(
    mixed: Project, compare: Callable[[str], None]
) -> None:
    """[E18] Workers do not have it, and are told."""
    mixed.conftest(WITNESS.replace('"_pytest.witness"', '"theirs"'))
    compare("-n 1 -v garden.rageval.yaml")


@pytest.mark.full
def test_a_name_that_the_locale_cannot_encode_is_an_error_of_its_case(
    mixed: Project, quick: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """[E18] As pytest has it; the run goes on."""
    monkeypatch.setattr(os, "environ", _Latin(os.environ))
    mixed.conftest("")
    result = mixed.pytest("garden.rageval.yaml")
    assert "没有" not in quick
    assert "fine" in quick
    result.stdout.fnmatch_lines(["ERROR garden.rageval.yaml::没有*"])


class _Latin(dict[str, str]):
    """The environment of a process whose locale is Latin-1."""

    def __setitem__(self, name: str, value: str) -> None:
        value.encode("latin-1")
        super().__setitem__(name, value)


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the cases that took the fast protocol, in their order."""
    if pytest.version_tuple[:2] < (8, 4):
        pytest.skip("before pytest 8.4 all cases go its own way")
    found: list[str] = []
    run = FastProtocol._run

    def counted(self: FastProtocol, item: SampleItem) -> bool | None:
        outcome = run(self, item)
        if outcome:
            found.append(item.nodeid.partition(".rageval.yaml::")[2])
        return outcome

    monkeypatch.setattr(FastProtocol, "_run", counted)
    return found


@pytest.mark.parametrize("conftest", ["", WITNESS], ids=["alone", "seen"])
def test_what_passes_and_is_neither_first_nor_last_is_fast(
    conftest: str, mixed: Project, quick: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """[E18] Nothing of own.rageval.yaml, with a metric of the user, nor what fails or is marked."""
    monkeypatch.setenv("WITNESS", str(mixed.path / "seen.txt"))
    mixed.conftest(conftest)
    mixed.pytest()
    garden = ["right", "tagged", "again", "没有", "well", "fine"]
    assert quick == [*garden, "old::b", "old::c", "new::b", "new::c"]


@pytest.mark.full
@pytest.mark.parametrize(
    ("hook", "name"),
    [
        ("def pytest_runtest_setup(item): pass", "pytest_runtest_setup of conftest"),
        ("def pytest_runtest_call(item): pass", "pytest_runtest_call of conftest"),
        ("def pytest_runtest_teardown(item): pass", "pytest_runtest_teardown of conftest"),
        ("def pytest_runtest_makereport(item): pass", "pytest_runtest_makereport of conftest"),
        ("def pytest_runtest_protocol(item): pass", "pytest_runtest_protocol of conftest"),
    ],
)
def test_a_hook_that_it_would_pass_over_switches_it_off(
    hook: str, name: str, mixed: Project, quick: list[str]
) -> None:
    """[E18] For the cases that meet the hook; ``-v`` says so."""
    mixed.file("other/conftest.py", hook)
    text = SCENARIO.replace("name: garden", "name: other").replace("path: ", "path: ../")
    mixed.file("other/qa.rageval.yaml", text)
    result = mixed.pytest("-v")
    assert "old::b" in quick
    assert quick.count("right") == 1
    result.stdout.fnmatch_lines([f"rageval: no fast protocol ({name})"])


@pytest.mark.full
@pytest.mark.parametrize("how", ["option", "variable", "ini"])
def test_it_can_be_switched_off(
    how: str, mixed: Project, quick: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """[E18] ``-v`` says by what."""
    said = {"option": "--rag-no-fast", "variable": "RAGEVAL_NO_FAST", "ini": "rageval_fast = false"}
    if how == "variable":
        monkeypatch.setenv("RAGEVAL_NO_FAST", "yes")
    words = {"option": ["--rag-no-fast"], "ini": ["-o", "rageval_fast=false"]}.get(how, [])
    result = mixed.pytest("-v", *words)
    assert quick == []
    result.stdout.fnmatch_lines([f"rageval: no fast protocol ({said[how]})"])


def test_a_first_case_that_is_skipped_concerns_itself_alone(
    project: Project, quick: list[str]
) -> None:
    """[E18] The next one sets up what the others share."""
    project.rows([ROWS[6], ROWS[7], *ROWS[:3], *ROWS[10:11], ROWS[-1]], "garden.jsonl")
    project.scenario("name: a\nmetrics: [em]\ndataset: garden.jsonl\n", "a")
    project.pytest()
    assert quick == ["first", "right", "tagged", "well"]


@pytest.mark.full
def test_the_environment_counts_more_than_the_ini_file(
    mixed: Project, quick: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """[E18] As for all options."""
    monkeypatch.setenv("RAGEVAL_NO_FAST", "0")
    mixed.pytest("-o", "rageval_fast=false")
    assert "right" in quick


@pytest.mark.full
def test_a_package_that_cannot_be_set_up_is_an_error_of_each_case(
    project: Project, quick: list[str]
) -> None:
    """[E18] As pytest has it for all that is in a package; nothing of it passes."""
    project.file("__init__.py", "def setup_module(module):\n    raise OSError('no disk')\n")
    project.rows(ROWS[:5], "garden.jsonl")
    project.scenario("name: a\nmetrics: [em]\ndataset: garden.jsonl\n", "a")
    project.pytest().assert_outcomes(errors=5, failed=1)
    assert quick == []


@pytest.mark.full
def test_old_versions_of_pytest_keep_their_way(
    mixed: Project, quick: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """[E18] They look for exceptions of threads and finalizers in each phase of a case."""
    monkeypatch.setattr(pytest, "version_tuple", (8, 3, 5))
    result = mixed.pytest("-v")
    assert quick == []
    result.stdout.fnmatch_lines(["rageval: no fast protocol (pytest before 8.4)"])


@pytest.mark.full
@pytest.mark.parametrize("name", OTHERS)
def test_nothing_differs_beside_another_plugin(
    name: str, compare: Callable[[str], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """[E18] Each alone: most of them switch the fast protocol off."""
    if name.partition(" ")[0] not in INSTALLED:
        pytest.skip(f"needs the plugin {name}")
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    monkeypatch.setenv("PYTEST_ADDOPTS", "-p rageval -p xdist")
    compare(OTHERS[name])


def _traces(project: Project, words: list[str]) -> dict[str, Any]:
    """Run pytest, and return all that comes out, by names."""
    os.environ.pop("PYTEST_CURRENT_TEST", None)  # of the outer run
    result = project.pytest(*words)
    out = [_steady(line) for line in result.outlines if _OFF not in line]
    log = project.path / "seen.txt"
    seen = log.read_text("utf-8").splitlines() if log.exists() else []
    in_order = not {"-n", "--durations=0"} & {*words}
    junit, cache = project.path / "j.xml", project.path / ".pytest_cache"
    return {
        "status": result.ret,
        "out": out if in_order else sorted("".join(sorted(line)) for line in out),
        "err": [_steady(line) for line in result.errlines],
        "seen": seen if in_order else _by_case(seen),
        "cache": {
            path.name: sorted(_steady(path.read_text()).replace(",", "").splitlines())
            for path in cache.rglob("*")
            if path.is_file()
        },
        "files": _files(project.path),
        "junit": _junit(junit, in_order=in_order) if junit.exists() else [],
    }


_OFF = "rageval: no fast protocol"
_RUN = r"\d{8}T\d{6}-\d+"
_TIME = r"\bin [\d.]+s|\b[\d.]+s (?=setup|call|teardown)|\d+ms|\b[\d.]+s$"
_ADDRESS = r"0x[0-9a-f]+"
_PROGRESS = r"\[gw\d\]( \[ *\d+%\])?|\[ *\d+%\]| *\d[\d.]*(us|μs|ms|s|m)? *$"
_DATE = r"\d{4}-\d\d-\d\dT[\d:.]+"
_VARYING = re.compile(f"{_RUN}|{_TIME}|{_PROGRESS}|{_DATE}|{_ADDRESS}")


def _steady(line: str) -> str:
    """Return a line of the output without times and names of runs."""
    return re.sub(r"=+", "=", _VARYING.sub("#", line)).rstrip("# ")


def _by_case(lines: list[str]) -> list[list[str]]:
    """Return what was seen of each case in its order, whichever worker ran it and when."""
    cases: dict[str, list[str]] = {}
    for line in lines:
        found = re.search(r"[\w.]+::[^'\"]+", line) if "'scored'" not in line else None
        cases.setdefault(found[0] if found else line, []).append(line)
    return [cases[name] for name in sorted(cases)]


def _files(root: Path) -> dict[str, str]:
    """Return the files of the newest runs, without what a run is."""
    found = {}
    for name in ("garden", "shed/old", "shed/new", "own"):
        runs = [run for run in (root / ".rageval" / name).glob("2*") if run.is_dir()]
        runs.sort(key=lambda run: run.stat().st_mtime_ns)
        for path in runs[-1].rglob("*") if runs else ():
            text = path.read_text("utf-8")
            if path.name == "results.json":
                text = re.sub(r'(?m)^"run": .*$', "", text)
            elif path.name in ("metadata.json", "report.html", "shard.jsonl", "summary.md"):
                text = ""
            found[f"{name}/{path.name}"] = re.sub(r",[\d.]+e?-?\d*$", "", text, flags=re.MULTILINE)
    return found


def _junit(path: Path, *, in_order: bool) -> list[str]:
    """Return the test cases of JUnit XML, without times."""
    root = ET.parse(path).getroot()
    for one in root.iter():
        for name in ("time", "timestamp", "hostname"):
            one.attrib.pop(name, None)
    cases = [ET.tostring(one, "unicode") for one in root.iter("testcase")]
    return cases if in_order else sorted(cases)
