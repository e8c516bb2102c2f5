"""What a score depends on beside the answer: the one list, for baselines, variants and shards.

==================================  ==========================  ==================================
what                                where results.json has it   if it is another one
==================================  ==========================  ==================================
a metric: name, options, version    ``scenario.definitions``    refused
its judge and prompt, normalizer,   the same: a model, options  refused
tokenizer and ``match``             of the metric, and the
                                    language of prompts
question, references, expected ids  ``samples[]``               refused
judgements of documents             ``judgements_sha256``       refused
``top_k``                           ``scenario.measured``       refused; variants may differ in it
``empty_answer``                    ``scenario.measured``       refused
``citations``, ``refusals``,        ``scenario.measured``       refused
``conversation``
code of a metric of one's own       ``scenario.measured``       said (shards: refused)
``on_invalid``, ``tolerate``        ``scenario.measured``       said
weight of a metric, 0 or not        ``metrics.<name>.weight``   said
weight of a sample, 0 or not        ``samples[]``               said
==================================  ==========================  ==================================

*refused*: the run is not compared with one that differs, unless ``anyway``; *said*: it is compared,
and a line names the difference. What an earlier version did not record is said, too, and not
refused; a setting that may be absent is null where it is not on record. Weights other than 0 make
no difference: both runs are weighed as the newer one. ``SETTINGS`` are the rows that no other part
of a run holds, the code of metrics left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from pytest_rageval.model.scenario import without_language
from pytest_rageval.model.value import Value

Code = Mapping[str, Mapping[str, str]]
"""By metric, the digest of each module that its code came from, by the module's name."""

CODE: Final = "code"


class Setting(Value, frozen=True):
    """A key of the scenario on which scores depend.

    ``refuses``: a run with another value is not compared. ``of_variants``: variants may differ in
    it on purpose.
    """

    name: str
    refuses: bool
    of_variants: bool = False
    may_be_absent: bool = False
    """Whether a run without it on record has none: it is written where the scenario has it."""

    def text_in(self, measured: Mapping[str, Any], *, absent_counts: bool) -> str:
        """Return its value as text; if not on record, "" or (``absent_counts``) "null"."""
        is_told = absent_counts or self.name in measured
        return shown_setting(measured.get(self.name)) if is_told else ""


SETTINGS: Final = (
    Setting("top_k", refuses=True, of_variants=True),
    Setting("empty_answer", refuses=True),
    Setting("citations", refuses=True, may_be_absent=True),
    Setting("refusals", refuses=True, may_be_absent=True),
    Setting("conversation", refuses=True, may_be_absent=True),
    Setting("on_invalid", refuses=False),
    Setting("tolerate", refuses=False),
)


def setting_differences(
    was: Mapping[str, Any], now: Mapping[str, Any]
) -> Iterator[tuple[Setting, str]]:
    """Yield each setting that two runs have with different values, with a message.

    One that is not on record in a run counts as null where it may be absent; else it makes no
    difference.
    """
    for setting in SETTINGS:
        name = setting.name
        is_known = setting.may_be_absent or (name in was and name in now)
        before, after = was.get(name), now.get(name)
        if is_known and before != after:
            change = f"{name} was {shown_setting(before)}, and is {shown_setting(after)} now"
            yield setting, change


def shown_setting(value: Any) -> str:
    """Return a setting as a scenario file has it."""
    return "null" if value is None else str(value)


def unrecorded(
    was: Mapping[str, Any], now: Mapping[str, Any], judge: object | None = None
) -> list[str]:
    """Return what the run ``was`` has not on record, because an earlier version wrote it.

    Names of settings, "the code of" the metrics that ``now`` has on record, and the language of
    the ``judge``, if there is one.
    """
    metrics = sorted(now.get(CODE, {})) if CODE not in was else []
    code = [f"the code of {', '.join(metrics)}"] if metrics else []
    names = [s.name for s in SETTINGS if s.name not in was and not s.may_be_absent]
    language = ["judge.language"] if judge is not None and not was else []
    return names + code + language


def recorded_as(definition: str, measured: Mapping[str, Any]) -> str:
    """Return a metric's definition as the version wrote it that recorded ``measured``.

    0.1.0 recorded nothing of these, and no language of prompts.
    """
    return definition if measured else without_language(definition)


def code_differences(was: Code, now: Code) -> Iterator[str]:
    """Yield the metrics whose code differs in two runs, each with the modules that differ.

    >>> list(code_differences({"m": {"app": "1 py 2"}}, {"m": {"app": "3 py 4"}}))
    ['m (app)']
    """
    for metric in sorted(was.keys() & now.keys()):
        before, after = was[metric], now[metric]
        changed = [
            name
            for name in sorted({*before, *after})
            if not same_module(before.get(name, ""), after.get(name, ""))
        ]
        if changed:
            yield f"{metric} ({', '.join(changed)})"


def same_module(one: str, other: str) -> bool:
    """Return whether two digests, ``FILE`` or ``FILE PYTHON CODE``, are of the same module.

    ``CODE`` is compared only where the same version of Python made both.
    """
    (file, _, code), (other_file, _, other_code) = one.partition(" "), other.partition(" ")
    is_comparable = code.partition(" ")[0] == other_code.partition(" ")[0]
    return file == other_file and (code == other_code or not is_comparable)
