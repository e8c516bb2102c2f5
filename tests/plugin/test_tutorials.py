"""E24: pages to follow are true to the last figure, and the Chinese ones follow the English."""

from __future__ import annotations

import hashlib
import posixpath
import re
from itertools import zip_longest
from pathlib import Path, PurePosixPath

import pytest

ROOT = Path(__file__).parents[2]
# A heading, or a fenced block with its word.
PARTS = re.compile(r"^(?:(#+) [^\n]+|```(\w*)\n.*?^```)$", re.MULTILINE | re.DOTALL)
BLOCKS = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
# The sample whose answer a page mends, and how many outputs and commands it shows.
FOLLOWED = [
    ("docs/tutorial.md", "refund-fee", 5),
    ("docs/zh/tutorial.md", "退款手续费", 5),
    ("docs/how-to/coming-from-deepeval.md", "", 1),
    ("docs/how-to/coming-from-pytest-evals.md", "", 1),
    ("docs/how-to/coming-from-ragas.md", "", 1),
]
# The data that the pages about a first scenario speak of.
OWN_DATA = {
    "docs/how-to/first-scenario.md": """question,answer,expected,source
How long do refunds take?,"A refund takes five working days from the day on which we get the \
parcel.",five working days,refunds.pdf
What does a refund cost?,"There is no fee at all for a refund, whatever you have ordered.",no fee,\
refunds.pdf
Who pays for the return?,The shop pays for the parcel that you send back to us.,the shop,\
shipping.pdf
How long does shipping take?,Most of our parcels are on their way for about a week.,three days,\
shipping.pdf
""",
    "docs/zh/first-scenario.md": """问题,回答,标准答案,来源
退款多久到账？,退款申请通过后，款项会在五个工作日内退回您的账户。,五个工作日,退款.md
退款收手续费吗？,退款免费，我们不收取任何手续费。,免费,退款.md
多久能送达？,下单后三个工作日内送达。,三个工作日,配送.md
怎样查询物流？,抱歉，暂时无法回答。,短信中的单号,配送.md
""",
}
TRANSLATED = {
    "README.md": "docs/zh/README.md",
    "docs/tutorial.md": "docs/zh/tutorial.md",
    "docs/how-to/first-scenario.md": "docs/zh/first-scenario.md",
    "docs/how-to/data-formats.md": "docs/zh/data-formats.md",
    "docs/features.md": "docs/zh/features.md",
}
# Chinese pages that are shorter than the English ones, and told in their own way.
RETOLD = {
    "docs/how-to/citations-and-refusals.md": "docs/zh/citations-and-refusals.md",
    "docs/how-to/citations-claims-nuggets.md": "docs/zh/citations-claims-nuggets.md",
    "docs/how-to/coming-from.md": "docs/zh/coming-from.md",
    "docs/how-to/dbgpt-endpoint.md": "docs/zh/dbgpt-endpoint.md",
    "docs/how-to/html-report.md": "docs/zh/html-report.md",
    "docs/how-to/judge.md": "docs/zh/judge.md",
    "docs/how-to/questions-from-documents.md": "docs/zh/questions-from-documents.md",
    "docs/how-to/quality-over-a-year.md": "docs/zh/quality-over-a-year.md",
    "docs/how-to/ultrarag-pipeline.md": "docs/zh/ultrarag-pipeline.md",
    "docs/how-to/upgrade-to-0.2.md": "docs/zh/upgrade-to-0.2.md",
}
IN_CHINESE = TRANSLATED | RETOLD
CHINESE_INDEX = "docs/zh/all-pages.md"
# Figures of examples that a Chinese page does not share with the English one.
OWN_FIGURES = {"docs/tutorial.md": {".85"}, "docs/how-to/first-scenario.md": {"8"}}
# What else one could say in Chinese, and what is said.
OTHER_WORDS = dict(
    pair.split("=")
    for pair in (
        "裁判模型=裁判 评判模型=裁判 控制行=对照行 审阅=审核 评审=审核 合并请求=拉取请求 "
        "退出状态=退出码 无法决定=无法判定 关卡=门禁 变种=变体 论断=主张 阀值=阈值 提示语=提示词"
    ).split()
)
FIGURES = re.compile(r"(?<![A-Za-z0-9_.])\.?\d(?:[\d,.]*\d)?")
ENGLISH = {chinese: name for name, chinese in IN_CHINESE.items()}


def without_chance(text: str) -> str:
    """Return the lines without what differs from run to run: the run's name, and the time taken."""
    text = re.sub(r"^(run  \S+/)[\dT-]+$", r"\1", text, flags=re.MULTILINE)
    return re.sub(r"^=+ (.+) in [\d.]+s =+$", r"\1", text, flags=re.MULTILINE)


@pytest.mark.full
@pytest.mark.parametrize(("name", "sample", "shown"), FOLLOWED)
def test_page_shows_what_pytest_prints(
    name: str, sample: str, shown: int, pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    """[E24] Followed word by word: files written, lines added, the answer mended, in 80 columns."""
    monkeypatch.setenv("COLUMNS", "80")
    page = (ROOT / name).read_text("utf-8")
    scenario = re.findall(r"`([^`\n]+\.rageval\.yaml)`", page)[0]
    for word, text in BLOCKS.findall(page):
        if word == "json":
            Path("answers.jsonl").write_text(text, "utf-8")
        elif word == "yaml":
            with Path(scenario).open("w" if "name:" in text else "a", encoding="utf-8") as file:
                file.write(text)
        elif word == "text":
            if sample and text.startswith("weighted_score"):
                _mend(sample, re.findall(rf"`{sample}`\D*?`([^`]+)`", page)[0])
            printed = pytester.runpytest("-p", "no:cacheprovider").stdout.str()
            assert without_chance(text) in without_chance(printed) + "\n"
            shown -= 1
        elif word == "" and text.startswith("pytest"):
            assert pytester.runpytest(*text.split()[1:]).ret == 0
            shown -= 1
    assert shown == 0
    assert (Path(".rageval") / scenario.partition(".")[0] / "latest" / "summary.md").is_file()


@pytest.mark.full
@pytest.mark.parametrize("name", OWN_DATA)
def test_page_about_own_data_shows_what_is_printed_and_written(
    name: str, pytester: pytest.Pytester
) -> None:
    """[E22] The table, the scenario, a green run, and the function for data without answers."""
    blocks = BLOCKS.findall((ROOT / name).read_text("utf-8"))
    shown = {word: text for word, text in reversed(blocks) if word}
    init, run = blocks[0][1].splitlines()
    stem = init.partition("--rag-from=")[2].partition(".csv")[0]
    Path(f"{stem}.csv").write_text(OWN_DATA[name], "utf-8")
    assert shown["text"] == pytester.runpytest(*init.split()[1:]).stdout.str().lstrip() + "\n"
    assert shown["yaml"] == Path(f"{stem}.rageval.yaml").read_text("utf-8")
    assert pytester.runpytest(*run.split()[1:]).ret == pytest.ExitCode.OK
    gold = run.replace(stem, "gold")
    Path("gold.csv").write_text("question,expected\nWho pays?,the shop\n", "utf-8")
    pytester.runpytest("--rag-init", "--rag-from=gold.csv")
    written = Path("gold_target.py").read_text("utf-8")
    assert shown["python"].replace("asked_target", "gold_target") in written
    assert pytester.runpytest(*gold.split()[1:]).ret == pytest.ExitCode.TESTS_FAILED


def _mend(sample: str, answer: str) -> None:
    """Write another answer into the sample's line."""
    data = Path("answers.jsonl")
    lines = data.read_text("utf-8").splitlines(keepends=True)
    mended = [
        re.sub(r'("answer": )"[^"]+"', rf'\1"{answer}"', line) if f'"{sample}"' in line else line
        for line in lines
    ]
    assert mended != lines
    data.write_text("".join(mended), "utf-8")


@pytest.mark.parametrize("name", TRANSLATED)
def test_chinese_page_follows_the_english_one(name: str) -> None:
    """[E24] Headings and blocks, one by one; who changes the English is told to look here."""
    english, chinese = _pages(name)
    parts = [[part.groups() for part in PARTS.finditer(page)] for page in (english, chinese)]
    _assert_follows(name)
    assert parts[1] == parts[0]


@pytest.mark.parametrize("name", RETOLD)
def test_chinese_page_in_its_own_words_follows_the_english_one(name: str) -> None:
    """[P9] It need not have every part; each option that it names is on the English page."""
    english, chinese = _pages(name)
    _assert_follows(name)
    options = re.compile(r"--rag-[\w-]+")
    assert {*options.findall(chinese)} <= {*options.findall(english)}


@pytest.mark.parametrize("name", IN_CHINESE)
def test_figures_of_a_chinese_page_are_those_of_the_english_one(name: str) -> None:
    """[P9] Also told shorter: no figure, and no output that pytest would not print."""
    english, chinese = _pages(name)
    allowed = _figures(english) | OWN_FIGURES.get(name, set())
    assert _figures(_prose(chinese)) - allowed == set()
    if IN_CHINESE[name] not in {page for page, _, _ in FOLLOWED}:
        shown = [text for word, text in BLOCKS.findall(chinese) if word == "text"]
        assert [text for text in shown if text.isascii() and text not in english] == []


@pytest.mark.parametrize("name", IN_CHINESE)
def test_pages_in_two_languages_link_each_other(name: str) -> None:
    """[P9] Below the title, so that a reader changes the language before reading on."""
    english, chinese = _pages(name)
    assert f"\n[中文]({_from(name, IN_CHINESE[name])})\n" in english[:200]
    assert f"\n[English]({_from(IN_CHINESE[name], name)})\n" in chinese[:200]


def test_chinese_index_has_every_page_and_says_which_are_in_english_only() -> None:
    """[P9] A page that is translated loses its mark; a new English page has to be listed."""
    english, chinese = (ROOT / "docs/README.md", ROOT / CHINESE_INDEX)
    listed, marked = set(), {True: set[str](), False: set[str]()}
    for link, mark in re.findall(r"\]\(([^)]+)\)(（英文）)?", chinese.read_text("utf-8")):
        path = posixpath.normpath(posixpath.join("docs/zh", link.partition("#")[0]))
        listed.add(ENGLISH.get(path, path))
        if "#" not in link:
            marked[bool(mark)].add(path)
    assert _linked("docs/README.md", english.read_text("utf-8")) - listed == set()
    assert marked[False] == {*ENGLISH, "docs/README.md"}
    assert marked[True] & {*IN_CHINESE, *ENGLISH} == set()


@pytest.mark.parametrize(("other", "word"), OTHER_WORDS.items())
def test_chinese_has_one_word_for_a_thing(other: str, word: str) -> None:
    """[P9] Those of CONTRIBUTING.md, on the pages of the documentation and in what the app says."""
    assert word in (ROOT / "CONTRIBUTING.md").read_text("utf-8")
    places = [*ROOT.glob("docs/zh/*.md"), *ROOT.glob("pytest_rageval/**/assets/*.js")]
    assert len(places) > 40
    assert [path.name for path in places if other in path.read_text("utf-8")] == []


def _assert_follows(name: str) -> None:
    """Fail if the English page has other headings or blocks than when the Chinese was checked."""
    english, chinese = _pages(name)
    parts = "\n".join(part.group() for part in PARTS.finditer(english))
    line = f"<!-- follows {name} at {hashlib.sha256(parts.encode()).hexdigest()[:12]} -->"
    assert line in chinese, (
        f"headings or blocks of {name} changed: check {IN_CHINESE[name]}, and write\n{line}"
    )
    # A line break would be shown as a space, which Chinese does not have.
    assert re.findall(r"[\u3001-\u9fff\uff01-\uff5e]\n[\u3001-\u9fff]", _prose(chinese)) == []


@pytest.mark.parametrize("name", TRANSLATED)
def test_chinese_page_has_every_command_and_row_of_the_english_one(name: str) -> None:
    """[E24] Commands differ in names only; a list may be longer: pages about Chinese text."""
    english, chinese = _pages(name)
    english = english.replace("quickstart", "chinese")  # of the examples
    pairs = zip_longest(_commands(english), _commands(chinese), fillvalue="")
    assert [(one, other) for one, other in pairs if not _is_same(one, other)] == []
    assert _starting("|", chinese) == _starting("|", english)
    assert _starting("- ", chinese) >= _starting("- ", english)


@pytest.mark.parametrize("name", TRANSLATED)
def test_chinese_page_names_and_links_what_the_english_one_does(name: str) -> None:
    """[E24] A sentence that was forgotten mostly shows so: an option, a key, a page is missing."""
    english, chinese = map(_prose, _pages(name))
    quoted = {*re.findall(r"`([^`]+)`", chinese)}
    missing = [
        code
        for code in re.findall(r"`([^`]+)`", english.replace("\n", " "))
        if (" " not in code or "--" in code) and not any(_is_same(code, one) for one in quoted)
    ]
    assert missing == []
    assert _linked(name, english) - _linked(TRANSLATED[name], chinese) == set()


def _pages(name: str) -> list[str]:
    return [(ROOT / page).read_text("utf-8") for page in (name, IN_CHINESE[name])]


def _prose(text: str) -> str:
    return BLOCKS.sub("", text)


def _figures(page: str) -> set[str]:
    """Return the numbers of a page: 0.82 and .82 are one."""
    found = FIGURES.findall(re.sub(r"<!--.*?-->", "", page))
    return {re.sub(r"^0\.", ".", number.replace(",", "")) for number in found}


def _from(page: str, other: str) -> str:
    """Return the link from one page to another."""
    return posixpath.relpath(other, posixpath.dirname(page))


def _starting(mark: str, text: str) -> int:
    return sum(line.startswith(mark) for line in text.splitlines())


def _commands(text: str) -> list[str]:
    """Return the commands of a page, without comments."""
    lines = "".join(block for word, block in BLOCKS.findall(text) if word == "").splitlines()
    return [line.partition("#")[0].strip() for line in lines]


def _is_same(code: str, chinese: str) -> bool:
    """Return whether words are the same, but for Chinese names, which keep option and suffix."""
    pairs = [*zip_longest(code.split(), chinese.split(), fillvalue="")]
    return all(
        one == other or (not other.isascii() and _around_name(one) == _around_name(other))
        for one, other in pairs
    )


def _around_name(word: str) -> list[str]:
    return re.findall(r"^--?[\w-]+=?|\.[a-z.]+$", word)


def _linked(name: str, text: str) -> set[str]:
    """Return what a page links, from the root; a translated page by its English name alone."""
    folder = PurePosixPath(name).parent
    links = re.findall(r"\]\(([^)#][^)]*)\)", text)  # none within the page
    paths = {posixpath.normpath(folder / link) for link in links}
    same = {name: name for name in IN_CHINESE}
    translated = {**ENGLISH, **same, CHINESE_INDEX: "docs/README.md"}  # their headings differ
    return {translated.get(path.partition("#")[0], path) for path in paths}
