"""E19: a worker makes the metrics once, or says why it cannot."""

from __future__ import annotations

import hashlib
import importlib
import pickle
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

import pytest_rageval
from pytest_rageval.engine import module_digests
from pytest_rageval.engine.plan import Plan
from pytest_rageval.engine.remote import worker
from pytest_rageval.engine.remote.packing import Recipe, Refused, Scored, pack_samples
from pytest_rageval.engine.remote.packing import unpack_reply as unpack
from pytest_rageval.model import Sample

MakePlan = Callable[..., Plan]
VERSION = pytest_rageval.__version__
SAMPLE = Sample("q", answer="x y", references=("x",))
AGED = "name: s\ndataset: [{answer: x}]\nmetrics: [{use: 'aged_metrics:polite'}]\n"


def recipe_of(plan: Plan) -> Recipe:
    assert plan.source is not None
    return Recipe.of(plan.source, plan.runs_elsewhere, plan.empty_answer)


def score(recipe: Recipe, *samples: Sample, version: str = VERSION) -> Scored | Refused:
    return unpack(worker.score_packed(version, recipe.pack(), pack_samples(samples)))


def refusal(recipe: Recipe, version: str = VERSION) -> str:
    found = score(recipe, version=version)
    assert isinstance(found, Refused)
    return found.reason


@pytest.fixture
def recipe(plan: MakePlan) -> Recipe:
    return recipe_of(
        plan(
            "name: s\ndataset: [{answer: x, references: [x]}]\n"
            "metrics: [em, {f1: {name: mine}}, {use: 'worker_metrics:moody'}]\n"
        )
    )


def test_scores_are_those_of_the_metrics_in_their_order(recipe: Recipe) -> None:
    """f1 of "x y" against "x": precision 1/2, recall 1, so 2/3."""
    found = score(recipe, SAMPLE, replace(SAMPLE, answer="raise"))
    assert isinstance(found, Scored)
    assert found.values == [[0.0, pytest.approx(2 / 3), 1.0], [0.0, 0.0, None]]
    (place, (_, _, error, _)) = found.remarks.popitem()
    assert (place, found.remarks) == ((1, 2), {})
    assert error.startswith("RuntimeError: no score for q (worker_metrics.py:")


def test_the_metrics_are_made_once(recipe: Recipe, monkeypatch: pytest.MonkeyPatch) -> None:
    score(recipe, SAMPLE)
    monkeypatch.setattr(worker, "_make", lambda _: pytest.fail("made again"))
    score(recipe, SAMPLE)


def test_old_recipes_are_forgotten(recipe: Recipe, monkeypatch: pytest.MonkeyPatch) -> None:
    made = worker._Made()
    monkeypatch.setattr(worker, "_MADE", made)
    for at in range(20):
        score(replace(recipe, source=replace(recipe.source, path=Path(f"/none/{at}.yaml"))))
    assert len(made.plans) == 16


def test_another_version_of_the_package_is_refused(recipe: Recipe) -> None:
    """Before anything is unpacked, which another version may not be able to."""
    reply = unpack(worker.score_packed("9.9", b"not a recipe", b"not samples"))
    assert isinstance(reply, Refused)
    assert reply.reason == (
        f"the worker has pytest-rageval {VERSION}, this process 9.9; install the same"
    )


def test_a_module_that_the_worker_lacks_is_named(recipe: Recipe) -> None:
    (em, mine, moody) = recipe.source.specs
    other = moody.model_copy(update={"use": "gone_metrics:moody"})
    lacking = replace(recipe, source=replace(recipe.source, specs=(em, mine, other)))
    assert refusal(lacking).startswith("metrics[2]: no module named 'gone_metrics'")


def test_a_metric_of_another_process_is_named_with_its_place(recipe: Recipe) -> None:
    (em, _, moody) = recipe.source.specs
    unknown = em.model_copy(update={"metric": "only_here"})
    specs = (em, unknown, moody)
    lacking = replace(recipe, source=replace(recipe.source, specs=specs), positions=(1,))
    assert refusal(lacking).startswith("metrics[1]: unknown metric 'only_here'")


def test_a_metric_that_means_something_else_there_is_refused(recipe: Recipe) -> None:
    """As of another version of a user's package."""
    changed = {**recipe.definitions, "em": "em v7 ()"}
    assert refusal(replace(recipe, definitions=changed)).startswith("'em v7 ()' is 'em v1 (")


def test_words_that_only_one_process_has_added_to_jieba_are_refused(plan: MakePlan) -> None:
    """As in conftest.py: the one sample that has them need not be among those compared."""
    jieba = pytest.importorskip("jieba")
    head = "name: s\ndataset: [{answer: x, references: [x]}]\nmetrics: [em, {f1: {tokenizer: "
    with pytest.MonkeyPatch.context() as here:
        jieba.initialize()
        here.setattr(jieba.dt, "FREQ", dict(jieba.dt.FREQ))
        here.setattr(jieba.dt, "total", jieba.dt.total)
        jieba.add_word("石墨烯电池")
        recipe = recipe_of(plan(head + "jieba}}]\n"))
        assert isinstance(score(recipe), Scored)
        assert recipe_of(plan(head + "char}}]\n")).words == ""
    again = replace(recipe, positions=(1,), definitions={})  # as another worker gets it
    assert refusal(again).startswith("the worker's jieba has other words than this process: ")


def test_a_module_of_another_text_is_refused(plan: MakePlan) -> None:
    """A worker that loaded it before the file changed, or has a copy of it elsewhere."""
    code = "def polite(sample):\n    return {}\n"
    made = plan(AGED, {"aged_metrics.py": code.format(1.0)})
    recipe = recipe_of(made)
    (digest,) = recipe.digests.values()
    assert digest.startswith(hashlib.sha256(code.format(1.0).encode()).hexdigest())
    file = made.source.path.with_name("aged_metrics.py") if made.source is not None else None
    assert file is not None
    file.write_text(code.format(0.25), "utf-8")
    assert isinstance(score(recipe, SAMPLE), Scored)  # what is loaded here is what is asked for
    digest = hashlib.sha256(file.read_bytes()).hexdigest() + digest[64:]
    assert refusal(replace(recipe, digests={"aged_metrics": digest})) == (
        f"the worker has another 'aged_metrics' ({file}): restart the worker, or give it the same "
        "file"
    )
    importlib.reload(sys.modules["aged_metrics"])
    again = recipe_of(made)
    assert again.digests["aged_metrics"].startswith(digest[:64])
    assert again.digests["aged_metrics"] != digest  # its function is another one, too
    found = score(again, SAMPLE)
    assert isinstance(found, Scored)
    assert found.values == [[0.25]]


def test_a_module_is_what_was_loaded_and_not_its_file(plan: MakePlan) -> None:
    """A notebook that imported it before it was edited; a worker would load the new text."""
    code = "def polite(sample):\n    return {}\n"
    made = plan(AGED.replace("aged", "edited"), {"edited_metrics.py": code.format(1.0)})
    (before,) = recipe_of(made).digests.values()
    assert made.source is not None
    made.source.path.with_name("edited_metrics.py").write_text(code.format(0.25), "utf-8")
    module_digests._SEEN.clear()
    (edited,) = recipe_of(made).digests.values()
    importlib.reload(sys.modules["edited_metrics"])
    (loaded,) = recipe_of(made).digests.values()
    assert len({before, edited, loaded}) == 3


def test_objects_that_answer_nothing_are_not_asked(plan: MakePlan) -> None:
    """As flask's ``current_app`` outside of a request."""
    text = "class Proxy:\n    def __getattr__(self, name):\n        raise RuntimeError(name)\n"
    text += "app = Proxy()\ndef polite(sample):\n    return 1.0\n"
    recipe = recipe_of(plan(AGED.replace("aged", "proxied"), {"proxied_metrics.py": text}))
    assert isinstance(score(recipe, SAMPLE), Scored)


@pytest.mark.parametrize(
    ("module", "code"), [("rewritten", ""), ("older", "cpython-399 0")], ids=lambda one: one or "-"
)
def test_code_is_compared_where_it_can_be(plan: MakePlan, module: str, code: str) -> None:
    """pytest rewrites the assertions of some modules; a worker does not."""
    text = "def polite(sample):\n    assert sample\n    return 1.0\n"
    name = f"{module}_metrics"
    recipe = recipe_of(plan(AGED.replace("aged", module), {f"{name}.py": text}))
    (digest,) = recipe.digests.values()
    told = {name: f"{digest.partition(' ')[0]} {code}"}
    assert isinstance(score(replace(recipe, digests=told), SAMPLE), Scored)
    other = f"{digest[:-1]}{int(digest[-1], 16) ^ 1:x}"
    assert f"another '{name}'" in refusal(replace(recipe, digests={name: other}))


def test_modules_of_the_project_that_a_metric_imports_are_compared_too(plan: MakePlan) -> None:
    files = {
        "helped_metrics.py": "import math\nfrom helping_metrics import half\npolite = half\n",
        "helping_metrics.py": "def half(sample):\n    return 0.5\n",
    }
    made = plan(AGED.replace("aged", "helped"), files)
    assert list(recipe_of(made).digests) == ["helped_metrics", "helping_metrics"]


def test_of_our_own_metrics_no_file_is_compared(recipe: Recipe) -> None:
    """The version of the package says it all; a line ends as the system has it."""
    assert list(recipe.digests) == ["worker_metrics"]


def test_an_empty_answer_counts_as_the_scenario_says(plan: MakePlan) -> None:
    """``error``: no score at all, as ``score_case`` would refuse the sample."""
    rows = "[{answer: x, references: [x]}, {answer: '', references: [x]}]"
    text = f"name: s\nmetrics: [em]\ndataset: {rows}\nempty_answer: "
    empty = Sample("q", answer=" ", references=("x",))
    for word, expected in (("error", None), ("worst", 0.0)):
        found = score(recipe_of(plan(text + word)), empty)
        assert isinstance(found, Scored)
        assert found.values == [[expected]]


def test_a_recipe_is_no_larger_than_a_few_rows(recipe: Recipe) -> None:
    """It travels with every chunk."""
    assert len(recipe.pack()) < 4000
    assert pickle.loads(recipe.pack()) == recipe
