"""E24: pages to follow are true to the last figure, and the Chinese ones follow the English."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

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
TRANSLATED = {"README.md": "docs/zh/README.md", "docs/tutorial.md": "docs/zh/tutorial.md"}


def without_chance(text: str) -> str:
    """Return the lines without what differs from run to run: the run's name, and the time taken."""
    text = re.sub(r"^(run  \S+/)[\dT-]+$", r"\1", text, flags=re.MULTILINE)
    return re.sub(r"^=+ (.+) in [\d.]+s =+$", r"\1", text, flags=re.MULTILINE)


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
    chinese = (ROOT / TRANSLATED[name]).read_text("utf-8")
    parts = [*PARTS.finditer((ROOT / name).read_text("utf-8"))]
    digest = hashlib.sha256("\n".join(part.group() for part in parts).encode()).hexdigest()[:12]
    line = f"<!-- follows {name} at {digest} -->"
    assert line in chinese, (
        f"headings or blocks of {name} changed: change {TRANSLATED[name]} alike, and write\n{line}"
    )
    assert [part.groups() for part in PARTS.finditer(chinese)] == [part.groups() for part in parts]
    # A line break would be shown as a space, which Chinese does not have.
    assert re.findall(r"[\u3001-\u9fff\uff01-\uff5e]\n[\u3001-\u9fff]", chinese) == []
