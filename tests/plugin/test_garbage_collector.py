"""The garbage collector during a run: out of the way, and afterwards as it was."""

from __future__ import annotations

import gc

import pytest

from pytest_rageval.collector import garbage_kept


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


@pytest.mark.full
def test_a_run_freezes_its_samples_and_leaves_nothing_frozen(project, run):
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
        def pytest_runtest_call(item): log("call")
        """
    )
    run().assert_outcomes(passed=2)
    lines = project.path.joinpath("log.txt").read_text().splitlines()
    assert set(lines) == {"call True True"}
    assert gc.get_freeze_count() < 1000


def test_a_run_without_cases_freezes_nothing(project, run):
    """Its tests may be about garbage, although a scenario lies beside them."""
    project.scenario("name: qa\ndataset: [{answer: a, references: a}]\nmetrics: [em]\n")
    project.pytester.makepyfile("import gc\ndef test_it(): assert gc.get_freeze_count() < 1000\n")
    project.conftest("import gc\ngc.unfreeze()  # what the outer run has frozen\n")
    run("-k", "test_it").assert_outcomes(passed=1, deselected=1)
