"""Starts the session of a process: of a run, of a shard, or of a merge of shards."""

from __future__ import annotations

import pytest

from pytest_rageval.plugin.run.fast_reports import FastReports
from pytest_rageval.plugin.run.session import RagevalSession
from pytest_rageval.plugin.settings import Settings, is_controller
from pytest_rageval.plugin.show.next_steps import NextSteps
from pytest_rageval.plugin.show.pytest_reports import ScoreWords

_PLUGIN = "rageval-session"


def ensure_session(config: pytest.Config, settings: Settings) -> None:
    """Register, once, the session of this process and what goes with it.

    That is the next steps, what runs the cases, and with `-v` the scores as pytest's words.
    """
    if not config.pluginmanager.has_plugin(_PLUGIN):
        session = _session(config, settings)
        config.pluginmanager.register(session, _PLUGIN)
        steps = NextSteps(config, session.ended, session.results_of_cases)
        config.pluginmanager.register(steps, "rageval-next-steps")
        config.pluginmanager.register(_case_runner(config), "rageval-fast")
        # Not get_verbosity(): before pytest 9 it needs the terminal plugin.
        if config.getoption("verbose", 0) > 0:
            config.pluginmanager.register(ScoreWords())


def judge_shards_instead(config: pytest.Config, settings: Settings) -> None:
    """Have this process judge shards, and run no test; raises UsageError for other options."""
    # Not at the top: most runs merge nothing.
    from pytest_rageval.plugin.run.merge_run import MergeSession, refuse_other_options

    refuse_other_options(config)
    config.pluginmanager.register(MergeSession(config, settings), _PLUGIN)


def note_refusal(config: pytest.Config) -> None:
    """Have the run end with a usage error, because a baseline or a scenario's name is refused.

    Nothing happens in a process without a session.
    """
    found = config.pluginmanager.get_plugin(_PLUGIN)
    if found is not None:
        found.refuse()


def _case_runner(config: pytest.Config) -> object:
    """Return what runs cases, or in an xdist controller what receives their reports."""
    if is_controller(config):
        return FastReports(config)
    # Not at the top: a controller scores nothing.
    from pytest_rageval.plugin.run.fast_protocol import FastProtocol

    return FastProtocol(config)


def _session(config: pytest.Config, settings: Settings) -> RagevalSession:
    if settings.shard is None:
        return RagevalSession(config, settings)
    # Not at the top: most runs are not shards.
    from pytest_rageval.plugin.run.shard_run import ShardSession

    session = ShardSession(config, settings, settings.shard)
    session.mark_start()
    return session
