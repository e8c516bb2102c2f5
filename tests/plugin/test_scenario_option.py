"""``--rag-scenario`` runs the scenarios it names, and nothing else unless that is named too."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.plugin.conftest import Project, Run, green, wrong_use

TWO = """
    name: qa
    metrics: [em]
    dataset:
      - {id: right, answer: Paris, references: [Paris]}
      - {id: other, answer: Paris, references: [Paris]}
"""


@pytest.fixture(autouse=True)
def _an_ordinary_test(project: Project) -> None:
    project.pytester.makepyfile(test_plain="def test_plain(): pass")


def test_only_the_scenario_runs(project: Project, run: Run) -> None:
    """[A1] Two cases pass; the ordinary test and the other scenario are not collected."""
    project.scenario(TWO)
    project.scenario(TWO, "second")
    result = green(run("--rag-scenario=qa.rageval.yaml"))
    result.assert_outcomes(passed=2)


@pytest.mark.full
def test_several_files_and_other_arguments_are_run_once_each(project: Project) -> None:
    """[A1] Two cases of each of two files and one function, however often they are named."""
    for name in ("first", "second", "third"):
        project.scenario(TWO.replace("name: qa", f"name: {name}"), name)
    first = "--rag-scenario=first.rageval.yaml"
    named = (first, first, "--rag-scenario", "second.rageval.yaml")
    project.pytest(*named).assert_outcomes(passed=4)
    project.pytest(*named, "test_plain.py", "first.rageval.yaml").assert_outcomes(passed=5)


def test_it_comes_before_testpaths(project: Project) -> None:
    """[A1] The ini file's ``testpaths`` are a default, which the option replaces."""
    project.pytester.makeini("[pytest]\ntestpaths = test_plain.py")
    project.scenario(TWO)
    project.pytest("--rag-scenario=qa.rageval.yaml").assert_outcomes(passed=2)


@pytest.mark.full
def test_samples_are_chosen_by_their_ids(project: Project) -> None:
    """[A1, A2] ``FILE::ID`` with the ids of the data; all of them are a complete run."""
    ids = ["two words", "x[1]", "双源::CT"]
    project.rows([{"id": name, "answer": "a", "references": ["a"]} for name in ids])
    project.scenario("name: qa\nmetrics: [em]\ndataset: qa.jsonl")
    options = [f"--rag-scenario=qa.rageval.yaml::{name}" for name in ids]
    project.pytest(*options[1:]).assert_outcomes(passed=2)
    assert project.outcomes() == dict.fromkeys(ids[1:], "passed")
    project.pytest(*options).assert_outcomes(passed=3)
    assert project.results()["complete"] is True


LONG = "Wie lange ist die Frist? " * 10


@pytest.mark.parametrize(
    ("ids", "wanted", "ran", "told"),
    [
        # an id as the data have it, or as pytest shows it
        (["faq::1", "faq::2"], "faq::1", "faq:1", ""),
        (["faq::1", "faq::2"], "faq:1", "faq:1", ""),
        (["双源::CT"], "双源::CT", "双源:CT", ""),
        (["x[1]", "x[2]"], "x[2]", "x(2)", ""),
        (["x[1]", "x[2]"], "x(2)", "x(2)", ""),
        (["a  b", "a c"], "a  b", "a b", ""),
        (["a::b[1]"], "a::b[1]", "a:b(1)", ""),
        (["faq:1", "faq::1"], "faq:1", "faq:1", ""),
        (["faq:1", "faq::1"], "faq:1~2", "faq:1~2", ""),
        (["faq::1", "faq:1~2"], "faq:1~2", "faq:1~2", ""),
        (["gate:x", "b"], "gate_x", "gate_x", ""),
        (["q1", "q2"], "q1", "q1", ""),
        ([LONG, "b"], LONG, LONG[:200], ""),
        # another sample took its name first
        (
            ["faq:1", "faq::1"],
            "faq::1",
            "faq:1",
            "sample 'faq:1'; to run 'faq::1', name it faq:1~2",
        ),
        (["faq::1", "faq:1"], "faq:1", "faq:1", "sample 'faq::1'; to run 'faq:1', name it faq:1~2"),
        (["a(1)", "a[1]"], "a[1]", "a(1)", "sample 'a(1)'; to run 'a[1]', name it a(1)~2"),
        ([f"{LONG}a", f"{LONG}b"], f"{LONG}b", LONG[:200], "name it Wie lange"),
        # none has it
        (["faq:1", "faq:2"], "faq::1", "faq:1", "sample 'faq:1'; no sample has the id 'faq::1'"),
        (["题:1"], "题::1", "题:1", "sample '题:1'; no sample has the id '题::1'"),
    ],
)
def test_a_sample_is_named_by_its_id_or_as_pytest_shows_it(
    project: Project, ids: list[str], wanted: str, ran: str, told: str
) -> None:
    """[A1, A2] Where another sample took the name of the id, it is told which one runs."""
    project.rows([{"id": name, "answer": "a", "references": ["a"]} for name in ids])
    project.scenario("name: qa\nmetrics: [em]\ndataset: qa.jsonl")
    result = project.pytest("-v", "-W", "default", f"--rag-scenario=qa.rageval.yaml::{wanted}")
    result.assert_outcomes(passed=1, warnings=1 if told else 0)
    result.stdout.fnmatch_lines([f"qa.rageval.yaml::{ran} PASSED*"])
    assert told in " ".join(result.stdout.str().split())
    assert bool(told) == ("that is the name of the sample" in result.stdout.str())


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("nowhere.rageval.yaml", "*nowhere.rageval.yaml*no such file*"),
        ("qa.rageval.yaml::nobody", "*not found*qa.rageval.yaml::nobody*"),
    ],
)
def test_what_is_not_there_is_wrong_use_of_the_command_line(
    project: Project, text: str, message: str
) -> None:
    """[A1, E12] Exit status 4, as for an unknown node id; no traceback."""
    project.scenario(TWO)
    result = wrong_use(project.pytest(f"--rag-scenario={text}"))
    result.stderr.fnmatch_lines([message])
    assert "Traceback" not in result.stderr.str() + result.stdout.str()


def test_a_sample_of_a_variant_is_named_by_its_id(project: Project) -> None:
    """[A1] The name of the variant is no part of it; the other variant has nothing to tell."""
    ids = ("faq:1", "faq::1", "q1")
    project.rows([{"id": name, "answer": "a", "references": ["a"]} for name in ids])
    project.scenario("name: qa\nmetrics: [em]\ndataset: qa.jsonl\nvariants: {dense: {}, own: {}}")
    named = "--rag-scenario=qa.rageval.yaml::dense::"
    project.pytest(f"{named}faq:1", f"{named}q1").assert_outcomes(passed=2)
    result = project.pytest("-W", "default", f"{named}faq::1")
    result.assert_outcomes(passed=1, warnings=1)
    result.stdout.fnmatch_lines(["*qa.rageval.yaml::dense::faq::1*name it faq:1~2*"])
    project.pytest(f"{named}faq:1~2").assert_outcomes(passed=1)


@pytest.fixture
def outside(project: Project, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder outside the rootdir, which an ini file in the project fixes."""
    project.pytester.makeini("[pytest]")
    return tmp_path_factory.mktemp("outside")


def _write(folder: Path, text: str) -> str:
    folder.mkdir(exist_ok=True)
    (folder / "qa.rageval.yaml").write_text(text, "utf-8")
    return f"--rag-scenario={folder / 'qa.rageval.yaml'}"


def _in_rootdir(project: Project) -> tuple[str, ...]:
    return ("-c", str(project.path / "tox.ini"), "--rootdir", str(project.path))


def test_files_of_one_name_outside_the_rootdir_stay_apart(
    project: Project, run: Run, outside: Path
) -> None:
    """[A1, A2] Same file name, same ids, other scenario: 2 + 2 cases, one run folder each.

    These are below the rootdir all the same.
    """
    first = _write(outside / "a", TWO.replace("name: qa", "name: first"))
    second = _write(outside / "b", TWO.replace("name: qa", "name: second"))
    result = run(*_in_rootdir(project), first, second)
    result.assert_outcomes(passed=4)
    assert len(project.outcomes("first")) == len(project.outcomes("second")) == 2


def test_the_environment_names_scenarios_from_the_working_directory(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    """[A1] ``RAGEVAL_SCENARIO``, not relative to the rootdir, one level up: 2 + 2 cases."""
    project.pytester.makeini("[pytest]")
    deep = project.pytester.mkdir("deep")
    for name in ("first", "second"):
        _write(deep / name, TWO.replace("name: qa", f"name: {name}"))
    monkeypatch.chdir(deep)
    monkeypatch.setenv("RAGEVAL_SCENARIO", "first/qa.rageval.yaml; second/qa.rageval.yaml")
    project.pytest().assert_outcomes(passed=4)


# Patterns, and files that are scenarios by what is in them


def _three(project: Project) -> None:
    for name in ("eval/a.yaml", "eval/deep/b.yaml", "eval/deep/c.yml"):
        stem = Path(name).stem
        text = TWO.replace("name: qa", f"name: {stem}")
        project.file(name, "\n".join(line[4:] for line in text.splitlines()))


@pytest.mark.full
def test_a_pattern_names_all_files_that_match(project: Project, run: Run) -> None:
    """[U3] ``**`` is any depth: a and b, two cases each; c.yml does not match. An id is of each."""
    _three(project)
    run("--rag-scenario=eval/**/*.yaml").assert_outcomes(passed=4)
    assert sorted(path.name for path in (project.path / ".rageval").glob("[a-c]")) == ["a", "b"]
    run("--rag-scenario=eval/**/*.y*ml::right").assert_outcomes(passed=3)
    assert project.outcomes("c") == {"right": "passed"}


def test_conftest_files_of_a_pattern_are_loaded(project: Project) -> None:
    """[U3] Also those of folders that pytest knows of through the pattern alone."""
    _three(project)
    project.file(
        "eval/deep/conftest.py",
        "def pytest_addoption(parser):\n    parser.addoption('--of-the-folder')\n",
    )
    project.pytest("--rag-scenario=eval/**/b.yaml", "--of-the-folder=1").assert_outcomes(passed=2)


@pytest.mark.full
def test_a_scenario_of_any_name_runs_when_pytest_names_it(project: Project, run: Run) -> None:
    """[U3] ``pytest eval/a.yaml``: both cases, or one, or all for a gate; not with its folder."""
    _three(project)
    run("eval/a.yaml").assert_outcomes(passed=2)
    assert project.outcomes("a") == {"right": "passed", "other": "passed"}
    assert run("eval").ret == pytest.ExitCode.NO_TESTS_COLLECTED
    run("eval/a.yaml::other").assert_outcomes(passed=1)
    assert project.outcomes("a") == {"other": "passed"}
    run("eval/a.yaml::gate:unscored").assert_outcomes(passed=2)


@pytest.mark.full
def test_a_broken_scenario_says_what_is_wrong_with_it(project: Project) -> None:
    """[U3] It is recognised without being read: its line, and not "not found"."""
    project.file("bot.yaml", "name: qa\nmetrics: [emm]\ndataset: qa.jsonl\n")
    result = project.pytest("bot.yaml")
    result.stdout.fnmatch_lines(["bot.yaml:2: *unknown metric 'emm'*"])


def test_what_may_be_a_scenario_says_how(project: Project) -> None:
    """[U3] It has metrics and no data: as before it is not found, and the way to run it is said."""
    project.file("maybe.yaml", "name: qa\nmetrics: [em]\n")
    result = project.pytest("maybe.yaml")
    assert result.ret != pytest.ExitCode.OK
    result.stdout.fnmatch_lines(
        ["rageval: if maybe.yaml is a scenario, *--rag-scenario=maybe.yaml*"]
    )


def test_what_is_none_is_left_alone(project: Project) -> None:
    """[U3] As before: pytest does not find anything in it, and nothing is said of scenarios."""
    project.file("compose.yaml", "services:\n  web:\n    metrics: on\n    dataset: x\n")
    result = wrong_use(project.pytest("compose.yaml"))
    result.stderr.fnmatch_lines(["ERROR: not found: *compose.yaml*"])
    assert "rageval:" not in result.stdout.str()


def test_another_plugin_may_collect_what_is_none(project: Project) -> None:
    """[U3] One with its own YAML files."""
    project.conftest(
        """
        import pytest

        class Item(pytest.Item):
            def runtest(self):
                pass

        class File(pytest.File):
            def collect(self):
                yield Item.from_parent(self, name="theirs")

        def pytest_collect_file(file_path, parent):
            if file_path.name == "steps.yaml":
                return File.from_parent(parent, path=file_path)
        """
    )
    project.file("steps.yaml", "stages:\n  - name: a\n")
    project.pytest("steps.yaml").assert_outcomes(passed=1)
