"""What the words of a column's name say of it, in the languages that evaluation data come in."""

from __future__ import annotations

from typing import Final

from pytest_rageval.scenario.column_names import snake_case

_WORDS: Final[dict[str, str]] = {
    "question": "question query queries frage pregunta pergunta domanda quesito quesiti soru "
    "pytanie vraag вопрос запрос pertanyaan intrebare întrebare 问题 提问 提問 質問 질문 سؤال",
    "asked": "input prompt utterance request q",
    "answer": "answer response reply antwort respuesta resposta risposta reponse réponse ответ "
    "jawaban raspuns răspuns cevap odpowiedź antwoord svar a "
    "答案 回答 答复 回复 答え 답변 대답 output completion prediction",
    "context": "context passage chunk evidence kontext contexto contesto contexte контекст konteks "
    "excerpt snippet trecho 上下文 段落 片段 문맥 컨텍스트 paragraph",
    "id": "id ids uuid pmid url urls",
    "document": "doc docs document file source page dokument documento quelle fuente fonte "
    "文件 文档 документ источник sumber filename",
    "gold": "gold golden truth expected expect erwartet esperada esperado attendu atteso attesa "
    "asteptat așteptat ideal gt эталон ожидаем oczekiwan 标准 正确 期望 预期 正解 模範 정답 기대 "
    "ground groundtruth",
    "reference": "reference correct ref true referensi referencia referência riferimento référence "
    "richtig correcta correta corretto muster справочн 参考 參考 best human verified",
    "relevant": "relevant relevante pertinent",
    "retrieved": "retrieved retrieval recuperado recuperada abgerufen",
    "given": "actual generated given bot model rag system predicted pred llm assistant chatbot "
    "produced gpt chatgpt claude gemini",
    "keyword": "keyword keywords include includes contain contains must fact facts term terms "
    "value values token tokens phrase phrases 关键词",
    "pattern": "pattern patterns regex regexes regexp",
    "run": "latency elapsed duration cost runtime temperature tokens model",
    "must": "must include includes contain contains",
    "text": "text texts",
    "negative": "not forbidden forbid never avoid exclude excluded incorrect wrong false rejected "
    "distractor unanswerable",
    "score": "score faithfulness relevancy relevance precision recall similarity correctness mrr "
    "ndcg rouge bleu accuracy passing groundedness hit rr rating verdict metric f1 em grade "
    "quality passed",
    "about": "number no num nr type tipo style length len count by variation variant paraphrase "
    "category intent date time language lang difficulty topic reason explanation index level "
    "status latency ms feedback model_name quality hint band tolerance tool tools",
}
_EXACT_BELOW: Final = 5
"""Shorter words must be equal; longer ones may begin or end one: ``Testfrage``, ``questions``."""

_KINDS: Final = {kind: tuple(text.split()) for kind, text in _WORDS.items()}


def kinds_of(name: str) -> frozenset[str]:
    """Return the kinds of the words in a column's name.

    >>> sorted(kinds_of("expectedAnswer")), sorted(kinds_of("Testfrage"))
    (['answer', 'gold'], ['question'])
    """
    words = snake_case(name).split("_")
    return frozenset(
        kind for kind, known in _KINDS.items() if any(_is_in(word, known) for word in words)
    )


def _is_in(word: str, known: tuple[str, ...]) -> bool:
    return any(
        word == one
        or (not one.isascii() and one in word and len(one) > 1)
        or (len(one) >= _EXACT_BELOW and (word.startswith(one) or word.endswith(one)))
        for one in known
    )


def is_all_of(name: str, *kinds: str) -> bool:
    """Return whether each word of a column's name is of one of these kinds."""
    known = tuple(word for kind in kinds for word in _KINDS[kind])
    return all(_is_in(word, known) for word in snake_case(name).split("_"))
