"""Sends a result from an xdist worker to the controller, as one JSON string on the report.

Not as objects: execnet cannot send numpy scalars or lone surrogates.
"""

from __future__ import annotations

from collections.abc import Sequence

from pytest_rageval.model import SampleResult, ScenarioInfo, Value
from pytest_rageval.text.codec import from_json, to_json

ATTRIBUTE = "rageval"
"""The attribute of a report that holds the message."""


class Message(Value, frozen=True):
    """A result of the scenario ``nodeid``; a worker's first message also has all scenarios.

    And, in a shard, the digest of all cases from which it takes its own, as ``selection``.
    """

    nodeid: str
    result: SampleResult
    scenarios: Sequence[ScenarioInfo] = ()
    selection: str = ""


def encode(message: Message) -> str:
    """Return the message as text."""
    return to_json(message)


def decode(text: str) -> Message:
    """Return the message from the text made by ``encode``."""
    return from_json(text, Message)
