"""What a span says by the conventions of tracing: kind, texts, documents, model, tokens and cost.

A convention is one entry of ``CONVENTIONS``, beside it the versions whose documents were read.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

from pytest_rageval.datasets.formats.traces.content import (
    Document,
    answer_in,
    contexts_in,
    decoded,
    documents_in,
    is_hidden,
    left_open_in,
    question_in,
)
from pytest_rageval.datasets.formats.traces.span import Span, as_number, list_at, pick


@dataclass(frozen=True)
class Convention:
    """Where one convention has what a span says; ``marks`` are the first parts of its names.

    ``export``: what a user has to do so that the texts are in the spans. ``paths`` are the names
    that hold each field, best first. ``is_json``: its values are JSON, so that a text is in quotes.
    ``is_record``: its names are keys of a product's exported records, not span attributes; used
    only where the reader has set ``span.tool`` to its name.
    """

    name: str
    export: str
    marks: frozenset[str]
    paths: Mapping[str, tuple[str, ...]]
    is_json: bool
    is_record: bool


def _convention(
    name: str,
    export: str,
    marks: str = "",
    *,
    is_json: bool = False,
    is_record: bool = False,
    **paths: str,
) -> Convention:
    """Return a convention; ``marks`` and the names of each field are words."""
    listed = {field: tuple(names.split()) for field, names in paths.items()}
    return Convention(name, export, frozenset(marks.split()), listed, is_json, is_record)


_KINDS: Final = {
    "retrieval": "retriever retrieval retrieve",
    "rerank": "reranker rerank reranking",
    "llm": "llm chat_model generation chat completion text_completion generate_content "
    "ai.generatetext.dogenerate ai.streamtext.dostream",
    "embedding": "embedding embeddings",
    "tool": "tool execute_tool function",
    "agent": "agent invoke_agent create_agent",
    "chain": "chain workflow task span prompt parser record_root invoke_workflow ai.generatetext "
    "ai.streamtext",
    "judge": "evaluator guardrail eval eval_root",
}
"""What a step is here -> what the conventions call it, in lower case."""

_KIND_OF: Final = {name: kind for kind, names in _KINDS.items() for name in names.split()}

CONVENTIONS: Final = (
    _convention(
        "OpenInference",  # semantic conventions of 2026-11 (Phoenix 20, Arize)
        "unset OPENINFERENCE_HIDE_INPUTS, OPENINFERENCE_HIDE_OUTPUTS and their like",
        "openinference llm input output retrieval reranker session",
        kind="openinference.span.kind",
        input="llm.input_messages input.value llm.prompts",
        output="llm.output_messages output.value",
        documents="reranker.output_documents retrieval.documents",
        query="reranker.query",
        model="llm.model_name",
        prompt_tokens="llm.token_count.prompt",
        completion_tokens="llm.token_count.completion",
        cost_usd="llm.cost.total",
        session="session.id",
        user="user.id",
    ),
    _convention(
        "OpenTelemetry GenAI",  # semantic conventions 1.28 to 1.40, events and attributes
        "set OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=true (span_only with "
        "OTEL_SEMCONV_STABILITY_OPT_IN=gen_ai_latest_experimental)",
        "gen_ai",
        kind="gen_ai.operation.name",
        input="gen_ai.input.messages gen_ai.prompt gen_ai.tool.call.arguments",
        output="gen_ai.output.messages gen_ai.completion gen_ai.tool.call.result",
        documents="gen_ai.retrieval.documents",
        query="gen_ai.retrieval.query.text",
        model="gen_ai.request.model gen_ai.response.model",
        prompt_tokens="gen_ai.usage.input_tokens gen_ai.usage.prompt_tokens",
        completion_tokens="gen_ai.usage.output_tokens gen_ai.usage.completion_tokens",
        cost_usd="gen_ai.usage.cost",
        session="gen_ai.conversation.id",
    ),
    _convention(
        "OpenLLMetry",  # traceloop-sdk 0.30 to 0.62
        "set TRACELOOP_TRACE_CONTENT=true",
        "llm traceloop db",
        is_json=True,
        kind="traceloop.span.kind llm.request.type",
        input="traceloop.entity.input llm.prompts",
        output="traceloop.entity.output llm.completions",
        documents="db.query.documents",
        model="llm.request.model llm.response.model",
        prompt_tokens="llm.usage.prompt_tokens",
        completion_tokens="llm.usage.completion_tokens",
        session="traceloop.association.properties.session_id",
        user="traceloop.association.properties.user_id",
    ),
    _convention(
        "Langfuse (OpenTelemetry)",  # SDK for Python 3 to 5, for JavaScript 4
        "do not set capture_input or capture_output to False, nor a mask",
        "langfuse",
        kind="langfuse.observation.type",
        input="langfuse.observation.input langfuse.trace.input",
        output="langfuse.observation.output langfuse.trace.output",
        model="langfuse.observation.model.name",
        prompt_tokens="langfuse.observation.usage_details.input "
        "langfuse.observation.usage_details.prompt_tokens "
        "langfuse.observation.usage_details.input_tokens",
        completion_tokens="langfuse.observation.usage_details.output "
        "langfuse.observation.usage_details.completion_tokens "
        "langfuse.observation.usage_details.output_tokens",
        cost_usd="langfuse.observation.cost_details.total",
        session="session.id langfuse.session.id",
        user="user.id langfuse.user.id",
        trace_name="langfuse.trace.name",
    ),
    _convention(
        "MLflow",  # 2.14 to 3.17
        "log inputs and outputs of the spans (span.set_inputs, span.set_outputs)",
        "mlflow",
        is_json=True,
        kind="mlflow.spanType",
        input="mlflow.spanInputs",
        output="mlflow.spanOutputs",
        model="mlflow.llm.model mlflow.spanInputs.model",
        prompt_tokens="mlflow.chat.tokenUsage.input_tokens",
        completion_tokens="mlflow.chat.tokenUsage.output_tokens",
        cost_usd="mlflow.llm.cost.total_cost",
    ),
    _convention(
        "TruLens",  # 2.x, its OpenTelemetry store
        "return texts from the functions that are instrumented",
        "ai",
        kind="ai.observability.span_type",
        input="ai.observability.record_root.input ai.observability.call.kwargs",
        output="ai.observability.record_root.output ai.observability.call.return",
        documents="ai.observability.retrieval.retrieved_contexts",
        query="ai.observability.retrieval.query_text",
        model="ai.observability.cost.model",
        prompt_tokens="ai.observability.cost.num_prompt_tokens",
        completion_tokens="ai.observability.cost.num_completion_tokens",
        session="ai.observability.conversation_id",
    ),
    _convention(
        "Vercel AI SDK",  # 4 to 6
        "do not set recordInputs or recordOutputs to false in experimental_telemetry",
        "ai",
        kind="ai.operationId",
        input="ai.prompt.messages ai.prompt",
        output="ai.response.text ai.result.text ai.toolCall.result",
        model="ai.model.id",
        prompt_tokens="ai.usage.inputTokens ai.usage.promptTokens",
        completion_tokens="ai.usage.outputTokens ai.usage.completionTokens",
        session="ai.telemetry.metadata.sessionId",
        user="ai.telemetry.metadata.userId",
    ),
    _convention(
        "LangSmith",  # SDK 0.1 to 0.15
        "unset LANGSMITH_HIDE_INPUTS and LANGSMITH_HIDE_OUTPUTS, and export inputs and outputs",
        is_record=True,
        kind="run_type",
        input="inputs inputs_preview",
        output="outputs outputs_preview",
        model="extra.metadata.ls_model_name extra.invocation_params.model "
        "extra.invocation_params.model_name outputs.model outputs.llm_output.model_name",
        prompt_tokens="prompt_tokens outputs.usage_metadata.input_tokens "
        "extra.metadata.usage_metadata.input_tokens outputs.usage.prompt_tokens "
        "outputs.llm_output.token_usage.prompt_tokens",
        completion_tokens="completion_tokens outputs.usage_metadata.output_tokens "
        "extra.metadata.usage_metadata.output_tokens outputs.usage.completion_tokens "
        "outputs.llm_output.token_usage.completion_tokens",
        cost_usd="total_cost",
        session="extra.metadata.session_id extra.metadata.thread_id extra.metadata.conversation_id",
        user="extra.metadata.user_id",
    ),
    _convention(
        "Langfuse",  # API and exports 2 to 5
        "export with inputs and outputs (the field group io of the API's version 2), and do not "
        "set capture_input or capture_output to False",
        is_json=True,
        is_record=True,
        kind="type",
        input="input",
        output="output",
        model="model providedModelName provided_model_name internalModelId",
        prompt_tokens="usageDetails.input usage_details.input usage.input usage.promptTokens "
        "promptTokens inputUsage",
        completion_tokens="usageDetails.output usage_details.output usage.output "
        "usage.completionTokens completionTokens outputUsage",
        cost_usd="costDetails.total cost_details.total calculatedTotalCost calculated_total_cost "
        "totalCost total_cost",
        session="sessionId session_id",
        user="userId user_id",
        trace_name="traceName trace_name",
    ),
    _convention(
        "TruLens records",  # 1.x and 2.x
        "return texts from the app's main method",
        is_record=True,
        kind="kind",
        input="input main_input",
        output="output main_output",
        documents="contexts",
        cost_usd="total_cost",
        session="conversation_id",
    ),
)

_BY_NAME: Final = {convention.name: convention for convention in CONVENTIONS}
_BLANK: Final = ("", "__REDACTED__")
_MIME: Final = {"input.value": "input.mime_type", "output.value": "output.mime_type"}


def conventions_of(span: Span) -> tuple[Convention, ...]:
    """Return the conventions by which the span may have been written."""
    if span.tool:
        return (_BY_NAME[span.tool],)
    return _by_marks(frozenset(name.partition(".")[0] for name in span.attributes))


@lru_cache(1024)
def _by_marks(heads: frozenset[str]) -> tuple[Convention, ...]:
    attributes = (convention for convention in CONVENTIONS if not convention.is_record)
    return tuple(entry for entry in attributes if not entry.marks.isdisjoint(heads))


def kind_of(span: Span) -> str:
    """Return retrieval, rerank, llm, embedding, tool, agent, chain or judge; "" if unknown.

    A span that names no known kind is a retrieval by its documents, or an llm by its model.
    """
    for convention in conventions_of(span):
        for path in convention.paths.get("kind", ()):
            named = decoded(pick(span.attributes, path), is_json=True)
            if isinstance(named, str) and (kind := _KIND_OF.get(named.lower())):
                return kind
    if next(_values(span, "documents"), None) is not None:
        return "retrieval"
    return "llm" if model_of(span) else ""


def question_of(span: Span) -> str | None:
    """Return the question in the span's input, None without a certain one."""
    return next(filter(None, map(question_in, _values(span, "input"))), None)


def answer_of(span: Span) -> str | None:
    """Return the answer in the span's output, None without a certain one."""
    return next(filter(None, map(answer_in, _values(span, "output"))), None)


def left_open_of(span: Span) -> str | None:
    """Return the answer in the span's output, or a question behind it in its chat."""
    return next(filter(None, map(left_open_in, _values(span, "output"))), None)


def input_of(span: Span) -> Any:
    """Return the input as the span has it; None without one."""
    return next(_values(span, "input"), None)


def output_of(span: Span) -> Any:
    """Return the output as the span has it; None without one."""
    return next(_values(span, "output"), None)


def has_empty_output(span: Span) -> bool:
    """Return whether the step has an output that is an empty text."""
    return any(
        _value_at(span, convention, path) == ""
        for convention in conventions_of(span)
        for path in convention.paths.get("output", ())
    )


def has_output(span: Span) -> bool:
    """Return whether what a step gave was recorded.

    Not so for null, an empty text, an object without keys, and what is redacted, also in part where
    no documents can be read. An empty list is an output: nothing was found.
    """
    found = (value for field in ("documents", "output") for value in _values(span, field))
    return any(
        (value.strip() if isinstance(value, str) else value) not in ("", "null", "None", "{}", {})
        and not (_hides_text(value) and documents_of(span) is None)
        for value in found
    )


def _hides_text(value: Any) -> bool:
    """Return whether a mask stands in place of a text in a value."""
    value = decoded(value)
    if isinstance(value, Mapping | list):
        return any(map(_hides_text, value.values() if isinstance(value, Mapping) else value))
    return isinstance(value, str) and is_hidden(value)


def query_of(span: Span) -> str | None:
    """Return what a retrieval was asked, also by its input; None where the span does not say it."""
    found = next(filter(None, map(question_in, _values(span, "query"))), None)
    return found or question_of(span)


def documents_of(span: Span) -> list[Document] | None:
    """Return the documents that a retrieval or a reranker gave; None where they are not there.

    The output's count where the attributes have none, or lack texts or ids that the output adds.
    """
    listed = (documents_in(value, is_retrieval=True) for value in _values(span, "documents"))
    named = next((found for found in listed if found is not None), None)
    if named and all(document.id and document.text for document in named):
        return named
    output = documents_in(output_of(span), is_retrieval=True)
    if named is None or output is None:
        return output if named is None else named
    return output if _completes(output, named) else named


def _completes(output: Sequence[Document], named: Sequence[Document]) -> bool:
    """Return whether both list the same texts or the same ids, so that the output adds the other.

    ``named`` are the documents in the attributes.
    """
    texts, ids = [one.text for one in named], [one.id for one in named]
    has_same_texts = all(texts) and texts == [one.text for one in output]
    return has_same_texts or (all(ids) and ids == [one.id for one in output])


def documents_in_output(span: Span) -> list[Document] | None:
    """Return the documents in the output of a step that does not say that it retrieves."""
    return documents_in(output_of(span), is_retrieval=False)


def contexts_of(span: Span) -> list[Document] | None:
    """Return the contexts that the output names beside an answer; None without any."""
    return next(filter(None, map(contexts_in, _values(span, "output"))), None)


def model_of(span: Span) -> str | None:
    """Return the name of the model that a span asked, None where it asked none."""
    return next((value for value in _values(span, "model") if isinstance(value, str)), None)


def text_at(span: Span, field: str) -> str | None:
    """Return session, user or trace_name as text; None where the span has none."""
    return next((str(one) for one in _values(span, field) if isinstance(one, str | int)), None)


def number_at(span: Span, field: str) -> int | float | None:
    """Return prompt_tokens, completion_tokens or cost_usd; None where the span has none."""
    found = map(as_number, _values(span, field))
    return next((number for number in found if number is not None), None)


def _values(span: Span, field: str) -> Iterator[Any]:
    """Yield the values of a field, by the conventions of the span, the best name first."""
    for convention in conventions_of(span):
        for path in convention.paths.get(field, ()):
            value = _value_at(span, convention, path)
            if value is not None and value not in _BLANK:
                yield value


def _value_at(span: Span, convention: Convention, path: str) -> Any:
    """Return what is at a path, decoded where the convention or the mime type says JSON.

    JSON's null is None.
    """
    value = list_at(span.attributes, path)
    mime = pick(span.attributes, _MIME[path]) if path in _MIME else ""
    if not convention.is_json and mime != "application/json":
        return value
    return None if value == "null" else decoded(value, is_json=True)
