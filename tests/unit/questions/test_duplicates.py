"""E26: questions that are nearly the same as one that was asked before."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from itertools import combinations

import pytest
from others_data import others_data
from within_a_minute import within_a_minute

from pytest_rageval.questions.duplicates import _ALIKE, AskedBefore, _chrf, _highest, _pairs, _Text

REWORDED = [
    (
        "When was the Eiffel Tower completed?",
        "1889",
        "In which year was it that the Eiffel Tower was completed?",
        "In 1889",
    ),
    (
        "Who founded the Red Cross?",
        "Henry Dunant",
        "Who was the founder of the Red Cross?",
        "Henry Dunant",
    ),
    (
        "Who founded the Red Cross?",
        "Henry Dunant",
        "By whom was the Red Cross founded?",
        "Henry Dunant founded it.",
    ),
    (
        "What is the warranty period of model A100?",
        "Two years",
        "How long is the warranty of model A100?",
        "two years",
    ),
    (
        "How many people does Acme employ in Berlin?",
        "450",
        "What is the number of people Acme employs in Berlin?",
        "450 people",
    ),
    (
        "How do I reset the password of an administrator?",
        "With the command resetpw.",
        "How can the password of an administrator be reset?",
        "Run the command resetpw.",
    ),
    (
        "Which port does the server listen on by default?",
        "8080",
        "What is the default port that the server listens on?",
        "Port 8080",
    ),
    (
        "Why did the bridge at Tacoma Narrows collapse?",
        "Aeroelastic flutter caused by wind",
        "What was the reason for the collapse of the bridge at Tacoma Narrows?",
        "Wind caused aeroelastic flutter.",
    ),
    (
        "Where is the headquarters of the World Health Organization?",
        "Geneva",
        "In which city is the World Health Organization headquartered?",
        "Geneva, Switzerland",
    ),
    (
        "What are the side effects of ibuprofen?",
        "Nausea and dizziness",
        "Which side effects does ibuprofen have?",
        "nausea, dizziness",
    ),
    (
        "When must an invoice be paid?",
        "Within 30 days",
        "Within how many days must an invoice be paid?",
        "30 days",
    ),
    (
        "Who wrote the novel Moby-Dick?",
        "Herman Melville",
        "Which author wrote Moby-Dick?",
        "Melville, Herman",
    ),
    (
        "What is the capital of the province of Manitoba?",
        "Winnipeg",
        "Which city is the capital of Manitoba?",
        "Winnipeg",
    ),
    ("埃菲尔铁塔是哪一年建成的？", "1889年", "埃菲尔铁塔建成于哪一年？", "1889"),
    ("红十字会的创始人是谁？", "亨利·杜南", "红十字会是由谁创立的？", "亨利·杜南"),
    ("A100型号的保修期是多久？", "两年", "请问A100型号的保修期有多长时间？", "两年"),
    ("雅芳河的发源地在哪里？", "英格兰威尔特郡", "雅芳河发源于什么地方？", "英格兰的威尔特郡"),
    ("公司在柏林有多少名员工？", "450名", "公司在柏林的员工人数是多少？", "450"),
    ("数珠丸现藏的地点是哪里？", "本兴寺", "数珠丸现藏于哪个地方？", "日本兵库县尼崎市的本兴寺"),
    ("如何重置管理员密码？", "使用resetpw命令", "怎样重置管理员的密码？", "用resetpw命令"),
    ("服务器默认监听哪个端口？", "8080", "服务器监听的默认端口是什么？", "8080端口"),
    ("范廷颂是什么时候被任为主教的？", "1963年", "范廷颂何时被任命为主教？", "1963年"),
    ("世界卫生组织的总部设在哪个城市？", "日内瓦", "世界卫生组织总部位于哪里？", "日内瓦"),
]
"""A question and its answer, and both in other words."""

TWO = [
    (
        "When did the North Bridge open?",
        "1890",
        "In which year was it that the South Bridge opened?",
        "1890",
    ),
    (
        "How many people did Acme employ in 2019?",
        "450",
        "What is the number of people that Acme employed in 2020?",
        "450",
    ),
    ("北京地铁南站有几个出口？", "4个", "北京地铁北站有几个出口？", "4个"),
    (
        "What is the warranty of model A100?",
        "two years",
        "What is the warranty of model A200?",
        "two years",
    ),
    (
        "How many people did Acme employ in 2019?",
        "450",
        "How many people did Acme employ in 2020?",
        "450",
    ),
    (
        "Does version 1.2 of the loader read YAML?",
        "yes",
        "Does version 1.3 of the loader read YAML?",
        "yes",
    ),
    ("What is the minimum password length?", "8", "What is the maximum password length?", "8"),
    (
        "What is the minimum order for free shipping?",
        "50 euros",
        "How large is the maximum order for free shipping?",
        "50 euros",
    ),
    (
        "Who wrote the first chapter of the report?",
        "Ann Lee",
        "Who wrote the last chapter of the report?",
        "Ann Lee",
    ),
    (
        "Can users with a licence open files?",
        "yes",
        "Can users without a licence open files?",
        "yes",
    ),
    ("When was the North Bridge built?", "1890", "When was the South Bridge built?", "1890"),
    ("Does the fluxer module support TLS?", "yes", "Does the blixer module support TLS?", "yes"),
    (
        "What does the reader do with missing values?",
        "It skips them.",
        "What does the writer do with missing values?",
        "It skips them.",
    ),
    ("When was the Eiffel Tower completed?", "1889", "When was the Eiffel Tower begun?", "1887"),
    ("How tall is the Eiffel Tower?", "330 m", "How heavy is the Eiffel Tower?", "10,100 t"),
    ("What is the capital of Norway?", "Oslo", "What is the currency of Norway?", "Krone"),
    ("How is the cache enabled?", "with --cache", "How is the cache cleared?", "with --clear"),
    ("安贞门站有几个出入口？", "4个", "劲松站有几个出入口？", "4个"),
    ("米泽车站由什么公司经营？", "东日本旅客铁道", "雫石车站由哪个公司所经营？", "东日本旅客铁道"),
    ("前肛鳗以什么为食？", "小型鱼类", "高氏前肛鳗以什么为食？", "小型鱼类"),
    ("最低温度是多少？", "40", "最高温度是多少？", "40"),
    ("第一届比赛在哪里举行？", "北京", "第二届比赛在哪里举行？", "北京"),
    ("该药的成人剂量是多少？", "每日一次", "该药的儿童剂量是多少？", "每日一次"),
    ("2018年的销售额是多少？", "5亿", "2019年的销售额是多少？", "5亿"),
    ("《呐喊》的作者是谁？", "鲁迅", "《彷徨》的作者是谁？", "鲁迅"),
    ("比九号风球高一级的是什么？", "十号风球", "比一号风球高一级的叫什么？", "三号风球"),
]
"""Two questions and their answers."""

PAIR = ("question", "answer", "other", "its_answer")


def _found(question: str, answer: str, other: str, its_answer: str) -> str | None:
    asked = AskedBefore()
    asked.add("something", "Why is the sky blue?", "It scatters light.")
    asked.add("first", question, answer)
    return asked.find(other, its_answer)


@pytest.mark.parametrize(PAIR, REWORDED)
def test_a_reworded_question_is_found(
    question: str, answer: str, other: str, its_answer: str
) -> None:
    """In both orders."""
    assert _found(question, answer, other, its_answer) == "first"
    assert _found(other, its_answer, question, answer) == "first"


@pytest.mark.parametrize(PAIR, TWO)
def test_two_questions_are_two(question: str, answer: str, other: str, its_answer: str) -> None:
    """A number, a name, an opposite or one expression makes another question."""
    assert _found(question, answer, other, its_answer) is None
    assert _found(other, its_answer, question, answer) is None


@pytest.mark.parametrize(
    "again", ["who founded Ａcme", "Who founded ACME ?!", "“Who  founded Acme?”", "Whofounded-Acme"]
)
def test_the_same_wording_is_a_duplicate_whatever_the_answer(again: str) -> None:
    """One of the two answers is wrong, then."""
    assert _found("Who founded Acme?", "Ann Lee", again, "In 1999") == "first"


@pytest.mark.parametrize(
    ("answer", "its_answer"),
    [("Two years", "One month"), ("2 years", "3 years"), ("two years", ""), ("", "two years")],
)
def test_reworded_questions_with_other_answers_are_two(answer: str, its_answer: str) -> None:
    """A missing answer is not like one that is there."""
    question, other = "What is the warranty period of A100?", "How long is the warranty of A100?"
    assert _found(question, "Two years", other, "two years.") == "first"
    assert _found(question, answer, other, its_answer) is None


def test_without_answers_the_whole_wording_has_to_be_alike() -> None:
    """Nothing else tells "where" from "when"."""
    question = "When did the Acme company open its office in Berlin?"
    assert _found(question, "", "When did the company Acme open its office in Berlin?", "")
    assert not _found(question, "", "Why did Acme open its office in Berlin?", "")


def test_the_first_of_several_is_told() -> None:
    """And of the same wording, the one that was added first."""
    asked = AskedBefore()
    for row_id, question in (
        ("a", "Who runs Acme?"),
        ("b", "Who founded Acme?"),
        ("c", "Who was the founder of Acme?"),
        ("d", "who founded acme"),
    ):
        asked.add(row_id, question, "Ann Lee")
    assert asked.find("By whom was Acme founded?", "Ann Lee") == "b"
    assert asked.find("Who founded Acme", "") == "b"
    assert AskedBefore().find("Who founded Acme?", "") is None


@pytest.mark.parametrize("question", ["", "?", "Who?", "谁？"])
def test_questions_without_much_in_them_are_no_error(question: str) -> None:
    """They equal themselves."""
    assert _found(question, "", question, "") == "first"
    assert _found(question, "x", "Where is Acme?", "x") is None


def test_chrf_is_that_of_its_definition() -> None:
    """Worked by hand: abcd and abce have 3 of 4, 2 of 3, 1 of 2 and 0 of 1 n-grams in common."""
    assert _chrf("abcd", "abce") == pytest.approx((3 / 4 + 2 / 3 + 1 / 2 + 0) / 4)
    assert _chrf("ab", "abab") == pytest.approx(
        2 * 1 * (2 / 4 + 1 / 3) / 2 / (1 + (2 / 4 + 1 / 3) / 2)
    )
    assert _chrf("same", "same") == 1.0
    assert _chrf("", "ab") == _chrf("cd", "ab") == 0.0


def _cmrc() -> Iterator[tuple[str, str, str]]:
    """Yield passage, question and answer; several questions are about one passage."""
    path = others_data("data/cmrc2018/original/cmrc2018_dev.json.gz")
    data = json.loads(gzip.decompress(path.read_bytes()))["data"]
    for paragraph in (one for article in data for one in article["paragraphs"]):
        for row in paragraph["qas"]:
            yield paragraph["context"], row["question"], row["answers"][0]["text"]


def test_no_pair_is_passed_over_that_is_alike() -> None:
    """The bound by which candidates are found is not below chrF."""
    questions = [_Text(question) for _, question, _ in _cmrc()][:150]
    questions += [_Text(row[at]) for row in (*REWORDED, *TWO) for at in (0, 2)]
    alike = 0
    for one, other in combinations(questions, 2):
        chrf = _chrf(one.content, other.content)
        common = len(set(_pairs(one.content)) & set(_pairs(other.content)))
        order = 2 if one.content > "z" else 6
        assert (
            common == 0
            or chrf <= _highest(common, len(one.content), len(other.content), order) + 1e-9
        )
        assert common or chrf < _ALIKE
        alike += chrf >= _ALIKE
    assert alike > 20


def test_people_who_ask_about_one_passage_ask_no_duplicates() -> None:
    """All 3,219 questions of CMRC 2018: one pair has the same wording, about two rivers."""
    asked, found = AskedBefore(), []
    with within_a_minute():
        for number, (_, question, answer) in enumerate(_cmrc()):
            if asked.find(question, answer) is not None:
                found.append(question)
            asked.add(str(number), question, answer)
    assert number == 3218
    assert found == ["雅芳河的发源地是哪里？"]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("劲松站呈什么走向？", "请问，劲松站呈什么走向？"),
        ("为什么带电物体能吸引小纸片？", "请问，为何带电物体能吸引小纸片？"),
        ("How long is Acme's warranty?", "Can you tell me: how long is Acme's warranty, please?"),
    ],
)
def test_a_courtesy_makes_no_other_question_whatever_the_answer(one: str, other: str) -> None:
    asked = AskedBefore()
    asked.add("first", one, "南北走向")
    assert asked.find(other, "It is another answer.") == "first"
