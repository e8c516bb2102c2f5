"""The site of the documentation: built without a warning, whole, searched in two languages."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from functools import partial
from html.parser import HTMLParser
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, unquote, urlsplit

import pytest
from chromium import launch_chromium

if TYPE_CHECKING:
    from playwright.sync_api import Page

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.full


class Found(HTMLParser):
    """What a page names: its anchors, where its links lead, and what it loads."""

    def __init__(self, page: Path) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.language = ""
        self.feed(page.read_text("utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        self.anchors |= {given[name] for name in ("id", "name") if name in given}
        self.language = given["lang"] if tag == "html" else self.language
        if tag == "a" and "href" in given:
            self.links.append(given["href"])
        if tag == "link" and given.get("rel") in ("stylesheet", "preload", "icon"):
            self.loaded.append(given["href"])
        if "src" in given:
            self.loaded.append(given["src"])


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, whose build says nothing: a warning is an error."""
    for package in ("sphinx", "myst_parser", "pydata_sphinx_theme", "jieba"):
        pytest.importorskip(
            package, reason="`pip install --group docs` brings what builds the site"
        )
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", "-c", "docs/site"]
    built = subprocess.run(
        [*command, ".", str(folder)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONWARNINGS": "ignore"},  # jieba's own
    )
    assert built.returncode == 0, built.stderr
    return folder


@pytest.fixture(scope="session")
def pages(site: Path) -> dict[Path, Found]:
    found = (page for page in sorted(site.rglob("*.html")) if "_static" not in page.parts)
    return {page: Found(page) for page in found}


def test_every_page_of_the_documentation_is_there_and_in_the_navigation(
    site: Path, pages: dict[Path, Found]
) -> None:
    """[E24] Also the examples, README.md and CHANGELOG.md; a page forgotten is a warning, too."""
    start = site / "docs" / "README.html"
    linked = {(start.parent / link.partition("#")[0]).resolve() for link in pages[start].links}
    sources = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
    sources += (ROOT / "examples").glob("*/README.md")
    wanted = [site / path.relative_to(ROOT).with_suffix(".html") for path in sources]
    assert len(wanted) > 50
    assert [page for page in wanted if page not in linked and page != start] == []


def test_links_lead_to_pages_and_anchors_that_are_there(pages: dict[Path, Found]) -> None:
    """[E24] Those in HTML within Markdown, too, which Sphinx does not look at."""
    broken = []
    for page, found in pages.items():
        for link in [*found.links, *found.loaded]:
            parts = urlsplit(link)
            target = (page.parent / unquote(parts.path)).resolve() if parts.path else page
            if parts.scheme or page.name in ("search.html", "genindex.html"):
                continue
            anchors = pages[target].anchors if target in pages else {parts.fragment}
            if not target.exists() or (parts.fragment and unquote(parts.fragment) not in anchors):
                broken.append(f"{page.name}: {link}")
    assert broken == []


def test_nothing_is_loaded_from_elsewhere(pages: dict[Path, Found]) -> None:
    """[E24] Whoever reads is told to nobody: no font, script or picture of another server."""
    loaded = [address for found in pages.values() for address in found.loaded]
    assert len(loaded) > 100
    assert [address for address in loaded if urlsplit(address).netloc] == []


def test_chinese_pages_say_that_they_are_chinese(site: Path, pages: dict[Path, Found]) -> None:
    """[E24] Browsers choose the shapes of characters by it, and screen readers their voice."""
    languages = {page.name: pages[page].language for page in (site / "docs" / "zh").glob("*.html")}
    assert {*languages.values()} == {"zh-CN"}
    assert pages[site / "docs" / "tutorial.html"].language == "en"


@pytest.fixture(scope="session")
def browser_page(site: Path) -> Iterator[tuple[Page, str, list[str]]]:
    """A page of Chromium, the address of the site, and the problems that were seen."""
    api = pytest.importorskip("playwright.sync_api", reason="`pip install playwright`")
    handler = partial(Quiet, directory=str(site))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server, api.sync_playwright() as driver:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        browser = launch_chromium(driver)
        if browser is None:
            pytest.skip("no Chromium here: `apt-get install chromium`")
        page, problems = browser.new_page(), []
        page.set_default_timeout(10_000)
        address = f"http://127.0.0.1:{server.server_address[1]}/"
        page.on("pageerror", lambda error: problems.append(str(error)))
        page.on(
            "request",
            lambda one: one.url.startswith((address, "data:")) or problems.append(one.url),
        )
        yield page, address, problems
        browser.close()
        server.shutdown()


class Quiet(SimpleHTTPRequestHandler):
    """A server of files that prints nothing."""

    def log_message(self, *args: Any) -> None:
        """Leave the terminal to pytest."""


SEARCHED = {
    "missing scores": "Weights and missing scores",
    "--rag-where": "Command line",
    "permuting tests": "Significance",  # stemmed, as the index is
    "缺失的分数": "pytest-rageval：用 pytest 测试 RAG",
    "门禁怎样写": "教程：从第一个场景到 CI 门禁",
    "回答的阈值": "教程：从第一个场景到 CI 门禁",
    "CI门禁": "教程：从第一个场景到 CI 门禁",
    "哪一列是标准答案": "用您自己的数据生成场景",
}


@pytest.mark.parametrize("query", SEARCHED)
def test_search_finds_words_of_both_languages(
    browser_page: tuple[Page, str, list[str]], query: str
) -> None:
    """[E24] Chinese queries have no spaces: they are cut into the words of the index."""
    page, address, problems = browser_page
    page.goto(f"{address}search.html?q={quote(query)}")
    page.wait_for_selector("#search-results .search-summary:not(:empty)")
    page.wait_for_function("document.querySelector('#search-results ul.search li')")
    found = page.locator("#search-results")
    found.get_by_role("link", name=SEARCHED[query], exact=True).first.wait_for()
    assert problems == []


def test_search_finds_nothing_where_there_is_nothing(
    browser_page: tuple[Page, str, list[str]],
) -> None:
    """[E24] The words of a query are all needed, also those that jieba knows and no page has."""
    page, address, _ = browser_page
    page.goto(f"{address}search.html?q={quote('蟋蟀')}")
    page.get_by_text("did not match any documents").wait_for()
