"""B10: functions, classes and objects as metrics, and what cannot be one."""

from __future__ import annotations

import asyncio
import functools
import math
import sys
from dataclasses import make_dataclass
from typing import TYPE_CHECKING, Annotated, Any, Optional

import pytest
from pydantic import BaseModel, ValidationError, create_model

from pytest_rageval.clients.errors import BudgetError
from pytest_rageval.errors import RagevalError
from pytest_rageval.metrics import dbgpt
from pytest_rageval.metrics.base import METRIC_REGISTRY, MetricDefinition, Models, ScoringContext
from pytest_rageval.metrics.custom.declaration import Declaration, declaration_of, metric
from pytest_rageval.metrics.custom.from_python import define_metric, define_metrics
from pytest_rageval.metrics.custom.signature import CustomMetricError
from pytest_rageval.model import Sample, Score

if TYPE_CHECKING:
    from pytest_rageval.nowhere import Nothing

    from pytest_rageval.clients.base import ChatClient

SAMPLE = Sample("s", question="q", answer="please, thanks")


def defined(found: object, **said: Any) -> MetricDefinition:
    return define_metric(found, "own", "my_metrics:own", Declaration(**said))


def score(
    found: object,
    options: dict[str, Any] | None = None,
    models: Models = Models(),  # noqa: B008
    sample: Sample = SAMPLE,
) -> Score:
    definition = defined(found)
    made: Any = definition.make("shown", definition.options.model_validate(options or {}))
    if definition.info.is_judged:
        awaited: Score = asyncio.run(made.ascore(sample, models))
        return awaited
    scored: Score = made.score(sample, ScoringContext())
    return scored


def refusal(found: object, **said: Any) -> str:
    with pytest.raises(CustomMetricError) as caught:
        defined(found, **said)
    return str(caught.value)


def annotated(kind: Any) -> Any:
    def polite(response) -> float:  # type: ignore[no-untyped-def]
        return 1.0

    polite.__annotations__["response"] = kind
    return polite


def length(sample: Sample, *, most: int = 100) -> float:
    return min(len(sample.answer or "") / most, 1.0)


async def slow_length(sample: Sample, most: int = 100) -> float:
    await asyncio.sleep(0)
    return length(sample, most=most)


class Tone:
    """A metric with options, as a class."""

    def __init__(self, word: str = "please") -> None:
        self.word = word

    def score(self, sample: Sample) -> float:
        return float(self.word in (sample.answer or ""))


class SlowTone(Tone):
    async def ascore(self, sample: Sample) -> float:
        return self.score(sample)


class Called:
    def __call__(self, sample: Sample) -> tuple[float, str]:
        return 1.0, "called"


class CalledLater:
    async def __call__(self, sample: Sample) -> float:
        return 0.5


class InContext:
    """Our own protocol: ``score(sample, context)``."""

    def score(self, sample: Sample, context: ScoringContext) -> Score:
        return Score("x", 1.0, details={"context": type(context).__name__})


class TestWays:
    @pytest.mark.parametrize(
        ("found", "expected"),
        [
            (length, 0.14),
            (slow_length, 0.14),
            (functools.partial(length, most=28), 0.5),
            (functools.partial(slow_length, most=28), 0.5),
            (lambda sample: 0.25, 0.25),
            (Tone, 1.0),
            (Tone("never"), 0.0),
            (Tone("thanks").score, 1.0),
            (SlowTone, 1.0),
            (SlowTone("never"), 0.0),
            (Called, 1.0),
            (Called(), 1.0),
            (CalledLater, 0.5),
            (CalledLater(), 0.5),
            (InContext, 1.0),
            (InContext(), 1.0),
        ],
    )
    def test_it_scores(self, found: object, expected: float) -> None:
        assert score(found).value == expected

    @pytest.mark.parametrize("found", [slow_length, SlowTone, SlowTone("x"), CalledLater()])
    def test_async_ones_are_judged_ahead_and_ask_no_model(self, found: object) -> None:
        info = defined(found).info
        assert info.is_judged
        assert info.asks == frozenset()

    def test_sync_ones_are_not(self) -> None:
        assert not defined(length).info.is_judged

    def test_a_definition_is_itself(self) -> None:
        em = METRIC_REGISTRY.get("em")
        assert define_metric(em, "own") is em

    def test_scores_are_never_kept_in_a_cache(self) -> None:
        """The code may change, and the version not."""
        assert not defined(slow_length).info.keeps_scores
        assert not defined(asks_judge).info.keeps_scores


class TestOptions:
    def test_keyword_parameters_are_the_options(self) -> None:
        assert sorted(defined(length).options.known()) == ["most"]
        assert score(length, {"most": 28}).value == 0.5
        assert score(slow_length, {"most": 28}).value == 0.5

    def test_those_of_a_class_are_its_constructors(self) -> None:
        assert sorted(defined(Tone).options.known()) == ["word"]
        assert score(Tone, {"word": "never"}).value == 0.0

    @pytest.mark.parametrize(
        ("options", "kind"),
        [
            ({"mots": 3}, "extra_forbidden"),
            ({"most": "many"}, "int_parsing"),
            ({"option_most": 3}, "extra_forbidden"),
        ],
    )
    def test_others_are_refused(self, options: dict[str, Any], kind: str) -> None:
        with pytest.raises(ValidationError) as caught:
            defined(length).options.model_validate(options)
        assert [error["type"] for error in caught.value.errors()] == [kind]

    def test_one_without_a_default_must_be_given(self) -> None:
        def strict(sample: Sample, word: str) -> float:
            return float(word in (sample.answer or ""))

        with pytest.raises(ValidationError) as caught:
            defined(strict).options.model_validate({})
        assert [error["loc"] for error in caught.value.errors()] == [("word",)]
        assert score(strict, {"word": "please"}).value == 1.0

    def test_a_function_with_any_options_takes_any(self) -> None:
        def generous(sample: Sample, **options: Any) -> float:
            return float(options["share"])

        assert score(generous, {"share": 0.5}).value == 0.5

    @pytest.mark.parametrize("name", ["label", "json", "copy", "model_name", "schema", "_own"])
    def test_a_parameter_may_be_called_anything(self, name: str) -> None:
        made: dict[str, Any] = {}
        exec(f"def own(sample, {name}=0.0):\n    return {name}", made)
        assert score(made["own"], {name: 0.5}).value == 0.5

    def test_what_cannot_be_resolved_is_not_checked(self) -> None:
        def odd(sample: Sample, thing: Nothing = None, share: float = 0.0) -> float:  # type: ignore[assignment]
            return share

        assert score(odd, {"thing": [1], "share": "0.5"}).value == 0.5

    def test_a_type_that_is_no_field_is_not_checked(self) -> None:
        class Strange:
            def __class_getitem__(cls, item: Any) -> Any:
                raise RuntimeError

        def odd(sample: Sample, thing: 5 = 1) -> float:  # type: ignore[valid-type]
            return float(thing == "x")

        assert score(odd, {"thing": "x"}).value == 1.0

    def test_all_of_them_are_stated_defaults_too(self) -> None:
        """Another default gives other scores; a saved run must be told apart."""

        def odd(
            sample: Sample, words: Any = ("a",), most: int = 3, what: object = object()
        ) -> None: ...

        options = defined(odd).options
        assert options.model_validate({}).stated() == {"most": 3}
        assert options.model_validate({"words": {"b"}}).stated() == {"most": 3, "words": ["b"]}


class TestWhatIsSaid:
    def test_nothing_is_a_range_of_0_to_1_and_higher_is_better(self) -> None:
        info = defined(length).info
        assert (info.range, info.higher_is_better, info.version) == ((0.0, 1.0), True, 1)
        assert (info.name, info.needs) == ("own", frozenset())

    def test_a_scenario_says_it(self) -> None:
        said: dict[str, Any] = {"range": (0, None), "needs": ["ground_truth"], "version": 2}
        info = defined(length, higher_is_better=False, **said).info
        assert info.range == (0.0, math.inf)
        assert info.needs == {"references"}
        assert (info.version, info.higher_is_better) == (2, False)

    def test_the_decorator_says_it_and_leaves_the_function_alone(self) -> None:
        @metric(name="polite", range=(0, 5), needs=["answer"])
        def own(sample: Sample) -> float:
            return 5.0

        assert own(SAMPLE) == 5.0
        info = defined(own).info
        assert (info.name, info.range, info.needs) == ("polite", (0.0, 5.0), {"answer"})
        assert defined(own, range=(0, 9)).info.range == (0.0, 9.0)
        assert defined(own, range=(0, 9)).info.needs == {"answer"}

    def test_the_decorator_needs_no_parentheses(self) -> None:
        @metric
        def own(sample: Sample) -> float:
            return 1.0

        assert own(SAMPLE) == 1.0
        assert score(metric(own)).value == 1.0
        assert defined(metric(version=2)(own)).info.version == 2
        with pytest.raises(TypeError, match=r"write @metric\(name='polite'\)"):
            metric("polite")  # type: ignore[call-overload]

    def test_the_attributes_of_a_class_say_it(self) -> None:
        class Wide(Tone):
            name = "wide"
            range = (-1, 1)
            needs = ("answer",)
            higher_is_better = False
            version = 3

            def asks(self) -> None: ...

        for found in (Wide, Wide()):
            info = defined(found).info
            assert (info.name, info.range, info.version) == ("wide", (-1.0, 1.0), 3)
            assert (info.needs, info.higher_is_better) == ({"answer"}, False)
            assert info.asks == frozenset()

    @pytest.mark.parametrize(
        ("said", "message"),
        [
            ({"range": (1, 0)}, "range: expected (lowest, highest) score, found (1, 0)"),
            ({"range": (1, 1)}, "range: expected"),
            ({"range": (1, 2, 3)}, "range: expected"),
            ({"range": ("low", 1)}, "range: expected"),
            ({"needs": ["anwser"]}, "needs: unknown field 'anwser'. Did you mean 'answer'?"),
            ({"needs": ["id"]}, "needs: unknown field 'id'"),
            ({"asks": ["jugde"]}, "asks: unknown model 'jugde'. Did you mean 'judge'?"),
            ({"asks": ["judge"]}, "asks: only an async function can ask models"),
            ({"higher_is_better": 0}, "higher_is_better: expected True or False, found 0"),
            ({"higher_is_better": "no"}, "higher_is_better: expected True or False, found 'no'"),
            ({"timeout_s": 3}, "timeout_s: only an async function can be stopped"),
            ({"version": "x"}, "version: expected a whole number, found 'x'"),
            ({"version": True}, "version: expected a whole number, found True"),
        ],
    )
    def test_what_cannot_be_is_refused(self, said: dict[str, Any], message: str) -> None:
        assert f"my_metrics:own: {message}" in refusal(length, **said)

    def test_a_time_limit_of_its_own_requests_is_none_of_ours(self) -> None:
        """As an attribute of what is not async; at the decorator it would be meant for us."""

        class Asks:
            timeout_s = 3.0

            def score(self, sample: Sample) -> float:
                return 1.0

        for found in (Asks, Asks(), metric(version=2)(Asks)):
            assert not define_metric(found, "own").info.is_async
        assert "only an async function" in refusal(metric(timeout_s=3)(Asks))

    @pytest.mark.parametrize("seconds", [0, -1, math.nan, "3", True])
    def test_a_time_limit_is_above_0(self, seconds: Any) -> None:
        """0 was the default of 120 s."""

        async def slow(sample: Sample) -> float:
            return 1.0

        expected = f"timeout_s: expected seconds above 0, found {seconds!r}"
        assert expected in refusal(metric(timeout_s=seconds)(slow))

    def test_the_decorator_says_it_at_a_method_and_within_a_partial_too(self) -> None:
        """It was lost: a toxicity of 0.9 passed a gate of 0.1."""
        declare = metric(range=(0, 5), higher_is_better=False)

        class Scores:
            @declare
            def score(self, sample: Sample) -> float:
                return 1.0

        class Static:
            name = "static"

            @declare
            @staticmethod
            def score(sample: Sample) -> float:
                return 1.0

        class Called:
            @declare
            def __call__(self, sample: Sample, most: int = 1) -> float:
                return 1.0

        partial = functools.partial(functools.partial(Called(), most=2), most=3)
        for found in (Scores, Scores(), Scores().score, Static, Called, Called(), partial):
            info = defined(found).info
            assert (info.range, info.higher_is_better) == ((0.0, 5.0), False)
        both = metric(range=(0, 5))(type("Both", (Called,), {"higher_is_better": False}))
        for found in (both, both(), metric(range=(0, 5))(Called)):
            info = defined(found).info
            assert (info.range, info.higher_is_better) == ((0.0, 5.0), False)
        own = type("Own", (Scores,), {"higher_is_better": True, "version": 2})
        info = defined(own).info
        assert (info.range, info.higher_is_better, info.version) == ((0.0, 5.0), True, 2)

    def test_a_direction_that_only_the_object_has_is_refused(self) -> None:
        """It was not seen: higher was better."""

        class Later(Tone):
            def __init__(self) -> None:
                self.higher_is_better = False

        def made(found: object, **said: Any) -> Any:
            definition = defined(found, **said)
            return definition.make("own", definition.options())

        with pytest.raises(CustomMetricError, match="sets higher_is_better = False, which is not"):
            made(Later)
        for found in (Later(), type("Own", (Later,), {"higher_is_better": False})):
            made(found)
        made(Later, higher_is_better=True)
        bound = Later().score
        for found in (bound, functools.partial(functools.partial(bound))):
            with pytest.raises(CustomMetricError, match="sets higher_is_better = False, which is"):
                made(found)

        class Unbound(Later):
            @staticmethod
            def score(sample: Sample) -> float:
                return 1.0

        class Theirs(dbgpt.EvaluationMetric, Later):
            def sync_compute(self, prediction: Any, contexts: Any = None) -> float:
                return 1.0

        for found in (Unbound, Theirs):
            with pytest.raises(CustomMetricError, match="sets higher_is_better = False, which is"):
                made(found)
        made(metric(higher_is_better=True)(Later))

    @pytest.mark.parametrize(
        ("name", "value", "said"),
        [
            ("higher_is_better", "no", "'no'"),
            ("higher_is_better", 0, "0"),
            ("lower_is_better", True, "False"),
            ("higher_is_better", None, ""),
            ("higher_is_better", True, ""),
            ("lower_is_better", False, ""),
        ],
    )
    def test_whatever_a_constructor_sets_for_a_direction_is_seen(
        self, name: str, value: object, said: str
    ) -> None:
        own = type("Own", (Tone,), {"__init__": lambda self: setattr(self, name, value)})
        definition = defined(own)
        if not said:
            definition.make("own", definition.options())
            return
        with pytest.raises(CustomMetricError, match=f"sets higher_is_better = {said}, which is"):
            definition.make("own", definition.options())

    def test_a_property_is_no_direction(self) -> None:
        own = type("Own", (Tone,), {"higher_is_better": property(lambda self: False)})
        said = refusal(own)
        assert "found a property: make it an attribute, or write it into the scenario" in said

    def test_lower_is_better_of_a_class_is_refused(self) -> None:
        """It was ignored: higher was better. A class that says both alike may keep it."""
        own = type("Own", (Tone,), {"lower_is_better": True})
        assert "lower_is_better: write higher_is_better: false" in refusal(own)
        assert defined(own, higher_is_better=False).info.higher_is_better is False

    def test_higher_is_better_is_true_or_false_in_code_too(self) -> None:
        """0 and "no" meant the higher the better: a maximum was held as a minimum."""
        numpy = pytest.importorskip("numpy")
        for said in (0, "no", 0.0, numpy.int64(0), {}, [False], property(lambda self: False)):
            own = type("Own", (Tone,), {"higher_is_better": said})
            assert "higher_is_better: expected True or False" in refusal(own)
            assert "higher_is_better: expected" in refusal(metric(higher_is_better=said)(length))  # type: ignore[arg-type]
            del length.__rageval_metric__  # type: ignore[attr-defined]
        own = type("Own", (Tone,), {"higher_is_better": numpy.False_})
        assert defined(own).info.higher_is_better is False
        own = type("Own", (Tone,), {"higher_is_better": lambda self: False})
        assert defined(own).info.higher_is_better is True
        own = type("Own", (Tone,), {"higher_is_better": property(lambda self: False)})
        assert defined(own, higher_is_better=False).info.higher_is_better is False

    def test_the_default_of_a_constructor_says_what_is_better(self) -> None:
        """A slot is no Boolean, and a class of pydantic has no such attribute."""
        for said in (True, False):
            field: Any = [("higher_is_better", bool, said)]
            slots = make_dataclass("Own", field, bases=(Tone,), slots=True)
            typed = create_model("Own", __base__=(BaseModel, Tone), higher_is_better=(bool, said))

            class Given(Tone):
                def __init__(self, *, higher_is_better: bool = said) -> None:
                    pass

            for own in (slots, typed, Given):
                assert defined(own).info.higher_is_better is said
        wrong = make_dataclass("Own", [("higher_is_better", int, 0)], bases=(Tone,), slots=True)
        assert "higher_is_better: expected True or False, found 0" in refusal(wrong)
        silent = make_dataclass("Own", [("higher_is_better", bool)], bases=(Tone,), slots=True)
        plain = type("Own", (Tone,), {"__slots__": ("higher_is_better",)})
        for own in (silent, plain):
            assert declaration_of(own).higher_is_better is None

    def test_lower_is_better_is_an_option_only_where_the_code_names_it(self) -> None:
        """The code took it with ** and the higher was the better."""

        def any_of(sample: Sample, **options: Any) -> float:
            return 1.0

        def own(sample: Sample, lower_is_better: bool = False) -> float:
            return float(lower_is_better)

        assert score(own, {"lower_is_better": True}).value == 1.0
        with pytest.raises(CustomMetricError, match="write higher_is_better: false"):
            score(any_of, {"lower_is_better": True})

    def test_an_option_that_is_called_like_what_a_scenario_says_is_refused(self) -> None:
        def ambiguous(sample: Sample, range: int = 3) -> float:  # noqa: A002
            return 1.0

        assert defined(ambiguous).info.range == (0.0, 1.0)
        assert "has a parameter 'range'" in refusal(ambiguous, range=(0, 5))


async def asks_judge(sample: Sample, judge: ChatClient) -> float:
    return float(judge == "the judge")  # type: ignore[comparison-overlap]


async def asks_by_name(sample, judge, embedding):  # type: ignore[no-untyped-def]
    return float((judge, embedding) == ("the judge", "the embedding"))


async def asks_models(sample: Sample, models: Annotated[Models, "judge", "embedding"]) -> float:
    return float((models.judge, models.embedding) == ("the judge", "the embedding"))


async def asks_some(sample: Sample, models: Models) -> float:
    return float(models.judge == "the judge")  # type: ignore[comparison-overlap]


class Asks:
    asks = ("judge",)

    async def ascore(self, sample: Sample, models: Models) -> float:
        return float(models.judge == "the judge")  # type: ignore[comparison-overlap]


ALL: Any = Models("the judge", "the embedding")  # type: ignore[arg-type]


class TestModels:
    @pytest.mark.parametrize(
        ("found", "asks"),
        [
            (asks_judge, {"judge"}),
            (asks_by_name, {"judge", "embedding"}),
            (asks_models, {"judge", "embedding"}),
            (metric(asks=["judge"])(asks_some), {"judge"}),
            (Asks, {"judge"}),
            (Asks(), {"judge"}),
        ],
    )
    def test_a_parameter_is_given_the_models_that_it_names(
        self, found: object, asks: set[str]
    ) -> None:
        assert defined(found).info.asks == asks
        assert score(found, models=ALL).value == 1.0

    def test_who_takes_all_of_them_must_say_which(self) -> None:
        async def silent(sample: Sample, models: Models) -> float:
            return 1.0

        assert refusal(silent) == (
            "my_metrics:own takes 'models' but does not declare which: write asks: [judge], "
            "or take a parameter 'judge' or 'embedding' instead"
        )
        assert defined(silent, asks=["embedding"]).info.asks == {"embedding"}

    def test_a_function_that_is_not_async_cannot_ask(self) -> None:
        def blocking(sample: Sample, judge: ChatClient) -> float:
            return 1.0

        assert "only an async function can ask models" in refusal(blocking)

    def test_an_async_function_has_no_context(self) -> None:
        """It received an empty one, without the latency of the answer."""

        async def early(sample: Sample, context: ScoringContext) -> float:
            return 1.0

        assert refusal(early) == (
            "my_metrics:own takes 'context', a ScoringContext: async functions are called before "
            "there is one. Leave 'context' out, or write 'def' for 'async def'"
        )


class TestParametersNamedLikeFields:
    """[P11] As fixtures do: a parameter receives the field of its name."""

    def test_one_alone(self) -> None:
        assert score(lambda answer: answer == "please, thanks").value == 1.0
        assert score(lambda question: question == "a").value == 0.0

    def test_one_of_another_name_receives_the_sample(self) -> None:
        assert score(lambda one: one == SAMPLE).value == 1.0
        # A row's number is no field that anyone asks for by this name.
        assert score(lambda row: row.id == "s").value == 1.0

    def test_several_in_any_order_with_options_and_the_sample(self) -> None:
        def same(references: Any, answer: str, sample: Sample, *, word: str = "no") -> bool:
            return (references, answer, sample.id, word) == (None, "please, thanks", "s", "x")

        assert score(same, {"word": "x"}).value == 1.0
        assert defined(same).options.known() == ["word"]
        assert score(lambda *, answer: answer.startswith("please")).value == 1.0

    def test_a_default_stands_where_the_row_has_no_such_field(self) -> None:
        def found(answer: str, contexts: tuple[str, ...] = ("none",), question: str = "?") -> bool:
            return contexts == ("none",) and question == "q"

        assert score(found).value == 1.0

    def test_beside_the_sample_one_with_a_default_is_an_option(self) -> None:
        """As before."""

        def asks(sample: Sample, question: str = "default") -> bool:
            return question == "given"

        assert score(asks, {"question": "given"}).value == 1.0

    def test_the_judge_comes_along(self) -> None:
        async def asked(answer: str, judge: ChatClient) -> bool:
            return judge is models.judge and answer == "please, thanks"

        async def first(judge: ChatClient, answer: str) -> bool:
            return judge is models.judge and answer == "please, thanks"

        models = Models(judge=object())  # type: ignore[arg-type]
        assert score(asked, models=models).value == 1.0
        assert score(first, models=models).value == 1.0
        assert defined(asked).info.asks == {"judge"}

    def test_a_method_of_a_class(self) -> None:
        class Ends:
            def __init__(self, mark: str = "s") -> None:
                self.mark = mark

            def score(self, answer: str) -> bool:
                return answer.endswith(self.mark)

        assert score(Ends).value == 1.0
        assert score(Ends, {"mark": "!"}).value == 0.0

    def test_a_row_must_have_what_they_name(self) -> None:
        """Unless the code or the scenario says otherwise; what no row must have is not asked."""

        def supported(answer: str, contexts: Any, history: Any, question: str = "") -> bool:
            return True

        assert defined(supported).info.needs == {"answer", "contexts"}
        assert defined(supported, needs=["references"]).info.needs == {"references"}
        assert defined(length).info.needs == set()

    def test_what_is_not_clear_is_refused_with_the_names(self) -> None:
        def mixed(prediction: str, references: Any) -> bool:
            return True

        assert refusal(mixed).startswith(
            "my_metrics:own: what is 'prediction', beside references? Parameters that receive "
            "something of a sample are called sample, id, question, answer, contexts, references,"
        )

        def typed(one: Sample, references: Any) -> bool:
            return one.references == references

        assert score(typed).value == 1.0


class TestParametersWithADefault:
    """What a parameter receives follows from its name, wherever it stands."""

    def test_a_first_one_that_is_no_field_is_an_option(self) -> None:
        def words(threshold: Any = 0.5, answer: str = "") -> float:
            return threshold if answer == "please, thanks" else 0.0

        assert defined(words).options.known() == ["threshold"]
        assert score(words).value == 0.5
        assert score(words, {"threshold": 0.25}).value == 0.25

    def test_one_alone_that_is_no_field_is_refused(self) -> None:
        def only_options(words: Any = ("a",)) -> float:
            return 1.0

        said = refusal(only_options)
        assert said.startswith("my_metrics:own takes no sample: declare it as 'def metric(sample)'")
        assert said.endswith("; 'words' has a default, so it is an option")

    def test_a_first_field_that_the_row_lacks_has_its_default(self) -> None:
        def first(references: tuple[str, ...] = ("a", "b")) -> float:
            return len(references) / 10

        assert score(first).value == 0.2
        assert score(first, sample=Sample("s", references=("x",))).value == 0.1
        assert defined(first).info.needs == set()

    def test_what_a_function_changes_changes_nothing_for_others(self) -> None:
        def spoils(sample: Any, *, of: Any) -> float:
            sample.reference_ids.clear()
            sample.history[0].clear()
            sample.metadata["kinds"].clear()
            return float(of.pop("k"))

        fields: dict[str, Any] = {"reference_ids": {"d": 1}, "history": ({"role": "user"},)}
        fields["metadata"] = {"kinds": ["a"]}
        sample, options = Sample("s", **fields), {"of": {"k": 1}}
        definition = defined(spoils)
        made: Any = definition.make("shown", definition.options.model_validate(options))
        assert [made.score(sample, ScoringContext()).value for _ in range(2)] == [1.0, 1.0]
        assert sample == Sample(
            "s", reference_ids={"d": 1}, history=({"role": "user"},), metadata={"kinds": ["a"]}
        )

    def test_tags_and_metadata_that_a_row_lacks_have_theirs(self) -> None:
        def kinds(tags: Any = ("none",), metadata: Any = None) -> bool:
            return (tags, metadata) == (("none",), None)

        assert score(kinds).value == 1.0
        assert score(kinds, sample=Sample("s", tags=("a",))).value == 0.0
        assert score(kinds, sample=Sample("s", metadata={"n": 1})).value == 0.0

    def test_what_was_retrieved_and_is_empty_is_not_lacking(self) -> None:
        def found(contexts: Any = ("none",)) -> float:
            return float(len(contexts))

        assert score(found, sample=Sample("s", contexts=())).value == 0.0


class TestHowParametersArePassed:
    def test_by_place_where_they_have_no_name(self) -> None:
        def placed(answer: str, words: Any = ("w",), question: str = "?", /, *, id: str) -> bool:  # noqa: A002
            return (answer, words, question, id) == ("please, thanks", ("w",), "q", "s")

        assert score(placed).value == 1.0
        assert defined(placed).info.needs == {"answer"}

    def test_a_wrapper_may_give_the_first_another_name(self) -> None:
        @functools.wraps(length)
        def inner(*given: Any, **options: Any) -> float:
            return length(*given, **options)

        assert score(inner, {"most": 28}).value == 0.5

    def test_a_star_before_a_field_is_refused(self) -> None:
        def starred(*contexts: str) -> float:
            return 1.0

        def later(answer: str, *contexts: str) -> float:
            return 1.0

        for found in (starred, later):
            assert "takes '*contexts': write 'contexts' without the star" in refusal(found)
        assert score(lambda *given: given == (SAMPLE,)).value == 1.0

    def test_a_model_that_has_no_name_is_refused(self) -> None:
        async def asks(answer: str, judge: ChatClient, /) -> float:
            return 1.0

        assert "takes 'judge', which cannot be passed by name: write it behind '/'" in refusal(asks)


class TestNamesThatAreAlmostFields:
    """An option that keeps its default would be a wrong score that nobody sees."""

    def test_a_context_is_what_its_annotation_says(self) -> None:
        def untyped(sample, context):  # type: ignore[no-untyped-def]
            return 1.0

        said = refusal(untyped)
        assert "no field is called 'context'. Did you mean 'contexts'?" in said
        assert said.endswith("is annotated 'context: ScoringContext'")
        assert score(lambda sample, context="x": context == "x").value == 1.0

    @pytest.mark.parametrize(
        ("found", "meant"),
        [
            (lambda answer, context: 1.0, "contexts"),
            (lambda answer, context="": 1.0, "contexts"),
            (lambda answer, reference="": 1.0, "references"),
            (lambda answer, *, query: 1.0, "question"),
        ],
    )
    def test_beside_fields_another_name_of_one_is_refused(self, found: object, meant: str) -> None:
        assert f"Did you mean {meant!r}? An option needs another name" in refusal(found)

    def test_beside_the_sample_it_is_an_option(self) -> None:
        assert score(lambda sample, query="x": query == "y", {"query": "y"}).value == 1.0


class TestModelsThatItCanDoWithout:
    async def by_name(answer, judge=None):  # type: ignore[no-untyped-def]  # noqa: N805
        return 1.0 if judge == "the judge" else 0.5 if judge is None else 0.0

    async def typed(answer: str, judge: ChatClient | None = None) -> float:  # type: ignore[misc]  # noqa: N805
        return 1.0 if judge == "the judge" else 0.5 if judge is None else 0.0  # type: ignore[comparison-overlap]

    @pytest.mark.parametrize("found", [by_name, typed])
    def test_they_are_given_where_there_are_some(self, found: object) -> None:
        info = defined(found).info
        assert (info.asks, info.may_ask) == (frozenset(), {"judge"})
        assert score(found, models=ALL).value == 1.0
        assert score(found).value == 0.5

    @pytest.mark.parametrize(
        "written",
        [
            "Optional[ChatClient]",
            "typing.Optional[base.ChatClient]",
            "ChatClient|None",
            "None | base.ChatClient",
            Optional["base.ChatClient"],  # type: ignore[name-defined]  # noqa: F821
        ],
    )
    def test_however_the_annotation_is_written(self, written: object) -> None:
        made: dict[str, Any] = {"written": written}
        exec("async def own(answer, judge: written = None):\n    return 1", made)
        assert defined(made["own"]).info.may_ask == {"judge"}

    @pytest.mark.parametrize(
        "written",
        [
            "list[model.Sample]",
            "Mapping[str, m.Sample]",
            "int | m.Sample",
            "Sample]",
            int | Sample,
            list[Sample],
        ],
    )
    def test_a_type_that_only_holds_a_sample_receives_none(self, written: object) -> None:
        """Such a parameter is an option."""
        made: dict[str, Any] = {"written": written}
        exec("def own(answer, *, known: written = ()):\n    return float(len(known))", made)
        assert score(made["own"]).value == 0.0
        assert defined(made["own"]).options.known() == ["known"]

    def test_a_function_that_is_not_async_has_none(self) -> None:
        assert "only an async function can ask models" in refusal(lambda answer, judge=None: 1)
        assert score(lambda sample, judge="strict": judge == "strict").value == 1.0


class TestWhatIsNoMetric:
    @pytest.mark.parametrize(
        ("found", "message"),
        [
            (math, "is a module, not a metric: expected a function of a sample"),
            (5, "is 5, not a metric: expected a function of a sample"),
            ("polite", "is 'polite', not a metric"),
            (dict, "is a class without 'score' or 'ascore'"),
            (lambda: 1.0, "takes no sample: declare it as 'def metric(sample)'"),
            (lambda *, words=(): 1.0, "takes no sample"),
        ],
    )
    def test_it_is_named(self, found: object, message: str) -> None:
        assert f"my_metrics:own {message}" in refusal(found)

    def test_a_column_is_no_sample(self) -> None:
        """An empty answer passed: `response` was the whole sample, which is never empty."""
        assert "called 'response'. Did you mean 'answer'?" in refusal(lambda response: 1.0)
        said = "'contexts'? What gets the whole row is called sample, or annotated Sample"
        assert refusal(lambda context: 1.0).endswith(said)
        for kind in (str, "str", str | None, list[str], tuple, dict[str, Any]):
            assert "called 'response'. Did you mean 'answer'?" in refusal(annotated(kind))
        for other in (Any, Sample, Tone, "Row", None):
            assert defined(annotated(other)).info.needs == frozenset()

    def test_a_parameter_that_has_no_name_for_a_scenario(self) -> None:
        def positional(sample: Sample, word: str, /) -> float:
            return 1.0

        assert "needs the parameter 'word', which cannot be passed by name" in refusal(positional)

    def test_a_method_that_wants_what_nobody_gives(self) -> None:
        class Greedy:
            def score(self, sample: Sample, word: str) -> float:
                return 1.0

        assert "my_metrics:own.score has a required parameter 'word'" in refusal(Greedy)

    @pytest.mark.parametrize(
        "error",
        [ValueError("not today"), SystemExit("not today"), pytest.fail.Exception("not today")],
    )
    def test_a_constructor_that_raises(self, error: BaseException) -> None:
        """Also what pytest raises: its skip would leave out the scenario, gates and all."""

        class Fussy(Tone):
            def __init__(self) -> None:
                raise error

        definition, kind = defined(Fussy), type(error).__name__
        with pytest.raises(CustomMetricError, match=rf"own\(\.\.\.\) raised {kind}: not today"):
            definition.make("x", definition.options())


KEY = "0f3c9a12b7d45e86"


def asks(sample: Sample, api_key: str = "", keyword: str = "refund") -> float:
    raise RuntimeError(f"401: no such key: {api_key}, for {keyword}")


async def asks_later(sample: Sample, api_key: str = "", keyword: str = "refund") -> float:
    raise RuntimeError(f"401: no such key: {api_key}, for {keyword}")


@pytest.mark.parametrize("found", [asks, asks_later])
def test_an_option_that_is_a_secret_is_in_no_error(found: Any) -> None:
    """[R5] It went into results.json; other options and errors stay as they are."""
    with pytest.raises(CustomMetricError) as caught:
        score(found, {"api_key": KEY})
    assert str(caught.value).startswith("RuntimeError: 401: no such key: ***, for refund")
    assert caught.value.__suppress_context__
    with pytest.raises(RuntimeError, match="401: no such key: , for refund"):
        score(found)


def test_our_own_errors_keep_their_class() -> None:
    """A budget that is used up, and a reply that is not recorded, are told apart by it."""

    def stops(sample: Sample, api_key: str = "") -> float:
        raise BudgetError(f"used up at {api_key}")

    with pytest.raises(BudgetError, match=r"used up at \*\*\*$"):
        score(stops, {"api_key": KEY})


class RefusesKeys:
    def __init__(self, api_key: str, *, at_once: bool = False) -> None:
        self.api_key = api_key
        if at_once:
            raise RuntimeError(f"no such key: {api_key}")

    def __call__(self, sample: Sample) -> float:
        raise RuntimeError(f"no such key: {self.api_key}")


def says_key(sample: Sample, how: str, keys: str, api_key: str = KEY, **more: Any) -> Any:
    said = f"{'a' * 290} {api_key}" if how == "late" else f"no such key: {api_key} {more}"
    match how:
        case "exit":
            sys.exit(said)
        case "fail":
            pytest.fail(said)
        case "score":
            return Score("m", None, error=said)
        case "details":
            return Score("m", 0.5, details={"sent": [{"text": said}, ("a", 1)]})
        case "reason":
            return 1.0, said
        case "dict":
            return {"at": "a" * 50, "key": api_key}
    raise RuntimeError(said)


async def says_key_later(sample: Sample, how: str, keys: str, api_key: str = "") -> Any:
    return says_key(sample, how, keys, api_key)


def told(found: Any, options: dict[str, Any]) -> str:
    try:
        scored = score(found, options)
    except RagevalError as error:
        return str(error)
    return f"{scored.reason} {scored.error} {scored.details}"


@pytest.mark.parametrize(
    ("found", "options"),
    [
        *(
            (found, {"how": how, "keys": "refund", "api_key": KEY})
            for how in ("exit", "fail", "score", "details", "reason", "dict", "late", "raise")
            for found in (says_key, says_key_later)
        ),
        (says_key, {"how": "raise", "keys": "refund", "client": {"api_key": KEY[::-1]}}),
        (says_key, {"how": "raise", "keys": "refund", "api_keys": [KEY[::-1]]}),
        (RefusesKeys, {"api_key": KEY}),
        (RefusesKeys, {"api_key": KEY, "at_once": True}),
    ],
)
def test_a_secret_is_hidden_wherever_it_is_said(found: Any, options: dict[str, Any]) -> None:
    """It is known from the options that are declared, and hidden before a text is cut."""
    said = told(found, options)
    assert "***" in said
    assert KEY[:5] not in said
    assert KEY[::-1] not in said


@pytest.mark.parametrize(
    ("name", "value", "is_shown"),
    [
        ("key", "expected_category", True),
        ("session", "2024-spring-session", True),
        ("key", "meta.section title", True),
        ("token", "correct-horse-battery", False),
        ("key", "0f3c-9a12-b7d4", False),
        ("token", "sk-abcdefghijklmnopqrst", False),
        ("session", "1234567890", False),
        ("password", "open sesame", False),
    ],
)
def test_an_option_of_words_is_shown_unless_its_name_is_clear(
    name: str, value: str, is_shown: bool
) -> None:
    """A reason said "no column '***'"."""
    options = {"how": "reason", "keys": "", name: value}
    assert (value in told(says_key, options)) == is_shown


class TestStopping:
    def test_an_async_function_that_takes_too_long_is_stopped(self) -> None:
        async def hangs(sample: Sample) -> float:
            await asyncio.sleep(60)
            return 1.0

        definition = defined(hangs, timeout_s=0.01)
        made: Any = definition.make("m", definition.options())
        with pytest.raises(TimeoutError, match=r"no score after 0\.01 s"):
            asyncio.run(made.ascore(SAMPLE, Models()))

    def test_its_own_timeout_is_its_own(self) -> None:
        async def gives_up(sample: Sample) -> float:
            raise TimeoutError("the service is slow")

        with pytest.raises(TimeoutError, match="the service is slow"):
            score(gives_up)

    @pytest.mark.parametrize(
        "error", [SystemExit(3), KeyboardInterrupt(), asyncio.CancelledError()]
    )
    def test_what_would_end_the_loop_is_an_error_of_the_metric(self, error: BaseException) -> None:
        async def leaves(sample: Sample) -> float:
            raise error

        with pytest.raises(CustomMetricError, match=type(error).__name__):
            score(leaves)

    def test_a_function_that_exits_is_an_error_of_the_metric(self) -> None:
        def leaves(sample: Sample) -> float:
            raise SystemExit(3)

        with pytest.raises(CustomMetricError, match="SystemExit: 3"):
            score(leaves)

    def test_ctrl_c_in_a_function_ends_the_run(self) -> None:
        def is_interrupted(sample: Sample) -> float:
            raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            score(is_interrupted)

    def test_we_can_cancel_it(self) -> None:
        async def hangs(sample: Sample) -> float:
            await asyncio.sleep(60)
            return 1.0

        definition = defined(hangs)
        made: Any = definition.make("m", definition.options())

        async def stop() -> bool:
            task = asyncio.ensure_future(made.ascore(SAMPLE, Models()))
            await asyncio.sleep(0)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            return task.cancelled()

        assert asyncio.run(stop())


class TestSeveral:
    """What a hook or an entry point may give."""

    def names(self, found: object) -> list[str]:
        return [definition.name for definition in define_metrics(found, "the hook")]

    def test_one_or_a_list_or_a_mapping(self) -> None:
        em = METRIC_REGISTRY.get("em")
        assert self.names(length) == ["length"]
        assert self.names([length, em, Tone]) == ["length", "em", "Tone"]
        assert self.names({"short": length, "anything": lambda sample: 1.0}) == [
            "short",
            "anything",
        ]
        assert self.names(()) == []

    def test_a_mapping_has_the_last_word_on_names(self) -> None:
        assert self.names({"kind": metric(name="polite")(lambda sample: 1.0)}) == ["kind"]

    def test_the_source_is_where_the_code_is(self) -> None:
        (definition,) = define_metrics({"short": length}, "the hook")
        assert definition.source == f"{__name__}:length"

    @pytest.mark.parametrize("found", [5, "length", [5], None])
    def test_anything_else_is_refused(self, found: object) -> None:
        with pytest.raises(CustomMetricError, match="^the hook is .*, not a metric"):
            define_metrics(found, "the hook")

    def test_a_function_without_a_name_needs_one(self) -> None:
        with pytest.raises(CustomMetricError, match="<lambda> cannot be the name of a metric"):
            define_metrics([lambda sample: 1.0], "the hook")
