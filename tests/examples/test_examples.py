"""Every folder of examples/ runs as its README says, plain and with two workers."""

from __future__ import annotations

import json
import math
import os
import re
import shlex
import shutil
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import combinations, product
from pathlib import Path
from typing import Any

import pytest

from pytest_rageval import evaluate_variants, extras

EXAMPLES = Path(__file__).parents[2] / "examples"
# What a README runs, as folder or folder/file, and the scenario's name.
NAMES = {
    "quickstart": "quickstart",
    "answers": "answers",
    "answers/faulty": "answers-faulty",
    "chinese": "chinese",
    "failing_gate": "failing-gate",
    "retrieval": "retrieval",
    "retrieval/worse": "retrieval-worse",
    "context_retrieval_zh": "context-retrieval-zh",
    "claims": "claims",
    "from_documents/questions": "from_documents",
    "judge": "judge",
    "judge_and_people": "judge-and-people",
    "rag_app": "rag-app",
    "rag_app/by_http": "rag-app-by-http",
    "rag_app/by_fixture": "rag-app-by-fixture",
    "rag_app/test_garden.py": "rag-app-by-test",
    "custom_metric": "custom-metric",
    # One of its variants; each has a folder of its own.
    "three_variants": "three-variants/dense",
}
# These ask a server of their own.
OVER_HTTP = "rag_app/by_http"
# What READMEs say in words: the folder of an example as an argument, and plain pytest inside of it.
WHOLE_FOLDER = "rag_app/"
IN_ITS_FOLDER = "custom_metric/"
# No pytest runs it: test_ultrarag_example.py.
A_SERVER = "ultrarag"
# Its runs follow one another: test_over_a_year.py.
A_YEAR = "over_a_year"
# No pytest runs them either: tests/notebooks.
NOTEBOOKS = "notebook"
# The repository's own settings make errors of warnings: no example may need less.
SETTINGS = "[pytest]\nfilterwarnings = error\naddopts = --strict-markers\n"


def readme_commands() -> dict[str, list[str]]:
    """Return the arguments of every command of pytest in a README, but that with a real judge."""
    found = {}
    for page in sorted(EXAMPLES.glob("*/README.md")):
        for line in re.findall(r"^pytest (.+)$", page.read_text("utf-8"), re.MULTILINE):
            args = shlex.split(line)
            path = args[0].removeprefix("--rag-scenario=").removeprefix("examples/")
            folder, _, file = path.removesuffix(".rageval.yaml").partition("/")
            is_run = not args[0].startswith("--rag-init")
            if is_run and "--rag-judge-model=gpt-4o-mini" not in args:
                found[f"{folder}/{file}" if file not in ("", folder) else folder] = args
    return found


def outcomes_of(output: str) -> Counter[str]:
    """Return how many passed, failed and so on, by pytest's last line."""
    last = output.strip().splitlines()[-1]
    return Counter({word: int(count) for count, word in re.findall(r"(\d+) ([a-z]+)", last)})


def results_of(root: Path, name: str) -> dict[str, Any]:
    latest = root / ".rageval" / NAMES[name] / "latest"
    found: dict[str, Any] = json.loads((latest / "results.json").read_text("utf-8"))
    return found


@dataclass
class Run:
    """One finished run of an example: exit status, what the terminal showed, and results.json."""

    name: str
    root: str
    status: int
    output: str

    @property
    def outcomes(self) -> Counter[str]:
        return outcomes_of(self.output)

    @cached_property
    def results(self) -> dict[str, Any]:
        return results_of(Path(self.root), self.name)

    def gates(self) -> dict[str, str]:
        return {gate["name"]: gate["outcome"] for gate in self.results["gates"]}

    def mean(self, metric: str) -> float:
        return float(self.results["metrics"][metric]["weighted_mean"])


# Python imports a module of this name at its start.
WITHOUT_NETWORK = """
import socket
def refuse(*_):
    raise RuntimeError("an example opens a connection")
socket.socket.connect = socket.socket.connect_ex = socket.getaddrinfo = refuse
"""


def _environment(folder: Path, *, has_network: bool) -> dict[str, str]:
    """Return the environment without what steers this test run, keys, extras, and a network."""
    # A module of that name that cannot be imported stands in for a package that is missing.
    without = folder / "without"
    without.mkdir(exist_ok=True)
    for package in ("jieba",) if has_network else ("aiohttp", "jieba"):
        text = f"raise ImportError({package!r})"
        (without / f"{package}.py").write_text(text, encoding="utf-8")
    if not has_network:
        (without / "sitecustomize.py").write_text(WITHOUT_NETWORK, encoding="utf-8")
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("PYTEST_", "RAGEVAL_", "COV_")) and not name.endswith("_API_KEY")
    }
    path = os.pathsep.join(filter(None, [str(without), kept.get("PYTHONPATH")]))
    # The documentation shows a comparison as wide as it may be.
    return {**kept, "COLUMNS": "120", "PYTHONPATH": path, "PYTHONUTF8": "1"}


def _copy(root: Path, folder: str = "") -> Path:
    """Return ``root`` with a folder of the examples, or all of them, and the settings."""
    shutil.copytree(EXAMPLES / folder, root / "examples" / folder)
    (root / "pytest.ini").write_text(SETTINGS, encoding="utf-8")
    return root


def _python(folder: Path, *args: str, has_network: bool, given: str = "") -> Any:
    return subprocess.run(
        [sys.executable, "-P", *args],
        cwd=folder,
        env=_environment(folder, has_network=has_network),
        input=given,
        capture_output=True,
        encoding="utf-8",
        timeout=120,
        check=False,
    )


def _run_in_turn(folder: Path, commands: dict[str, list[str]], *, has_network: bool) -> None:
    """Run each command in a copy of its example; write ``runs.json``."""
    roots = {
        name: _copy(folder / str(number), name.partition("/")[0])
        for number, name in enumerate(commands)
    }
    inner = {IN_ITS_FOLDER: f"examples/{IN_ITS_FOLDER}"}
    given = [[str(roots[name] / inner.get(name, "")), commands[name]] for name in commands]
    script = str(Path(__file__).with_name("run_in_turn.py"))
    done = _python(folder, script, has_network=has_network, given=json.dumps(given))
    assert done.returncode == 0, done.stderr
    found = [
        (name, str(roots[name]), *one)
        for name, one in zip(commands, json.loads(done.stdout), strict=True)
    ]
    (folder / "part").write_text(json.dumps(found), "utf-8")
    (folder / "part").rename(folder / "runs.json")


def _once(folder: Path, make: Callable[[Path], None]) -> dict[str, Run]:
    """Return the runs in a folder, which the first worker to ask has made."""
    try:
        folder.mkdir()
    except FileExistsError:
        until = time.monotonic() + 120
        while not (folder / "runs.json").exists() and time.monotonic() < until:
            time.sleep(0.1)
    else:
        make(folder)
    return {one[0]: Run(*one) for one in json.loads((folder / "runs.json").read_text("utf-8"))}


RunExample = Callable[[str], Run]


@pytest.fixture(scope="session")
def run_example(tmp_path_factory: pytest.TempPathFactory) -> RunExample:
    """Return a function from an example to its run; those without a server run all at once."""
    base = tmp_path_factory.getbasetemp()
    folder = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base
    commands = {**readme_commands(), IN_ITS_FOLDER: [], WHOLE_FOLDER: ["examples/rag_app"]}
    online = {name: commands.pop(name) for name in (OVER_HTTP, WHOLE_FOLDER)}

    @cache
    def runs(has_network: bool) -> dict[str, Run]:
        def make(made: Path) -> None:
            _run_in_turn(made, online if has_network else commands, has_network=has_network)

        return _once(folder / ("online" if has_network else "offline"), make)

    def find(name: str) -> Run:
        if name in online:
            pytest.importorskip("aiohttp")
        return runs(name in online)[name]

    return find


def test_every_example_folder_is_tested_here_and_has_a_readme() -> None:
    folders = {path.name for path in EXAMPLES.iterdir() if path.is_dir()}
    assert {name.partition("/")[0] for name in NAMES} | {A_SERVER, A_YEAR, NOTEBOOKS} == folders
    assert readme_commands().keys() == NAMES.keys()


def test_quickstart_is_green(run_example: RunExample) -> None:
    run = run_example("quickstart")
    assert run.status == 0
    assert run.outcomes == {"passed": 12}  # 8 rows, 3 gates and the gate "unscored"
    assert set(run.gates().values()) == {"passed"}
    # acc: every row but warranty-seals has its reference in the answer. The two warranty rows
    # weigh 2, the six others 1: (1 + 1 + 1 + 2·1 + 2·0 + 1 + 1 + 1) / (6 + 2·2) = 8/10.
    assert run.mean("acc") == pytest.approx(0.8, abs=1e-12)
    # f1 = 2·common / (tokens of the answer + tokens of the reference), articles dropped:
    # tank-size 2·3/(5 + 3) = 3/4, red-lamp 2·4/(7 + 4) = 8/11, warranty-seals 2·5/(5 + 9) = 5/7
    # (twice), and in characters 滤芯寿命 2·8/(10 + 8) = 8/9, 指示灯 2·6/(10 + 6) = 3/4. Others 1.
    f1 = (3 / 4 + 1 + 8 / 11 + 2 * 1 + 2 * 5 / 7 + 8 / 9 + 1 + 3 / 4) / 10
    assert run.mean("f1") == pytest.approx(f1, abs=1e-12)
    # Here the common tokens stand in the same order, so rouge-l equals f1:
    # weighted score 0.2·acc + (0.5 + 0.3)·f1, the weights add up to 1.
    overall = run.results["weighted_score"]["mean"]
    assert overall == pytest.approx(0.2 * 0.8 + 0.8 * f1, abs=1e-12)


def test_chinese_is_green_without_jieba(run_example: RunExample) -> None:
    run = run_example("chinese")
    assert run.status == 0
    assert run.outcomes == {"passed": 11}  # 6 rows, 4 gates and "unscored"
    # acc: only 虚拟墙 lacks its reference: 画红线 became 画一条红线.
    assert run.mean("acc") == pytest.approx(5 / 6, abs=1e-12)
    # As written, ４５０ is not 450 and the full-width comma of 人为损坏 is not the ASCII one.
    assert run.mean("acc_as_written") == pytest.approx(3 / 6, abs=1e-12)
    # f1 in characters: 充电时间 2·6/(11 + 6), 尘盒容量 2·3/(8 + 3) (450 is one token),
    # 虚拟墙 2·11/(13 + 11), 电池保修 2·2/(6 + 2), the two others 1.
    f1 = (12 / 17 + 6 / 11 + 11 / 12 + 1 + 1 / 2 + 1) / 6
    assert run.mean("f1") == pytest.approx(f1, abs=1e-12)
    assert run.results["samples"][0]["metadata"] == {"难度": "易"}


def test_answers_that_cite_refuse_and_follow_are_green(run_example: RunExample) -> None:
    run = run_example("answers")
    assert run.status == 0
    assert run.outcomes == {"passed": 13}  # 6 rows, 6 gates and "unscored"
    kinds = {sample["id"]: sample["details"] for sample in run.results["samples"]}
    refused = {name for name, details in kinds.items() if "answer_kind" in details}
    assert refused == {"founder", "价格"}
    last = {sample["id"]: sample["metadata"].get("last_turn") for sample in run.results["samples"]}
    assert [name for name, is_last in last.items() if not is_last] == ["warranty", "保修"]


def test_each_fault_of_an_answer_is_named(run_example: RunExample) -> None:
    run = run_example("answers/faulty")
    assert run.status == 1
    assert run.outcomes == {"passed": 6, "failed": 4}
    # Of five answers one cites [7], one refuses; one of two sentences cites nothing.
    assert run.mean("citation_validity") == pytest.approx(3 / 5)
    assert run.mean("citation_coverage") == pytest.approx((0 + 1 / 2 + 1 + 0 + 1) / 5)
    assert run.mean("refusal") == pytest.approx(3 / 5)
    for named in (
        "[7] points to nothing (2 contexts)",
        '"The shop pays the postage."',
        "warranty.pdf ([1] is from prices.pdf)",
        "refused, though the documents hold an answer",
        '"Jane Austen founded it in 1962 [1]."',
    ):
        assert named in " ".join(run.output.split())


def test_failing_gate_is_red_by_its_gates_alone(run_example: RunExample) -> None:
    run = run_example("failing_gate")
    assert run.status == 1
    # 3 right rows; 2 wrong ones tolerated; gates: pass_rate and unscored pass, two fail.
    assert run.outcomes == {"passed": 5, "xfailed": 2, "failed": 2}
    assert {name for name, outcome in run.gates().items() if outcome == "failed"} == {
        "f1.mean",
        "by.doc_name.f1.mean",
    }
    assert run.results["counts"]["failed"] == 0
    # f1: 1 for three rows; "ask at the desk" and "three times" share no token with theirs.
    assert run.mean("f1") == pytest.approx(3 / 5, abs=1e-12)
    # loans.md: one of three rows is right.
    assert "loans.md: 0.3333 < 0.5000" in run.output


def test_retrieval_is_green_and_better_than_the_older_run(run_example: RunExample) -> None:
    run = run_example("retrieval")
    assert run.status == 0
    assert run.outcomes == {"passed": 45}  # 40 queries, 4 gates and "unscored"
    # The first relevant page (grade 1 or 2) has rank 1 for all queries but four: puncture 4,
    # kids 3, bag-lost 2, erase-data none. (36 + 1/4 + 1/3 + 1/2 + 0) / 40
    assert run.mean("mrr") == pytest.approx((36 + 1 / 4 + 1 / 3 + 1 / 2) / 40, abs=1e-12)
    # The first page has grade 2 for 32 queries, as counted in the files by hand.
    assert run.mean("precision(rel=2)@1") == pytest.approx(32 / 40, abs=1e-12)
    found = run.results["comparison"]["metrics"]["mrr"]
    assert found["significant"] is True
    assert found["diff"] > 0


def test_the_worse_run_fails_no_regression_and_names_the_p_value(run_example: RunExample) -> None:
    run = run_example("retrieval/worse")
    assert run.status == 1
    assert run.outcomes == {"passed": 41, "failed": 1}  # 40 queries and "unscored"; one gate
    assert run.gates() == {"no_regression": "failed", "unscored": "passed"}
    [message] = [gate["message"] for gate in run.results["gates"] if gate["outcome"] == "failed"]
    assert re.search(
        r"mrr: worse, A 0\.5901, B 0\.9271 \(bm25\.run\), .* p <0\.0001 \(max-T over 3 ", message
    )
    # mrr: 20 queries differ, and bm25.run is better in each: of the 2^20 sign patterns only this
    # one and its opposite are as extreme, p = 2 / 2^20.
    found = run.results["comparison"]["metrics"]["mrr"]
    assert found["method"] == "permutation, exact"
    assert found["n_nonzero"] == 20
    assert found["p_value"] == 2 / 2**20
    page = (EXAMPLES.parent / "docs" / "how-to" / "compare-runs.md").read_text(encoding="utf-8")
    picture = re.search(r"^metric +A_mean.*?(?=^```$)", page, re.MULTILINE | re.DOTALL)
    assert picture is not None
    # The page compares without a gate: its last line is about the weighted score.
    assert picture.group().partition("to see a fall")[0] in run.output


def test_context_retrieval_zh_is_green(run_example: RunExample) -> None:
    run = run_example("context_retrieval_zh")
    assert run.status == 0
    assert run.outcomes == {"passed": 20}  # 15 questions, 4 gates and "unscored"
    # Only for 喝水 the first context is not an expected one; the second is.
    assert run.mean("hit_rate@1") == pytest.approx(14 / 15, abs=1e-12)
    assert run.mean("mrr") == pytest.approx((14 + 1 / 2) / 15, abs=1e-12)
    # Nine rows expect the three chunks of their document: six find 2 of them within top_k
    # (有声书 has the third at rank 4), 丢证, 少儿证 and 开放时间 find 1. Six expect one chunk.
    assert run.mean("recall") == pytest.approx((6 * 2 / 3 + 3 * 1 / 3 + 6) / 15, abs=1e-12)
    # 4 contexts were retrieved for 有声书; top_k cuts them before anything looks at them.
    shown = {sample["id"]: len(sample["contexts"]) for sample in run.results["samples"]}
    assert shown["有声书"] == 3


def test_judge_is_green_from_its_recording_alone(run_example: RunExample) -> None:
    run = run_example("judge")
    hint = "the prompt, or the cache, has changed? python tests/examples/record_judge.py"
    assert run.status == 0, f"{hint}\n{run.output}"
    # 8 rows, of which "parking" (level 0) and 轮椅 (level 2) are tolerated; 3 gates, "unscored".
    assert run.outcomes == {"passed": 10, "xfailed": 2}
    # Levels as they stand in record_judge.py: English 5, 3, 4, 0, Chinese 5, 3, 2, 5.
    assert run.mean("llm_answer_relevancy") == (12 + 15) / 8
    by_language = next(gate for gate in run.results["gates"] if gate["name"].startswith("by."))
    assert by_language["observed"] == 12 / 4
    usage = run.results["run"]["usage"]
    assert (usage["calls"], usage["cached"], usage["prompt_tokens"]) == (0, 8 + 10, 0)
    # Ten control rows were recorded, too: with two slips left of twelve, that is certain.
    assert run.results["controls"]["llm_answer_relevancy"]["passed"] is True
    wheelchair = next(one for one in run.results["samples"] if one["id"] == "轮椅")
    assert "灯塔只有楼梯" in wheelchair["reasons"]["llm_answer_relevancy"]


def test_claims_name_the_sentence_from_their_recording_alone(run_example: RunExample) -> None:
    """Counted by hand: what is wrong in four of six answers stands in the README."""
    run = run_example("claims")
    hint = "a prompt, or the cache, has changed? python tests/examples/record_judge.py"
    assert run.status == 1, f"{hint}\n{run.output}"
    # Six answers, of which four are tolerated; six gates, of which three fail.
    assert run.outcomes == {"passed": 5, "xfailed": 4, "failed": 3}
    means = {
        "citation_recall": (1 + 0 + 0.5 + 1 + 1 + 0) / 6,
        "claim_recall": (1 + 1 + 0.5 + 0.5 + 1 + 0) / 6,
        "hallucination": (0.5 + 1) / 6,
        "context_claim_recall": (5 + 0.5) / 6,
        "nugget_recall": (1 + 1 + 0.5 + 1 + 1 + 0) / 6,
    }
    assert {name: run.mean(name) for name in means} == pytest.approx(means)
    causes = {sample["id"]: sample.get("cause") for sample in run.results["samples"]}
    assert causes["storm"] == "retrieval"
    assert causes["dogs"] == "unfaithful"
    reasons = {sample["id"]: sample["reasons"] for sample in run.results["samples"]}
    late = '"Each quarter of an hour costs 5 euros" cites [1], which does not support it'
    assert reasons["late"]["citation_recall"].startswith(late)
    assert "矛盾" in reasons["预订"]["hallucination"]
    assert run.results["run"]["usage"]["calls"] == 0


def test_a_search_by_words_fails_made_questions_in_other_words(run_example: RunExample) -> None:
    """12 made, of which a person rejected one; its evidence is in whole sentences."""
    run = run_example("from_documents/questions")
    assert run.status == 1
    assert run.outcomes == {"passed": 11 + 1, "failed": 1}  # "unscored" passes, recall@5 fails
    samples = {sample["id"]: sample for sample in run.results["samples"]}
    missed = [one for one in samples.values() if one["scores"]["recall@5"] == 0.0]
    assert [one["metadata"]["question_type"] for one in missed] == ["paraphrase"] * 3
    assert run.mean("recall@5") == pytest.approx(7 / 10)  # one of the 11 has no answer
    edited = samples["visiting-c5d69f144e"]["references"]
    assert edited == ["19 euros, for two adults and up to three children"]
    assert "11 made questions, 4 reviewed by a person, 1 row rejected (left out)" in run.output
    for page in MADE_PAGES:
        [shown] = re.findall(r"^FAILED: .*\n(?:.*\n)*?(?=```)", _section(page, "## 6. "), re.M)
        assert shown in run.output, page


MADE_PAGES = ("how-to/questions-from-documents.md", "zh/questions-from-documents.md")
MADE_FILES = ("questions.jsonl", "rejected.jsonl", "questions.rageval.yaml")


def _section(page: str, heading: str) -> str:
    text = (EXAMPLES.parent / "docs" / page).read_text("utf-8")
    return text[text.index(heading) :].partition("\n## ")[0]


@pytest.mark.full
def test_the_questions_are_made_again_to_the_byte(tmp_path: Path) -> None:
    """The command of the README, without a network."""
    folder = _copy(tmp_path, "from_documents") / "examples" / "from_documents"
    made = {name: (folder / name).read_bytes() for name in MADE_FILES}
    readme = (folder / "README.md").read_text("utf-8")
    [command] = re.findall(r"^pytest (--rag-init.+)$", readme, re.MULTILINE)
    again = _python(tmp_path, "-m", "pytest", *shlex.split(command), has_network=False)
    assert "made or rejected before: 16 questions of 16" in again.stdout
    for name in MADE_FILES:
        (folder / name).unlink()
    done = _python(tmp_path, "-m", "pytest", *shlex.split(command), has_network=False)
    hint = "a prompt, or the draw, has changed? python tests/examples/record_judge.py"
    assert done.returncode == 0, f"{hint}\n{done.stdout}{done.stderr}"
    assert {name: (folder / name).read_bytes() for name in MADE_FILES} == made
    for page in MADE_PAGES:
        [shown] = re.findall(r"^drawn: .*\n(?:.*\n)*?(?=```)", _section(page, "## 3. "), re.M)
        said = shown.replace("91 calls, 0 from the cache", "0 calls, 91 from the cache")
        assert said in done.stdout, page
    reasons = [json.loads(line)["reason"] for line in made["rejected.jsonl"].splitlines()]
    assert sorted(reasons) == ["answerable", "no_quote", "not_alone", "not_supported"]


@pytest.mark.full
@pytest.mark.parametrize("page", MADE_PAGES)
def test_the_page_shows_what_questions_would_cost(page: str, tmp_path: Path) -> None:
    docs = _copy(tmp_path, "from_documents") / "examples" / "from_documents" / "docs"
    docs.rename(tmp_path / "docs")
    section = _section(page, "## 2. ")
    [command] = re.findall(r"^pytest (.+)$", section, re.MULTILINE)
    done = _python(tmp_path, "-m", "pytest", *shlex.split(command), has_network=False)
    [shown] = re.findall(r"^docs: .*\n(?:.*\n)*?(?=```)", section, re.M)
    assert shown in done.stdout, f"the prompts changed? {page} has to show:\n{done.stdout}"


def test_judge_and_people_is_green_by_the_judge_and_red_by_people(run_example: RunExample) -> None:
    """F3, F4: 80 verdicts, 73 of them 1; two people labelled 40 of the answers."""
    run = run_example("judge_and_people")
    assert run.status == 1
    assert run.outcomes == {"passed": 80 + 3, "failed": 4}
    assert {name for name, outcome in run.gates().items() if outcome == "passed"} == {
        "weighted_score",
        "grounded.agreement.sensitivity",
        "unscored",
    }
    assert run.mean("grounded") == pytest.approx(73 / 80, abs=1e-12)
    found = run.results["agreement"]["grounded"]
    # Counted in the files by hand; on pay-crowns, which both labelled, the two are split.
    assert found["confusion"] == [[3, 7], [1, 28]]
    assert (found["n"], found["split"]) == (39, 1)
    assert found["sensitivity"] == pytest.approx(28 / 29)
    assert found["specificity"] == pytest.approx(3 / 10)
    # Cohen: observed (3 + 28)/39, by chance (10·4 + 29·35)/39². Both labelled 16 answers: 3 times
    # 0 and 12 times 1 together, once they differ: observed 15/16, by chance (3·4 + 13·12)/16².
    chance = (10 * 4 + 29 * 35) / 39**2
    assert found["kappa"] == pytest.approx((31 / 39 - chance) / (1 - chance))
    assert found["ceiling"] == pytest.approx((15 / 16 - 168 / 256) / (1 - 168 / 256))
    assert found["cells"]["1,0"] == ["board-time"]


def test_judge_and_people_corrects_the_mean_as_the_formula_says(run_example: RunExample) -> None:
    """N8: of 36 labelled answers that the judge accepts people accept 28.5, of 4 others one."""
    run = run_example("judge_and_people")
    found = run.results["metrics"]["grounded"]["corrected"]
    # It accepts 73 of all 80. People are split about one.
    mean = (73 * 28.5 / 36 + 7 * 1 / 4) / 80
    assert found["lambda"] == pytest.approx(28.5 / 36 - 1 / 4)
    assert found["mean"] == pytest.approx(mean)
    # Quantiles of 20 million draws (numpy) of W p + (1 - W) q, W ~ Beta(7, 73), p ~ Beta(1.5, 3.5),
    # q ~ Beta(29, 8).
    assert (found["ci_low"], found["ci_high"]) == pytest.approx((0.60339, 0.85722), abs=1e-3)
    # The mean is h = 0.1143 above 0.63. rho = 0.375 (0.073..0.615 by Fisher), N of the n + N = 80
    # have no label: t² 0.1921/n (1 - rho² N/80) <= h² from n = 52 (0.01292) or 59 (0.01303) on.
    assert "52 to 59" in run.output


@pytest.mark.parametrize(
    "example",
    ["rag_app", pytest.param("rag_app/by_http", marks=pytest.mark.full), "rag_app/by_fixture"],
)
def test_a_live_system_is_asked(run_example: RunExample, example: str) -> None:
    """The answers are in no file: a search without "Mondays" finds another document."""
    run = run_example(example)
    assert run.status == 0, run.output
    gates = 3 if example == "rag_app" else 2
    assert run.outcomes == {"passed": 12 + gates + 1}  # 12 questions, the gates and "unscored"
    assert run.mean("acc") == run.mean("hit_rate@1") == run.mean("mrr") == 11 / 12
    wrong = next(one for one in run.results["samples"] if one["scores"]["acc"] == 0.0)
    assert wrong["id"] == "mondays"
    assert wrong["answer"].startswith("Dahlia tubers")
    assert len(run.results["run"]["answer_latency_s"]) == 12


@pytest.mark.full
def test_the_answers_are_the_same_however_the_system_is_asked(run_example: RunExample) -> None:
    here = run_example("rag_app").results["samples"]
    names = ("id", "answer", "contexts", "scores")
    for other in ("rag_app/by_http", "rag_app/by_fixture"):
        there = run_example(other).results["samples"]
        assert [[one[name] for name in names] for one in here] == [
            [one[name] for name in names] for one in there
        ]


def test_a_test_function_asks_the_system(run_example: RunExample) -> None:
    """[E6] 12 questions, of which "mondays" is wrong and has no threshold; two gates, unscored."""
    run = run_example("rag_app/test_garden.py")
    assert run.status == 0, run.output
    assert run.outcomes == {"passed": 15}
    said = "rageval: rag-app-by-test (examples/rag_app/test_garden.py::test_answers_are_passages)"
    assert said in run.output
    # 11 of 12
    assert re.search(r"gate hit_rate@1\.mean +passed +0\.9167 >= 0\.9000\n", run.output)


def test_the_folder_of_an_example_with_a_test_is_run_as_it_is(run_example: RunExample) -> None:
    """Its three scenarios and its test; the scenario of the test is none of its own.

    12 questions each, and 2, 2, 3 and 2 gates, and "unscored" of each: 4 * 12 + 9 + 4 = 61.
    """
    run = run_example(WHOLE_FOLDER)
    assert run.status == 0, run.output
    assert run.outcomes == {"passed": 61}


def test_the_recording_of_judge_holds_no_more_than_its_replies() -> None:
    replies = (EXAMPLES / "judge" / "cache").glob("*.reply.jsonl")
    lines = [line for path in replies for line in path.read_text("utf-8").splitlines()]
    assert len(lines) == 8 + 10


@pytest.mark.parametrize("example", sorted(NAMES))
def test_the_tables_of_a_readme_are_what_its_command_prints(
    run_example: RunExample, example: str
) -> None:
    """Each row of means that a README shows, but for the space between its columns."""
    folder = example.partition("/")[0]
    readme = (EXAMPLES / folder / "README.md").read_text("utf-8")
    rows = re.findall(r"^\S+(?: by people)? +\d\.\d{4} .+$", readme, re.MULTILINE)
    runs = [run_example(name) for name in NAMES if name.partition("/")[0] == folder]
    printed = {tuple(line.split()) for run in runs for line in run.output.splitlines()}
    assert [row for row in rows if tuple(row.split()) not in printed] == []


@pytest.mark.full
@pytest.mark.parametrize("alone", [False, True])
def test_results_are_the_same_with_two_workers(
    run_example: RunExample, tmp_path: Path, alone: bool
) -> None:
    """All commands of the READMEs as one, which is red, for some of them are.

    But for one whose replies are in another folder.
    """
    has_http = extras.installed("aiohttp") and not alone
    names = [name for name in NAMES if (name == "claims") is alone]
    names = [name for name in names if name != OVER_HTTP or has_http]
    commands = readme_commands()
    args = dict.fromkeys(arg for name in names for arg in commands[name])
    if has_http:
        del args["--rag-cache=replay"]  # the server of by_http was never recorded
    done = _python(_copy(tmp_path), "-m", "pytest", "-n", "2", *args, has_network=True)
    assert done.returncode == 1, done.stdout
    assert outcomes_of(done.stdout) == sum((run_example(one).outcomes for one in names), Counter())
    for name in names:
        spread, plain = results_of(tmp_path, name), run_example(name).results
        assert spread["run"]["workers"] == 2
        assert {**spread, "run": None} == {**plain, "run": None}, name


VARIANTS = ("bm25", "dense", "rerank")


def right_answers(run: Run) -> dict[str, list[bool]]:
    """Return of each variant which answers hold their reference, letter for letter."""
    found = {}
    for name in VARIANTS:
        folder = Path(run.root) / ".rageval" / "three-variants" / name / "latest"
        samples = json.loads((folder / "results.json").read_text("utf-8"))["samples"]
        found[name] = [one["references"][0] in one["answer"] for one in samples]
    return found


def test_three_variants_share_letters(run_example: RunExample) -> None:
    """E20: three times 120 questions; rerank and bm25 differ, dense is like both."""
    run = run_example("three_variants")
    assert run.status == 0, run.output
    # Two gates and "unscored" of each: acc and unscored, and best once.
    assert run.outcomes == {"passed": 3 * (120 + 2) + 1}
    found = json.loads((Path(run.root) / ".rageval/three-variants/variants.json").read_text())
    answers = right_answers(run)
    right = {name: sum(one) for name, one in answers.items()}
    assert right == {"bm25": 64, "dense": 75, "rerank": 79}
    means = {name: one["mean"] for name, one in found["variants"].items()}
    assert means == pytest.approx({name: count / 120 for name, count in right.items()})
    letters = {name: one["letters"] for name, one in found["variants"].items()}
    assert letters == {"rerank": "a", "dense": "ab", "bm25": "b"}
    assert (found["gate"]["outcome"], found["common"], found["undecided"]) == ("passed", 120, "")
    # As the README says: the Chinese questions are the last 12; who alone is right, of two.
    assert [sum(answers[name][-12:]) for name in VARIANTS] == [11, 6, 8]
    sides = Counter(zip(answers["rerank"], answers["bm25"], strict=True))
    assert (sides[True, False], sides[False, True]) == (23, 8)
    for page in (EXAMPLES / "three_variants/README.md", EXAMPLES.parent / RANKING_PAGE):
        shown = re.search(r"^by weighted_score.*?(?=^```$)", page.read_text("utf-8"), re.M | re.S)
        assert shown is not None, page
        assert shown.group() in run.output, page


RANKING_PAGE = "docs/how-to/compare-variants.md"


def test_p_values_of_three_variants_are_those_of_all_flips(run_example: RunExample) -> None:
    """E20: of three systems that are right or wrong, one is alone in each sample that tells.

    To flip a sample swaps the sides of that one against both others. So with k of its n samples
    flipped, a system has a sum that is distributed like 2k - n, k binomial, apart from the others:
    all 2^46 flips in 23 * 16 * 10 steps. Of a pair, the sum of its squares is the same in each.
    """
    run = run_example("three_variants")
    ahead = dict.fromkeys(VARIANTS, 0)
    alone = dict.fromkeys(VARIANTS, 0)
    for answers in zip(*right_answers(run).values(), strict=True):
        odd = [at for at, one in enumerate(answers) if answers.count(one) == 1]
        for at in odd:
            alone[VARIANTS[at]] += 1
            ahead[VARIANTS[at]] += 1 if answers[at] else -1
    assert alone == {"bm25": 22, "dense": 15, "rerank": 9}
    pairs = list(combinations(VARIANTS, 2))

    def sizes(sums: dict[str, int]) -> dict[tuple[str, str], float]:
        lengths = {(a, b): math.sqrt(alone[a] + alone[b]) for a, b in pairs}
        return {(a, b): round(abs(sums[a] - sums[b]) / lengths[a, b], 9) for a, b in pairs}

    flips = [
        (
            math.prod(math.comb(alone[one], k) for one, k in zip(VARIANTS, ks, strict=True)),
            sizes({one: 2 * k - alone[one] for one, k in zip(VARIANTS, ks, strict=True)}),
        )
        for ks in product(*(range(alone[one] + 1) for one in VARIANTS))
    ]
    observed = sizes(ahead)
    file = Path(run.root) / ".rageval/three-variants/variants.json"
    found = {frozenset((one["a"], one["b"])): one for one in json.loads(file.read_text())["pairs"]}
    left, last = sorted(pairs, key=lambda pair: -observed[pair]), 0.0
    while left:
        pair = left[0]
        total = 2 ** sum(alone.values())
        raw = sum(ways for ways, other in flips if other[pair] >= observed[pair]) / total
        larger = (ways for ways, other in flips if max(map(other.get, left)) >= observed[pair])
        last = max(last, sum(larger) / total)
        assert found[frozenset(pair)]["p_value"] == pytest.approx(raw, rel=1e-9)
        # 10,000 flips were drawn: four standard errors.
        margin = 4 * math.sqrt(last * (1 - last) / 10_000)
        assert found[frozenset(pair)]["p_adjusted"] == pytest.approx(last, abs=margin)
        left = left[1:]


@pytest.mark.full
def test_another_variant_in_service_is_overtaken() -> None:
    """E20: ``--rag-set best=bm25``, as the README says; its message word for word."""
    scenario = EXAMPLES / "three_variants" / "three_variants.rageval.yaml"
    gate = evaluate_variants(scenario, ["best=bm25"]).gate
    assert gate is not None
    assert gate.outcome == "failed"
    assert f"\n{gate.message}\n" in (scenario.parent / "README.md").read_text("utf-8")


def test_custom_metric_is_green(run_example: RunExample) -> None:
    """B10."""
    run = run_example("custom_metric")
    assert run.status == 0
    assert run.outcomes == {"passed": 8}  # 4 rows, 3 gates and "unscored"
    # polite: of please, thank, 请, 谢 two are wanted. returns 1/2, shipping 1/2, gifts 1, 自提 1.
    assert run.mean("polite") == pytest.approx(0.75, abs=1e-12)
    # Brevity: only the answer to returns, 45 characters, is longer than 36: 36/45 = 0.8.
    assert run.mean("Brevity") == pytest.approx((0.8 + 3) / 4, abs=1e-12)
    # best_first: shipping found the gifts first. calm: it ends with an exclamation mark.
    assert run.mean("best_first") == run.mean("calm") == 0.75
    # Weights 3, 1, 3, 1: returns (1.5 + 0.8 + 3 + 1)/8, shipping (1.5 + 1)/8, the two others 1.
    overall = run.results["weighted_score"]["mean"]
    assert overall == pytest.approx((6.3 / 8 + 2.5 / 8 + 2) / 4, abs=1e-12)
    reasons = {sample["id"]: sample["reasons"] for sample in run.results["samples"]}
    assert reasons["shipping"]["best_first"] == "first for 'How long does shipping take?'"
    assert reasons["自提"]["polite"] == "found 请, 谢"
    assert "help desk: the most polite answers are gifts, 自提" in run.output


def test_custom_metric_is_green_under_plain_pytest_in_its_folder(run_example: RunExample) -> None:
    run = run_example(IN_ITS_FOLDER)
    assert run.status == 0
    assert run.outcomes == {"passed": 8}
