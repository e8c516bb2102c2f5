"""[A21, E6] The system under test is a fixture of the user's conftest.py."""

from __future__ import annotations

import pytest

from pytest_rageval.engine.scoring import window as ahead
from pytest_rageval.plugin.run import look_ahead
from tests.plugin.conftest import Project, Run, interrupted

CONFTEST = """
    import threading
    import time

    import pytest

    STARTED = []

    class App:
        def __init__(self):
            self.open = 0
            self.most = 0
            self.lock = threading.Lock()

        def ask(self, question):
            with self.lock:
                self.open += 1
                self.most = max(self.most, self.open)
            time.sleep(0.2)
            with self.lock:
                self.open -= 1
            return {"answer": question.split()[-1], "contexts": [question]}

    @pytest.fixture(scope="session")
    def app():
        app = App()
        yield app
        with open("log.txt", "a") as log:
            log.write(f"stopped {app.most}\\n")

    @pytest.fixture(scope="module")
    def rag_target(app):
        with open("log.txt", "a") as log:
            log.write("started\\n")
        return app.ask

    @pytest.fixture
    def number():
        return 3

    @pytest.fixture
    def broken():
        raise OSError("the index is gone")
"""


def scenario(project: Project, count: int = 8, target: str = "fixture") -> None:
    """Write a scenario whose answers are right but for that of s2."""
    rows = "\n".join(
        f"      - {{id: s{at}, question: say {at}, references: ['{at if at != 2 else 'x'}']}}"
        for at in range(count)
    )
    project.scenario(f"""
    name: qa
    target: {target}
    metrics: [em]
    thresholds: {{em: 0.5}}
    dataset:
{rows}
    """)


@pytest.fixture
def app(project: Project, pytester: pytest.Pytester) -> Project:
    """Return a project with an application as a fixture."""
    pytester.makeconftest(CONFTEST)
    return project


def log(project: Project) -> list[str]:
    return (project.path / "log.txt").read_text().split("\n")[:-1]


@pytest.mark.full
def test_a_fixture_answers(app: Project, workers: Run) -> None:
    """s2 alone is wrong; what was answered is in the results."""
    scenario(app)
    workers().assert_outcomes(passed=7, failed=1)
    samples = app.results()["samples"]
    assert [sample["outcome"] for sample in samples[:4]] == ["passed", "passed", "failed", "passed"]
    assert samples[3]["answer"] == "3"
    assert samples[3]["contexts"] == ["say 3"]


@pytest.mark.full
def test_a_shared_fixture_is_made_once_and_asked_ahead(
    app: Project, pytester: pytest.Pytester
) -> None:
    """Five samples are in work at once, for the fixture's scope is the module: none ends before."""
    wait = "while self.most < 5:\n                time.sleep(0.01)"
    pytester.makeconftest(CONFTEST.replace("time.sleep(0.2)", wait))
    scenario(app, count=20)
    app.pytest()
    started, stopped = log(app)
    assert started == "started"
    assert int(stopped.removeprefix("stopped ")) > 4


STATEFUL = """
    import pytest

    STATE = {{}}

    def scope(fixture_name, config):
        return "function"

    def answer(question):
        return STATE["case"]

    @pytest.fixture{scope}
    def rag_target(request):
        STATE["case"] = request.node.name
        yield answer
        STATE["case"] = "gone"
"""


@pytest.mark.full
@pytest.mark.parametrize("scope", ["", "(scope='function')", "(scope='class')", "(scope=scope)"])
def test_the_same_function_in_a_state_of_each_case_answers_its_own_case_only(
    app: Project, run: Run, scope: str
) -> None:
    """What counts is that the fixture is made for the case, not what it gives."""
    app.conftest(STATEFUL.format(scope=scope))
    scenario(app, count=6)
    run()
    answers = [sample["answer"] for sample in app.results()["samples"]]
    assert answers == ["s0", "s1", "s2", "s3", "s4", "s5"]


@pytest.mark.full
def test_a_fixture_for_each_case_that_overrides_a_shared_one_answers_alone(
    app: Project, run: Run
) -> None:
    """In a folder's conftest.py, from which it takes the shared function."""
    app.file(
        "below/conftest.py",
        "import pytest\n\nSTATE = {}\n\n"
        "@pytest.fixture\n"
        "def rag_target(request, rag_target):\n"
        "    STATE['case'] = request.node.name\n"
        "    return ANSWER\n\n"
        "def ANSWER(question):\n"
        "    return STATE['case']\n",
    )
    scenario(app, count=6)
    (app.path / "qa.rageval.yaml").rename(app.path / "below" / "qa.rageval.yaml")
    run()
    answers = [sample["answer"] for sample in app.results()["samples"]]
    assert answers == ["s0", "s1", "s2", "s3", "s4", "s5"]


def test_what_is_no_function_is_an_error_of_each_case(app: Project) -> None:
    scenario(app, count=2, target="{fixture: number}")
    result = app.pytest()
    result.assert_outcomes(errors=2, failed=1)  # and the gate ``unscored``
    result.stdout.fnmatch_lines(
        ["not answered: the fixture's value is 3 (int), expected a function"]
    )
    assert "During handling" not in result.stdout.str()


@pytest.mark.full
@pytest.mark.parametrize("name", ["broken", "no_such"])
def test_a_fixture_that_fails_is_an_error_of_each_case(app: Project, name: str, run: Run) -> None:
    """As of any test: the fixture's own words, and no case passes."""
    scenario(app, count=2, target=f"{{fixture: {name}}}")
    result = run()
    result.assert_outcomes(errors=2, failed=1)
    said = "the index is gone" if name == "broken" else "fixture 'no_such' not found"
    assert said in result.stdout.str()
    assert set(app.outcomes().values()) == {"error"}
    assert f"fixture '{name}'" in app.results()["samples"][0]["errors"]["target"]
    assert f"target fixture '{name}': 0 of 2 answered" in result.stdout.str()


def test_a_typo_in_the_name_of_a_fixture_is_one_of_the_scenario(app: Project, run: Run) -> None:
    """[U6] Its line, the nearest guess, what there is; nothing of this package."""
    scenario(app, count=1, target="{fixture: no_sush}")
    app.file("conftest.py", "import pytest\n@pytest.fixture\ndef no_such():\n    return str\n")
    result = run()
    result.stdout.fnmatch_lines(
        [
            "qa.rageval.yaml:2: target: fixture 'no_sush' not found. Did you mean 'no_such'? "
            "Available: *, no_such, *"
        ]
    )
    assert "items.py" not in result.stdout.str()
    assert "FixtureLookupError" not in result.stdout.str()
    found = app.results()["samples"][0]["errors"]["target"]
    assert found.startswith("fixture 'no_sush' not found. Did you mean 'no_such'?")


def test_what_the_fixture_itself_lacks_is_placed_there(app: Project) -> None:
    """[U6] A fixture that asks for one that is not there."""
    scenario(app, count=1, target="{fixture: bot}")
    app.file("conftest.py", "import pytest\n@pytest.fixture\ndef bot(indx):\n    return str\n")
    result = app.pytest()
    result.stdout.fnmatch_lines(
        ["*.yaml:2: target: fixture 'bot' (file *conftest.py, line *): fixture 'indx' not found.*"]
    )
    assert "items.py" not in result.stdout.str()


@pytest.mark.full
def test_a_fixture_is_made_for_cases_that_run_only(app: Project) -> None:
    """Deselected, collected only, skipped: nothing is started."""
    scenario(app)
    app.pytest("--collect-only")
    app.pytest("-k", "nothing")
    app.pytest("--setup-plan")
    assert not (app.path / "log.txt").exists()
    app.pytest("--rag-set", "skip=[{where: {id: [s0, s1, s2, s3, s4, s5, s6, s7]}}]")
    assert not (app.path / "log.txt").exists()


@pytest.mark.full
def test_the_name_of_a_fixture_is_a_name(app: Project) -> None:
    scenario(app, target="{fixture: 'my app'}")
    result = interrupted(app.pytest())
    assert (
        "qa.rageval.yaml:2: target.fixture: expected the name of a fixture" in result.stdout.str()
    )


@pytest.mark.full
def test_a_long_run_tells_its_progress(
    app: Project, pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    """[E11] At a terminal: how many are answered; there are no calls to count."""
    monkeypatch.delenv("CI", raising=False)
    monkeypatch.setattr(look_ahead, "_BEAT_S", 0.0)
    monkeypatch.setattr(ahead, "_POLL_S", 0.01)
    pytester.makeconftest(
        CONFTEST.replace("sleep(0.05)", "sleep(0.3)")
        + """
    def pytest_collection_finish(session):
        terminal = session.config.pluginmanager.get_plugin("terminalreporter")
        terminal.isatty = type(terminal.isatty)(True)
    """
    )
    scenario(app, count=3)
    app.pytest().stdout.fnmatch_lines(["rageval: ? of 3 samples answered"])


@pytest.mark.full
def test_kept_answers_are_those_of_the_folders_own_fixture(app: Project, run: Run) -> None:
    """[E9] Two folders with a rag_target each, the same question, one cache; the second run too."""
    for name in "ab":
        app.file(
            f"{name}/conftest.py",
            "import pytest\n\n"
            "@pytest.fixture(scope='session')\n"
            "def rag_target():\n"
            f"    return lambda question: 'answer of {name}'\n",
        )
        app.file(
            f"{name}/{name}.rageval.yaml",
            f"name: {name}\ntarget: {{type: fixture, cache_answers: true}}\nmetrics: [em]\n"
            "dataset: [{question: who, references: [x]}]\n",
        )
    for _ in range(2):
        run("a", "b")
        answers = [app.results(name)["samples"][0]["answer"] for name in "ab"]
        assert answers == ["answer of a", "answer of b"]
