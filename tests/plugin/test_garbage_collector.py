"""The garbage collector during a run: out of the way, and afterwards as it was."""

from __future__ import annotations

import gc

import pytest

from pytest_rageval.plugin.run import garbage
from pytest_rageval.plugin.run.garbage import garbage_kept


@pytest.fixture(autouse=True)
def _as_it_was():
    yield
    gc.enable()
    gc.unfreeze()


def test_the_collector_pauses_and_goes_on():
    with garbage_kept():
        assert not gc.isenabled()
    assert gc.isenabled()


def test_the_collector_goes_on_after_an_error():
    with pytest.raises(LookupError), garbage_kept():
        raise LookupError
    assert gc.isenabled()


def test_a_collector_that_was_off_stays_off():
    gc.disable()
    with garbage_kept():
        pass
    assert not gc.isenabled()


def test_a_run_freezes_modules_and_samples_and_leaves_nothing_frozen(project, run):
    project.scenario(
        """
        name: qa
        dataset: [{answer: a, references: a}, {answer: b, references: b}]
        metrics: [em]
        """
    )
    project.conftest(
        """
        import gc
        gc.unfreeze()  # what the outer run has frozen
        def log(when):
            with open("log.txt", "a") as file:
                print(when, gc.isenabled(), gc.get_freeze_count() > 1000, file=file)
        def pytest_collectstart(collector):
            if collector.path.suffix == ".yaml":
                log("collect")
        def pytest_runtest_call(item): log("call")
        """
    )
    run().assert_outcomes(passed=2)
    lines = project.path.joinpath("log.txt").read_text().splitlines()
    assert set(lines) == {"collect True True", "call True True"}
    assert gc.get_freeze_count() < 1000


def test_at_exit_the_interpreter_does_not_look_through_a_run(monkeypatch):
    registered = []
    monkeypatch.setattr(garbage.atexit, "register", registered.append)
    garbage._hide_at_exit.cache_clear()
    garbage.hide_all()
    garbage.hide_all()
    assert registered == [gc.freeze]
    assert gc.get_freeze_count() > 1000
