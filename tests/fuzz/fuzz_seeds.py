"""What is right before it is changed: scenarios, the files that they name, replies, requests."""

from __future__ import annotations

import json
from typing import Any, Final

ROWS: Final[list[dict[str, Any]]] = [
    {
        "id": "a",
        "question": "How long?",
        "answer": "five days",
        "references": ["five days", "5 days"],
        "contexts": ["Refunds take five days.", "The sky is blue."],
        "reference_contexts": ["Refunds take five days."],
        "retrieved_ids": ["d1", "d2"],
        "reference_ids": {"d1": 2, "d7": 1},
        "doc_name": "d1",
        "level": 1,
        "meta": {"source": "x", "list": [{"t": "1"}]},
    },
    {"id": "b", "answer": "no", "references": [["yes"], ["no"]], "doc_name": "d2", "level": 2},
    {"id": "c", "answer": "", "reference": "北京", "tags": "zh", "skip": "", "level": 2},
    {"id": "d", "response": "x y", "ground_truths": ["x"], "xfail": "known", "doc_name": "d1"},
]
ROW_TEXT: Final = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in ROWS)

SCENARIOS: Final[list[dict[str, Any]]] = [
    {
        "name": "s",
        "description": "d",
        "dataset": {
            "path": "rows.jsonl",
            "format": "jsonl",
            "key_map": {"answer": "answer"},
            "limit": -1,
            "shuffle": True,
            "seed": 42,
            "on_invalid": "xfail",
            "blank_answer": "empty",
            "encoding": "utf-8",
            "delimiter": ",",
            "max_row_mb": 1,
            "max_mb": 1,
        },
        "top_k": 3,
        "metrics": [
            "em",
            {"f1": {"normalizer": "squad", "tokenizer": "word", "name": "g1"}},
            "rouge-l",
        ],
        "metric_options": {"normalizer": "ultrarag"},
        "metric_weights": {"em": 1, "g1": 0.5},
        "doc_weights": {"d1": 2},
        "thresholds": {"em": 0.5, "weighted_score": {"min": 0.1}},
        "gates": {
            "weighted_score": 0.5,
            "em": {"mean": {"min": 0.1}, "lower_bound": {"min": 0.1, "confidence": 0.9}},
            "g1": {"quantile": {"0.1": 0.3}},
            "pass_rate": 0.5,
            "unscored": 0.5,
            "invalid": 0.5,
            "by": {"doc_name": {"em": 0.1}, "level": {"pass_rate": 0.5}},
        },
        "tolerate": "pass_rate",
        "empty_answer": "worst",
        "group_by": "level",
        "skip": [{"where": {"level": 1}, "reason": "r"}],
        "xfail": [{"where": {"doc_name": ["d2"]}}],
        "bands": {"good": 0.8, "warn": 0.6},
        "models": {"cheap": {"model": "m", "price": {"input": 1, "output": 2}}},
        "judge": {"profile": "cheap", "repeats": 1},
        "embedding": "e",
        "output_dir": "o",
        "save_path": "p",
        "x-own": 1,
    },
    {
        "name": "compared",
        "dataset": "rows.jsonl",
        "metrics": ["em", "f1"],
        "compare": {
            "baseline": "base.json",
            "metrics": ["em"],
            "test": "permutation",
            "alpha": 0.05,
            "n_resamples": 100,
            "seed": 1,
            "correction": "max-t",
            "anyway": True,
        },
        "gates": {
            "no_regression": {
                "baseline": "base.json",
                "metrics": ["weighted_score", "f1"],
                "max_drop": "5%",
                "mode": "significant",
                "min_pairs": 0.5,
                "undecided": "pass",
            },
            "compare_fail": {"f1": 0.02, "em": {"max_drop": 0.5, "mode": "any"}},
        },
    },
    {
        "name": "found",
        "dataset": {"path": "rows.csv", "format": "csv"},
        "corpus": {"path": "chunks.jsonl", "encoding": "utf-8"},
        "match": "contains",
        "metrics": [
            "ndcg@10",
            {"precision": {"k": 5, "rel": 2}},
            {"hit_rate": {"on": "contexts"}},
            "mrr",
            "non_llm_context_recall",
        ],
        "gates": {"ndcg@10": 0.5},
    },
    {
        "name": "trec",
        "qrels_path": "qrels.txt",
        "run_path": "a.run",
        "missing_queries": "zero",
        "ir_metrics": ["mrr", "map", "ndcg"],
        "ks": [1, 5],
        "compare": {"run_old_path": "b.run"},
    },
    {
        "name": "asked",
        "dataset": "rows.jsonl",
        "target": {
            "type": "python",
            "use": "fuzz_app:answer",
            "options": {"style": "short"},
            "concurrency": 2,
            "timeout_s": 1,
            "retries": 0,
            "version": "1",
        },
        "metrics": ["em", {"use": "fuzz_app:polite", "range": [0, 2], "needs": ["answer"]}],
    },
    {
        "name": "judged",
        "dataset": {"path": "rows.jsonl", "on_invalid": "skip"},
        "metrics": [
            {"rubric": {"levels": {"0": "bad", "1": "good"}, "name": "r"}},
            {"llm_answer_relevancy": {"language": "en"}},
            "semantic_similarity",
        ],
        "judge": {
            "model": "m",
            "base_url": "http://127.0.0.1:9/v1",
            "headers": {"X-Team": "${HOME}"},
            "extra_body": {"top_p": 1},
            "temperature": 0.5,
            "max_tokens": 10,
            "form": "text",
            "reasks": 1,
            "max_failures": 3,
            "language": "zh",
            "repeats": 2,
            "concurrency": 4,
            "rpm": 1000,
            "timeout_s": 1,
            "retries": 0,
            "max_wait_s": 0,
            "price": {"input": 1, "output": 2},
        },
        "embedding": {"model": "e", "base_url": "http://127.0.0.1:9/v1", "batch_size": 2},
        "gates": {"unscored": {"r": 1.0}, "r": {"mean": 0.5}},
    },
    {
        "scenario_name": "of rag_eval",
        "mode": "offline",
        "dataset": "rows.csv",
        "judge_model": "m",
        "embedding_model": "e",
        "metrics": ["em"],
        "runtime": {"batch_size": 4, "metric_concurrency": 8, "max_samples": 3},
        "app_adapter": None,
    },
    {
        "benchmark": {
            "name": "nq",
            "path": "rows.jsonl",
            "key_map": {"gt_ls": "references", "q_ls": "question", "pred_ls": "answer"},
            "shuffle": True,
            "seed": 7,
            "limit": 3,
        },
        "evaluation": {"save_path": "o.json", "metrics": ["acc", "f1", "em"]},
    },
    {
        "scene_key": "recall",
        "scene_value": 147,
        "context": {"top_k": 5},
        "evaluate_metrics": ["RetrieverHitRateMetric", "RetrieverMRRMetric"],
        "datasets": [{"query": "q", "contexts": ["a", "b"], "prediction": ["b", "x"]}],
    },
]

FILES: Final[dict[str, bytes]] = {
    "rows.jsonl": ROW_TEXT.encode(),
    "rows.csv": (
        b"id,answer,references,contexts,reference_contexts,retrieved_ids,reference_ids,doc_name\n"
        b'a,x,"[""x""]","[\'a\' \'b\']","[""a""]",d1;d2,"{\'d1\': 2}",doc\n'
        b"b,,y,one,two,d9,d9,doc\n"
    ),
    "chunks.jsonl": b'{"doc_name": "doc", "text": "a"}\n{"doc_name": "d1", "text": "b"}\n',
    "qrels.txt": b"q1 0 d1 2\nq1 0 d2 0\nq2 0 d3 1\n",
    "a.run": b"q1 Q0 d1 1 2.5 a\nq1 Q0 d2 2 1.5 a\nq2 Q0 d9 1 0.5 a\n",
    "b.run": b"q1 Q0 d2 1 2.5 b\nq2 Q0 d3 1 1.5 b\n",
    "fuzz_app.py": (
        b"def answer(question, style='', **_):\n    return question or ''\n"
        b"def polite(answer):\n    return 1.0 if 'please' in answer else 0.0\n"
    ),
}
"""What each case finds next to its scenario; ``base.json`` is made from a run."""

PROJECT: Final[dict[str, Any]] = {
    "name": "qa",
    "dataset": "rows.jsonl",
    "metrics": ["em", {"f1": {"normalizer": "squad"}}],
    "metric_weights": {"em": 1, "f1": 2},
    "thresholds": {"em": 0.5},
    "diagnose": True,
}
"""The scenario of the project that is served."""

SHAPES: Final[list[Any]] = [
    ROWS,
    {"data": ROWS},
    {name: [row.get(name) for row in ROWS] for name in ("id", "answer", "references", "level")},
    [
        {"question": "q", "answers": {"text": ["x y", "x"], "answer_start": [1]}, "answer": "x"},
        {"messages": [{"role": "user", "content": "q"}, {"role": "assistant", "content": "x"}]},
        {"id": "k", "output": [{"answer": "x", "provenance": [{"wikipedia_id": "7"}]}]},
    ],
    [{"qid": "q1", "docid": "d1", "rel": 2, "answer": "x", "references": ["x"], "score": 0.5}],
]
"""Rows in the shapes that JSON and YAML files have."""

LABELS: Final[list[Any]] = [
    [
        {"id": "a", "annotator": "anna", "label": 1, "answer": "five days", "metric": "r"},
        {"id": "b", "annotator": "bob", "label": "no", "digest": "x0123456789ab", "drawn": "s-1"},
        {"id": "c", "annotator": "Anna", "label": "1,0", "answer": "", "question": "How?"},
    ]
]

PROMPTFOO: Final[list[Any]] = [
    {
        "description": "bot",
        "prompts": ["Say {{question}} in {{lang}}", "file://prompt.txt"],
        "providers": [
            "openai:chat:gpt-4o-mini",
            {"id": "openai:gpt-4o", "config": {"temperature": 0.5, "max_tokens": 20}, "label": "b"},
        ],
        "defaultTest": {
            "vars": {"lang": "en"},
            "options": {"provider": "openai:gpt-4o"},
            "assert": [{"type": "not-contains", "value": "sorry"}],
        },
        "tests": [
            "file://t.csv",
            "t.yaml",
            {
                "description": "fee",
                "vars": {"question": ["Is there a fee?", "How much?"], "tone": "file://v.json"},
                "threshold": 1,
                "metadata": {"level": 1},
                "assert": [
                    {"type": "contains", "value": "{{lang}}", "weight": 2, "metric": "m"},
                    {"type": "llm-rubric", "value": "is kind"},
                    {"type": "similar", "value": "x", "threshold": 0.8},
                    {"type": "regex", "value": "a+"},
                    {"type": "is-json", "value": {"type": "object", "required": ["a"]}},
                    {"type": "latency", "threshold": 5},
                    {"type": "contains-all", "value": ["a", "b"]},
                    {"type": "assert-set", "assert": [{"type": "equals", "value": "x"}]},
                ],
            },
        ],
        "scenarios": [
            {
                "config": [{"vars": {"lang": "es", "gold": "hola"}}],
                "tests": [{"vars": {"q": "hi"}, "assert": [{"type": "icontains", "value": "h"}]}],
            }
        ],
        "env": {"KEY": "x"},
        "outputPath": "o.json",
    },
    {
        "prompts": "file://prompt.txt",
        "providers": [
            {
                "id": "https://host.example/ask",
                "config": {
                    "method": "POST",
                    "headers": {"Authorization": "Bearer {{env.TOKEN}}"},
                    "body": {"q": "{{prompt}}", "k": 3},
                    "transformResponse": "json.answer.text",
                },
            },
            {"id": "file://fuzz_app.py:answer", "config": {"style": "short"}},
            "exec: ./bot --token=abc",
            "echo",
        ],
        "tests": [
            {"vars": {"context": "c", "query": "q"}, "assert": [{"type": "context-faithfulness"}]},
            {"vars": {"q": "x"}, "assert": [{"type": "javascript", "value": "output.length"}]},
            {"vars": {"q": "x"}, "assert": [{"type": "equals", "value": "x"}]},
        ],
    },
]
FILES.update(
    {
        "prompt.txt": b"Answer {{question}}\n---\nShort: {{question}}\n",
        "t.csv": (
            b"question,lang,__expected1,__expected2\n"
            b'a,de,"contains-any: x, y",b\nc,,similar(0.9):z,\n'
        ),
        "t.yaml": b"- vars: {question: d}\n  assert: [{type: equals, value: e}]\n",
        "v.json": b'{"a": [1, 2]}\n',
        "qrels.tsv": b"query-id\tcorpus-id\tscore\nq1\td1\t2\nq2\td3\t1\n",
        "a.jsonl": (
            b'{"qid": "q1", "docid": "d1", "score": 2.5}\n'
            b'{"qid": "q2", "docid": "d9", "score": 1}\n'
        ),
        "second.jsonl": b'{"id": "a", "response": "x"}\n{"id": "b", "response": "y"}\n',
    }
)

REQUESTS: Final[list[Any]] = [
    {
        "scene_key": "recall",
        "scene_value": "qa",
        "context": {"top_k": 5, "prompt": "p", "model": "m"},
        "sys_code": "s",
        "evaluate_metrics": ["RetrieverHitRateMetric", "RetrieverMRRMetric"],
        "datasets": [
            {"query": "q", "contexts": ["a", "b"], "prediction": ["b", "x"], "doc_name": "d"},
            {"query": "q2", "factual": ["a"], "answer": "b", "references": ["b"]},
        ],
        "parallel_num": 2,
    },
    {
        "scene_key": "app",
        "scene_value": "qa",
        "evaluate_metrics": ["em", "f1", "ndcg@3"],
        "datasets": [{"query": "q", "answer": "x", "references": ["x"], "reference_ids": {"d": 1}}],
    },
]

PAGE: Final[list[Any]] = [
    {"metric_weights": {"em": 1, "f1": 0.5}, "doc_weights": {"d1": 2, "d2": None}},
    {"metric_weights": {"em": 3}, "variants": None, "digest": "x"},
    {"thresholds": {"em": {"min": 0.1, "max": None}}, "gates": [[["em"], 0.5], [["f1"], None]]},
    {"file": "rows.csv", "given": {"key_map": {"answer": "a"}, "left_out": ["b"]}, "name": "n"},
]
"""What the page of the web app sends."""

TOOLS: Final[dict[str, list[Any]]] = {
    "list_scenarios": [{}, {"contains": "qa", "offset": 0}],
    "run_scenario": [
        {"name": "qa", "limit": 2, "weights": {"metrics": {"em": 2}}, "max_cost_usd": 1}
    ],
    "list_samples": [{"run": "qa/latest", "metric": "f1", "limit": 2, "offset": 1}],
    "explain_sample": [{"run": "qa/latest", "id": "a"}],
    "compare_runs": [{"a": "qa/latest", "b": "qa/previous"}],
    "evaluate": [
        {
            "pred_ls": ["a", "b"],
            "gt_ls": [["a"], ["c", "d"]],
            "metrics": None,
            "save_path": "o.json",
        }
    ],
    "evaluate_trec": [
        {
            "run_path": "a.run",
            "qrels_path": "qrels.txt",
            "metrics": ["mrr"],
            "ks": [1, 5],
            "save_path": "o",
        }
    ],
    "evaluate_trec_pvalue": [
        {
            "run_new_path": "a.run",
            "run_old_path": "b.run",
            "qrels_path": "qrels.txt",
            "metrics": None,
            "ks": None,
            "n_resamples": 50,
            "save_path": "o.json",
        }
    ],
    "build": [{"parameter_file": "parameter.yaml"}],
}
"""Arguments of the tools of both MCP servers."""

SAID: Final[list[Any]] = [
    {"reason": "It says so.", "score": 4},
    "Score: 3/5, since it is mostly right.",
    "**4** out of 5\n<think>maybe 2</think>",
    "评分：4 分",
    {"statements": [{"statement": "s", "reason": "r", "verdict": 1}]},
    {"statements": ["a", "b"]},
    {"classifications": [{"statement": "s", "reason": "r", "attributed": 1}]},
    {"question": "q", "noncommittal": 0},
    {"verdict": 1, "reason": "r"},
    {"TP": [{"statement": "s", "reason": "r"}], "FP": [], "FN": []},
    "Yes, it is.",
]
"""What judges say: JSON, or text."""

COMPLETIONS: Final[list[Any]] = [
    {
        "id": "c",
        "model": "m",
        "choices": [{"index": 0, "message": {"content": said}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 3, "completion_tokens": 4},
    }
    for said in SAID
] + [{"error": {"message": "no", "code": 429, "type": "rate"}}]

EMBEDDINGS: Final[list[Any]] = [
    {
        "data": [
            {"index": 0, "embedding": [0.5, 0.25]},
            {"index": 1, "embedding": [0.5, -0.25]},
        ],
        "usage": {"prompt_tokens": 3},
    },
    {"data": [{"index": at, "embedding": "AAAAPwAAgD4="} for at in range(2)]},
]

REPLIES: Final[list[Any]] = [
    {"answer": "five days", "contexts": ["a", {"text": "b", "source": "d", "id": 7}], "cost": 0.1},
    {"data": {"answer": "x", "hits": [{"t": "a", "id": "d1"}, {"t": "b", "id": "d2"}]}},
    {"choices": [{"message": {"content": "x"}, "delta": {"content": "y"}}]},
    {"response": "x", "retrieved_ids": ["d1", 2], "context_docs": ["d"], "source_nodes": ["n"]},
    {"success": True, "err_code": None, "data": [{"content": "c", "metadata": {"source": "s"}}]},
    {"success": True, "data": {"items": [{"id": 1, "name": "space"}]}},
    "five days",
]
"""What systems under test reply."""

VIEWS: Final = (
    '```agent-messages\n[{"sender": "QA", "markdown": "Paris"}]\n```',
    "``````vis-thinking\nhm\n``````\nParis",
    "Paris",
)

SECRETS: Final[list[Any]] = [
    {"password": "open sesame", "list": [{"api_key": "k12345678"}], "url": "http://u:p@h/?key=abc"},
    {"text": "./bot --api-key=abcdefgh; Server=x;Password=a b;Port=1", "Authorization": "Bearer x"},
]
