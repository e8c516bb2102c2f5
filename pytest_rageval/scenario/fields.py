"""The fields of a row and the names of their columns: ours, and the names in other tools."""

from __future__ import annotations

from typing import Final

FIELD_ALIASES: Final[dict[str, tuple[str, ...]]] = {
    "id": ("id", "sample_id"),
    "question": ("question", "query", "user_input"),
    "answer": ("answer", "response", "pred_answer"),
    "contexts": ("contexts", "retrieved_contexts"),
    "references": ("references", "reference", "ground_truth", "ground_truths", "golden_answers"),
    "reference_contexts": ("reference_contexts", "factual"),
    "retrieved_ids": ("retrieved_ids", "retrieved_context_ids"),
    "reference_ids": ("reference_ids", "reference_context_ids", "relevant_ids", "qrels"),
    "doc_name": ("doc_name",),
    "must_include": ("must_include", "answer_contains"),
    "must_not_include": ("must_not_include",),
    "must_match": ("must_match",),
    "answer_checks": ("answer_checks",),
    "must_satisfy": ("must_satisfy",),
    "tags": ("tags",),
    "skip": ("skip",),
    "xfail": ("xfail",),
}
"""Field -> the column names it is found under when ``key_map`` does not name one, best first."""

CHECK_FIELDS: Final = (
    *("must_include", "must_not_include", "must_match", "answer_checks", "must_satisfy"),
)
"""The fields by which a row says what its answer has to be like."""

NAMED: Final = {
    "context_docs": "contexts that name their document (objects with a doc_name or source)",
    "vital_nuggets": "nuggets that are vital",
}
"""What messages call a field that is no column."""

NEEDED_FIELDS: Final = tuple(sorted(FIELD_ALIASES.keys() - {"id", "tags", "skip", "xfail"}))
"""The fields that a metric of the user's own may need."""

ANSWERED_FIELDS: Final = frozenset({"answer", "contexts", "context_docs", "retrieved_ids"})
"""The fields of a sample that a target may fill in."""

_ULTRARAG: Final = {"gt_ls": "references", "q_ls": "question", "pred_ls": "answer"}

GRADE: Final = "grade"
"""The key of a ``key_map`` for the column with the grades of ``reference_ids``, no field."""

NO_GRADE: Final = "none"
"""The value of the key ``GRADE`` where no column holds grades."""

FIELD_OF: Final[dict[str, str]] = _ULTRARAG | {
    alias: name for name, aliases in FIELD_ALIASES.items() for alias in aliases
}
"""Each name of these fields in a ``key_map`` -> its field (UltraRAG's names included).

``KEY_OF`` has the fields of ``OF_ANSWERS``, too.
"""

OF_ANSWERS: Final[dict[str, tuple[str, ...]]] = {
    "answerable": (
        *("answerable", "is_answerable", "answerability", "Answerability"),
        *("is_impossible", "unanswerable", "is_unanswerable", "should_abstain"),
        *("可回答", "是否可回答", "可答"),
    ),
    "citations": ("citations", "cited_ids", "sources_cited"),
    "reference_citations": ("reference_citations", "gold_citations"),
    "history": ("history", "messages", "chat_history", "conversation_history", "input"),
    "confidence": ("confidence", "na_prob"),
    "nuggets": ("nuggets",),
}
"""Field -> the names of its columns, which are read only where the scenario asks for that.

It does so by a section, a metric, a gate or the ``key_map``; else such columns are metadata.
"""

UNRECORDED_SEARCH: Final = "unrecorded_search"
"""The column of a trace that says why it is not known what its search found."""

OF_SEARCH: Final = frozenset({"contexts", "context_docs", "retrieved_ids"})
"""The fields that a search fills in."""

WITH_ANSWERS: Final = ("citations", "confidence")
"""The fields of ``OF_ANSWERS`` that an answer brings along."""

SECTION_OF: Final = {
    "answerable": "refusals",
    "citations": "citations",
    "reference_citations": "citations",
    "history": "conversation",
}
"""Field of ``OF_ANSWERS`` -> the section that has it read; others are for a metric or a gate."""

OPPOSITES: Final[dict[str, tuple[str, ...]]] = {
    "answerable": ("is_impossible", "unanswerable", "is_unanswerable", "should_abstain"),
    "confidence": ("na_prob",),
}
"""Field -> its names that say the opposite."""

KEY_OF: Final = FIELD_OF | {name: name for name in OF_ANSWERS}
"""Each name of a field that a ``key_map`` may have as a key -> the field."""


_LIKELY: Final = {
    "id": "qid query_id case_id test_case_id test_id item_id uuid",
    "question": "input prompt user_query user_question query_text question_text sample_query "
    "sample_question test_question questions 用户问题 问题 提问 问 質問 질문 pregunta preguntas "
    "pergunta perguntas frage fragen testfrage domanda vraag pytanie вопрос soru pertanyaan "
    "câu_hỏi întrebare întrebare_test otázka kérdés spørgsmål fråga سؤال السؤال คำถาม",
    "answer": "actual_output predicted_answer generated_answer rag_answer model_answer prediction "
    "pred output actual_answer actual_response rag_response system_answer system_response "
    "model_response model_output llm_answer llm_response llm_output bot_answer bot_response "
    "assistant_response chatbot_response agent_response generated_response generated_text "
    "generated_texts answer_given 模型回答 模型输出 系统回答 实际回答 生成回答 respuesta_generada "
    "resposta_gerada réponse_générée risposta_generata generierte_antwort",
    "contexts": "retrieval_context retrieval_contexts retrieved_context retrieved_contents "
    "retrieved_chunks retrieved_passages retrieved_texts context documents passages",
    "references": "reference_answer reference_answers expected_answer expected_answers "
    "expected_output expected_response expected gold_answer gold_answers golden_answer "
    "correct_answer correct_answers ground_truth_answer ground_truth_answers gt_answer "
    "generation_gt reference_response truth ideal 标准答案 标准结果 参考答案 正确答案 期望答案 "
    "预期答案 模範解答 期待される回答 예상_답변 respuesta_esperada respuesta_correcta "
    "respuesta_de_referencia resposta_esperada resposta_correta resposta_de_referência "
    "réponse_attendue réponse_de_référence erwartete_antwort referenzantwort musterantwort "
    "risposta_attesa risposta_corretta risposta_di_riferimento verwacht_antwoord "
    "oczekiwana_odpowiedź ожидаемый_ответ эталонный_ответ правильный_ответ beklenen_cevap "
    "jawaban_referensi referensi_jawaban răspuns_așteptat očekávaná_odpověď",
    "reference_contexts": "relevant_chunks golden_chunks gold_chunks ground_truth_contexts "
    "ground_truth_context reference_context gold_contexts gold_context golden_contexts "
    "golden_context expected_contexts expected_context gold_passages relevant_passages "
    "gt_evidence evidence",
    "retrieved_ids": "retrieved_doc_ids retrieved_document_ids retrieved_chunk_ids retrieved_docs "
    "retrieved_documents retrieved_sources retrieved_files",
    "reference_ids": "relevant_doc_ids relevant_document_ids relevant_chunk_ids expected_doc_id "
    "expected_doc_ids expected_chunk_id expected_chunk_ids gold_doc_id gold_doc_ids "
    "gold_chunk_ids gold_ids expected_sources expected_source expected_source_id "
    "expected_source_ids expected_urls expected_doc expected_docs expected_documents "
    "expected_file expected_files golden_doc_uuids retrieval_gt correct_chunks relevant_docs "
    "relevant_documents docs_relevantes documentos_relevantes",
    "doc_name": "source source_file file_name source_document document_name document 文档 文档名 "
    "文件名 来源 来源文档 来源文件 出处 src quelle dokument fuente documento fonte bron źródło "
    "источник документ kaynak belge sumber dokumen sursă zdroj kilde källa forrás nguồn 出典 출처 "
    "문서",
}
LIKELY_NAMES: Final[dict[str, tuple[str, ...]]] = {
    name: tuple(names.split()) for name, names in _LIKELY.items()
}
"""Field -> names in lower snake_case, best first: all seen in data, and meant as that field.

The exceptions are in ``BESIDE_GOLD``, ``BESIDE_ANSWERS`` and ``OF_TRAINING``.
"""

BESIDE_GOLD: Final = (
    *("answer", "output", "model_answer", "generated_answer", "generated_response"),
    *("generated_text", "generated_texts", "prediction", "pred"),
    *("actual_answer", "actual_response"),
    *("respuesta", "resposta", "antwort", "risposta", "réponse", "回答", "答", "답변", "ответ"),
    *("jawaban", "cevap", "antwoord", "odpowiedź", "模型回答"),
)
"""Names of ``answer`` only beside a column of references; alone, they are often the gold.

``answer`` is here for spellings such as ``Answer``; ``answer`` itself is always the answer.
"""

BESIDE_ANSWERS: Final = ("context", "documents", "passages")
"""Names of ``contexts`` only beside answers and references; else they are what should be found."""

OF_TRAINING: Final = ("input", "output", "prompt")
"""Names that mean something else beside a column ``instruction``: data to train a model."""
