"""E8: what is logged for a sample is in that sample's report, whichever case runs meanwhile."""

from __future__ import annotations

import json

import pytest
from judged_project import JudgedProject

pytest_plugins = ["judged_project"]

NOISY = """
import json
import logging
import threading
import time


class Noisy(Graded):
    async def ascore(self, sample, models):
        log = logging.getLogger("noisy")
        log.warning("%s begins", sample.id)
        log.info("%s is at work", sample.id)
        for _ in range(int(sample.answer)):
            await asyncio.sleep(0.02)
            log.warning("%s waits", sample.id)
        await asyncio.to_thread(log.warning, "%s ends", sample.id)
        return Score(self.name, 0.5)


class Spelled(Graded):
    async def ascore(self, sample, models):
        logging.getLogger("noisy").warning("%d", "no number")
        return Score(self.name, 0.5)


for name, make in [("noisy", Noisy), ("spelled", Spelled)]:
    if METRIC_REGISTRY.canonical(name) is None:
        info = MetricInfo(name, frozenset({"answer"}), asks=frozenset({"judge"}))
        METRIC_REGISTRY.add(MetricDefinition(info, make))


def pytest_runtest_setup(item):
    if item.name.startswith("s"):
        time.sleep(0.03)  # while others are being judged
        log = logging.getLogger("user")
        thread = threading.Thread(target=log.warning, args=[f"by {item.name}"])
        thread.start()
        thread.join()


def pytest_runtest_logreport(report):
    if report.when == "call" and "PYTEST_XDIST_WORKER" not in os.environ:
        with open(HERE / "reports.jsonl", "a") as file:
            file.write(json.dumps([report.nodeid, report.caplog]) + "\\n")
"""
ENDS_LAST = """
ENDED = set()


async def last(sample):
    while sample.id == "s0" and "s1" not in ENDED:
        await asyncio.sleep(0.01)


def note(log, sample_id):
    log.warning("%s ends", sample_id)
    ENDED.add(sample_id)
"""
FORMAT = "log_format=%(name)s %(levelname)s %(message)s"


def logs(judged: JudgedProject) -> dict[str, list[str]]:
    """Return the lines of the log in each report of a call, by the name of the case."""
    reports = map(json.loads, (judged.path / "reports.jsonl").read_text().splitlines())
    return {nodeid.rpartition("::")[2]: text.splitlines() for nodeid, text in reports}


def expected(name: str, waits: int) -> list[str]:
    """Return what the report of a sample holds: what came ahead, then what came meanwhile."""
    lines = [f"{name} begins", *[f"{name} waits"] * waits, f"{name} ends"]
    return [f"noisy WARNING {line}" for line in lines]


@pytest.mark.full
def test_a_record_is_in_the_report_of_its_sample_and_in_no_other(judged: JudgedProject) -> None:
    """[E8] Three samples at once; the first one takes longest, and logs while the others do.

    What another thread logs in a case stays there.
    """
    judged.with_conftest(NOISY)
    judged.scenario(["12", "3", "8"], metrics=["noisy"])
    judged.loop_back("-o", FORMAT).assert_outcomes(passed=3)
    found = logs(judged)
    for name, waits in [("s0", 12), ("s1", 3), ("s2", 8)]:
        of_user = f"user WARNING by {name}"
        assert [line for line in found[name] if line != of_user] == expected(name, waits)
        assert found[name].count(of_user) == 1


@pytest.mark.full
def test_the_level_of_the_log_holds_for_judges_as_well(judged: JudgedProject) -> None:
    """[E8] With the ini value ``log_level``; else Python's own, which is WARNING."""
    judged.with_conftest(NOISY)
    judged.scenario(["1", "1"], metrics=["noisy"])
    judged.pytest("-o", FORMAT, "-o", "log_level=INFO").assert_outcomes(passed=2)
    for name in ("s0", "s1"):
        assert f"noisy INFO {name} is at work" in logs(judged)[name]
    (judged.path / "reports.jsonl").unlink()
    judged.pytest("-o", FORMAT, "-o", "log_level=ERROR").assert_outcomes(passed=2)
    assert logs(judged) == {"s0": [], "s1": []}


@pytest.mark.full
@pytest.mark.parametrize("args", [(), ("-o", "log_cli=true")], ids=["file", "live"])
def test_the_log_file_and_the_live_log_have_every_record_once(
    judged: JudgedProject, args: tuple[str, ...]
) -> None:
    """[E8] Also those of a sample that is not run after all: ``-x`` stops at the first one."""
    judged.with_conftest(NOISY)
    judged.scenario(["4", "2"], metrics=["noisy"], thresholds={"noisy": 0.9})
    result = judged.pytest("-x", "--log-file=all.log", "-o", "log_file_format=%(message)s", *args)
    result.assert_outcomes(failed=1)
    lines = (judged.path / "all.log").read_text().splitlines()
    by_user = ["by s0"]
    assert [line for line in lines if line.startswith("s0")] == [
        "s0 begins",
        *["s0 waits"] * 4,
        "s0 ends",
    ]
    assert sorted(line for line in lines if not line.startswith("s0")) == sorted(
        ["s1 begins", "s1 waits", "s1 waits", "s1 ends", *by_user]
    )
    if args:
        shown = result.stdout.str().partition("= FAILURES =")[0]
        assert shown.count("s0 begins") == shown.count("s1 begins") == 1
        assert shown.index("live log setup") < shown.index("s0 begins") < shown.index("s1 begins")


@pytest.mark.full
def test_only_the_last_records_of_a_sample_are_kept(judged: JudgedProject) -> None:
    """[E8] 200 of them: the second sample logs 302 times while the first one is still judged."""
    busy = NOISY.replace("await asyncio.sleep(0.02)", "await last(sample)")
    judged.with_conftest(busy.replace('log.warning, "%s ends"', "note, log") + ENDS_LAST)
    judged.scenario(["1", "300"], metrics=["noisy"])
    judged.pytest("-o", FORMAT).assert_outcomes(passed=2)
    found = [line for line in logs(judged)["s1"] if line.startswith("noisy")]
    assert found == expected("s1", 300)[-200:]


def test_a_message_that_cannot_be_put_together_is_the_metrics_error(judged: JudgedProject) -> None:
    """[E8] As anything that goes wrong in a metric, ahead or not."""
    judged.with_conftest(NOISY)
    judged.scenario(["1", "1"], metrics=["spelled"])
    judged.pytest().assert_outcomes(errors=2, failed=1)  # the gate unscored
    for error in judged.errors.values():
        assert error.startswith("TypeError: %d format: a real number is required")


def test_without_pytests_logging_records_go_their_usual_way(judged: JudgedProject) -> None:
    """[E8] ``-p no:logging``."""
    judged.with_conftest(NOISY.replace("report.caplog", "''"))
    judged.scenario(["1"], metrics=["noisy"])
    judged.pytest("-p", "no:logging").assert_outcomes(passed=1)


def test_what_a_test_function_has_judged_is_in_its_own_report(judged: JudgedProject) -> None:
    """[E8] ``rageval.check`` judges while that very test runs."""
    judged.with_conftest(NOISY.replace('startswith("s")', 'startswith("test")'))
    path = judged.scenario(["1", "2"], metrics=["noisy"])
    path = path.rename(judged.path / "qa.yaml")
    (judged.path / "test_bot.py").write_text(
        "import pytest\n"
        "@pytest.mark.rag_scenario('qa.yaml')\n"
        "def test_bot(rag_sample, rageval):\n"
        "    rageval.check()\n"
    )
    judged.pytest("-o", FORMAT).assert_outcomes(passed=2)
    for name, waits in [("s0", 1), ("s1", 2)]:
        found = logs(judged)[f"test_bot[{name}]"]
        assert [line for line in found if line.startswith("noisy")] == expected(name, waits)
