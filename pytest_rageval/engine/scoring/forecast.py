"""What a run would ask, without asking it: calls, tokens and dollars, and what the cache has.

No request is sent, and no code of the user runs: neither the target nor a metric of theirs.
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Final, cast

from pytest_rageval.clients.accounting import Ledger, Purpose, asking
from pytest_rageval.clients.base import (
    CHAT_REGISTRY,
    EMBEDDING_REGISTRY,
)
from pytest_rageval.clients.cache import Cache
from pytest_rageval.clients.chat import cached_calls
from pytest_rageval.clients.errors import NotAskedError
from pytest_rageval.clients.score_cache import ScoreCache
from pytest_rageval.clients.settings import ClientSettings, RunSettings
from pytest_rageval.engine.plan import AnswerRules, BoundMetric, Plan
from pytest_rageval.engine.scoring.answer_rules import is_ruled, seen_by
from pytest_rageval.engine.scoring.ask_target import AnswerCache, filled, question_key
from pytest_rageval.engine.scoring.control_rows import rows_needed
from pytest_rageval.engine.scoring.cost import asked_models, texts_of
from pytest_rageval.engine.scoring.counting_models import (
    MOST_LEARNED,
    CountingEmbedding,
    CountingJudge,
    Known,
    ModelUse,
    habits_of,
    only_read,
)
from pytest_rageval.engine.scoring.judge_sample import asked_metrics
from pytest_rageval.engine.scoring.repeats import merged
from pytest_rageval.engine.scoring.score_reuse import ScoreReuse
from pytest_rageval.engine.scoring.shared_scores import purpose_of_table, support_row
from pytest_rageval.engine.scoring.stand_ins import (
    ASSUMED,
    Assumed,
    Guesses,
    Learned,
    learned,
    levels_matter,
)
from pytest_rageval.metrics.base import JudgedMetric, Models, absent_fields, missing_fields
from pytest_rageval.metrics.support.fill import fill_table
from pytest_rageval.metrics.support.metric import SupportMetric
from pytest_rageval.metrics.support.table import SupportRow
from pytest_rageval.model import ANSWER_KIND, ANSWERABLE, NOTHING, Sample, Score
from pytest_rageval.scenario.fields import ANSWERED_FIELDS
from pytest_rageval.targets.base import TargetError

_ANSWER, _CONTEXT = " so says the answer" * 20, " so says the context" * 40
"""As long as many are, in place of those that only the system under test can give."""

_CONTEXTS: Final = 3

_FEWEST_ASKED: Final = {ANSWER_KIND: (2.0, 0.0), ANSWERABLE: (0.0, 1.0)}
_MOST_ASKED: Final = {ANSWER_KIND: (0.0,), ANSWERABLE: (1.0,)}
"""Replies to the questions before the metrics that may leave the fewest metrics, and the most.

Of the kind of an answer, 2 is refused and 0 answered; answerable is 0 or 1.
"""


@dataclass
class TargetUse:
    """What a run would ask the system under test; ``calls`` are those that the cache lacks."""

    shown: str
    calls: int = 0
    cached: int = 0


@dataclass(frozen=True)
class Forecast:
    """What a run of one scenario would ask; ``models`` may include a target that is a model."""

    models: Sequence[ModelUse] = ()
    target: TargetUse | None = None


async def forecast(
    plan: Plan, samples: Iterable[Sample], run: RunSettings, asked: set[str] | None = None
) -> Forecast:
    """Return what a run would ask about these samples of a plan.

    Tokens are a guess. Calls are those of a run in which no request fails. What is asked after a
    reply is taken from the cache, else a made-up reply of the right form stands in for it; where
    there is none, and for metrics of users, see ``ModelUse.is_least``. Where the plan has metrics
    of a support table, the ends of each use are those with the fewest and the most claims, unless
    answers are not known either. ``asked`` has the questions that the run asked for other plans,
    and gets those of this one: equal ones are asked once.
    """
    given, known = list(samples), set[str]() if asked is None else asked
    likely = await _assuming("likely", plan, given, run, known)
    if _reads_tables(plan):
        # Both also note in `known` what later plans need not ask, whether they are shown or not.
        fewest = await _assuming("fewest", plan, given, run, known)
        most = await _assuming("most", plan, given, run, known)
        for role, use in likely.uses.items() if not likely.guesses_answers else ():
            use.fewest, use.most = fewest.uses[role], most.uses[role]
    return Forecast(tuple(likely.uses.values()), likely.target)


def _reads_tables(plan: Plan) -> bool:
    return any(metric.info.of_table for metric in plan.judged)


async def _assuming(
    assumed: Assumed, plan: Plan, samples: Iterable[Sample], run: RunSettings, asked: set[str]
) -> _Forecaster:
    found = _Forecaster(assumed, plan, run, asked)
    try:
        later = []
        for sample in samples:
            try:
                answered = found.answered(sample)
            except TargetError:
                continue  # what is kept cannot be read: the run asks no judge about it
            if answered is None:
                later.append(sample)
            else:
                await found.add(sample, answered)
        for sample in later:  # when it is known what other answers are like
            await found.add(sample, None)
        await found.add_controls()
    finally:
        found.close()
    return found


class _Forecaster:
    """Counts what is asked if the replies that are not known are as ``assumed``."""

    def __init__(self, assumed: Assumed, plan: Plan, run: RunSettings, asked: set[str]) -> None:
        self.target = None if plan.target is None else TargetUse(plan.target.shown)
        self.guesses_answers = False
        self._assumed = assumed
        self._plan = plan
        reads = only_read(run)
        self._cache = Cache(reads)
        self._ledger = Ledger()
        self._reuse = ScoreReuse(plan, ScoreCache(self._cache, self._ledger))
        self._answers = None
        if plan.target is not None and plan.target.cache_answers and plan.target.fixture is None:
            self._answers = AnswerCache(plan.target, reads)
        self._seen_answers: list[Sample] = []
        used = asked_models(plan, plan.asked_samples)
        models = [_canonical(one) for one, times in used if times]
        self.uses = {model.role: ModelUse(model, habits_of(self._cache, model)) for model in models}
        # A plan without tables asks the same under every assumption: note it under all three.
        under = [assumed] if _reads_tables(plan) else ASSUMED
        self._known = Known(self._cache, asked, under, is_shared=run.cache_mode != "off")
        judge, embedding = self.uses.get("judge"), self.uses.get("embedding")
        self._guesses = Guesses(self._assumed, self._learned(judge))
        self._counting = None if judge is None else CountingJudge(judge, self._known, self._guesses)
        self._models = Models(
            self._counting,
            None if embedding is None else CountingEmbedding(embedding, self._known),
            plan.models.language,
        )

    def _learned(self, judge: ModelUse | None) -> Learned:
        """Return what made-up replies are drawn from; nothing where none is drawn."""
        if judge is None or self._assumed != "likely" or not _reads_tables(self._plan):
            return Learned()
        return learned(cached_calls(self._cache, judge.settings), MOST_LEARNED)

    def close(self) -> None:
        """Close the files of the cache."""
        self._cache.close()
        if self._answers is not None:
            self._answers.close()

    async def add(self, sample: Sample, answered: Sample | None) -> None:
        """Count what would be asked about a sample; ``answered`` has its answer, if it is known."""
        self.guesses_answers |= answered is None
        metrics = self._may_ask(sample) if answered is None else asked_metrics(self._plan, answered)
        rules, first = self._plan.answers, NOTHING
        if rules is not None and rules.asked:
            metrics, first = await self._after_questions(rules, metrics, sample, answered)
        fillers = [metric for metric in metrics if metric.info.fills]
        for metric in metrics:
            # Metrics that fill holes share the grades: only the first of them asks.
            if not metric.info.of_table and metric not in fillers[1:]:
                await self._score(metric, sample, answered)
        by_table = [metric for metric in metrics if metric.info.of_table]
        if rules is not None and by_table and self._counting is not None:
            shown = answered or self._with_stand_ins(sample)
            await self._fill(by_table, support_row(self._plan, rules, shown, first))

    async def _after_questions(
        self,
        rules: AnswerRules,
        metrics: Sequence[BoundMetric],
        sample: Sample,
        answered: Sample | None,
    ) -> tuple[list[BoundMetric], Mapping[str, Score]]:
        """Ask what the judge is asked before the metrics; return those left, and its replies.

        With "fewest", a metric is left out if any of the replies that may come would rule it out,
        even if no single one rules out them all. Else an unknown reply is "answered", and
        "answerable".
        """
        names = {question.column.name for question in rules.asked}
        questions = [metric for metric in metrics if metric.column.name in names]
        others = [metric for metric in metrics if metric.column.name not in names]
        may_be = _FEWEST_ASKED if self._assumed == "fewest" else _MOST_ASKED
        replies = []
        for question in questions:
            name, reply = question.column.name, await self._score(question, sample, answered)
            unknown = [Score(name, level) for level in may_be[name]]
            replies.append(unknown if reply is None else [reply])
        # What is ruled out follows from the answer: while that is unknown, nothing is.
        if answered is None:
            return others, NOTHING
        choices = [{reply.metric: reply for reply in choice} for choice in product(*replies)]
        left = [
            metric
            for metric in others
            if not any(is_ruled(rules, metric, answered, choice) for choice in choices)
        ]
        # No choice rules out a metric of `left`: the table that these read is filled for one.
        return left, choices[0]

    async def _score(
        self, bound: BoundMetric, sample: Sample, answered: Sample | None
    ) -> Score | None:
        """Count what a metric asks about a sample; return its score if the cache has all replies.

        None, too, where the score itself is cached: only the questions before the metrics need it,
        and these keep no scores.
        """
        repeats = self._plan.repeats if bound.info.asks else 0
        scores = [await self._judge(bound, sample, answered, repeat) for repeat in range(repeats)]
        known = [score for score in scores if score is not None]
        return merged(bound.column.name, known) if known and len(known) == repeats else None

    async def _fill(self, metrics: Sequence[BoundMetric], row: SupportRow) -> None:
        """Count the calls for the support table that these metrics read, for each repeat."""
        measures = [cast("SupportMetric", bound.metric).measure for bound in metrics]
        for repeat in range(self._plan.repeats):
            # The passes over one table share its questions (`begin`): each is counted once.
            for fixed in self._guesses.choices:
                self._guesses.fixed = fixed
                self._known.begin(f"{self._plan.info.nodeid} {row.sample.id} {repeat}")
                with asking(purpose_of_table(row.sample, repeat)):
                    table = await fill_table(row, measures, self._models)
                if not levels_matter(table, measures):
                    break
        self._known.begin("")

    async def add_controls(self) -> None:
        """Count what would be asked to test the judges: as many rows as a good one needs."""
        before = {role: use.requests for role, use in self.uses.items()}
        # Metrics of one prompt have the same rows.
        for rows in {rows.digest: rows for rows in self._plan.models.controls.values()}.values():
            for row in rows_needed(rows):
                await self._judge(rows.scored_by, row, row, 0)
        for role, use in self.uses.items():
            use.controls = use.requests - before[role]

    def _may_ask(self, sample: Sample) -> list[BoundMetric]:
        """Return the metrics that can score the sample once its target has answered."""
        target = self._plan.target
        given = ANSWERED_FIELDS if target is None else target.provides
        return [
            metric
            for metric in self._plan.judged
            if given.issuperset(absent_fields(sample, metric.info.needs))
            or (
                metric.info.or_needs
                and given.issuperset(absent_fields(sample, metric.info.or_needs))
            )
        ]

    def answered(self, sample: Sample) -> Sample | None:
        """Return the sample with its answer, None where that is not known yet; count the asking.

        Raises TargetError if what the cache has cannot be read.
        """
        plan = self._plan
        if plan.target is None or self.target is None:
            # Without a target the row has its answer; a test function's is known when it runs.
            return sample if plan.info.is_of_file else None
        if self._answers is not None:
            key = self._answers.key(sample)
            kept = self._answers.find(key)
            if kept is not None:
                self.target.cached += 1
                answered = filled(sample, kept, plan.beside, plan.top_k)
                if len(self._seen_answers) < MOST_LEARNED:
                    self._seen_answers.append(answered)
                return answered
            if self._known.is_asked(key.sha256):
                self.target.cached += 1
                return None
        self.target.calls += 1
        model = self.uses.get(plan.target.settings.role) if plan.target.limits_itself else None
        if model is not None:
            model.ask(texts_of(replace(sample, answer=None, references=None)))
        return None

    async def _judge(
        self, bound: BoundMetric, sample: Sample, answered: Sample | None, repeat: int
    ) -> Score | None:
        """Count what one metric would ask about a sample, once.

        Return its score if the cache has all replies (None, too, where the score itself is cached).
        """
        roles = [role for role in sorted(bound.info.asks) if role in self.uses]
        if not roles:  # a model in this process
            return None
        if answered is not None:
            answered = seen_by(self._plan.answers, bound, answered)
            # A kept score does not say which model gave which reply: all count for the judge.
            if self._has_score(bound, answered, repeat, roles[-1]):
                return None
        # A stand-in answer, which is in no cache, still shows how many requests the metric makes.
        shown = answered or seen_by(self._plan.answers, bound, self._with_stand_ins(sample))
        before, made_up = self._looked_up, self._made_up
        is_whole, score = False, None
        if bound.is_known and not missing_fields(shown, bound.info):
            purpose = Purpose(bound.column.name, bound.info.version, repeat, sample.id)
            is_whole, score = await self._run(bound, shown, purpose)
        if self._looked_up == before and not is_whole:
            for role in roles:
                self.uses[role].ask(texts_of(answered or sample, [bound]))
        for role in roles:
            self.uses[role].is_least |= not is_whole
        return score if self._made_up == made_up else None

    async def _run(
        self, bound: BoundMetric, sample: Sample, purpose: Purpose
    ) -> tuple[bool, Score | None]:
        """Have a metric ask models that only count; return whether it has asked all, and its score.

        None where it raises, which a made-up reply may have led to.
        """
        try:
            with asking(purpose):
                score = await cast("JudgedMetric", bound.metric).ascore(sample, self._models)
        except NotAskedError:
            # Our own metrics send all their requests together, so all were counted before this.
            # Those of ragas, and of users, may ask more.
            return bound.is_built_in and not bound.info.keeps_scores, None
        except Exception:  # noqa: BLE001  (whatever made-up replies lead to)
            return False, None
        return True, score

    @property
    def _made_up(self) -> int:
        return 0 if self._counting is None else self._counting.made_up

    @property
    def _looked_up(self) -> int:
        return sum(use.requests + use.cached for use in self.uses.values())

    def _with_stand_ins(self, sample: Sample) -> Sample:
        """Return the sample with texts for what the system under test will answer."""
        target, said = self._plan.target, self._stand_in(sample)
        other = random.Random(said).choice(self._seen_answers) if self._seen_answers else None
        answer = _ANSWER if other is None else f" {other.answer}"
        found = replace(sample, answer=said + answer)
        if target is None or "contexts" not in target.provides or sample.contexts is not None:
            return found
        contexts = (_CONTEXT,) * (target.top_k or _CONTEXTS)
        if other is not None:
            contexts = tuple(f" {context}" for context in other.contexts or ())
        numbered = (f"{said} {number}{context}" for number, context in enumerate(contexts))
        return replace(found, contexts=tuple(numbered))

    def _stand_in(self, sample: Sample) -> str:
        """Return a text in place of the unknown answer.

        It is equal for two samples only where a target that caches its answers would give both the
        same one.
        """
        target = self._plan.target
        if target is None:
            whose = hashlib.sha256(self._plan.info.nodeid.encode("utf-8", "replace")).hexdigest()
        else:
            whose = question_key(target, sample).sha256
        is_kept = self._answers is not None and self._cache.reads
        return whose[:16] if is_kept else f"{whose[:12]}: {sample.id}"

    def _has_score(self, bound: BoundMetric, sample: Sample, repeat: int, role: str) -> bool:
        """Return whether the cache has the score, and count the replies that it was made of."""
        key = self._reuse.key(bound, sample, repeat) if self._cache.reads else None
        before = self._ledger.usage.cached
        has_score = key is not None and self._reuse.cache.find(key) is not None
        self.uses[role].cached += self._ledger.usage.cached - before
        return has_score


def _canonical(settings: ClientSettings) -> ClientSettings:
    """Return the settings with the provider's own name, as in the keys of the cache."""
    if settings.role == "judge":
        return replace(settings, provider=CHAT_REGISTRY.get(settings.provider).name)
    if settings.role == "embedding":
        return replace(settings, provider=EMBEDDING_REGISTRY.get(settings.provider).name)
    return settings
