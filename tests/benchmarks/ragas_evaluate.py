"""Scores rows by ``ragas.evaluate()`` itself: ``python ragas_evaluate.py ROWS URL WORKERS``.

Prints, as JSON, the wall and the CPU time of that call alone, without the import, and the means.
"""

from __future__ import annotations

import json
import os
import sys
import time
import warnings
from pathlib import Path

os.environ["RAGAS_DO_NOT_TRACK"] = "true"  # its telemetry posts inside of every call
os.environ["LANGSMITH_TRACING"] = "false"


def main(rows: str, url: str, workers: str) -> None:
    """Evaluate with clients of langchain, which ragas knows best."""
    warnings.simplefilter("ignore")
    from langchain_openai import ChatOpenAI, OpenAIEmbeddings
    from ragas import EvaluationDataset, evaluate
    from ragas.embeddings import LangchainEmbeddingsWrapper
    from ragas.llms import LangchainLLMWrapper
    from ragas.metrics import (
        Faithfulness,
        LLMContextPrecisionWithReference,
        LLMContextRecall,
        ResponseRelevancy,
    )
    from ragas.run_config import RunConfig

    samples = [
        {
            "user_input": row["question"],
            "response": row["answer"],
            "retrieved_contexts": row["contexts"],
            "reference": row["references"][0],
        }
        for row in map(json.loads, Path(rows).read_text(encoding="utf-8").splitlines())
    ]
    chat = ChatOpenAI(model="fake", base_url=url, api_key="none", temperature=0.0)
    embeddings = OpenAIEmbeddings(
        model="fake", base_url=url, api_key="none", check_embedding_ctx_length=False
    )
    dataset = EvaluationDataset.from_list(samples)
    began, cpu = time.perf_counter(), time.process_time()
    result = evaluate(
        dataset,
        metrics=[
            Faithfulness(),
            ResponseRelevancy(strictness=3),
            LLMContextPrecisionWithReference(),
            LLMContextRecall(),
        ],
        # One call for each of the three questions: n=3 in one call is not what all servers know.
        llm=LangchainLLMWrapper(chat, bypass_n=True),
        embeddings=LangchainEmbeddingsWrapper(embeddings),
        run_config=RunConfig(max_workers=int(workers)),
        show_progress=False,
    )
    took = {"wall_s": time.perf_counter() - began, "cpu_s": time.process_time() - cpu}
    sys.stdout.write(json.dumps({**took, "scores": result._repr_dict}) + "\n")


main(*sys.argv[1:])
