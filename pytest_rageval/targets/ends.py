"""What a stream, or a whole reply, says of its end: that it is whole, goes on, or has failed."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from pytest_rageval.errors import shorten
from pytest_rageval.model import NOTHING
from pytest_rageval.targets.base import TargetError, error_in, is_no_error
from pytest_rageval.targets.events import (
    ALONE,
    ENDS,
    NODE,
    WORD,
    Event,
    around,
    is_aside,
    on_the_path,
    places_in,
    status_of,
    words_of,
)
from pytest_rageval.text.json_value import EVERY, JsonPath
from pytest_rageval.text.tokenize import one_of

_BEGINS = (
    *("message start", "run started", "workflow started", "start step", "response created"),
    *("response in progress", "thread run created", "thread run in progress"),
    *("conversation chat created", "conversation chat in progress"),
    *("conversation response started", "interaction start"),
)
"""The words of types that begin an answer whose end has a type, too."""
_BEGUN = {frozenset(words.split()) for words in _BEGINS}
_STARTS = one_of("start started created in progress")

_OF_ALL = one_of(
    "message messages run stream workflow response chat conversation thread answer generation "
    "completion turn of"
)
"""What a type may say ends: all of an answer, and no call, part, node or search."""

_FLAGS = one_of(
    "done stop finished finish final last end close complete completed isdone isfinal isfinished "
    "isfinish isend islast iscomplete iscompletion nodeisfinish"
)
"""Keys that say whether the answer ends with their event, in lower case without underscores."""

_HALF = one_of("done isend isfinished isfinal")
"""Those that say so of a whole reply, too; others may be those of a page, as last: false."""

_PASSING = ("partial", "status")
"""The signs that more follows that hold until a text comes without them."""
_GOES_ON = one_of("generating in_progress working running processing pending queued")

_REASONS = one_of("finishreason stopreason completionreason")
_FIRST_OF = ("choices", "candidates", "outputs", "results")
"""The lists whose first item says why a model stopped."""
_MOST_NESTED = 6
_CUT_SHORT = one_of(
    "error filter filtered safety abort aborted cancel canceled cancelled block blocked blocklist "
    "refusal toxic insufficient network recitation spii sensitive prohibited malformed interrupted "
    "timeout guardrail armor"
)
"""Words of the reason for which an answer ends in its midst, not where the model would end it."""
_SHORT_OF_GEMINI = one_of("other language")
_CALLS = one_of("tool_calls tool_call tool_use function_call")
_TOOL_CALLS = ("tool_calls", "tool_call_chunks")
_IN_CALLS = one_of(
    "input arguments args parsed object tool_calls toolCalls toolUse function_call functionCall"
)
"""The keys of calls of tools that lead to what the model has filled in."""
_ABOUT = re.compile(
    r"(?i)(?:\b(?:raw\w*|response)\.(?:\w+\[0\]\.|message\.)*)?"
    r"(?:\w*(?:metadata|meta|info|kwargs|stepResult)\.)?\w+$"
)
"""The end of a reason's path, behind its message: its key, and metadata or raw reply around it."""
_OPEN = one_of("empty none null not_finished finish_reason_unspecified pause_turn")
"""The reasons of an answer that goes on."""

_FAILED = one_of(
    "error errors errored failed failure incomplete abort aborted cancelled canceled "
    "expired exception interrupt interrupted rejected timeout tripwire"
)
"""The last word of types of what failed or broke off."""

_NO_ANSWER = one_of("error failed failure incomplete aborted")
"""The status of what failed or broke off; an order may be cancelled."""
_NO_TASK = _NO_ANSWER | one_of("canceled cancelled rejected")

_WHYS = ("last_error", "incomplete_details", "message", "msg", "detail")
_CODES = ("code", "status_code", "error_code", "errorCode", "err_code")
_MESSAGES = ("message", "msg", "error_msg", "errorMsg", "error_message", "errorMessage", "err_msg")
_WRONG = ("is_error", "isError")
_STATUSES = ("401", "403", "429", "500", "502", "503", "504")
_DID = re.compile(r"(?:done|created|completed?|finished|(?:操作|处理|请求|执行)?(?:完成|完毕))\W*$")
"""The end of a message of success."""
_NOT = re.compile(r"(\b|_)(?:not?|un|without|\w{2,8}n't)[ _]?(?:been )?success|[不没未][有能]?成功")
_RAW_ERROR = re.compile(r"(?i)\s*(?:\[?(?:\w+_)?(?:error|exception)\b(?: code)? ?[\]:]|traceback )")
Steps = tuple[str | int, ...]
Reasons = list[tuple[str, str]]
_DONE: Final = "data: [DONE] at the end of a whole stream"


class Ending:
    """Follows a stream, event by event, to tell whether its answer is whole at the end.

    ``steps`` are those of the path to the parts of the answer, where the scenario names one.
    """

    def __init__(self, steps: Steps = ()) -> None:
        self._steps = steps
        self._is_whole: bool | None = None
        self._said = ""
        self._stem = frozenset[str]()  # the words of what has begun, as "workflow"
        self._call = ""
        self._of: Mapping[str, Any] = NOTHING  # the step that the last part is of

    def add(self, event: Event, *, has_text: bool) -> None:
        """Take one event; ``has_text``: a part of the answer, not blank, is in it."""
        begun, told = _begun(event), self._heard(event, has_text)
        if begun:
            self._stem = words_of(begun) - _STARTS
        says, said = (
            (False, begun) if begun else _state_and_why(told, has_text, self._stem, self._steps)
        )
        if has_text:
            self._call, self._of = "", event.steps
        elif says is None and self._takes_back(event):
            says, said = True, ""
        acts = [name for name in event.all_types if name.endswith("requires_action")]
        self._call = [self._call, *_calls_in(_reasons(told.data, self._steps)), *acts][-1]
        # Behind an end, usage and notes say "no reason yet" once more; only a text goes on.
        if says is None:
            is_after = has_text and (self._is_whole or self._said.startswith(_PASSING))
            if is_after or (said and self._said.startswith(said)):
                self._is_whole, self._said = None, ""
        elif says or has_text or begun or not self._is_whole:
            self._is_whole, self._said = says, said

    def _heard(self, event: Event, has_text: bool) -> Event:
        """Return what is told of the answer: another node of LangGraph's says nothing of it.

        But its text is the answer from now on: then what was told before is forgotten.
        """
        told = event.without(_is_beside)
        if not event.node or self._of.get(NODE) == event.node:
            return told
        if has_text:
            self._is_whole, self._said = None, ""
        return told if has_text or not self._of else Event(None)

    def _takes_back(self, event: Event) -> bool:
        """Return whether a flag that was false is true now: in its step or none, or of sources."""
        data = event.without(lambda one: _is_beside(one) and not one.is_of_sources).data
        flags = _flags(data) if isinstance(data, Mapping) else ()
        sign = f"{self._said.partition(': ')[0]}: true"
        return (True, sign) in flags and event.steps in ({}, self._of)

    def check(self, *, may_be_cut_off: bool) -> None:
        """Raise TargetError for a stream that ends before its answer does."""
        if self._call:
            raise TargetError(
                f"replied a stream that ends with a call of a tool ({self._call}), not with an "
                "answer; have the service send what it says behind that"
            )
        if self._is_whole is False:
            raise TargetError(
                f"replied a stream that stops where more should follow ({self._said}); have the "
                f"server send {_DONE}"
            )
        if may_be_cut_off and not self._is_whole:
            raise TargetError(
                "replied a stream that may be cut off: it ends with the connection, and no event "
                f"says that it is whole; have the server send chunks (HTTP/1.1), or {_DONE}"
            )


def _is_beside(event: Event) -> bool:
    """Return whether an event tells of a thought, a step or another's words; a mark does not."""
    if isinstance(event.data, str) and ALONE.match(event.data.strip()):
        return False
    # A2A's status is that of all of the task.
    types = [name for name in event.types() if name.lower() != "status-update"]
    return is_aside(types) or event.is_of_another


def _begun(event: Event) -> str:
    """Return the type, or the only key, that begins an answer, "" for none."""
    keys = [str(key) for place in places_in(event.data) if len(place) == 1 for key in place]
    found = (name for name in [*event.all_types, *keys] if words_of(name) in _BEGUN)
    return next(found, "")


def _state_and_why(
    event: Event, has_text: bool, stem: frozenset[str], steps: Steps
) -> tuple[bool | None, str]:
    """Return whether the answer is whole with what is told of it, None if nothing is; and why.

    None with "status": a status says that what went on does so no longer.
    """
    data = event.data
    if isinstance(data, str) and ALONE.match(data.strip()):
        return True, data
    sure = data if has_text else event.without(lambda one: one.is_of_step).data
    flags = list(_flags(sure)) if isinstance(sure, Mapping) else []
    no = [said for is_end, said in flags if not is_end]
    if no:
        return False, no[0]
    reasons = _reasons(data, steps)
    is_right = any(place.get(key) is False for place in places_in(data) for key in _WRONG)
    is_end = bool(flags) or is_right or any(_ends_all(name, stem) for name in event.all_types)
    if is_end or any(reason not in _OPEN | _CALLS for _, reason in reasons):
        return True, ""
    # Some say at the top, behind it all, that nothing stopped it.
    signs = [f"{place}: {reason}" for place, reason in reasons if has_text or "." in place]
    states = {status_of(place) for place in places_in(data)} - {"none"}
    signs += [f"status: {state}" for state in states & _GOES_ON if has_text]
    return (False, signs[0]) if signs else (None, "status" if states - _GOES_ON else "")


def _flags(data: Mapping[str, Any]) -> Iterator[tuple[bool, str]]:
    """Yield what the flags of an event say of its end, and how they are written."""
    held = places_in(data)
    for key, value in (pair for place in held for pair in place.items()):
        name = str(key).lower().replace("_", "")
        if name in _FLAGS and isinstance(value, bool):
            yield value, f"{key}: {str(value).lower()}"
        elif name == "partial" and value is True:  # Google's ADK, which sends the whole behind it
            yield False, "partial: true"
    if "token" in data and "generated_text" in data:  # text-generation-inference
        yield data["generated_text"] is not None, "generated_text: null"
    if data.get("data") is True:  # RAGFlow
        yield True, ""


def _reasons(data: Any, steps: Steps = (), place: str = "", depth: int = _MOST_NESTED) -> Reasons:
    """Return why a model stopped, in lower case, by the path of each that is there.

    Of a list that ``steps`` lead into, the item there counts, or the last of all; else the first.
    """
    if isinstance(data, list):
        step = steps[0] if steps else 0
        at = step if isinstance(step, int) else -1
        return _reasons(next(iter(data[at:]), None), steps[1:], f"{place}[{at}]", depth)
    found: Reasons = []
    for key, value in data.items() if isinstance(data, Mapping) and depth else ():
        here, rest = f"{place}.{key}".removeprefix("."), steps[1:] if steps[:1] == (key,) else ()
        name = str(key).lower().replace("_", "")
        is_reason = name in _REASONS or (name == "reason" and place.endswith("stepResult"))
        why = value.get("type") if is_reason and isinstance(value, Mapping) else value
        if is_reason and (why is None or isinstance(why, str)):
            said = "null" if why is None else why[:100] or "empty"
            found.append((here, said.lower().replace("-", "_")))
        elif rest or name in _FIRST_OF or not isinstance(value, list):
            found += _reasons(value, rest, here, depth - 1)
    return found


def _calls_in(reasons: Reasons) -> list[str]:
    """Return the call of a tool that each reason to end is, "" for any other."""
    return [": ".join(one) if one[1] in _CALLS else "" for one in reasons if one[1] not in _OPEN]


def calls_tool(event: Event, path: JsonPath | None) -> bool:
    """Return whether an event is of a message that calls a tool; ``path`` leads to its text."""
    is_call = any(any(map(at.get, _TOOL_CALLS)) for at in on_the_path(event.data, path))
    return is_call or any(_calls_in(_reasons(event.data, path.steps if path else ())))


def _ends_all(name: str, stem: frozenset[str] = frozenset()) -> bool:
    """Return whether a type ends all; in what has begun, a message is no more than a part."""
    words = words_of(name)
    of = words - ENDS
    return len(of) < len(words) and of <= _OF_ALL and (not of or stem <= of)


def says_half(value: Mapping[str, Any]) -> str:
    """Return the flag at the top of a whole reply that says that more follows, "" for none."""
    found = (key for key, said in value.items() if said is False)
    return next((key for key in found if key.lower().replace("_", "") in _HALF), "")


def unfinished(value: Any) -> str:
    """Return the status of a reply that is still being made, "" for any other."""
    states = map(status_of, places_in(value))
    return next((state for state in states if state in _GOES_ON), "")


def failure_in(
    event: Event, *, has_text: bool = True, is_after_json: bool = False, steps: Steps = ()
) -> str:
    """Return what an event says of a failure, "" for none.

    ``has_text``: it has a text besides; then a code or a word of failure may be of the matter
    itself. ``is_after_json``: events before it are objects, so a text is none of the answer, whose
    path has ``steps``.
    """
    data, said = event.data, ""
    if isinstance(data, str):
        is_error = data.startswith(("[SERVER_ERROR]", "[ERROR]"))
        said = data if is_error or (is_after_json and _RAW_ERROR.match(data)) else ""
    elif isinstance(data, dict):
        said = next(filter(None, map(_failure_at, places_in(data))), "")
        is_replicate = any(map(_ends_all, event.types())) and _is_short(str(data.get("reason")))
        is_error = any(_is_error(place, has_text) for place in places_in(data))
        if not said and (is_replicate or is_error):
            said = str(data)
    if not said and _is_cut_short(data, steps):
        said = str(data)
    if not said and any(map(_has_failed, event.all_types)):
        said = event.written or str(data or "no words about it")
    return shorten(said, 200)


def is_raw_error(text: str) -> bool:
    """Return whether a text begins as servers write errors into a stream."""
    return _RAW_ERROR.match(text) is not None


def refuse(said: str) -> None:
    """Raise TargetError for what is said of a failure, "" for none."""
    if said:
        raise TargetError(f"its stream breaks off with an error: {said}")


def failure_of(
    value: object, paths: Mapping[str, JsonPath] = NOTHING, *, has_text: bool = True
) -> str:
    """Return the failure that a reply, or an item of it, tells of, "" for none.

    What wraps the fields at ``paths`` is read as the reply is. Elsewhere a failed status may be
    that of an order: there it counts beside an error, or if it is a run's. ``has_text``: its answer
    is not blank; then a code may be of the matter itself.
    """
    places = [value] if isinstance(value, Mapping) else []
    places += [place for path in paths.values() for place in around(value, path)]
    if isinstance(value, list):  # Gemini's events; other items may be hits with a status each
        places += [one for one in value if _is_cut_short(one) or (error_in(one) and len(one) == 1)]
    if said := next(filter(None, (_told(place, has_text) for place in places)), ""):
        return said
    path = paths.get("answer")
    reasons = _reasons(value, path.steps if path else ())
    if called := _called(reasons, path):
        return f"it ends with a call of a tool ({called}), not with an answer"
    if short := next((f"{at}: {why}" for at, why in reasons if _is_short(why)), ""):
        return short
    within = [place for place in places_in(value) if _has_failed_status(place)]
    sure = [place for place in within if error_in(place) or _is_run(place)]
    return (error_in(sure[0]) or _failure_at(sure[0])) if sure else ""


def _told(place: Mapping[str, Any], has_text: bool) -> str:
    """Return the failure that a reply, or what it wraps, tells of at its top; "" for none."""
    is_error = _is_cut_short(place) or _is_error(place, has_text)
    return _failure_at(place) or (shorten(str(place), 200) if is_error else "")


def _called(reasons: Reasons, path: JsonPath | None) -> str:
    """Return the call of a tool that a reply ends with, "" for none.

    A path tells which message is the answer: a call elsewhere is that of another step, and where it
    leads into the call, that is the answer.
    """
    calls = [(at, why) for at, why in reasons if why in _CALLS]
    if path:
        steps = (-1 if one == EVERY else one for one in path.steps)
        named = (f"[{one}]" if isinstance(one, int) else f".{one}" for one in steps)
        way = "".join(named).removeprefix(".")
        is_call = not _IN_CALLS.isdisjoint(path.steps)
        calls = [one for one in calls if way.startswith(_ABOUT.sub("", one[0])) and not is_call]
    return next((f"{at}: {why}" for at, why in calls), "")


def _failure_at(place: Mapping[str, Any]) -> str:
    """Return the error of an object, or its status or flag where that is one; "" for none."""
    said = error_in(place)
    if not said and _has_failed_status(place):
        why = next(filter(None, map(place.get, _WHYS)), "no words about it")
        said = shorten(f"status {status_of(place)!r}: {why}", 200)
    wrong = (f"{key}: true in {place}" for key in _WRONG if place.get(key) is True)
    return said or shorten(next(wrong, ""), 200)


def _has_failed_status(place: Mapping[str, Any]) -> bool:
    said = status_of(place)
    is_stopped = said == "stopped" and _is_run(place)  # Dify
    return is_stopped or said in (_NO_TASK if _is_run(place) else _NO_ANSWER)


def _is_run(place: Mapping[str, Any]) -> bool:
    """Return whether a status is that of a task (A2A) or a workflow (Dify), not of an order."""
    return isinstance(place.get("status"), Mapping) or "outputs" in place


def _is_error(data: Mapping[str, Any], has_text: bool) -> bool:
    """Return whether an event or a reply is an envelope around an error."""
    base = data.get("base_resp")  # MiniMax
    is_base_bad = isinstance(base, Mapping) and _is_bad_code(base.get("status_code"), 1)
    if data.get("object") == "error" or is_base_bad:
        return True
    said = [data.get(name) for name in _MESSAGES]
    is_said = any(not _is_fine(one) for one in said)
    for name in _CODES:
        code, is_own = data.get(name), name.startswith("err")
        is_named = isinstance(code, int) or name == "status_code"
        is_status = str(code) in _STATUSES or (is_named and re.fullmatch(r"[45]\d\d", str(code)))
        is_sure = is_own or is_status or not has_text
        is_bad = is_sure and _is_bad_code(code, 1 if is_own else 400)
        if is_bad and (is_said or (is_own and data.get("text"))):
            return True
    if has_text:
        return False
    is_alone = len(data) == 1 and any(data.get(name) for name in ("detail", "errors"))
    thrown = [data[name] for name in data if str(name).endswith("Exception")]
    is_thrown = any(one is not None and one is not False for one in thrown)
    return is_alone or is_thrown or (data.get("success") is False and is_said)


def _is_bad_code(code: object, least: int) -> bool:
    """Return whether a code is a word, or ``least`` or more; not 200, 20000, "00000" or "ok"."""
    is_one = isinstance(code, int | str) and not isinstance(code, bool)
    digits = str(code).strip()
    is_word = re.fullmatch(r"[\w.:-]{1,80}", digits)  # no code of a program
    if not (is_one and is_word) or digits.strip("0") in ("", "2") or is_no_error(digits):
        return False
    return not digits.isdecimal() or int(digits[:9]) >= least


def _is_fine(said: object) -> bool:
    text = _NOT.sub("no", str(said).lower())
    return is_no_error(said) or "success" in text or "成功" in text or bool(_DID.match(text))


def _is_cut_short(data: Any, steps: Steps = ()) -> bool:
    """Return whether a model's reply says that it ends in its midst."""
    reasons = _reasons(data, steps)
    of_gemini = [said for place, said in reasons if "candidates[" in place]
    return any(_is_short(said) for _, said in reasons) or not _SHORT_OF_GEMINI.isdisjoint(of_gemini)


def _is_short(reason: str) -> bool:
    return not _CUT_SHORT.isdisjoint(words_of(reason))


def _has_failed(name: str) -> bool:
    words = (word.lower() for word in WORD.findall(name))
    last = [word for word in words if word not in ("event", "occurred")][-2:]
    return bool(last) and last[-1] in _FAILED and last[0] not in ("non", "not", "no")
