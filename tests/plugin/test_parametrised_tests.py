"""[E6] Test functions over a scenario that have other parameters, too: each value is a run."""

from __future__ import annotations

import pytest

from tests.plugin.conftest import Project, Run, green, red, wrong_use

SCENARIO = """
name: qa
metrics: [em]
gates: {em: 0.3}
dataset:
"""
TEST = """
import pytest

{head}
@pytest.mark.rag_scenario("qa.rageval.yaml")
def test_bot(rageval, rag_sample, {given}):
    rageval.check("x" if {right} else "no")
"""
GENERATED = """
def pytest_generate_tests(metafunc):
    metafunc.parametrize("k", [1, 3])
    metafunc.parametrize("hops", [1, 2])
"""
ONE_CALL = """
def pytest_generate_tests(metafunc):
    metafunc.parametrize("k, hops", [(1, 1), (1, 2), (3, 1), (3, 2)])
"""
K_GENERATED = """
def pytest_generate_tests(metafunc):
    metafunc.parametrize("k", [1, 3])
"""
FIXTURES = """
import pytest

@pytest.fixture(params=[1, 3], scope="session")
def k(request):
    return request.param

@pytest.fixture(params=[1, 2])
def hops(request, k):
    return request.param
"""
HOPS = "@pytest.mark.parametrize('hops', [1, 2])"
FOUR = ["1-1", "1-2", "3-1", "3-2"]


def written(project: Project, ids: list[str], *, head: str = "", given: str, right: str) -> None:
    """Write a scenario with a row for each id, and a test of it."""
    rows = "".join(f'  - {{id: "{one}", question: q{one}, references: [x]}}\n' for one in ids)
    project.scenario(SCENARIO + rows)
    project.file("test_bot.py", TEST.format(head=head, given=given, right=right))


def runs(project: Project) -> dict[str, list[str]]:
    """Return the ids of each run by the name of its parameters."""
    folders = sorted((project.path / ".rageval").glob("qa*"))
    names = [folder.name for folder in folders if folder.is_dir()]
    return {
        name.removeprefix("qa").strip("[]"): [
            sample["id"] for sample in project.results(name)["samples"]
        ]
        for name in names
    }


@pytest.mark.parametrize(
    ("conftest", "head", "expected"),
    [
        (GENERATED, "", FOUR),
        (ONE_CALL, "", FOUR),
        ("", "@pytest.mark.parametrize('k, hops', [(1, 1), (1, 2), (3, 1), (3, 2)])", FOUR),
        ("", f"{HOPS}\n@pytest.mark.parametrize('k', [1, 3])", FOUR),
        (FIXTURES, "", FOUR),
        (K_GENERATED, HOPS, FOUR),
    ],
)
@pytest.mark.parametrize("ids", [["1", "2", "3"], ["1-2", "2-1", "1"], ["一", "1-二", "é"]])
def test_each_value_of_the_other_parameters_runs_over_all_samples(
    project: Project, plain: Run, conftest: str, head: str, expected: list[str], ids: list[str]
) -> None:
    """Whichever of the ids in a node id is the sample's, and whatever the values are called."""
    project.conftest(conftest)
    written(project, ids, head=head, given="k, hops", right="(k, hops) != (1, 2)")
    assert plain("test_bot.py").ret == pytest.ExitCode.TESTS_FAILED
    assert runs(project) == dict.fromkeys(expected, ids)
    gates = {name: project.gates(f"qa[{name}]")["em.mean"] for name in expected}
    assert gates == {name: "failed" if name == "1-2" else "passed" for name in expected}


def test_two_cases_of_one_node_id_are_refused(project: Project, run: Run) -> None:
    """Sample 1 with 2-3, and 1-2 with 3: one result was taken for the other's."""
    head = "@pytest.mark.parametrize('k', ['3', '2-3'])"
    written(project, ["1", "1-2"], head=head, given="k", right="True")
    result = run("test_bot.py")
    assert result.ret != pytest.ExitCode.OK
    two = "names two cases (sample, other parameters), ('1', '2-3') and ('1-2', '3'):"
    assert f"test_bot.py::test_bot[1-2-3] {two}" in result.stdout.str()


@pytest.mark.skipif(not hasattr(pytest, "HIDDEN_PARAM"), reason="comes with pytest 8.4")
def test_a_value_that_node_ids_do_not_show_is_the_run_of_the_plain_name(
    project: Project, plain: Run
) -> None:
    head = "@pytest.mark.parametrize('k', [pytest.param(1, id=pytest.HIDDEN_PARAM), 3])"
    written(project, ["1", "2"], head=head, given="k", right="k == 1")
    assert plain("test_bot.py").ret == pytest.ExitCode.TESTS_FAILED
    assert runs(project) == {"": ["1", "2"], "3": ["1", "2"]}
    assert (project.gates()["em.mean"], project.gates("qa[3]")["em.mean"]) == ("passed", "failed")


@pytest.mark.skipif(not hasattr(pytest, "HIDDEN_PARAM"), reason="comes with pytest 8.4")
def test_a_hidden_parameter_behind_the_sample_makes_no_runs_of_single_samples(
    project: Project, plain: Run
) -> None:
    """As pytest-asyncio gives one for its loop."""
    project.file(
        "conftest.py",
        "import pytest\n"
        "def pytest_generate_tests(metafunc):\n"
        "    if 'loop' in metafunc.fixturenames:\n"
        "        metafunc.parametrize('loop', [0], ids=[pytest.HIDDEN_PARAM])\n",
    )
    head = "@pytest.mark.parametrize('k', [1, 3])"
    written(project, ["1", "2"], head=head, given="k, loop", right="k == 1")
    assert plain("test_bot.py").ret == pytest.ExitCode.TESTS_FAILED
    assert runs(project) == {"1": ["1", "2"], "3": ["1", "2"]}


TWO = "@pytest.mark.parametrize('k', [1, 3])"
PLAIN = """
@pytest.mark.rag_scenario("other.yaml")
def test_other(rageval):
    rageval.check("x")
"""


@pytest.fixture
def two(project: Project) -> Project:
    """Return a project with a test of two runs, and one of another scenario."""
    written(project, ["1", "2"], head=TWO, given="k", right="True")
    text = (project.path / "qa.rageval.yaml").read_text("utf-8")
    project.file("other.yaml", text.replace("name: qa", "name: other"))
    file = project.path / "test_bot.py"
    file.write_text(file.read_text("utf-8") + PLAIN, "utf-8")
    return project


@pytest.mark.parametrize(
    ("head", "conftest"), [(TWO, ""), ("", FIXTURES), ("", K_GENERATED)], ids=str.__len__
)
def test_a_test_with_other_parameters_is_its_runs(
    project: Project, run: Run, head: str, conftest: str
) -> None:
    """[E4] There is none without parameters, of which --rag-strict could miss the samples."""
    project.conftest(conftest)
    written(project, ["1", "2"], head=head, given="k", right="True")
    result = green(run("test_bot.py", "--rag-strict"))
    result.assert_outcomes(passed=8)


@pytest.mark.parametrize(
    ("args", "undecided"),
    [
        (["-k", "test_other"], ["qa"]),
        (["-k", "not test_other"], ["other"]),
        (["--deselect", "test_bot.py::test_other"], ["other"]),
        (["--deselect", "test_bot.py::test_bot"], ["qa"]),
        (["-k", "not 1-3 and not 2-3"], ["qa[3]"]),
        (["-k", "1-3 or 2-3"], ["qa[1]", "other"]),
    ],
)
def test_a_run_that_nobody_selects_is_not_decided(
    two: Project, plain: Run, args: list[str], undecided: list[str]
) -> None:
    """[E4] It is red with --rag-strict, and named if no other run of its file is selected."""
    result = green(plain("test_bot.py", *args))
    text = result.stdout.str()
    for name in ("qa[1]", "qa[3]", "qa", "other"):
        said = f"NOT DECIDED: {name}, none of its 2 cases was selected"
        assert (said in text) is (name in undecided and "[" not in name)
    result = red(plain("test_bot.py", *args, "--rag-strict"))
    nodeids = {"qa[1]": "bot(1)", "qa[3]": "bot(3)", "qa": "bot", "other": "other"}
    failed = [f"FAILED test_bot.py::test_{nodeids[name]}::gate:em.mean *" for name in undecided]
    result.stdout.fnmatch_lines_random(failed)
    result.assert_outcomes(**{**result.parseoutcomes(), "failed": 2 * len(undecided)})


def test_where_nothing_is_selected_each_test_is_named(two: Project, plain: Run) -> None:
    """[E4]"""
    result = plain("test_bot.py", "-k", "nothing")
    assert result.ret == pytest.ExitCode.NO_TESTS_COLLECTED
    assert "NOT DECIDED: qa, none of its 2 cases was selected" in result.stdout.str()
    assert plain("test_bot.py", "-k", "nothing", "--rag-strict").ret == pytest.ExitCode.USAGE_ERROR


COMPARED = """
name: qa
metrics: [em]
compare: main
dataset: [{id: "1", question: q1, references: [x]}, {id: "2", question: q2, references: [x]}]
"""
MARKED = """
import pytest

@pytest.mark.parametrize("k", [1, 3])
@pytest.mark.rag_scenario("qa.yaml")
def test_bot(rageval, k):
    rageval.check("x")

def test_plain():
    pass
"""
PLAIN_ONE = """
import pytest

@pytest.mark.rag_scenario("qa.yaml")
def test_bot(rageval):
    rageval.check("x")

def test_plain():
    pass
"""
BY_FIXTURE = MARKED.replace('@pytest.mark.parametrize("k", [1, 3])\n', "")
IN_CLASS = """
import pytest

@pytest.mark.rag_scenario("qa.yaml")
class TestBot:
    @pytest.mark.parametrize("k", [1, 3])
    def test_bot(self, rageval, k):
        rageval.check("x")
"""


@pytest.mark.parametrize(
    ("test", "conftest"),
    [
        (PLAIN_ONE, ""),
        (MARKED, ""),
        (IN_CLASS, ""),
        (BY_FIXTURE, FIXTURES),
        (BY_FIXTURE, K_GENERATED.replace("    ", '    if "k" in metafunc.fixturenames: ')),
    ],
)
def test_each_run_is_compared_with_its_own_saved_run(
    project: Project, plain: Run, test: str, conftest: str
) -> None:
    """[E15] However the test got its parameters; nothing is looked for under the plain name."""
    project.file("qa.yaml", COMPARED)
    project.conftest(conftest)
    project.file("test_bot.py", test)
    assert plain("test_bot.py", "--rag-save", "main").ret == pytest.ExitCode.OK
    assert plain("test_bot.py").ret == pytest.ExitCode.OK
    names = ["qa"] if test == PLAIN_ONE else ["qa[1]", "qa[3]"]
    assert [project.results(name)["comparison"]["metrics"]["em"]["diff"] for name in names] == [
        0.0 for _ in names
    ]


@pytest.mark.parametrize("test", [PLAIN_ONE, MARKED, IN_CLASS])
@pytest.mark.parametrize("args", [[], ["-n", "2"]])
def test_a_saved_run_that_is_missing_is_told(
    project: Project, plain: Run, test: str, args: list[str]
) -> None:
    """[E15] With workers, too: they do not end without a word."""
    project.file("qa.yaml", COMPARED)
    project.file("test_bot.py", test)
    project.file("test_other.py", "def test_other():\n    pass\n")
    result = wrong_use(plain("test_bot.py", "test_other.py", *args))
    text = result.stdout.str()
    assert "INTERNALERROR" not in text + result.stderr.str()
    names = ["qa"] if test == PLAIN_ONE else ["qa[1]", "qa[3]"]
    for name in names:
        said = f"no saved run 'main' (.rageval/{name}/baselines/main.json)"
        assert text.count(said) in (1, 2)  # as an error of its file; pytest's summary may repeat it
    assert ("1 passed" in text or "2 passed" in text) is bool(args)


@pytest.mark.parametrize("select", [["-k", "test_plain"], ["-k", "1-1 or 2-1"]])
def test_a_run_that_is_not_collected_needs_no_saved_run(
    project: Project, plain: Run, select: list[str]
) -> None:
    """[E15] Of a test that an argument names, and of another one."""
    project.file("qa.yaml", COMPARED)
    project.file("test_bot.py", MARKED.replace("[1, 3]", "[1]"))
    plain("test_bot.py", "--rag-save", "main")
    project.file("test_bot.py", MARKED)
    ids = ["test_bot.py::test_plain", "test_bot.py::test_bot[1-1]", "test_bot.py::test_bot[2-1]"]
    assert plain(*ids).ret == pytest.ExitCode.OK
    assert plain(*ids, *select).ret == pytest.ExitCode.OK
