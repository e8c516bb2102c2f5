"""Where each convention of tracing keeps kind, texts, documents, model and tokens of a span.

A convention is one entry of ``CONVENTIONS``. The versions are those whose documents were read.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

Paths = tuple[str, ...]


@dataclass(frozen=True)
class Convention:
    """The names of one convention, best first; ``marks`` are the first parts of its names.

    ``export`` says how the texts get into the spans. ``is_json``: its values are JSON, so that a
    text is in quotes. ``is_tool``: the names are of a record, not of attributes; a span is of it
    only if its reader said so.
    """

    name: str
    version: str
    export: str
    marks: frozenset[str] = frozenset()
    is_json: bool = False
    is_tool: bool = False
    kind: Paths = ()
    input: Paths = ()
    output: Paths = ()
    documents: Paths = ()
    query: Paths = ()
    model: Paths = ()
    prompt_tokens: Paths = ()
    completion_tokens: Paths = ()
    cost_usd: Paths = ()
    session: Paths = ()
    user: Paths = ()
    trace_name: Paths = ()


KINDS: Final[Mapping[str, str]] = (
    dict.fromkeys(("retriever", "retrieval", "retrieve"), "retrieval")
    | dict.fromkeys(("reranker", "rerank", "reranking"), "rerank")
    | dict.fromkeys(
        (
            *("llm", "chat_model", "generation", "chat", "completion", "text_completion"),
            *("generate_content", "ai.generatetext.dogenerate", "ai.streamtext.dostream"),
        ),
        "llm",
    )
    | dict.fromkeys(("embedding", "embeddings"), "embedding")
    | dict.fromkeys(("tool", "execute_tool", "function"), "tool")
    | dict.fromkeys(("agent", "invoke_agent", "create_agent"), "agent")
    | dict.fromkeys(
        (
            *("chain", "workflow", "task", "span", "prompt", "parser", "record_root"),
            *("invoke_workflow", "ai.generatetext", "ai.streamtext"),
        ),
        "chain",
    )
    | dict.fromkeys(("evaluator", "guardrail", "eval", "eval_root"), "judge")
)
"""What the conventions call a step, in lower case -> what it is here."""

CONVENTIONS: Final = (
    Convention(
        "OpenInference",
        "semantic conventions of 2026-11 (Phoenix 20, Arize)",
        "unset OPENINFERENCE_HIDE_INPUTS, OPENINFERENCE_HIDE_OUTPUTS and their like",
        frozenset({"openinference", "llm", "input", "output", "retrieval", "reranker", "session"}),
        kind=("openinference.span.kind",),
        input=("llm.input_messages", "input.value", "llm.prompts"),
        output=("llm.output_messages", "output.value"),
        documents=("reranker.output_documents", "retrieval.documents"),
        query=("reranker.query",),
        model=("llm.model_name",),
        prompt_tokens=("llm.token_count.prompt",),
        completion_tokens=("llm.token_count.completion",),
        cost_usd=("llm.cost.total",),
        session=("session.id",),
        user=("user.id",),
    ),
    Convention(
        "OpenTelemetry GenAI",
        "semantic conventions 1.28 to 1.40, events and attributes",
        "set OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=true (span_only with "
        "OTEL_SEMCONV_STABILITY_OPT_IN=gen_ai_latest_experimental)",
        frozenset({"gen_ai"}),
        kind=("gen_ai.operation.name",),
        input=("gen_ai.input.messages", "gen_ai.prompt", "gen_ai.tool.call.arguments"),
        output=("gen_ai.output.messages", "gen_ai.completion", "gen_ai.tool.call.result"),
        documents=("gen_ai.retrieval.documents",),
        query=("gen_ai.retrieval.query.text",),
        model=("gen_ai.request.model", "gen_ai.response.model"),
        prompt_tokens=("gen_ai.usage.input_tokens", "gen_ai.usage.prompt_tokens"),
        completion_tokens=("gen_ai.usage.output_tokens", "gen_ai.usage.completion_tokens"),
        cost_usd=("gen_ai.usage.cost",),
        session=("gen_ai.conversation.id",),
    ),
    Convention(
        "OpenLLMetry",
        "traceloop-sdk 0.30 to 0.62",
        "set TRACELOOP_TRACE_CONTENT=true",
        frozenset({"traceloop", "llm", "db"}),
        is_json=True,
        kind=("traceloop.span.kind", "llm.request.type"),
        input=("traceloop.entity.input", "llm.prompts"),
        output=("traceloop.entity.output", "llm.completions"),
        documents=("db.query.documents",),
        model=("llm.request.model", "llm.response.model"),
        prompt_tokens=("llm.usage.prompt_tokens",),
        completion_tokens=("llm.usage.completion_tokens",),
        session=("traceloop.association.properties.session_id",),
        user=("traceloop.association.properties.user_id",),
    ),
    Convention(
        "Langfuse (OpenTelemetry)",
        "SDK for Python 3 to 5, for JavaScript 4",
        "do not set capture_input or capture_output to False, nor a mask",
        frozenset({"langfuse"}),
        kind=("langfuse.observation.type",),
        input=("langfuse.observation.input", "langfuse.trace.input"),
        output=("langfuse.observation.output", "langfuse.trace.output"),
        model=("langfuse.observation.model.name",),
        prompt_tokens=(
            "langfuse.observation.usage_details.input",
            "langfuse.observation.usage_details.prompt_tokens",
            "langfuse.observation.usage_details.input_tokens",
        ),
        completion_tokens=(
            "langfuse.observation.usage_details.output",
            "langfuse.observation.usage_details.completion_tokens",
            "langfuse.observation.usage_details.output_tokens",
        ),
        cost_usd=("langfuse.observation.cost_details.total",),
        session=("session.id", "langfuse.session.id"),
        user=("user.id", "langfuse.user.id"),
        trace_name=("langfuse.trace.name",),
    ),
    Convention(
        "MLflow",
        "2.14 to 3.17",
        "log inputs and outputs of the spans (span.set_inputs, span.set_outputs)",
        frozenset({"mlflow"}),
        is_json=True,
        kind=("mlflow.spanType",),
        input=("mlflow.spanInputs",),
        output=("mlflow.spanOutputs",),
        model=("mlflow.llm.model", "mlflow.spanInputs.model"),
        prompt_tokens=("mlflow.chat.tokenUsage.input_tokens",),
        completion_tokens=("mlflow.chat.tokenUsage.output_tokens",),
        cost_usd=("mlflow.llm.cost.total_cost",),
    ),
    Convention(
        "TruLens",
        "2.x, its OpenTelemetry store",
        "return texts from the functions that are instrumented",
        frozenset({"ai"}),
        kind=("ai.observability.span_type",),
        input=("ai.observability.record_root.input", "ai.observability.call.kwargs"),
        output=("ai.observability.record_root.output", "ai.observability.call.return"),
        documents=("ai.observability.retrieval.retrieved_contexts",),
        query=("ai.observability.retrieval.query_text",),
        model=("ai.observability.cost.model",),
        prompt_tokens=("ai.observability.cost.num_prompt_tokens",),
        completion_tokens=("ai.observability.cost.num_completion_tokens",),
        session=("ai.observability.conversation_id",),
    ),
    Convention(
        "Vercel AI SDK",
        "4 to 6",
        "do not set recordInputs or recordOutputs to false in experimental_telemetry",
        frozenset({"ai"}),
        kind=("ai.operationId",),
        input=("ai.prompt.messages", "ai.prompt"),
        output=("ai.response.text", "ai.result.text", "ai.toolCall.result"),
        model=("ai.model.id",),
        prompt_tokens=("ai.usage.inputTokens", "ai.usage.promptTokens"),
        completion_tokens=("ai.usage.outputTokens", "ai.usage.completionTokens"),
        session=("ai.telemetry.metadata.sessionId",),
        user=("ai.telemetry.metadata.userId",),
    ),
    Convention(
        "LangSmith",
        "SDK 0.1 to 0.15",
        "unset LANGSMITH_HIDE_INPUTS and LANGSMITH_HIDE_OUTPUTS, and export inputs and outputs",
        is_tool=True,
        kind=("run_type",),
        input=("inputs", "inputs_preview"),
        output=("outputs", "outputs_preview"),
        model=(
            "extra.metadata.ls_model_name",
            "extra.invocation_params.model",
            "extra.invocation_params.model_name",
            "outputs.model",
            "outputs.llm_output.model_name",
        ),
        prompt_tokens=(
            "prompt_tokens",
            "outputs.usage_metadata.input_tokens",
            "extra.metadata.usage_metadata.input_tokens",
            "outputs.usage.prompt_tokens",
            "outputs.llm_output.token_usage.prompt_tokens",
        ),
        completion_tokens=(
            "completion_tokens",
            "outputs.usage_metadata.output_tokens",
            "extra.metadata.usage_metadata.output_tokens",
            "outputs.usage.completion_tokens",
            "outputs.llm_output.token_usage.completion_tokens",
        ),
        cost_usd=("total_cost",),
        session=(
            "extra.metadata.session_id",
            "extra.metadata.thread_id",
            "extra.metadata.conversation_id",
        ),
        user=("extra.metadata.user_id",),
    ),
    Convention(
        "Langfuse",
        "API and exports 2 to 5",
        "export with inputs and outputs (the field group io of the API's version 2)",
        is_json=True,
        is_tool=True,
        kind=("type",),
        input=("input",),
        output=("output",),
        model=("model", "providedModelName", "provided_model_name", "internalModelId"),
        prompt_tokens=(
            "usageDetails.input",
            "usage_details.input",
            "usage.input",
            "usage.promptTokens",
            "promptTokens",
            "inputUsage",
        ),
        completion_tokens=(
            "usageDetails.output",
            "usage_details.output",
            "usage.output",
            "usage.completionTokens",
            "completionTokens",
            "outputUsage",
        ),
        cost_usd=(
            "costDetails.total",
            "cost_details.total",
            "calculatedTotalCost",
            "calculated_total_cost",
            "totalCost",
            "total_cost",
        ),
        session=("sessionId", "session_id"),
        user=("userId", "user_id"),
        trace_name=("traceName", "trace_name"),
    ),
    Convention(
        "TruLens records",
        "1.x and 2.x",
        "return texts from the app's main method",
        is_tool=True,
        kind=("kind",),
        input=("input", "main_input"),
        output=("output", "main_output"),
        documents=("contexts",),
        cost_usd=("total_cost",),
        session=("conversation_id",),
    ),
)

BY_NAME: Final = {convention.name: convention for convention in CONVENTIONS}
