"""What can be said of a made question without a model: its quote stands there, it stands alone."""

from __future__ import annotations

import re
import unicodedata
from functools import cache
from typing import Final, NamedTuple

from pytest_rageval.text.sentences import sentence_spans
from pytest_rageval.text.tokenize import has_cjk, split_characters

_LEAST_WORDS: Final = 3
_LEAST_CHARACTERS: Final = 4
"""Of Chinese, Japanese or Korean."""

_QUOTATION: Final = "\"'`´‘’‚‛“”„‟«»‹›「」『』〝〞〟′″＂＇"
_DASHES: Final = "-‐‑‒–—―−－"
# What is no part of the wording. Between digits a sign may be a figure's: 5'10, 2*3.
_MARKS: Final = re.compile(
    rf"(?<!\d)[{_QUOTATION}]+|[{_QUOTATION}]+(?!\d)"
    r"|(?<![\s\d])\*+|\*+(?![\s\d])|(?<![^\W_])_+|_+(?![^\W_])|~~"
    r"|^[ \t]*(?:>[ \t]?|#{1,6}[ \t]+|[-*+•][ \t]+)+"
    r"|!?\[(?=[^\[\]\n]*\]\()|(?<=[^\s\[])\]\([^()\s]*\)"
    r"|\\(?=[!-/:-@\[-`{-~])",
    re.MULTILINE,
)

# The end of a line is the end of a sentence to sentence_spans, and not in wrapped texts.
_WRAPPED: Final = re.compile(r"(?<=[^\n]{60})\n(?=[ \t]*[^\W\d_])|(?<=[^\n])\n(?=[ \t]*[a-z])")


class _Folded(NamedTuple):
    """A text in which equal wordings are equal, and where each of its characters comes from."""

    text: str
    places: list[int]


def find_quote(quote: str, text: str) -> str | None:
    """Return the whole sentences of ``text`` in which ``quote`` stands, or None if it does not.

    It stands there verbatim, but for white space, the width of characters, quotation marks,
    dashes, the marks of Markdown, full stops at its ends and the case of its first letter. What is
    left out in its middle ("...") is missing. Fewer than 3 words (4 Chinese characters) are no
    quote, unless they are a whole sentence.

    >>> find_quote("costs 5 euros", "It is new. It **costs** 5 euros a month. It is red.")
    'It **costs** 5 euros a month.'
    """
    folded = _fold(text)
    wanted = _fold(quote).text.strip(".。 ")
    span = _find(wanted, folded)
    if span is None:
        return None
    start, end = folded.places[span[0]], folded.places[span[1] - 1] + 1
    inside = [one for one in _spans(text) if one[0] < end and start < one[1]]
    start, end = min([start, *(one[0] for one in inside)]), max([end, *(one[1] for one in inside)])
    grown = text[start:end]
    is_whole = len(_fold(grown).text.strip(".。 ")) == len(wanted)
    return grown if is_whole or _is_long(quote) else None


def sentences_in(text: str) -> list[str]:
    """Return the sentences of ``text`` as they stand there, also over the ends of wrapped lines."""
    return [text[start:end] for start, end in _spans(text)]


def _spans(text: str) -> list[tuple[int, int]]:
    return sentence_spans(_WRAPPED.sub(" ", text))


def _is_long(quote: str) -> bool:
    least = _LEAST_CHARACTERS if has_cjk(quote) else _LEAST_WORDS
    return len(split_characters(quote)) >= least


def _find(wanted: str, folded: _Folded) -> tuple[int, int] | None:
    """Return where the wording stands first without cutting a word or a number."""
    if not any(map(str.isalnum, wanted)):
        return None
    pattern = re.compile(f"(?i:{re.escape(wanted[0])}){re.escape(wanted[1:])}")
    at = -1
    while found := pattern.search(folded.text, at + 1):
        at = found.start()
        if not _cuts(folded.text, at) and not _cuts(folded.text, found.end()):
            return found.span()
    return None


_IN_A_WORD: Final = re.compile(r"(?<=[^\W_])(?=[^\W_])|(?<=\d)(?=[.,:/]\d)|(?<=\d[.,:/])(?=\d)")


def _cuts(text: str, at: int) -> bool:
    """Return whether a cut there goes through a word or a number."""
    return _IN_A_WORD.match(text, at) is not None and not has_cjk(text[max(0, at - 1) : at + 1])


def _fold(text: str) -> _Folded:
    """Return the text without what is no part of its wording.

    A blank stays between letters or digits, or "1 2" would be "12"; in Chinese it goes.
    """
    letters, places = [], []
    end = 0
    marks = [found.span() for found in _MARKS.finditer(text)]
    for start, after in [*marks, (len(text), len(text))]:
        for at in range(end, start):
            for letter in _folded_letter(text[at]):
                letters.append(letter)
                places.append(at)
        end = after
    return _without_blanks(letters, places)


def _without_blanks(letters: list[str], places: list[int]) -> _Folded:
    kept, kept_places = [""], [0]
    blank = -1
    for letter, at in zip(letters, places, strict=True):
        if letter == " ":
            blank = at
            continue
        if blank >= 0 and _is_latin(kept[-1]) and _is_latin(letter):
            kept.append(" ")
            kept_places.append(blank)
        if letter != "-" or kept[-1] != "-":
            kept.append(letter)
            kept_places.append(at)
        blank = -1
    return _Folded("".join(kept), kept_places[1:])


@cache
def _is_latin(letter: str) -> bool:
    return letter.isalnum() and not has_cjk(letter)


@cache
def _folded_letter(letter: str) -> str:
    """Return a letter in its normal width, without what is not seen; a power stays one."""
    if letter in _DASHES:
        return "-"
    if letter.isspace():
        return " "
    if unicodedata.category(letter) == "Cf":
        return ""
    if unicodedata.decomposition(letter).startswith(("<super>", "<sub>")):
        return letter
    return unicodedata.normalize("NFKD", letter)


def why_not_alone(question: str) -> str:
    """Return the words of ``question`` that cannot be understood without the passage, or "".

    Only what is certain is found: "according to the passage", "根据上文", and a pronoun or "this
    company" where nothing before it in the question can be what it means. English and Chinese.

    >>> why_not_alone("When was it founded?")
    'it'
    """
    text = " ".join(unicodedata.normalize("NFKC", question).split())
    patterns = _CHINESE if has_cjk(text) else _ENGLISH
    found = (pattern.search(text) for pattern in patterns)
    return next((one["words"].strip(" ,") for one in found if one), "")


def _patterns(*patterns: str) -> tuple[re.Pattern[str], ...]:
    return tuple(map(re.compile, patterns))


_PASSAGE: Final = r"(?:passage|excerpt|snippet|extract)s?"
_TEXT: Final = r"(?:passage|excerpt|snippet|extract|text|paragraph)s?"
_DOCUMENT: Final = r"(?:document|article|section|chapter|page|context|table|figure|story|report)s?"
# Behind these words another one may say which text is meant: "the text of the treaty".
_ENDS: Final = r"(?=\s*(?:[?.,;!]|$))"
_SAID: Final = r"(?:mentioned|described|stated|discussed|listed|shown|provided|given|explained)"
_SAYS: Final = (
    r"(?:say|think|believe|mean|argue|describe|mention|suggest|claim|recommend|state|explain)"
)
_IS: Final = r"(?:is|are|was|were)"
_DOES: Final = r"(?:does|do|did|can|could|will|would|should|may|might)"
_HAS: Final = r"(?:has|have|had)"
_ASKS: Final = (
    r"(?:who|whom|what|when|where|why|how(?: many| much| long| old| far| often)?|"
    r"(?:in |on |at )?(?:what|which) (?:year|day|date|month|century|city|country|state|place|age))"
)
# What follows an "it" that means something: "how long does it take" and "why is it called" do not.
_REAL: Final = (
    r"(?:founded|established|built|created|invented|released|published|written|located|designed|"
    r"launched|introduced|constructed|signed|completed|developed|produced|manufactured|opened|"
    r"discovered|used|made|work|contain|consist|include|support|provide|offer)"
)
_NOUN: Final = (
    r"(?:company|organi[sz]ation|product|device|person|man|woman|city|town|country|place|book|"
    r"novel|film|movie|song|album|game|event|battle|war|building|bridge|river|species|animal|"
    r"plant|method|process|system|team|player|character|policy|law|agreement|project|program|"
    r"programme|software|tool|technology|approach|theory|concept|term|study|region|area)s?"
)
_ENGLISH: Final = _patterns(
    rf"(?i)\b(?P<words>(?:this|the (?:above|given|provided|following|preceding)) {_TEXT})\b"
    r"(?!\s*[:\"'])",
    rf"(?i)\b(?P<words>(?:according to|based on) the {_TEXT}){_ENDS}",
    rf"(?i)\b(?P<words>(?:in|from|by) the {_PASSAGE}){_ENDS}",
    rf"(?i)\b(?P<words>(?:according to|based on) (?:the|this|these) (?:given |provided )?"
    rf"{_DOCUMENT}(?: above)?){_ENDS}",
    rf"(?i)\b(?P<words>(?:in|from|of|by) (?:this|these) {_DOCUMENT}(?: above)?){_ENDS}",
    rf"(?i)\b(?P<words>(?:the|this) (?:{_TEXT}|{_DOCUMENT}) (?:above|below))\b"
    r"(?! (?:the|a|it|all)\b)",
    rf"(?i)\b(?P<words>{_SAID} (?:above|below|earlier|here)){_ENDS}",
    rf"(?i)^(?:what|who|which) {_IS} the [^?]*\b(?P<words>mentioned){_ENDS}",
    rf"(?i)\b(?P<words>as {_SAID}){_ENDS}",
    rf"(?i)^{_ASKS} {_DOES} (?P<words>the (?:author|writer|narrator|passage|text)) {_SAYS}\b"
    r"(?!.* in )",
    r"(?i)^(?P<words>according to the (?:author|writer|narrator)),",
    # "When was it founded", but not "Why is it written that ...".
    rf"(?i)^{_ASKS} (?:{_IS}|{_DOES}|{_HAS})(?: first)? (?P<words>it) (?:first )?{_REAL}\b"
    r"(?! \d)(?!.* (?:that|to|if|how|why|whether)\b)",
    rf"(?i)^(?:who|what|where) {_IS} (?P<words>it|he|she|they)\W*$",
    rf"(?i)^{_ASKS} (?:{_IS}|{_DOES}|{_HAS}) (?P<words>he|she)\b(?! on\b)",
    # Without "who had": who it is has the pronoun's meaning.
    rf"(?i)^(?:{_ASKS} {_IS}|(?:what|when|where|why|how) {_DOES}) (?P<words>its|his|her|their) "
    r"(?!a\b|own\b)",
    # "Where do they live", but not "where do they speak Portuguese".
    rf"(?i)^{_ASKS} {_DOES} (?P<words>they) \w+(?: (?:in|on|at|by|for|to|from|with|about))?\W*$",
    r"(?i)^(?:who|what) [a-z]+(?: to)? (?P<words>it|him|them|her)\W*$",
    # Nothing before it is a name, or a clause that it could mean.
    rf"^(?:Who|What|When|Where|Why|How|Which) "
    rf"(?:(?!(?:a|an|and|or|if|when|that|while|because|but|as|than) )[a-z]+ ){{0,6}}?"
    rf"(?P<words>(?:this|these) (?:{_NOUN}|{_DOCUMENT}))\b(?! (?:called|named|[A-Z\"']))",
)

_ACCORDING_ZH: Final = r"(?:根据|依据|按照|结合|参考|在|从|据)"
_PASSAGE_ZH: Final = (
    r"(?:文字|文章|文本|材料|资料|话|内容|段落|描述|短文|文段|对话|新闻|报道|文档|段)"
)
# "本文件" and "该文化" are other words.
_THIS_ZH: Final = r"(?:[本该此]文(?![件化明学字体物献艺书]))"
_NO_TITLE_ZH: Final = r"^[^《“「『\"]*?"
_START_ZH: Final = (
    r"^(?:请问|那么|是|为什么|为何|何时|什么时候|哪一?年|谁|哪里|怎么|如何|在|[,\s])*?"
)
_NOUN_ZH: Final = (
    r"(?:国|市|县|省|镇|村|校|片|剧|书|站|院|团|队|线|桥|寺|庙|馆|曲|病|机构|频道|动画|教堂|游戏|公司|"
    r"组织|电影|小说|作品|人物|角色|地区|建筑|学校|大学|歌曲|专辑|节目|车站|物种|植物|动物|产品|系统|"
    r"项目|方法|理论|条约|杂志|乐队|比赛|赛事|现象|技术)"
)
_CHINESE: Final = _patterns(
    r"(?P<words>(?:根据|依据|按照|结合|参考|如|在)?(?:上文|前文|下文))",
    # Not where the question itself has the text: 《...》这篇文章.
    rf"{_NO_TITLE_ZH}(?P<words>{_ACCORDING_ZH}?(?:上述|以上)(?:{_PASSAGE_ZH}|中|,))",
    rf"{_NO_TITLE_ZH}(?P<words>{_ACCORDING_ZH}?[这该本此上](?:一)?[段篇则份](?:中的)?{_PASSAGE_ZH})",
    rf"(?P<words>(?:根据|依据|按照)(?:以上|所给|给定|给出的|提供的|下列|下面的)?{_PASSAGE_ZH})"
    r"(?=[,:?]|$|中|里|可知|所述|回答)",
    rf"{_NO_TITLE_ZH}(?P<words>{_ACCORDING_ZH}(?:文中|{_THIS_ZH}))",
    rf"^(?P<words>文中|{_THIS_ZH})",
    r"^(?P<words>作者(?:认为|指出|觉得|提到|说|是如何|是怎么|为什么))",
    rf"{_START_ZH}(?P<words>他们|她们|它们|他(?![信乡汀加人杀山国律达们])|她|它)(?![^?]*[,。])",
    rf"{_START_ZH}(?P<words>其(?![他它实中余次间一二三乐貌]))(?![^?]*[,。])",
    rf"(?:{_START_ZH}|^谁[\u4e00-\u9fff]{{1,3}}了)(?P<words>[该此](?P<noun>{_NOUN_ZH}))(?!.*(?P=noun))",
    rf"{_START_ZH}(?P<words>这[家座部位名款首本场项条栋支只艘届所张次种])(?=[\u4e00-\u9fff])",
)
