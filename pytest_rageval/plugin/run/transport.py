"""Sends a result from an xdist worker to the controller, as one JSON string on the report.

execnet cannot send numpy scalars or lone surrogates; ``ensure_ascii`` escapes the latter.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pytest_rageval.model import SampleResult, ScenarioInfo, wire_text

ATTRIBUTE = "rageval"
"""The attribute of a report that holds the message."""


@dataclass(frozen=True, slots=True)
class Message:
    """A result of the scenario ``nodeid``; a worker's first message also has all scenarios.

    And, in a shard, the digest of all cases from which it takes its own, as ``selection``.
    """

    nodeid: str
    result: SampleResult
    scenarios: Sequence[ScenarioInfo] = ()
    selection: str = ""


def encode(message: Message) -> str:
    """Return the message as ASCII text."""
    plain = {
        "nodeid": message.nodeid,
        "result": message.result.to_row(),
        "scenarios": _plain(message.scenarios),
        "selection": message.selection,
    }
    return wire_text(plain)


def encode_scenarios(scenarios: Sequence[ScenarioInfo]) -> str:
    """Return scenarios without a result as ASCII text."""
    return wire_text(_plain(scenarios))


def decode_scenarios(text: str) -> list[ScenarioInfo]:
    """Return the scenarios from the text made by ``encode_scenarios``."""
    return _scenarios(json.loads(text))


def decode(text: str) -> Message:
    """Return the message from the text made by ``encode``."""
    plain = json.loads(text)
    return Message(
        nodeid=plain["nodeid"],
        result=SampleResult.from_row(plain["result"]),
        scenarios=_scenarios(plain["scenarios"]),
        selection=plain["selection"],
    )


def _plain(scenarios: Sequence[ScenarioInfo]) -> list[dict[str, Any]]:
    return [info.to_dict() for info in scenarios]


def _scenarios(plain: Sequence[Mapping[str, Any]]) -> list[ScenarioInfo]:
    return [ScenarioInfo.from_dict(info) for info in plain]
