"""The scenario of made questions: whether a search found the evidence, and what is refused."""

from __future__ import annotations

from typing import Any, Final

from pytest_rageval.clients.settings import ClientSettings
from pytest_rageval.datasets.reviews import PATTERN
from pytest_rageval.first_scenario.scenario_text import shell_word
from pytest_rageval.questions.rows import QUESTIONS
from pytest_rageval.scenario.yaml.tree import pair_text

SCENARIO: Final = "questions.rageval.yaml"
TARGET: Final = "questions_target.py"
_OPENAI_KEY: Final = "OPENAI_API_KEY"
"""What holds the key where nothing else is said."""

_TEXT: Final = """\
# What is measured, on which questions, and what is good enough.
# Run it with:  pytest {command}
# A model wrote the questions: means over them tell versions apart, and are no estimate of quality
# for users. Read them:  pytest {command} --rag-label=10
{name}

dataset:
  path: {questions}
  # A passage is found where a result holds the sentences that give the answer, however it was cut.
  key_map: {{reference_contexts: evidence}}
  reviews: {reviews}  # what people say of the questions
match: holds

# Your system is asked. Write how in {target_file},
# or name a function that you have, my_app.rag:answer, or an address:
{target}
# target: http://localhost:8000/ask  # {{"question": ...}}; needs pytest-rageval[judge]

# recall@5: the share of what should be found that is among the first five results;
# mrr: 1 / rank of the first of them{refusal_means}.
metrics: [recall@5, mrr{refusal}]
{refusals}# Also: answer_correctness, faithfulness. Needs a model that judges, which first has
# to tell good rows from bad ones.
{nuggets}# {judge}

gates:
  recall@5: 0.8                     # set it a little below what a run gives today
{traps}  # by:                             # each value of a column is judged, too
  #   question_type: {{recall@5: 0.6}}
"""

_MEANS: Final = """;
# refusal: answers where there is an answer, refuses where there is none"""

_REFUSALS: Final = """\
# 'answerable' says which questions can be answered.
refusals: phrases
# A system that only searches: take 'refusal' and 'refusals' away, and take this line in.
# skip: [{where: {question_type: unanswerable}}]
"""


_TRAPS: Final = """\
  # missed_refusal: {max: 0.2}      # answers where there is none; name it in 'metrics', too
"""

_NUGGETS: Final = """\
# Also: nugget_recall, the share of the row's 'nuggets' that an answer says. Read these lists first.
"""


def scenario_text(
    name: str,
    target: str,
    judge: ClientSettings,
    *,
    has_unanswerable: bool,
    has_nuggets: bool = False,
) -> str:
    """Return the scenario ``name`` as YAML; ``target`` names a function or address.

    ``judge`` is the model that checked the questions; no key, user or password is in the text.
    """
    return _TEXT.format(
        name=pair_text("name", name),
        command=shell_word(SCENARIO),
        questions=QUESTIONS,
        reviews=PATTERN,
        target_file=TARGET,
        target=pair_text("target", target),
        refusal_means=_MEANS if has_unanswerable else "",
        refusal=", refusal" if has_unanswerable else "",
        refusals=_REFUSALS if has_unanswerable else "",
        nuggets=_NUGGETS if has_nuggets else "",
        traps=_TRAPS if has_unanswerable else "",
        judge=judge_line(judge),
    )


def judge_line(judge: ClientSettings) -> str:
    """Return the line ``judge`` of a scenario for the model that checked what was made.

    It has what is not the default, but no key, user, password or header.
    """
    found: dict[str, Any] = {"model": judge.model}
    if judge.provider != "openai":
        found["provider"] = judge.provider
    if judge.base_url is not None:
        found["base_url"] = judge.endpoint
    if judge.api_key_env is not None and (judge.base_url or judge.api_key_env != _OPENAI_KEY):
        found["api_key_env"] = judge.api_key_env
    return pair_text("judge", {**found, "controls": "require"})
