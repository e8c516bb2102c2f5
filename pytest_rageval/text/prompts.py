"""Prompts: their texts, in the file ``prompts.toml`` of a package, and what is filled into them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import cache
from importlib.resources import files
from typing import Literal

from pytest_rageval.text.tokenize import has_cjk

Language = Literal["en", "zh"]
Prompt = Mapping[Language, str]


@cache
def prompts_of(package: str) -> Mapping[str, Prompt]:
    """Return the texts of a package's prompts by name."""
    import tomllib  # when a model is asked, not at every start

    return tomllib.loads(files(package).joinpath("prompts.toml").read_text(encoding="utf-8"))


def prompt_language(wanted: str, *texts: str) -> Language:
    """Return the language of a prompt; ``auto``: Chinese if ``texts`` have any such script.

    Japanese and Korean count as such. English where there is no prompt in the wanted language.

    >>> [prompt_language(one, "保修期为两年。") for one in ("auto", "zh-CN", "Chinese", "de")]
    ['zh', 'zh', 'zh', 'en']
    """
    wanted = wanted.lower()
    if wanted == "auto":
        return "zh" if has_cjk("".join(texts)) else "en"
    is_chinese = wanted.startswith(("zh", "中", "简", "繁", "汉", "漢")) or "chinese" in wanted
    return "zh" if is_chinese else "en"


def filled(template: str, parts: Mapping[str, str]) -> str:
    """Return a template with the texts of ``parts`` for their names in braces.

    Braces in these texts mean nothing, nor do others in the template. ``parts`` is not empty.

    >>> filled("{a} {b} {c}", {"a": "{b}", "b": "2"})
    '{b} 2 {c}'
    """
    return re.sub(rf"\{{({'|'.join(parts)})\}}", lambda found: parts[found[1]], template)


def tagged(tag: str, text: str) -> str:
    """Return a text between tags, each on a line of its own."""
    return f"<{tag}>\n{text}\n</{tag}>"


def free_mark(texts: Iterable[str], names: Iterable[str]) -> str:
    """Return a suffix for tags of these names that no tag in the texts has: "" or a number.

    So no text of a prompt can close its tag.

    >>> free_mark(["no tag"], ["source"]), free_mark(["</source> </source-1>"], ["source"])
    ('', '-2')
    """
    pattern = rf"[<＜]\s*[/／]?\s*(?:{'|'.join(names)})(?:-(\d{{1,9}}))?"
    taken = {found[1] for text in texts for found in re.finditer(pattern, text, re.IGNORECASE)}
    if not taken:
        return ""
    numbers = {int(number) for number in taken if number}
    return f"-{next(number for number in range(1, len(numbers) + 2) if number not in numbers)}"
