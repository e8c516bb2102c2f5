"""E26: quotes that stand in a text, and questions that stand on their own."""

from __future__ import annotations

import gzip
import json
from itertools import chain

import pytest
from others_data import others_data
from within_a_minute import within_a_minute

from pytest_rageval.questions.rules import find_quote, why_not_alone
from pytest_rageval.text.sentences import counts_as_sentence

TEXT = """# The tower
He said: “It is a ``1.5 mm – thick’’ plate.” It **costs** 5 euros
a month. See [the guide](https://example.org/a_(b)) for 10² _more_ things!
- one item of the list
- max_size: 2 * 3
「高三百米」，由甲公司建造。它在Ｂ城！
"""


@pytest.mark.parametrize(
    ("quote", "found"),
    [
        ("It **costs** 5 euros\na month.", "It **costs** 5 euros\na month."),
        ("It costs 5 euros a month", "It **costs** 5 euros\na month."),
        ("it costs 5 euros  a month...", "It **costs** 5 euros\na month."),
        ("“costs 5 euros”", "It **costs** 5 euros\na month."),
        ("5 euros a month. See the guide", TEXT[TEXT.index("It **") : TEXT.index("\n- one")]),
        ("it is a '1.5 mm — thick' plate", "He said: “It is a ``1.5 mm – thick’’ plate.”"),
        (
            "for 10² more things",
            "See [the guide](https://example.org/a_(b)) for 10² _more_ things!",
        ),
        ("one item of the", "- one item of the list"),
        ("max_size: 2 * 3", "- max_size: 2 * 3"),
        ("The tower", "# The tower"),
        ("# The tower", "# The tower"),
        ('"高三百米",由甲公司', "「高三百米」，由甲公司建造。"),
        ("甲公司 建造", "「高三百米」，由甲公司建造。"),
        ("它在B城", "它在Ｂ城！"),
    ],
)
def test_a_quote_is_found_and_grown_to_whole_sentences(quote: str, found: str) -> None:
    """White space, width, quotation marks, dashes, Markdown and the last full stop do not count."""
    assert find_quote(quote, TEXT) == found


@pytest.mark.parametrize(
    "quote",
    [
        "It costs 6 euros a month",
        "It Costs 5 euros a month",
        "It costs euros a month",
        "It costs ... a month",
        "It costs… a month",
        "a month See the guide",
        "t costs 5 euros a mon",
        "5 mm - thick plate",
        "It is a 1.",
        "for 102 more things",
        "It costs 5euros a month",
        "maxsize: 2 * 3",
        "max_size: 23",
        "5 euros",
        "tower",
        "三百米",
        "甲公司.建造",
        "",
        "...",
        "**",
    ],
)
def test_what_does_not_stand_there_is_no_quote(quote: str) -> None:
    """A word, a number, case or a sign is another, something is left out, or it is too short."""
    assert find_quote(quote, TEXT) is None


def test_a_later_place_is_found_where_the_first_cuts_a_word() -> None:
    """And a short quote counts if it is a whole sentence."""
    assert find_quote("use it now", "We reuse it now. They use it now.") == "They use it now."
    assert find_quote("It grows", "It grows slowly. Yes. It grows.") is None
    assert find_quote("It grows", "It grows. Yes.") == "It grows."
    assert find_quote("见上", "甲乙丙。见上。") == "见上。"


def test_two_dashes_are_one() -> None:
    """As they are typed."""
    assert find_quote("a plate -- a thick one", "It is a plate – a thick one.") is not None
    assert find_quote("a plate—a thick one", "It is a plate -- a thick one.") is not None


def test_a_decomposed_letter_equals_a_composed_one() -> None:
    """PDFs have both, and ligatures and soft hyphens."""
    text = "Le caf\u0065\u0301 est tr\u00e8s o\ufb03ciel au\u00adjourd'hui."
    assert find_quote("caf\u00e9 est tre\u0300s officiel aujourd’hui", text) == text


@within_a_minute()
def test_long_texts_and_odd_ones_take_no_time() -> None:
    """2,000 characters in a few milliseconds, also of signs that open something."""
    for text in (TEXT * 8, "[" * 2000, "*_~" * 700, "“" * 2000, "a1.2" * 500, "> - # " * 330):
        assert find_quote("not in there at all", text) is None
        assert find_quote(text[:1990] + "x", text) is None
        assert find_quote(text, text) in (None, text.strip())
        assert why_not_alone(text) == ""


def test_the_evidence_of_people_is_found() -> None:
    """Each sentence that annotators of ClapNQ marked; none with another letter."""
    lines = others_data("data/clapnq/dev.jsonl").read_text("utf-8").splitlines()
    for row in map(json.loads, lines):
        text = row["contexts"][0]
        for sentence in filter(counts_as_sentence, chain(*row.get("evidence_sentences") or [])):
            found = find_quote(sentence.replace("``", '"').replace(" ,", ","), text)
            assert found is not None, sentence
            assert sentence.strip(" '-") in found
            assert find_quote(sentence.replace("a", "e", 1), text) is None or "a" not in sentence


DEPENDENT = [
    ("According to the passage, what is a buffer?", "According to the passage"),
    ("What is a buffer according to the text?", "according to the text"),
    ("Based on this document, who may apply?", "Based on this document"),
    ("What is explained in this section?", "in this section"),
    ("What does this section describe?", "this section"),
    ("Which limits does the table above give?", "the table above"),
    ("Which methods are described above?", "described above"),
    ("What are the three methods mentioned?", "mentioned"),
    ("Which steps are needed, as described?", "as described"),
    ("What does the author say about whales?", "the author"),
    ("According to the author, what is a whale?", "According to the author"),
    ("Which steps does the given excerpt list?", "the given excerpt"),
    ("What is explained in the passage?", "in the passage"),
    ("Where is it?", "it"),
    ("When was it founded?", "it"),
    ("In what year was it first published?", "it"),
    ("How does it work?", "it"),
    ("Where did he die?", "he"),
    ("In which year did she win?", "she"),
    ("What is its capital?", "its"),
    ("Who is his wife?", "his"),
    ("What did they decide?", "they"),
    ("Who founded it?", "it"),
    ("What happened to him?", "him"),
    ("Who founded this company?", "this company"),
    ("What is the capital of this country?", "this country"),
    ("根据上文，什么是缓冲区？", "根据上文"),
    ("根据这段文字，水的沸点是多少？", "根据这段文字"),
    ("根据材料，水的沸点是多少？", "根据材料"),
    ("上述材料介绍了哪几种方法？", "上述材料"),
    ("文中提到了哪几种方法？", "文中"),
    ("作者在文中提到了什么？", "在文中"),
    ("本文选自哪部著作？", "本文"),
    ("作者认为缓冲区有什么用？", "作者认为"),
    ("他是什么时候出生的？", "他"),
    ("什么时候它被发现？", "它"),
    ("其代表作是什么？", "其"),
    ("该游戏的声优是谁？", "该游戏"),
    ("谁设计了该教堂？", "该教堂"),
    ("这首歌的作者是谁？", "这首"),
]

ALONE = [
    "When did it become law to wear seat belts?",
    "How long does it take to boil an egg?",
    "Why is it called Labor Day?",
    "Why is it written that water is blue?",
    "What time is it in India?",
    "What does the API do when it fails?",
    "How does a fridge work and who invented it?",
    "Who is the author of Hamlet?",
    "What does the author say about love in Hamlet?",
    "In Moby-Dick, what does the author say about whales?",
    "What does the document 'RFC 2616' define?",
    "What does the article about cats say?",
    "According to the text of the treaty, who pays?",
    "Who wrote this text: 'Call me Ishmael'?",
    "How many books are mentioned in the Bible?",
    "What is described in section 5 of RFC 2616?",
    "Which font is used in the text editor?",
    "Where do they speak Portuguese?",
    "Who sold his soul to the devil?",
    "Which country has its capital in Asia?",
    "When Einstein left Germany, where did he go?",
    "What happens when a user deletes this project?",
    "Who sings this song 'Hello'?",
    "该如何重置密码？",
    "该隐是谁？",
    "他信是哪国总理？",
    "其他国家的首都是哪里？",
    "这个世界上最高的山是什么？",
    "鲁迅《为了忘却的记念》这篇文章是为了纪念谁而写？",
    "《呐喊》中他是谁？",
    "“不困于情。”这段话是谁说的？",
    "论文中的引用格式是什么？",
    "本文件的编号规则是什么？",
    "该文化遗产在哪里？",
    "在他的作品中，鲁迅写了什么？",
    "为什么该站称作北土城站？",
    "",
]


@pytest.mark.parametrize(("question", "words"), DEPENDENT)
def test_words_that_need_the_passage_are_told(question: str, words: str) -> None:
    """With or without the question mark; white space and width do not count."""
    assert why_not_alone(question) == words
    assert why_not_alone(question.rstrip("?？")) == words
    assert why_not_alone(f" {question} ".replace("?", " ？")) == words


@pytest.mark.parametrize("question", ALONE)
def test_a_question_that_may_stand_on_its_own_is_not_flagged(question: str) -> None:
    """What is not certain is left to the judge."""
    assert why_not_alone(question) == ""


def test_questions_of_people_who_saw_no_passage_are_not_flagged() -> None:
    """All 600 of ClapNQ, which are from a search engine; also with a capital, as models write."""
    lines = others_data("data/clapnq/dev.jsonl").read_text("utf-8").splitlines()
    questions = [json.loads(line)["question"] for line in lines]
    assert len(questions) == 600
    both = [*questions, *(one[:1].upper() + one[1:] for one in questions)]
    assert [question for question in both if why_not_alone(question)] == []


def test_few_questions_of_people_who_saw_the_passage_are_flagged() -> None:
    """In CMRC 2018, 19 of 3,219; each of these needs the passage, by eye."""
    path = others_data("data/cmrc2018/original/cmrc2018_dev.json.gz")
    data = json.loads(gzip.decompress(path.read_bytes()))["data"]
    rows = (row for one in data for part in one["paragraphs"] for row in part["qas"])
    flagged = [row["question"] for row in rows if why_not_alone(row["question"])]
    assert len(flagged) == 19
    assert {"他司职什么位置？", "文中的“严重影响”指什么？", "谁设计了该教堂？"} < set(flagged)
