"""Made questions over real passages with planted faults, and the model that writes and checks them.

The questions and answers are those that people wrote for the passages; each fault is put into a
sound row. What a check has to say of it is written beside its kind.
"""

from __future__ import annotations

import gzip
import json
import random
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import chain, cycle
from typing import Any, Final, Literal

from others_data import others_data
from scripted_models import ScriptedJudge

from pytest_rageval.questions.base import SHARES, Passage, QuestionType, Slot
from pytest_rageval.questions.nearest import Nearest
from pytest_rageval.questions.prompts import question_prompt
from pytest_rageval.text.sentences import split_sentences

Language = Literal["en", "zh"]
LANGUAGES: Final[tuple[Language, ...]] = ("en", "zh")

KINDS: Final[Mapping[str, str]] = {
    "sound": "",
    "sound, common knowledge": "",
    "sound, unanswerable": "",
    "quote of another passage": "no_quote",
    "quote with another word": "no_quote",
    "quote with a gap": "no_quote",
    "answer of another row": "not_supported",
    "reworded earlier question": "duplicate",
    "names the passage": "not_alone",
    "pronoun in place of the name": "not_alone",
    "unanswerable, answered in the passage": "answerable",
    "unanswerable, answered in another": "answerable",
    "reply without the parts": "unreadable",
}
"""Kind of a row -> the reason for which it is to be rejected, "" where it is sound."""


@dataclass(frozen=True)
class Row:
    """What people wrote about a passage; ``quote`` is a sentence of it."""

    passage: Passage
    question: str
    answer: str = ""
    quote: str = ""
    other_answer: str = ""
    """The same in the words of another person, where there is one."""


@dataclass(frozen=True)
class Planted:
    """A slot, and what the model writes for it; ``row`` is the sound row below the fault.

    ``gold``: where the answer stands, none where nothing answers it.
    """

    kind: str
    slot: Slot
    row: Row
    reply: str
    question: str
    gold: str = ""


class PlantedModel(ScriptedJudge):
    """The writer and the judge of planted rows; a ``lenient`` judge lets everything through."""

    def __init__(self, rows: Sequence[Planted], *, lenient: bool = False) -> None:
        self._written = {question_prompt(one.slot): one.reply for one in rows}
        self._asked = {" ".join(one.question.split()): one for one in rows}
        self._lenient = lenient
        writes = {f"question_{kind}": self._written.__getitem__ for kind in SHARES}
        checks = {
            "question_alone": self._alone,
            "support": self._support,
            "rubric_score": self._answers,
        }
        super().__init__({**writes, **checks})

    def _about(self, prompt: str) -> Planted:
        found = re.search(r"<question>\n(.*?)\n</question>", prompt, re.DOTALL)
        assert found is not None, prompt
        return self._asked[found[1]]

    def _alone(self, prompt: str) -> Any:
        planted = self._about(prompt)
        is_known = planted.kind == "sound, common knowledge"
        clear = self._lenient or KINDS[planted.kind] != "not_alone"
        return {"clear": clear, "answer": planted.row.answer if is_known else ""}

    def _support(self, prompt: str) -> Any:
        planted = self._about(prompt)
        (source,) = re.findall(r"<source>\n(.*?)\n</source>", prompt, re.DOTALL)
        holds = source in (planted.gold, planted.row.answer)
        is_right = holds and KINDS[planted.kind] != "not_supported"
        level = "full" if self._lenient or is_right else "none"
        return {"verdicts": [{"n": 1, "support": level, "reason": ""}]}

    def _answers(self, prompt: str) -> Any:
        planted = self._about(prompt)
        contexts = re.findall(r"<context>\n(.*?)\n</context>", prompt, re.DOTALL)
        is_there = bool(planted.gold) and planted.gold in contexts
        return {"reason": "it was planted", "score": int(is_there and not self._lenient)}


@cache
def passages(language: Language) -> tuple[Passage, ...]:
    """Return all passages of the data, each once; the test is skipped where they are not there."""
    texts = {row.passage.text: row.passage for row in (*_rows(language), *_unanswered(language))}
    return tuple(texts.values())


@cache
def search(language: Language) -> Nearest:
    """Return the index of all passages."""
    return Nearest(passages(language))


def planted_rows(language: Language, kind: str, count: int = 200) -> list[Planted]:
    """Return ``count`` rows of a kind, or all there are.

    Of reworded questions, the earlier ones come first, as many.
    """
    fixed = random.Random(f"{language} {kind}")
    pool: Sequence[Row] = (
        _unanswered(language) if kind == "sound, unanswerable" else _rows(language)
    )
    if kind == "pronoun in place of the name":
        pool = [row for row in pool if _unnamed(row, language) is not None]
    drawn = fixed.sample(list(pool), len(pool))
    rows: list[Planted] = []
    seen = set[str]()
    # A slot is asked for once, and so is a question.
    for one in (_planted(kind, row, language, fixed) for row in drawn):
        keys = {one.slot.id, one.row.passage.digest, one.question}
        if seen.isdisjoint(keys):
            seen |= keys
            rows.append(one)
        if len(rows) == count:
            break
    if kind != "reworded earlier question":
        return rows
    return [*(_planted("sound", one.row, language, fixed) for one in rows), *rows]


def _planted(kind: str, row: Row, language: Language, fixed: random.Random) -> Planted:
    slot_type: QuestionType = "unanswerable" if "unanswerable" in kind else "single"
    # The second question about a passage is about one of its sentences.
    part = row.quote if kind == "reworded earlier question" else ""
    passage = row.passage
    if kind == "unanswerable, answered in another":
        (passage,) = search(language).find(passage.text, 1, but=[passage])
    slot = Slot(slot_type, (passage,), part)
    said = _FAULTS[kind](row, language, fixed) if kind in _FAULTS else row
    parts = {"question": said.question}
    if slot_type == "single":
        parts |= {"answer": said.answer, "quote": said.quote}
    reply = json.dumps(parts, ensure_ascii=False)
    if KINDS[kind] == "unreadable":
        reply = fixed.choice(["", "I cannot help.", "{}", reply.replace('"question"', '"q"')])
    gold = row.passage.text if row.answer else ""
    return Planted(kind, slot, row, reply, said.question, gold)


_Fault = Callable[[Row, Language, random.Random], Row]


def _of_another(row: Row, language: Language, fixed: random.Random) -> Row:
    """Return another row, about another document, whose answer does not stand in the passage."""
    while True:
        other = fixed.choice(_rows(language))
        is_near = other.answer in row.passage.text or other.quote in row.passage.text
        if other.passage.doc_name != row.passage.doc_name and not is_near:
            return other


def _other_quote(row: Row, language: Language, fixed: random.Random) -> Row:
    return replace(row, quote=_of_another(row, language, fixed).quote)


def _other_answer(row: Row, language: Language, fixed: random.Random) -> Row:
    return replace(row, answer=_of_another(row, language, fixed).answer)


def _other_word(row: Row, language: Language, fixed: random.Random) -> Row:
    words = row.quote.split(" ") if language == "en" else list(row.quote)
    at = fixed.choice([at for at, word in enumerate(words) if word.isalnum()])
    words[at] = "neither" if language == "en" else "乙"
    return replace(row, quote=(" " if language == "en" else "").join(words))


def _gap(row: Row, language: Language, fixed: random.Random) -> Row:
    words = row.quote.split(" ") if language == "en" else list(row.quote)
    third = len(words) // 3
    left = [*words[:third], fixed.choice(["...", "…", "[...]"]), *words[2 * third :]]
    return replace(row, quote=(" " if language == "en" else "").join(left))


_NAMING: Final[Mapping[Language, Sequence[str]]] = {
    "en": (
        "According to the passage, {}",
        "{} according to the text?",
        "In this document, {}",
        "Based on the given passage, {}",
        "As described above, {}",
    ),
    "zh": ("根据上文，{}", "根据这段文字，{}", "文中，{}", "根据材料，{}", "上述文字中，{}"),
}


def _naming(row: Row, language: Language, fixed: random.Random) -> Row:
    bare = row.question.rstrip("?？ ") if language == "en" else row.question
    return replace(row, question=fixed.choice(_NAMING[language]).format(bare))


def _unnamed(row: Row, language: Language) -> str | None:
    """Return the question with a pronoun for the subject, None where it is not named."""
    name = row.passage.doc_name.removesuffix(".md")
    it = r"\bit\b" if language == "en" else "它"
    pattern = rf"\b{re.escape(name)}\b" if language == "en" else re.escape(name)
    if len(name) < 2 or re.search(it, row.question, re.IGNORECASE):
        return None
    question, count = re.subn(pattern, "it" if language == "en" else "它", row.question, flags=re.I)
    return question if count == 1 and "《" not in question else None


def _with_pronoun(row: Row, language: Language, _: random.Random) -> Row:
    return replace(row, question=_unnamed(row, language) or "")


_ASKED: Final[Mapping[Language, Sequence[tuple[str, str]]]] = {
    "en": (
        (r"^when (?:did|was|were|is|does)\b", r"in what year was it that"),
        (r"^who (is|was|were)\b", r"which person \1"),
        (r"^who\b", r"which person was it that"),
        (r"^where (is|was|are|were)\b", r"in what place \1"),
        (r"^where\b", r"in what place"),
        (r"^how many\b", r"what is the number of"),
        (r"^what (is|was|are|were)\b", r"which \1"),
        (r"^(.*) (in|of|for) (the .*)$", r"\2 \3, \1"),
    ),
    "zh": (
        (r"为什么", "为何"),
        (r"什么时候|何时|哪一年|哪年", "何年何月"),
        (r"哪里|什么地方|何处", "哪个地方"),
        (r"是谁", "是什么人"),
        (r"谁", "什么人"),
        (r"多少", "几多"),
        (r"是什么", "指的是什么"),
        (r"哪个(?=[国地城省市公年])", "什么"),
        (r"有什么", "具有哪些"),
    ),
}
"""How questions are reworded: by words that ask, and by their order; names and subject stay."""
_AROUND: Final[Mapping[Language, Sequence[str]]] = {
    "en": ("Can you tell me {}?", "{}?", "Please tell: {}?"),
    "zh": ("请问，{}", "请问{}", "{}"),
}


def _reworded(row: Row, language: Language, fixed: random.Random) -> Row:
    question = row.question.strip(" ?？")
    ways = [way for way in _ASKED[language] if re.search(way[0], question)]
    around = list(_AROUND[language])
    if ways:
        question = re.sub(*ways[0], question, count=1)
    else:
        around = around[:1]
    mark = "" if language == "en" else "？"
    asked = fixed.choice(around).format(question + mark)
    return replace(row, question=asked, answer=row.other_answer or row.answer)


_FAULTS: Final[Mapping[str, _Fault]] = {
    "quote of another passage": _other_quote,
    "quote with another word": _other_word,
    "quote with a gap": _gap,
    "answer of another row": _other_answer,
    "reworded earlier question": _reworded,
    "names the passage": _naming,
    "pronoun in place of the name": _with_pronoun,
}


@cache
def _rows(language: Language) -> tuple[Row, ...]:
    """Return the sound rows, each question once."""
    found = _clapnq(answerable=True) if language == "en" else _cmrc()
    return tuple({row.question: row for row in found}.values())


@cache
def _unanswered(language: Language) -> tuple[Row, ...]:
    """Return questions with a passage near to them that does not answer them.

    In ClapNQ people found none in it; in CMRC 2018 it is the question about a passage that is in
    no index, with the passage nearest to that one.
    """
    if language == "en":
        return tuple(_clapnq(answerable=False))
    rows = _rows("zh")
    left_out = {row.passage for row in _cmrc(held_out=True)}
    nearest = Nearest(list(dict.fromkeys(row.passage for row in rows)))
    near = {passage: nearest.find(passage.text, 1)[0] for passage in left_out}
    return tuple(Row(near[row.passage], row.question) for row in _cmrc(held_out=True))


def _clapnq(*, answerable: bool) -> Iterator[Row]:
    lines = others_data("data/clapnq/dev.jsonl").read_text("utf-8").splitlines()
    for row in map(json.loads, lines):
        passage = Passage(f"{row['doc_name'].strip()}.md", "", row["contexts"][0].strip(), 1)
        if not answerable and not row["references"]:
            yield Row(passage, row["question"])
        marked = list(chain(*row["evidence_sentences"]))
        if answerable and marked and 0 < len("".join(row["references"][:1])) <= _MOST:
            quote = max(marked, key=len).strip()
            yield Row(passage, row["question"], row["references"][0], quote)


_DEPENDENT: Final = frozenset(
    f"DEV_{number}"
    for number in (
        "6_QUERY_1 30_QUERY_0 30_QUERY_1 32_QUERY_3 37_QUERY_2 42_QUERY_2 133_QUERY_2 396_QUERY_2 "
        "406_QUERY_2 477_QUERY_3 478_QUERY_1 478_QUERY_2 531_QUERY_3 554_QUERY_1 568_QUERY_1 "
        "622_QUERY_4 626_QUERY_3 1000_QUERY_1 1050_QUERY_2"
    ).split()
)
"""Questions that are not sound: by eye, they cannot be understood without their passages."""
_MOST: Final = 1_000
"""Characters of an answer."""


def _cmrc(*, held_out: bool = False) -> Iterator[Row]:
    """Yield the rows of every fourth passage, or of the others."""
    path = others_data("data/cmrc2018/original/cmrc2018_dev.json.gz")
    articles = json.loads(gzip.decompress(path.read_bytes()))["data"]
    parts = [(one.get("title", ""), part) for one in articles for part in one["paragraphs"]]
    for number, (is_out, (title, part)) in enumerate(zip(cycle([False] * 3 + [True]), parts)):
        passage = Passage(f"{title or number}.md", "", part["context"].strip(), 1)
        for row in part["qas"] if is_out is held_out else ():
            if row["id"] in _DEPENDENT:
                continue
            answers = [answer["text"] for answer in row["answers"]]
            holding = [one for one in split_sentences(passage.text) if answers[0] in one]
            if holding and len(holding[0]) >= 12:
                yield Row(passage, row["question"], answers[0], holding[0], answers[-1])
