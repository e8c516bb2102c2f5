"""The page of the web app: its words in both languages, and scripts that share one scope."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from page_data import words_of

pytest.importorskip("aiohttp")

from pytest_rageval.reports.page import assemble
from pytest_rageval.serving.web import routes

OWN = Path(routes.__file__).with_name("assets")


def scripts() -> dict[str, str]:
    shared = {name: assemble.asset(name) for name in routes.SHARED}
    return shared | {name: (OWN / name).read_text("utf-8") for name in routes.SCRIPTS}


def test_every_file_is_served() -> None:
    """[A24] What lies in the folder and is not used would be dead."""
    assert {path.name for path in OWN.iterdir()} == {*routes.SCRIPTS, "app.css", "app.html"}
    assert routes.page_files().keys() == {"app.html", "app.css", "app.js"}


def test_no_two_scripts_have_a_function_of_one_name() -> None:
    """[A24] Those of the report and the app share one scope, in which the second would win."""
    declared = r"^(?:async )?(?:function\*?|const|let|class) (\w+)"
    names = re.findall(declared, "\n".join(scripts().values()), re.MULTILINE)
    assert len(names) > 300
    assert [name for name in set(names) if names.count(name) > 1] == []


def test_every_word_that_is_said_is_there_and_the_other_way_round() -> None:
    """[A24] A key without words would break the page."""
    found = scripts()
    own = {key for key, _ in words_of(found.pop("app_words.js"))[0]}
    shared = (words_of(found[name])[0] for name in ("words.js", "variant_words.js"))
    known = own.union(*({key for key, _ in part} for part in shared))
    app = "\n".join(found[name] for name in routes.SCRIPTS if name in found)
    said = set(re.findall(r'(?:say|sayGiven|section)\(\s*"(\w+)"', app))
    assert said <= known
    begun = tuple(re.findall(r"say\(`(\w+_)\$", app))  # the rest of such a key is a name
    whole = set(re.findall(r'"(\w+)"', app)) | {"changed", "not_in_run"}
    assert [key for key in own - whole if not key.startswith(begun)] == []


def test_the_page_itself_runs_no_script_of_its_own() -> None:
    """[A24] Its policy allows files of this server alone."""
    text = (OWN / "app.html").read_text("utf-8")
    assert re.findall(r"<script[^>]*>(.*?)</script>", text, re.DOTALL) == [""]
    assert not re.search(r"<style|\sstyle=|\son\w+=", text)
    # What parses text as markup has no place in it.
    code = "\n".join(scripts().values())
    assert not re.search(r"\.(inner|outer)HTML|insertAdjacentHTML|document\.write|\beval\(", code)
