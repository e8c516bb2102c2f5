"""Which field a column's name speaks of: as other tools write it, or misspelt, for hints."""

from __future__ import annotations

import difflib
import re
import unicodedata
from collections.abc import Collection, Iterable, Sequence
from functools import lru_cache
from itertools import chain
from typing import Final

from pytest_rageval.errors import nearest
from pytest_rageval.scenario.fields import (
    BESIDE_ANSWERS,
    BESIDE_GOLD,
    CHECK_FIELDS,
    FIELD_ALIASES,
    LIKELY_NAMES,
    OF_ANSWERS,
    OPPOSITES,
)
from pytest_rageval.text.json_value import path_in

OPPOSED: Final = (
    ("answer", "references"),
    *(("answer", name) for name in CHECK_FIELDS),
    ("contexts", "reference_contexts"),
    ("retrieved_ids", "reference_ids"),
)
"""What a system gave, and what it should have given: one column cannot be both."""

_NAMES: Final = {
    field: (*FIELD_ALIASES.get(field, ()), *LIKELY_NAMES.get(field, ())) for field in FIELD_ALIASES
}
_KEYWORDS: Final = dict.fromkeys(
    ("expected_keywords", "keywords_expected", "required_keywords", "must_contain"), "must_include"
)
"""Proposed, and never read: that every keyword has to be in the answer is for the user to say."""
_FIELD_OF: Final = _KEYWORDS | {name: field for field, names in _NAMES.items() for name in names}
_COMPACT: Final = {name.replace("_", ""): field for name, field in _FIELD_OF.items()}
_ROW_FIELDS: Final = frozenset(FIELD_ALIASES) - {"tags", "skip", "xfail"}
_BRACKETS: Final = re.compile(r"[()（）【】/／]")


def snake_case(name: str) -> str:
    """Return a name in lower snake_case.

    >>> snake_case("referenceResponse"), snake_case("Expected Output")
    ('reference_response', 'expected_output')
    """
    parted = re.sub(r"(?<=[^\W_A-Z])(?=[A-Z])", "_", name)
    return re.sub(r"[\W_]+", "_", parted).strip("_").lower()


def name_key(name: str) -> str:
    """Return what is equal for all spellings of a name: case, separators, accents.

    >>> name_key("referenceResponse "), name_key("Réponse attendue")
    ('referenceresponse', 'reponseattendue')
    """
    letters = unicodedata.normalize("NFKD", snake_case(unicodedata.normalize("NFC", name)))
    return "".join(
        letter for letter in letters if letter != "_" and not unicodedata.combining(letter)
    )


_READ: Final = {
    name_key(name): (field, rank)
    for field in sorted(_ROW_FIELDS)
    for rank, name in enumerate((*_NAMES[field], *(BESIDE_GOLD if field == "answer" else ())))
}


def name_keys(column: str) -> list[str]:
    """Return the keys of the parts of a header: ``question(问题)`` has two."""
    return [part for part in map(name_key, _BRACKETS.split(column)) if part]


def read_field(column: str) -> tuple[str, int] | None:
    """Return the field that a column is named after, and the rank of the name, 0 for the best.

    None for any other name, also for a misspelt one. A header in two languages,
    ``question(问题)``, is named after a field unless its parts disagree. One part that is not known
    counts as a translation if it is not ASCII, but not beside a name of ``answer``.

    >>> read_field("Reference Answer"), read_field("answer(参考答案)")
    (('references', 5), None)
    """
    parts = name_keys(column)
    known = [found for part in parts if (found := _READ.get(part))]
    others = [part for part in parts if part not in _READ]
    fields = {field for field, _ in known}
    # A translation may be unknown, but beside "answer" it may say that this is the gold.
    is_unsure = len(parts) > 2 or any(part.isascii() for part in others) or fields <= {"answer"}
    if len(fields) != 1 or (others and is_unsure):
        return None
    return min(known, key=lambda named: named[1])


@lru_cache(maxsize=64)
def says_opposite(field: str, column: str) -> bool:
    """Return whether a column says the opposite of its field: the last name of it in a path does.

    >>> says_opposite("answerable", "meta.is_impossible"), says_opposite("confidence", "p.na_prob")
    (True, True)
    """
    path = path_in(column)
    steps = [column] if path is None else [str(step) for step in path.steps[::-1]]
    known = {*map(name_key, OF_ANSWERS[field])}
    last = next((key for key in map(name_key, steps) if key in known), "")
    return last in map(name_key, OPPOSITES[field])


def likely_field(column: str) -> str | None:
    """Return the one field that a column's name means, misspelt or not; None if there is none.

    >>> likely_field("goldAnswer"), likely_field("anwser"), likely_field("answers")
    ('references', 'answer', None)
    """
    name = snake_case(column)
    field = _FIELD_OF.get(name) or _COMPACT.get(name.replace("_", ""))
    if field is None and (meant := _misspelt(name)) is not None:
        field = _FIELD_OF[meant]
    return field if field is None or may_be(column, field) else None


def check_meant(column: str) -> str | None:
    """Return the check that a column's name may mean though it is written otherwise, else None.

    >>> check_meant("mustInclude"), check_meant("must_inclde"), check_meant("expected_keywords")
    ('must_include', 'must_include', None)
    """
    name, field = snake_case(column), likely_field(column)
    is_keywords = name in _KEYWORDS or _misspelt(name) in _KEYWORDS
    return None if is_keywords or field not in CHECK_FIELDS else field


def may_be(column: str, field: str) -> bool:
    """Return whether nothing in a column's name says that it is not this field.

    What is said to be right, or is a list of answers, is no answer of the system under test.
    """
    if field != "answer":
        return True
    is_list = not {"answers", "label"}.isdisjoint(snake_case(column).split("_"))
    return not is_list and not kinds_of(column) & {"gold", "reference"}


def _misspelt(name: str) -> str | None:
    """Return the known name that ``name`` differs from by letters, not by a word; None if none."""
    for near in difflib.get_close_matches(name[:100], _FIELD_OF, n=3, cutoff=0.8):
        words, meant = name.split("_"), near.split("_")
        alike = len(words) == len(meant) and all(
            difflib.SequenceMatcher(None, word, other).ratio() >= 0.7
            for word, other in zip(words, meant, strict=True)
        )
        # "answers" is no misspelt "answer": they may be the expected ones.
        if alike and not (_FIELD_OF[near] == "answer" and near in name):
            return near
    return None


def proposed_columns(
    wanted: Iterable[str], free: Sequence[str], served: Collection[str]
) -> dict[str, str]:
    """Return the column to propose for each ``wanted`` field that a ``free`` column fits.

    ``served`` are the fields that other columns serve. No column is proposed twice. Those of
    ``BESIDE_ANSWERS`` are proposed for ``contexts`` only where there are answers and references: in
    data that a system has yet to answer they are what should be found.
    """
    found: dict[str, str] = {}
    # Contexts come last: they depend on the others.
    for field in sorted(wanted, key=lambda name: (name == "contexts", name)):
        fits = [column for column in free if likely_field(column) == field]
        if field == "contexts" and not {"answer", "references"} <= {*served, *found}:
            fits = [column for column in fits if snake_case(column) not in BESIDE_ANSWERS]
        if fits:
            found[field] = min(fits, key=lambda column: _rank(field, column))
    return {field: found[field] for field in FIELD_ALIASES if field in found}


def _rank(field: str, column: str) -> int:
    name, names = snake_case(column), _NAMES[field]
    return names.index(name) if name in names else len(names)


def column_meant(written: str, field: str, free: Iterable[str]) -> str | None:
    """Return the column that a ``key_map`` most likely means, else None; never another field's."""
    fits = [name for name in free if likely_field(name) in (None, field) and may_be(name, field)]
    return nearest(written, fits)


_WORDS: Final[dict[str, str]] = {
    "question": "question questions query queries frage pregunta pergunta domanda quesito quesiti "
    "soru pytanie vraag вопрос запрос pertanyaan intrebare întrebare 问题 题目 提问 提問 "
    "質問 질문 سؤال",
    "asked": "input prompt utterance request q 用户输入",
    "answer": "answer response reply said says antwort respuesta resposta risposta reponse réponse "
    "ответ jawaban raspuns răspuns cevap odpowiedź antwoord svar a "
    "答案 回答 答复 回复 输出 响应 答え 답변 대답 output outputs completion prediction "
    "predicted",
    "context": "context ctx ctxs passage chunk evidence kontext contexto contesto contexte "
    "контекст konteks excerpt snippet trecho 上下文 段落 片段 "
    "参考资料 检索结果 检索内容 문맥 컨텍스트 paragraph",
    "id": "id ids uuid pmid url urls",
    "document": "doc docs document file source page dokument documento quelle fuente fonte "
    "文件 文档 来源 出处 документ источник sumber filename",
    "gold": "gold golden truth target targets expected expect erwartet esperada esperado attendu "
    "atteso attesa asteptat așteptat ideal gt эталон ожидаем oczekiwan ground groundtruth "
    "标准 正确 期望 预期 正解 模範 정답 기대",
    "reference": "reference correct ref true referensi referencia referência riferimento référence "
    "richtig correcta correta corretto muster справочн 参考 參考 人工 best human verified",
    "relevant": "relevant relevante pertinent",
    "retrieved": "retrieved retrieval recuperado recuperada abgerufen 检索 召回",
    "given": "actual generated given bot model rag system predicted pred llm assistant chatbot "
    "produced ai gpt chatgpt claude gemini 机器 模型 系统 助手 实际 生成 预测",
    "keyword": "keyword keywords include includes contain contains mention mentions must should "
    "fact facts term terms value values token tokens phrase phrases 关键词",
    "pattern": "pattern patterns regex regexes regexp",
    "run": "latency elapsed duration cost runtime temperature tokens model 模型 延迟 耗时 用时",
    "alias": "alias aliases alternative alternatives synonym synonyms acceptable alt 别名 同义",
    "said": "assertion assertions keypoint keypoints criterion criteria rubric requirements",
    "human": "human ok annotator annotation annotated label labels verdict correct passed pass "
    "accepted approved rating graded 人工 正确 通过",
    "must": "must should include includes contain contains mention mentions",
    "text": "text texts",
    "negative": "not unexpected unwanted forbidden forbid never avoid exclude excluded incorrect "
    "wrong false rejected distractor unanswerable fake fakeanswer poor bad ungrounded hallucinated "
    "counterfactual worst 错误 干扰 禁止 不应 不得",
    "score": "score faithfulness relevancy relevance precision recall similarity correctness mrr "
    "coherence fluency ndcg rouge bleu accuracy passing groundedness hit rr rating verdict metric "
    "f1 em grade quality passed judge judges judgement judgment critique rationale assessment "
    "explanation feedback 是否 评分 得分 分数 打分 正确率 准确率 召回率 精确率 相关性 相似度 忠实",
    "about": "answerable answerability unanswerable answered number no num nr type tipo style "
    "length len count by variation variant paraphrase category intent date time language lang "
    "difficulty topic reason explanation index level status latency ms feedback model_name quality "
    "hint band tolerance tool tools 标签 "
    "编号 序号 数量 长度 类型 类别 分类 难度 语言 主题 日期 时间 耗时 延迟 理由 原因 备注 反馈",
}
"""Words of columns' names by what they say of the column; a word may be of several kinds."""

_EXACT_BELOW: Final = 5
"""Shorter words of ``_WORDS`` must equal a word of a name; others may begin or end it (Testfrage).

Those not in ASCII may also be inside of it, from two characters on.
"""

_ASIAN: Final = "[\u2e80-\uffff]"  # compiled when it is needed, which takes milliseconds

_KINDS: Final = {kind: tuple(text.split()) for kind, text in _WORDS.items()}


def kinds_of(name: str) -> frozenset[str]:
    """Return the kinds of the words in a column's name; a single letter counts if it is all of it.

    >>> sorted(kinds_of("expectedAnswer")), sorted(kinds_of("Testfrage"))
    (['answer', 'gold'], ['question'])
    >>> sorted(kinds_of("AI回答"))
    ['answer', 'given']
    """
    words = [word for word in words_of(name) if len(word) > 1 or word == snake_case(name)]
    return frozenset(
        kind for kind, of_kind in _KINDS.items() if any(_is_in(word, of_kind) for word in words)
    )


def _is_in(word: str, known: tuple[str, ...]) -> bool:
    return any(
        word == other
        or (not other.isascii() and other in word and len(other) > 1)
        or (
            len(other) >= _EXACT_BELOW
            and other != "ground"  # grounding says nothing of a ground truth
            and (word.startswith(other) or word.endswith(other))
        )
        for other in known
    )


def unknown_words(name: str) -> list[str]:
    """Return the words of a column's name that are of no kind.

    >>> unknown_words("long_answer"), unknown_words("bot answer")
    (['long'], [])
    """
    known = tuple(chain.from_iterable(_KINDS.values()))
    return [word for word in words_of(name) if not _is_in(word, known)]


def is_all_of(name: str, *kinds: str) -> bool:
    """Return whether each word of a column's name is of one of these kinds."""
    known = tuple(word for kind in kinds for word in _KINDS[kind])
    return all(_is_in(word, known) for word in words_of(name))


def is_bare_answer(name: str) -> bool:
    """Return whether a column's name is one word for an answer, and says nothing else of it.

    A Chinese, Japanese or Korean name has no spaces: it may say more than the words known in it.

    >>> is_bare_answer("答案"), is_bare_answer("客服答案"), is_bare_answer("bot answer")
    (True, False, False)
    """
    (word, *more) = words_of(name) or [""]
    is_known = not re.search(_ASIAN, word) or word in _KINDS["answer"]
    return is_known and not more and kinds_of(name) == {"answer"}


def words_of(name: str) -> list[str]:
    """Return the words of a name, without the version, number or letter that tells it from others.

    Latin letters and digits before Chinese, Japanese or Korean ones are a word of their own.

    >>> words_of("response_b"), words_of("gpt4 answer"), words_of("v2 answer"), words_of("a")
    (['response'], ['gpt', 'answer'], ['answer'], ['a'])
    """
    parted = re.sub(f"(?<=[a-z0-9])(?={_ASIAN})", "_", snake_case(name)).split("_")
    named = [word for word in parted if not re.fullmatch(r"v\d+", word)] or parted
    words = [re.sub(r"(?<=[^\W\d_]{3})\d+$", "", word) for word in named]
    return words[:-1] if len(words) > 1 and re.fullmatch("[a-z0-9]", words[-1]) else words
