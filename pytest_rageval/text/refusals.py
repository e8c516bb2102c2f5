"""Whether an answer refuses: it says that it cannot answer, in English or Chinese.

An answer is read sentence by sentence, and a sentence clause by clause: each one refuses, says
something else, or says nothing to the question (courtesy, advice, what the documents hold instead).
Whether what it says is right does not matter: "No, you cannot" is an answer.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Final, Literal

from pytest_rageval.text.citation_markers import CitationRule
from pytest_rageval.text.citations import strip_citations
from pytest_rageval.text.phrases import phrases_in
from pytest_rageval.text.sentences import split_sentences
from pytest_rageval.text.tokenize import has_cjk, one_of, split_characters

_PHRASES: Final = phrases_in(__package__, "refusals.toml")
_HINTS: Final = one_of(_PHRASES["hints"][0])
_REFUSALS: Final = {
    language: re.compile("|".join(_PHRASES[f"refusals_{language}"])) for language in ("en", "zh")
}
"""English ones are for texts in small letters: to ignore the case costs half as much again."""
_COURTESY, _BESIDE, _TOPIC_EN, _CONCEDED, _CONDITION, _NAMES_IT = (
    re.compile(_PHRASES[name][0], re.IGNORECASE)
    for name in ("courtesy", "beside", "topic_en", "conceded", "condition", "names_it")
)
_NO_RULE: Final = re.compile(
    "|".join(_PHRASES[name][0] for name in ("no_rule", "says_no_more")), re.IGNORECASE
)
_TOPIC_ZH, _NEGATED_ZH, _STATES_ZH = (
    re.compile(_PHRASES[name][0]) for name in ("topic_zh", "negated_zh", "states_zh")
)

Kind = Literal["refused", "partial", "answered", "unclear"]
"""``partial``: it answers and says that it cannot answer all; ``unclear``: in no known language."""


@dataclass(frozen=True, slots=True)
class RefusalRule:
    """The languages of the phrases, ``en`` and ``zh``, and ``also``: texts that refuse."""

    languages: tuple[str, ...] = ("en", "zh")
    also: tuple[str, ...] = ()


PHRASES: Final = RefusalRule()
_MARKERS: Final = CitationRule()


def kind_of(
    answer: str, rule: RefusalRule = PHRASES, sentences: Sequence[str] | None = None
) -> Kind:
    """Return the kind of an answer that is not empty.

    ``sentences`` are those of the answer without citations, where they are known. HTML refuses if
    its text does.

    >>> kind_of("I don't know."), kind_of("No, you cannot."), kind_of("无法回答。")
    ('refused', 'answered', 'refused')
    """
    kind = _kind_of(answer, rule, sentences)
    if not _HTML.match(answer):
        return kind
    return "refused" if _is_listed(answer, rule) else _kind_of_html(answer, rule, kind)


def _kind_of_html(answer: str, rule: RefusalRule, kind: Kind) -> Kind:
    """Return the kind of an answer in HTML; ``kind`` is that of the text with its tags.

    Tags end no sentence in that text: what refuses may stand in one with what answers.
    """
    answer = _TAG_IN_LINE.sub("", answer)
    text = _TAG.sub("\n", answer).strip()
    if text and kind != "refused" and _kind_of(text, rule) == "refused":
        return "refused"
    text = _TAG.sub("\n", _BREAK.sub(" ", answer)).strip()
    is_partial = kind == "refused" and _kind_of(text, rule) == "partial"
    return "partial" if is_partial and any(_tells(one, rule) for one in text.split("\n")) else kind


def _tells(block: str, rule: RefusalRule) -> bool:
    """Return whether a block is a sentence that says something, and no heading or greeting."""
    is_sentence = block.rstrip().endswith((".", "。")) and len(split_characters(block)) >= 5
    return is_sentence and _kind_of(block, rule) == "answered"


_BREAK: Final = re.compile(r"(?i)<br\s*/?>")
_HTML: Final = re.compile(
    r"(?is)\s*<(?:!doctype|html|body|main|article|section|div|p|span|h[1-6]|ul|ol|blockquote)[\s>]"
    r"(?!.*<(?:pre|code)\b)"
)
_TAG_IN_LINE: Final = re.compile(r"(?i)</?(?:a|b|em|font|i|small|span|strong|u)(?:\s[^<>]*)?/?>")
_TAG: Final = re.compile(r"<!--.{0,1000}?-->|<[/!]?[a-zA-Z][^<>]*>", re.DOTALL)


def _kind_of(answer: str, rule: RefusalRule, sentences: Sequence[str] | None = None) -> Kind:
    is_line = "\n" not in answer.strip()
    answer = _IN_ITALICS.sub(r"\1", _plain(answer, is_line=is_line))
    if not rule.also and not _may_refuse(answer):
        return "answered" if fits(answer, rule.languages) else "unclear"
    # To strip a sentence costs as much as to read it: only those that are read are stripped.
    bare = str if sentences is None else partial(_bare, is_line=is_line)
    sentences = _sentences(answer) if sentences is None else sentences
    last = len(sentences) - _AT_EACH_END
    said = [
        _said(bare(sentence), rule) if at < _AT_EACH_END or at >= last else "answered"
        for at, sentence in enumerate(sentences)
    ]
    refuses = "refused" in said or "partial" in said
    if not refuses:
        return "answered" if fits(answer, rule.languages) else "unclear"
    answers = any(
        kind in ("answered", "partial") and not _is_beside(bare(sentence), kind)
        for sentence, kind in zip(sentences, said, strict=True)
    )
    return "partial" if answers else "refused"


def says_something(answer: str, references: Sequence[str], *, cites: bool) -> bool:
    """Return whether a short answer is more than marks: it has a word, or is what is expected.

    Signs are expected if they differ from a reference in blanks alone. Where answers do not cite, a
    name in brackets is no marker if it is the reference's; a number may be one.
    """
    if any(map(str.isalnum, strip_citations(answer, _MARKERS))):
        return True
    said, letters = "".join(answer.split()), _letters(answer)
    if not cites and any(map(str.isalpha, letters)) and letters in map(_letters, references):
        return True
    is_expected = any(said == "".join(reference.split()) for reference in references)
    return is_expected and any(unicodedata.category(sign)[0] in "SLN" for sign in said)


def _letters(text: str) -> str:
    return "".join(filter(str.isalnum, text.casefold()))


def is_given(
    answer: str, references: Sequence[str], rule: RefusalRule, *, answerable: bool | None
) -> bool:
    """Return whether an answer that may read as a refusal is what its row expects.

    Where the row does not say whether it can be answered, only the reference itself is.
    """
    if answerable is None:
        return answer.strip() in references
    return answerable and is_expected(answer, references, rule)


def is_expected(answer: str, references: Sequence[str], rule: RefusalRule = PHRASES) -> bool:
    """Return whether what reads as a refusal is the answer that is expected.

    So it is if a reference reads so, too, and they share at least half of their words or
    characters.

    >>> is_expected("Water damage isn't covered.", ["Water damage is not covered by it."])
    True
    """
    said = set(split_characters(answer.casefold()))
    for reference in references:
        expected = set(split_characters(reference.casefold()))
        is_alike = 4 * len(said & expected) >= len(said) + len(expected)
        if is_alike and kind_of(reference, rule) in ("refused", "partial"):
            return True
    return False


def _plain(answer: str, *, is_line: bool) -> str:
    """Return an answer with one kind of apostrophe and blank, without quotes around all of it.

    Of a long one, the beginning and the end: there it refuses, if it does. Two blanks become one if
    the answer ``is_line``: in several lines they may stand between the cells of a table.
    """
    text = _APOSTROPHES.sub("'", answer).strip()
    if len(text) > _LONGEST:
        text = f"{text[: _LONGEST // 2]}\n{text[-_LONGEST // 2 :]}"
    if text[:1] in _OPENING and text[-1:] in _CLOSING:
        text = text[1:-1].strip()
    text = _UNBROKEN.sub(" ", text)
    return _CONTRACTED.sub(r"\1n't", _DOUBLED.sub(" ", text) if is_line else text)


_LONGEST: Final = 4000
_APOSTROPHES: Final = re.compile("[’‘ʼ´`](?=[a-zA-Z])")
_UNBROKEN: Final = re.compile("[\u00a0\u202f]")
_DOUBLED: Final = re.compile(r"(?<=\S) {2}(?=\S)")
"""Phrases have one blank between words; models also write two, or one that breaks no line."""
_IN_ITALICS: Final = re.compile(r"\A\*(?!\s)([^*]+[.。])\*\Z")
"""Whole sentences: a title in italics, ``*Unknown*``, has no full stop."""
_OPENING: Final = "\"“「『'"
_CLOSING: Final = "\"”」』'"
_CONTRACTED: Final = re.compile(r"\b(do|did|does|could|ca|is|was)nt\b", re.IGNORECASE)


def _may_refuse(text: str) -> bool:
    """Return whether a text has a word without which no phrase refuses; it costs little."""
    if has_cjk(text):
        return True
    text = text.lower()
    return "n't" in text or not _HINTS.isdisjoint(_WORD.findall(text))


_WORD: Final = re.compile(r"[a-z/]+")


_AT_EACH_END: Final = 2
"""How many sentences at the beginning and at the end are looked at: there an answer refuses."""


def fits(answer: str, languages: Sequence[str]) -> bool:
    """Return whether an answer may be in one of ``languages``: by its script, and by its words.

    What has no words, a number or a name, may be in any. Of a long one the beginning is read.
    """
    return _fits(answer[:_LOOKED_AT], tuple(languages))


@lru_cache(maxsize=10_000)
def _fits(beginning: str, languages: tuple[str, ...]) -> bool:
    """Return what ``fits`` does; cached, for a plan asks it of every answer, and scoring again."""
    if beginning.isascii():
        return _may_be_in(beginning, languages)
    letters = [char for char in beginning if char.isalpha()]
    if has_cjk(beginning):
        is_other = any(_is_kana_or_hangul(char) for char in letters)
        return "zh" in languages and not is_other
    latin = sum(map(_is_latin, letters))
    return 2 * latin >= len(letters) and _may_be_in(beginning, languages)


def _is_latin(char: str) -> bool:
    return char.isascii() or unicodedata.name(char, "").startswith("LATIN")


def _may_be_in(beginning: str, languages: Sequence[str]) -> bool:
    """Return whether a text in Latin letters may be in one of ``languages``.

    A short one may be in any, unless it has a negation of another language.
    """
    words = _LETTERS.findall(beginning.lower())
    if len(words) < _FEW_WORDS:
        return bool(languages) and _NEGATIONS.isdisjoint(words)
    if "en" not in languages:
        return False
    foreign = list(filter(_FOREIGN.__contains__, words))
    return len(foreign) <= len(list(filter(_ENGLISH.__contains__, words)))


_LETTERS: Final = re.compile(r"[^\W\d_]+")
_LOOKED_AT: Final = 200
_FEW_WORDS: Final = 6
_ENGLISH: Final = one_of(
    "the of and to in is are was were be been that this it for with on as by at from not or you "
    "your can will may must has have had an which their they its does do if but i we"
)
_FOREIGN: Final = one_of(
    "der die das und ist nicht ein eine mit den von zu im auf für sind wird es sie dem des "
    "le la les un une et est pas que de du dans pour sur par avec au aux ce cette il elle "
    "el los las y se por para con una del al como más su lo gli che di per non sono della nel "
    "o os um uma não em na da dos é com het een van niet en zijn met voor op te dat "
    "nie jest się że w z oraz och att det som inte är på ett av"
)
_NEGATIONS: Final = one_of("nicht keine kein weiß pas sais sé nie wiem não sei niet")
"""Of other languages: a short text that has one may refuse, and is no answer for certain."""


def _is_kana_or_hangul(char: str) -> bool:
    return "\u3040" <= char <= "\u30ff" or "\uac00" <= char <= "\ud7a3"


def _bare(sentence: str, *, is_line: bool) -> str:
    """Return a sentence without markup and blanks between Chinese characters; X for quotations."""
    plain = _SPACED_OUT.sub("", _plain(sentence, is_line=is_line))
    return _QUOTED.sub("X", _MARKUP.sub("", plain))


def _sentences(answer: str) -> list[str]:
    text = strip_citations(answer, _MARKERS)
    text = _SPACED_OUT.sub("", text)
    text = _QUOTED.sub("X", _MARKUP.sub("", text))
    return [sentence.strip() for sentence in split_sentences(text) if sentence.strip()]


_SPACED_OUT: Final = re.compile(r"(?<=[\u4e00-\u9fff]) +(?=[\u4e00-\u9fff])")
_MARKUP: Final = re.compile(r"\*\*|__|`|^[ \t]*(?:[-*•>]|\d+[.)])[ \t]+|^#+\s*", re.MULTILINE)
_QUOTED: Final = re.compile(
    r"\"[^\"\n]{1,300}\"|“[^”\n]{1,300}”|「[^」\n]{1,300}」|『[^』\n]{1,300}』"
)


def _said(sentence: str, rule: RefusalRule) -> Literal["refused", "partial", "answered", "beside"]:
    """Return what a sentence is; ``beside``: it says nothing to the question."""
    plain = sentence.strip(_TRIMMED)
    if _is_listed(plain, rule):
        return "refused"
    refuses = _refuser(rule.languages)
    if has_cjk(plain) and not refuses(plain):
        plain = _in_english(plain)
    if not (_may_refuse(plain) and refuses(plain)):
        return "beside" if _is_courtesy(plain) else "answered"
    # What a condition or a concession does not find is a refusal only if the rest of it is one.
    told = _CONDITION.sub(lambda found: "" if refuses(found[0]) else found[0], plain)
    told = told.strip(_TRIMMED)
    names_it = _NAMES_IT.match(told[:1].lower() + told[1:])
    if names_it and not refuses(told) and not _NO_RULE.match(told):
        return "beside"
    divided = _CONCEDED.sub(lambda it: f"{it[1]};" if refuses(it[1]) else it[0], plain)
    parts = [part.strip(_TRIMMED) for part in _clauses(divided)]
    goes_on = any(_answers(part) for part in parts if part and not refuses(part))
    return "partial" if goes_on else "refused"


def _in_english(sentence: str) -> str:
    """Return an English sentence with X for its names in Chinese, any other text as it is.

    A sentence is English if each of its parts with a name refuses, and has no other Chinese.

    >>> _in_english("The documents do not mention 王伟"), _in_english("It is 王伟, it says no more")
    ('The documents do not mention X', 'It is 王伟, it says no more')
    """
    text = " ".join(_CHINESE.sub(" X ", sentence).split())
    if any(map(_SAYS_ZH.search, _CHINESE.findall(sentence))) or _NO_ENGLISH.search(text):
        return sentence
    named = [part for part in _PARTS.split(text) if "X" in _LATIN.findall(part)]
    return text if all(map(_refuses_one_name, named)) and not has_cjk(text) else sentence


def _refuses_one_name(part: str) -> bool:
    words = _LATIN.findall(part)
    is_told = _REFUSALS["en"].search(part.lower()) is not None
    return is_told and words.count("X") == 1 and len(words) >= 4


_CHINESE: Final = re.compile("[\u4e00-\u9fff]+(?:·[\u4e00-\u9fff]+)*")
_LATIN: Final = re.compile("[A-Za-z']+")
_PARTS: Final = re.compile(
    r"[,;:—–/|→]|\s-\s|\((?=X\))|\b(?:but|and|so|whose|although|though|while|yet)\b"
)
_SAYS_ZH: Final = re.compile(
    f"{_STATES_ZH.pattern}|{_TOPIC_ZH.pattern}|[一二两三四五六七八九十百千万半]"
)
_NO_ENGLISH: Final = re.compile(
    r"[\u3000-\u303f\uff00-\uffef]|\bX (?i:the|an?|this|that|there|no|i|we|you|it)\b"
)
"""Chinese marks, and a name before the beginning of a sentence: the name ends another one."""

_TRIMMED: Final = " \t.,;:!?。，；：！？…~～-—()（）\u3000"


def _is_listed(text: str, rule: RefusalRule) -> bool:
    return _compared(text) in map(_compared, rule.also)


def _compared(text: str) -> str:
    return " ".join(text.split()).strip(f"{_TRIMMED}*").casefold()


@lru_cache(maxsize=8)
def _refuser(languages: tuple[str, ...]) -> Callable[[str], bool]:
    patterns = {name: pattern for name, pattern in _REFUSALS.items() if name in languages}

    def refuses(text: str) -> bool:
        pattern = patterns.get("zh" if has_cjk(text) else "en")
        return pattern is not None and pattern.search(text.lower()) is not None

    return refuses


def _clauses(sentence: str) -> Iterable[str]:
    return (_CLAUSES_ZH if has_cjk(sentence) else _CLAUSES_EN).split(sentence)


_CLAUSES_EN: Final = re.compile(
    r"[;:—–]|,?\s+\b(?:but|however|although|though|yet|while|whereas|except that)\b,?|\s-\s",
    re.IGNORECASE,
)
_CLAUSES_ZH: Final = re.compile(r"[，,；;：:]|但是?|不过|然而|只是(?!在)")


def _answers(clause: str) -> bool:
    """Return whether a clause beside one that refuses says something to the question."""
    if _is_courtesy(clause) or _BESIDE.search(clause):
        return False
    if has_cjk(clause):
        if _TOPIC_ZH.search(clause) or _NEGATED_ZH.search(clause):
            return False
        return len(clause) >= 3 and _STATES_ZH.search(clause) is not None
    words = clause.split()
    return len(words) >= 3 and _TOPIC_EN.search(clause) is None


def _is_courtesy(text: str) -> bool:
    return _COURTESY.match(text) is not None


def _is_beside(sentence: str, kind: str) -> bool:
    """Return whether a sentence beside a refusal only says what the documents hold, or asks."""
    return kind == "answered" and (
        _BESIDE.search(sentence) is not None or sentence.rstrip().endswith(("?", "？"))
    )
