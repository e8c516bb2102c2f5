"""What is right before it is changed: scenarios of every kind, and the files that they name."""

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
