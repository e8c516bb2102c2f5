"""Judging with a real, far too small model, by the commands of the how-to.

Nothing hangs, nothing is green by mistake, every sample without a score says why. What the model
says is worthless, so no score is expected anywhere, but in the test of embeddings.
"""

from __future__ import annotations

import json
import re
import signal
import time
from collections.abc import Callable

import pytest
from local_servers import PAGE, Folder, Server, block

pytestmark = pytest.mark.full

LEVELS = {0: "says something else than the reference", 1: "says the same as the reference"}
AGREES = {"rubric": {"name": "agrees", "levels": LEVELS}}

PLANT = "The office plant is watered on Tuesdays."
# Each answer is wrong, and the only context has nothing to do with question or reference.
WRONG = [
    ("Which river flows through Vienna?", "The Tagus.", "The Danube flows through Vienna."),
    ("How many strings has a violin?", "Seven.", "A violin has four strings."),
    ("Which metal is liquid in a room?", "Copper.", "Mercury is liquid at room temperature."),
    ("When do swallows leave Europe?", "In May.", "Swallows leave Europe in September."),
    ("Who wrote Faust?", "A painter from Lyon.", "Johann Wolfgang von Goethe wrote Faust."),
    ("How long is a marathon?", "Three miles.", "A marathon is 42.195 kilometres long."),
    ("What do bees collect?", "Gravel.", "Bees collect nectar and pollen from flowers."),
    ("Which gas do plants take in?", "Helium.", "Plants take in carbon dioxide from the air."),
    ("What is the capital of Kenya?", "Oslo.", "The capital of Kenya is Nairobi."),
    ("How many legs has a spider?", "Two.", "A spider has eight legs."),
    ("What melts at zero degrees?", "Granite.", "Ice melts at zero degrees Celsius."),
    ("Which planet has large rings?", "Mars.", "Saturn has large rings of ice."),
]
WRONG_ROWS = [
    {"id": f"w{at}", "question": asked, "answer": said, "references": [right], "contexts": [PLANT]}
    for at, (asked, said, right) in enumerate(WRONG)
]
# Two with a wrong answer, two with the reference, and so on; the last four are the other way round.
SHORT_ROWS = [
    {
        "id": f"r{at}",
        "question": asked,
        "answer": right if (at // 2 + at // 12) % 2 else said,
        "references": [right],
        "contexts": [right],
    }
    for at, (asked, said, right) in enumerate([*WRONG, *WRONG[:4]])
]
UNUSABLE = re.compile(
    r"cannot be used|cut off|repeats|could be used|was given up"
    r"|no answer in time .* though no other request was in flight; raise judge\.timeout_s"
)


def test_the_how_to_from_an_empty_folder(folder: Folder, llama: Callable[..., Server]) -> None:
    """[R] The page's files and command, with the small model: one line says that it is too weak."""
    server = llama()
    text = block("yaml", "name: local\n").replace("http://127.0.0.1:8080", server.url)
    (folder.path / "local.rageval.yaml").write_text(text, encoding="utf-8")
    (folder.path / "answers.jsonl").write_text(block("json", '"id": "hours"'), encoding="utf-8")
    assert "pytest --rag-scenario=local.rageval.yaml\n" in PAGE.read_text("utf-8")
    assert folder.pytest() == 1
    reasons = folder.reasons("llm_answer_relevancy")
    assert len(reasons) == 2
    assert all("control rows" in reason for reason in reasons)
    lines = [line for line in folder.said.splitlines() if "control rows" in line]
    assert any("llm_answer_relevancy" in line for line in lines), folder.said


def test_one_slot_and_all_defaults_lose_no_row(
    folder: Folder, llama: Callable[..., Server]
) -> None:
    """[R1] 16 short rows, 32 calls at once, a server for one: scored or said to be unusable."""
    server = llama()
    judge = {"model": "local", "base_url": f"{server.url}/v1"}
    folder.scenario(SHORT_ROWS, judge=judge, metrics=[AGREES])
    folder.pytest()
    lost = [one for one in folder.reasons("agrees") if not UNUSABLE.search(one)]
    assert lost == [], f"{len(lost)} of 16 lost after {folder.took_s:.0f} s"
    used = folder.results["run"]["usage"]
    # [R1, R7] What the server worked on is what the run says, but for calls that were cut short.
    worked = sum(server.counted().values())
    assert used["prompt_tokens"] + used["completion_tokens"] >= 0.8 * worked, (used, worked)


@pytest.mark.parametrize(
    ("judge", "option"),
    [({"controls": "require"}, ()), ({}, ("--rag-strict",))],
    ids=["as a new scenario", "strict"],
)
def test_twelve_wrong_rows_are_never_green(
    folder: Folder, llama: Callable[..., Server], judge: dict[str, str], option: tuple[str, ...]
) -> None:
    """[R5] A weak judge that copies the prompt's example: unscored or red, each with a reason."""
    pytest.importorskip("ragas", reason="context_recall is a metric of ragas")
    server = llama()
    whole = {"model": "local", "base_url": f"{server.url}/v1", "concurrency": 1, "timeout_s": 300}
    folder.scenario(
        WRONG_ROWS,
        judge={**whole, "max_tokens": 400, **judge},
        metrics=["context_recall"],
        gates={"context_recall": 0.5},
    )
    assert folder.pytest(*option) == 1, folder.said
    assert any(gate["outcome"] == "failed" for gate in folder.results["gates"])
    folder.reasons("context_recall")
    # The example of ragas' prompt. That Einstein wrote Faust is the model's own: controls see that.
    scored = [one for one in folder.results["samples"] if one["scores"]["context_recall"]]
    assert "Einstein, born on" not in json.dumps(scored)


def test_a_server_that_is_still_starting_is_waited_for(
    folder: Folder, llama: Callable[..., Server]
) -> None:
    """[R9] Nobody listens for 15 seconds, then the model is loaded: no row is lost."""
    server = llama(late_s=15)
    judge = {"model": "local", "base_url": f"{server.url}/v1", "max_tokens": 60, "reasks": 0}
    folder.scenario(SHORT_ROWS[:2], judge={**judge, "concurrency": 1}, metrics=[AGREES])
    folder.pytest()
    lost = [one for one in folder.reasons("agrees") if not UNUSABLE.search(one)]
    assert lost == []
    assert re.search(rf"rageval: waiting .*{re.escape(server.url)}", folder.said), folder.said


def test_a_schema_in_words_is_not_given_back(folder: Folder, llama: Callable[..., Server]) -> None:
    """[R14] Without a grammar the prompt shows a reply, not a schema that the model repeats."""
    server = llama()
    judge = {"model": "local", "base_url": f"{server.url}/v1", "concurrency": 1, "timeout_s": 300}
    judge |= {"form": "text", "max_tokens": 120, "reasks": 0, "max_failures": None}
    folder.scenario(SHORT_ROWS[:8], judge=judge, metrics=[AGREES])
    folder.pytest()
    reasons = folder.reasons("agrees")
    assert [one for one in reasons if '"properties"' in one or '"type": "object"' in one] == []


def test_a_reply_that_repeats_itself_ends(folder: Folder, llama: Callable[..., Server]) -> None:
    """[R7] A model that loops is not let loop to the end of its context, again and again."""
    server = llama()
    judge = {"model": "local", "base_url": f"{server.url}/v1", "timeout_s": 900}
    folder.scenario(SHORT_ROWS[:1], judge=judge, metrics=["llm_answer_relevancy"])
    folder.pytest()
    folder.reasons("llm_answer_relevancy")
    assert server.counted()["tokens_predicted_total"] <= 4096


def test_embeddings_of_a_real_model_in_one_call(folder: Folder, embedder: Server) -> None:
    """Sixteen rows' texts are one request, and what means the same is nearer than what does not."""
    folder.scenario(
        SHORT_ROWS,
        embedding={"model": "multilingual-e5-small", "base_url": f"{embedder.url}/v1"},
        metrics=["semantic_similarity"],
    )
    assert folder.pytest() == 0, folder.said
    scores = [one["scores"]["semantic_similarity"] for one in folder.results["samples"]]
    is_right = [row["answer"] == row["references"][0] for row in SHORT_ROWS]
    right = [score for score, says in zip(scores, is_right, strict=True) if says]
    wrong = [score for score, says in zip(scores, is_right, strict=True) if not says]
    assert min(right) > 0.99  # the very text of the reference
    assert max(wrong) < 0.97
    assert folder.results["run"]["usage"]["calls"] == 1


def test_relevancy_with_two_servers(
    folder: Folder, llama: Callable[..., Server], embedder: Server
) -> None:
    """A chat server asks, the other one embeds; a sample has a score in 0..1 or a reason."""
    pytest.importorskip("ragas", reason="answer_relevancy is a metric of ragas")
    judge = {"model": "local", "base_url": f"{llama().url}/v1", "concurrency": 1, "max_tokens": 200}
    folder.scenario(
        SHORT_ROWS[:3],
        judge={**judge, "timeout_s": 300},
        embedding={"model": "multilingual-e5-small", "base_url": f"{embedder.url}/v1"},
        metrics=[{"answer_relevancy": {"strictness": 1}}],
    )
    folder.pytest()
    assert len(folder.results["samples"]) == 3
    folder.reasons("answer_relevancy")
    scores = [one["scores"]["answer_relevancy"] for one in folder.results["samples"]]
    assert all(0 <= score <= 1 for score in scores if score is not None)


def test_ctrl_c_ends_a_run_while_the_server_is_busy(
    folder: Folder, llama: Callable[..., Server]
) -> None:
    """Nobody waits for a reply that nobody wants any more; the run says that it is not whole."""
    server = llama()
    judge = {"model": "local", "base_url": f"{server.url}/v1"}
    folder.scenario(SHORT_ROWS, judge=judge, metrics=["llm_answer_relevancy"])
    running = folder.start()
    until = time.monotonic() + 120
    while "launch_slot" not in (folder.path.parent / "serve.log").read_text("utf-8", "replace"):
        assert running.poll() is None
        assert time.monotonic() < until
        time.sleep(0.1)
    time.sleep(1)
    begun = time.monotonic()
    running.send_signal(signal.SIGINT)
    said, _ = running.communicate(timeout=60)
    took_s = time.monotonic() - begun
    assert running.returncode == 2, said
    # A second on an idle machine; a reply takes longer than ten on any.
    assert took_s < 10, f"Ctrl-C took {took_s:.1f} s"
