"""What a run and the server said, in Chinese: whole sentences, each as a reader sees it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pytest_rageval.reports import page as page_package
from pytest_rageval.serving.web import routes

ASSETS = Path(page_package.__path__[0], "assets")
SAID = Path(routes.__file__).with_name("assets") / "app_said.js"
OF_GATES = {
    "of 9 samples a metric applies in one run only, and is left out of both; "
    "no difference in any sample": (
        "有 9 个样本的某个指标只在其中一次运行中适用，因而两次都不计入；所有样本均无差异"
    ),
    "only 3 of the 10 samples of main still have every score (f1, em missing on 7), and "
    "min_pairs: 0.9 asks for 9": (
        "main 的 10 个样本中只有 3 个仍有全部分数（7 个缺 f1、em），而 min_pairs: 0.9 要求 9 个"
    ),
    "the only value of doc_name: 0.8000 >= 0.5000": "doc_name 仅有的取值：0.8000 >= 0.5000",
    "0.5000 >= 0.4000 (the most confident 8 of 10, from 0.7 up, 2 samples without confidence "
    "left out, 95 % interval 0.3000..0.9000, bootstrap by sample)": (
        "0.5000 >= 0.4000 (置信度最高的 8 个（共 10 个，均不低于 0.7），2 个样本没有置信度，"
        "未计入，95% 置信区间 0.3000 至 0.9000，按样本的自助法)"
    ),
    "1 of 5 answers left out: refused; not_applicable allows 0.1": (
        "5 个回答中有 1 个不计入：refused；not_applicable 允许 0.1"
    ),
    "cannot be decided: no row was asked of 2 of 5 values of doc_name: a, b; ask more rows": (
        "无法判定：doc_name 的 5 个取值中有 2 个没有评测任何行（a, b）；请评测更多行"
    ),
    "2 of 10 samples: row missing on 1, f1 missing on 1; look at why f1 is missing; if that is in "
    "order, 'gates: {unscored: {f1: 0.2}}' would allow it": (
        "10 个样本中有 2 个：1 个样本缺少有效数据行，1 个样本缺少 f1；请先查看 f1 缺失的原因；"
        "若属正常，可设置 'gates: {unscored: {f1: 0.2}}'"
    ),
    "3 cases were collected, none ran (did a hook take them over, or every worker crash?)": (
        "收集了 3 个用例，均未运行（是否由 a hook 接管，或所有工作进程都崩溃？）"
    ),
    "all 2 values of doc_name, worst 0.5000 >= 0.4000; left out, as all their rows rule the metric "
    "out or weigh 0: a, b, c, d, e and 2 more": (
        "doc_name 的 2 个取值均通过，最差为 0.5000 >= 0.4000；所有行都不适用该指标或权重为 0，"
        "未计入：a, b, c, d, e，另有 2 个"
    ),
    "stratum 2 has 1 labelled answer, fewer than 2": "第 2 层只有 1 个已标注回答，至少需要 2 个",
}
OF_WHAT_IS_MISSING = {
    "faithfulness: this judge does not tell supported answers from invented ones (control rows: "
    "good 1 1 1, bad 1 - 1): do not trust this figure": (
        "faithfulness：此裁判分不清有依据的回答和编造的回答"
        "（对照行：好的 1 1 1，坏的 1 - 1）：请勿相信此数值"
    ),
    "a, b: the judge is not tested, control rows were not asked: the run ended before": (
        "a, b：裁判未经检验：运行在询问对照行之前就结束了"
    ),
    "a, b do not apply to 1 of 2 samples": "a、b 不适用于 2 个样本中的 1 个",
    "holes filled by the judge: weighted kappa with people 0.71 on 30 documents, 2 more without a "
    "grade; left open: 3 holes whose replies could not be read, 1 hole without a text": (
        "由裁判补上的未评判文档：在 30 个文档上与人工的加权 kappa 为 0.71，另有 2 个没有等级；"
        "仍未评判：回复无法读取的 3 个，没有文本的 1 个"
    ),
    "ndcg@5 0.5901, of 1,200 judgements 50 by the judge; 12 % of the top 5 have no judgement: "
    "between 0.5901 and 0.6581": (
        "ndcg@5 0.5901，1,200 个判定中有 50 个来自裁判，前 5 个结果中有 12% 未经判定："
        "均值在 0.5901 与 0.6581 之间"
    ),
}
OF_THE_SERVER = {
    "no id in 'gold ids' is ever found in 'hits'; to take it nevertheless: --rag-set=x.y=z": (
        "'gold ids' 中的 id 从未出现在 'hits' 中；如仍要采用：--rag-set=x.y=z"
    ),
    "no id in 'gold ids' is ever found in 'hits': remove recall@5, mrr and its gate, or make the "
    "ids alike": (
        "'gold ids' 中的 id 从未出现在 'hits' 中：请去掉 recall@5、mrr 及其门禁，或统一两者的 id"
    ),
    "'chat[-2].content' is no person's message in row 7; to take it nevertheless: --rag-set=x.y": (
        "第 7 行的 'chat[-2].content' 不是用户的消息；如仍要采用：--rag-set=x.y"
    ),
    "'reply' is blank in 2 of 5 rows: 'answer' may be the right answer, or what a system said": (
        "5 行中有 2 行的 'reply' 为空：'answer' 可能是参考答案，也可能是系统的回答"
    ),
    "'ids' seems to hold several ids in a cell: divide them by ';', or write a list, "
    '["a", "b"]': "'ids' 的一个单元格似乎含有多个 id：请改用 ';' 分隔，或写成列表 [\"a\", \"b\"]",
    "A is older than B": "A 早于 B",
    "2 of 5 shared samples have other expected ids, contexts, groups of references, nuggets, "
    "checks or labels: a, b": (
        "5 个共有样本中 2 个的期望 id、上下文、参考答案组、要点、检查项或标注不同：a, b"
    ),
    "f1 is not compared: it was from 0 to 1 (higher is better), is from 0 to 5 (lower is better)": (
        "f1 未对比：定义不同（原为 0 至 1，越高越好，现为 0 至 5，越低越好）"
    ),
}


@pytest.mark.parametrize(
    ("speak", "said"),
    [("runSaid", OF_GATES), ("missingSaid", OF_WHAT_IS_MISSING), ("serverSaid", OF_THE_SERVER)],
)
def test_sentences_are_said_in_chinese(windows: Any, speak: str, said: dict[str, str]) -> None:
    """[P9] Names, keys and figures stay; marks are those of Chinese."""
    scripts = [*map(ASSETS.joinpath, ("words.js", "run_words.js")), SAID]
    found = windows.window().evaluate(
        f"""(texts) => {{
            {"".join(path.read_text("utf-8") for path in scripts)}
            language = "zh";
            return texts.map({speak});
        }}""",
        list(said),
    )
    assert found == list(said.values())
