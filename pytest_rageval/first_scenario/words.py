"""What the words of a column's name say of it, in the languages that evaluation data come in."""

from __future__ import annotations

import re
from typing import Final

from pytest_rageval.scenario.column_names import snake_case

_WORDS: Final[dict[str, str]] = {
    "question": "question query queries frage pregunta pergunta domanda quesito quesiti soru "
    "pytanie vraag вопрос запрос pertanyaan intrebare întrebare 问题 提问 提問 質問 질문 سؤال",
    "asked": "input prompt utterance request q",
    "answer": "answer response reply antwort respuesta resposta risposta reponse réponse ответ "
    "jawaban raspuns răspuns cevap odpowiedź antwoord svar a "
    "答案 回答 答复 回复 输出 响应 答え 답변 대답 output completion prediction",
    "context": "context passage chunk evidence kontext contexto contesto contexte контекст konteks "
    "excerpt snippet trecho 上下文 段落 片段 문맥 컨텍스트 paragraph",
    "id": "id ids uuid pmid url urls",
    "document": "doc docs document file source page dokument documento quelle fuente fonte "
    "文件 文档 来源 出处 документ источник sumber filename",
    "gold": "gold golden truth expected expect erwartet esperada esperado attendu atteso attesa "
    "asteptat așteptat ideal gt эталон ожидаем oczekiwan 标准 正确 期望 预期 正解 模範 정답 기대 "
    "ground groundtruth",
    "reference": "reference correct ref true referensi referencia referência riferimento référence "
    "richtig correcta correta corretto muster справочн 参考 參考 人工 best human verified",
    "relevant": "relevant relevante pertinent",
    "retrieved": "retrieved retrieval recuperado recuperada abgerufen 检索 召回",
    "given": "actual generated given bot model rag system predicted pred llm assistant chatbot "
    "produced ai gpt chatgpt claude gemini 机器 模型 系统 助手 实际 生成 预测",
    "keyword": "keyword keywords include includes contain contains must fact facts term terms "
    "value values token tokens phrase phrases 关键词",
    "pattern": "pattern patterns regex regexes regexp",
    "run": "latency elapsed duration cost runtime temperature tokens model 模型 延迟 耗时 用时",
    "must": "must include includes contain contains",
    "text": "text texts",
    "negative": "not forbidden forbid never avoid exclude excluded incorrect wrong false rejected "
    "distractor unanswerable 错误 干扰 禁止 不应 不得",
    "score": "score faithfulness relevancy relevance precision recall similarity correctness mrr "
    "ndcg rouge bleu accuracy passing groundedness hit rr rating verdict metric f1 em grade "
    "quality passed 是否 评分 得分 分数 打分 正确率 准确率 召回率 精确率 相关性 相似度 忠实",
    "about": "number no num nr type tipo style length len count by variation variant paraphrase "
    "category intent date time language lang difficulty topic reason explanation index level "
    "status latency ms feedback model_name quality hint band tolerance tool tools 标签 "
    "编号 序号 数量 长度 类型 类别 分类 难度 语言 主题 日期 时间 耗时 延迟 理由 原因 备注 反馈",
}
_EXACT_BELOW: Final = 5
"""Shorter words must be equal; longer ones may begin or end one: ``Testfrage``, ``questions``."""

_ASIAN: Final = re.compile("[\u2e80-\uffff]")

_KINDS: Final = {kind: tuple(text.split()) for kind, text in _WORDS.items()}


def kinds_of(name: str) -> frozenset[str]:
    """Return the kinds of the words in a column's name.

    >>> sorted(kinds_of("expectedAnswer")), sorted(kinds_of("Testfrage"))
    (['answer', 'gold'], ['question'])
    >>> sorted(kinds_of("AI回答"))
    ['answer', 'given']
    """
    words = _words(name)
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
    return all(_is_in(word, known) for word in _words(name))


def is_bare_answer(name: str) -> bool:
    """Return whether a column's name is one word for an answer, and says nothing else of it.

    A Chinese, Japanese or Korean name has no spaces: it may say more than the words known in it.

    >>> is_bare_answer("答案"), is_bare_answer("客服答案"), is_bare_answer("bot answer")
    (True, False, False)
    """
    (word, *more) = _words(name) or [""]
    is_known = not _ASIAN.search(word) or word in _KINDS["answer"]
    return is_known and not more and kinds_of(name) == {"answer"}


def _words(name: str) -> list[str]:
    """Return the words of a name; Latin letters beside Chinese ones are a word of their own."""
    return re.sub(f"(?<=[a-z0-9])(?={_ASIAN.pattern})", "_", snake_case(name)).split("_")
