"""A20, E10: what goes wrong with a judge is an ERROR of that sample only, in readable words."""

from __future__ import annotations

import re

import pytest
from judged_project import JudgedProject

from tests.plugin.conftest import red

pytest_plugins = ["judged_project"]

# What a sample's calls meet, always; and what its error says. How often it times out depends on
# whether others succeed meanwhile.
LASTING = {
    "400 bad words": "*the request was not accepted (HTTP 400: *",
    "401": "*the key is not accepted (HTTP 401*",
    "404": "*HTTP 404*is the model's name right*",
    "429": "*rate limit (HTTP 429*lower judge.concurrency*attempts; waited * s, max_wait_s is 3)",
    "429:9": "*rate limit (HTTP 429*the server asks to wait 9 s more, max_wait_s is 3*",
    "quota": "*the account has no credit left*",
    "500:0.01": "*the server failed (HTTP 500*2 attempts*",
    "503:0.01": "*the server failed (HTTP 503*attempts*",
    "hang": "*no answer in time (timeout_s is 3)*attempts*",
    "late": "*no answer in time (timeout_s is 3)*attempts*",
    "stall": "*no answer in time (timeout_s is 3)*attempts*",
    "reset": "*the connection failed (Connection reset by peer)*2 attempts*",
    "close": "*the connection failed (the server closed it without an answer)*2 attempts*",
    "cut": "*the connection failed (it broke in the middle of the answer)*2 attempts*",
    "html": "*answered * bytes of text/html*no JSON object*",
    "not_json": "*answered * bytes of application/json*no JSON object*",
    "no_choices": "*answered a chat completion without choices*",
    "empty_choices": "*answered a chat completion without choices*",
    "error_in_200": "*the server failed (HTTP 500: the upstream model failed*",
    "prose": "*the reply cannot be used: could not convert*It looks fine.*2 attempts*",
    "null": "*the reply cannot be used*2 attempts*",
    "length": "*the reply is cut off*2 attempts*",
    "refusal": "*the model refused to answer: I cannot help with that.*",
    "filtered": "*the model refused to answer*",
    "filter_400": "*a content filter stopped the request*",
    "redirect": "*redirects to http://elsewhere.test/v2/chat; set judge.base_url*",
}

# What passes after one more attempt.
PASSING = [
    "429",
    "429:0.01",
    "500:0.01",
    "503:0.01",
    "hang",
    "late",
    "stall",
    "reset",
    "close",
    "cut",
    "html",
    "not_json",
]
PASSING += ["no_choices", "empty_choices", "error_in_200", "prose", "null", "length"]

PATIENT = {"retries": 1, "reasks": 1, "max_wait_s": 3, "timeout_s": 3}


@pytest.mark.full
def test_every_fault_is_an_error_of_its_sample_only(judged: JudgedProject) -> None:
    """[A20, E10] Samples that meet a fault at every attempt, at the first one, and not at all."""
    answers = [f"{fault}|0.5" for fault in LASTING]
    answers += [f"once {fault}|0.6" for fault in PASSING]
    answers += ["0.7", "no_usage|0.7"]
    judged.server.hang_s = 10.0
    judged.scenario(answers, gates={"graded": 0.1, "unscored": 0.9}, judge=PATIENT)
    result = red(judged.loop_back())
    well = len(PASSING) + 2
    # Both gates pass: nearly half of the samples may be unscored, and 0.1 is low.
    result.assert_outcomes(passed=well + 2, errors=len(LASTING))
    samples = judged.project.results()["samples"]
    scores = [sample["scores"]["graded"] for sample in samples]
    assert scores == [None] * len(LASTING) + [0.6] * len(PASSING) + [0.7, 0.7]
    errors = judged.errors
    assert len(errors) == len(LASTING)
    for (fault, expected), error in zip(LASTING.items(), errors.values(), strict=True):
        pattern = re.escape(expected).replace(r"\*", ".*")
        assert re.fullmatch(pattern, error), (fault, error)
        assert error.startswith("judge 'm'"), fault
    output = result.stdout.str()
    assert "Traceback" not in output
    assert "INTERNALERROR" not in output
    result.stdout.fnmatch_lines(["ERROR qa.rageval.yaml::s1 *graded unscored: judge 'm' at http*"])


def test_an_embedding_model_that_fails_is_an_error_of_the_sample(judged: JudgedProject) -> None:
    """[A20] The text that is too long for it."""
    rows = [{"answer": "short", "question": "short"}, {"answer": "too long", "question": "q"}]
    server = {"model": "e", "base_url": judged.server.base_url, "retries": 0, "batch_size": 1}
    judged.scenario(rows, metrics=["embedded"], judge=False, embedding=server)
    judged.pytest().assert_outcomes(passed=1, errors=1, failed=1)
    assert judged.errors["s1"].startswith("embedding 'e' at http")
    assert "the input is longer than 8192 tokens" in judged.errors["s1"]
