"""Each format of documents: its headings, and what of it becomes passages."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from others_data import others_data

from pytest_rageval.questions.base import Documents

Read = Callable[..., Documents]

RETURNS = "You may send back any kettle within thirty days, unless its seal is broken by you."
COSTS = "We pay for the parcel if the kettle was faulty; otherwise the sender pays for it."
CODE = "def days_left(bought, today):\n\n    return 30 - (today - bought).days  # never below zero"
TABLE = f"{COSTS}\n   :align: left\n\n   == ==\n   1  2\n   == =="
RETURNS_ZH = "水壶自签收之日起三十天内可以退货，但封条已被拆开的除外；退款在七个工作日内原路返回。"
COSTS_ZH = "水壶有质量问题时由我们承担运费，其他情况下由寄件人自行承担，偏远地区另计，以报价为准。"


def sections(documents: Documents) -> list[tuple[str, str]]:
    """Return where each passage is, and its text."""
    return [(passage.section_path, passage.text) for passage in documents.passages]


def test_markdown_has_headings_of_both_forms_and_whole_blocks(read: Read) -> None:
    """Front matter, comments and rules are no text; the blank line in the code does not end it."""
    text = f"""---
title: "The kettle"
---
# Guide to `K2` #

<!-- Not for readers:
{COSTS} -->
{RETURNS}

Who [pays](pays.md)?
--------------------

{COSTS}

***

### In code

```python
{CODE}
# Not a heading
```
"""
    found = read({"guide.md": text})
    assert sections(found) == [
        ("Guide to K2", RETURNS),
        ("Guide to K2 > Who pays?", COSTS),
        ("Guide to K2 > Who pays? > In code", f"```python\n{CODE}\n# Not a heading\n```"),
    ]
    assert [passage.number for passage in found.passages] == [1, 2, 3]
    assert (found.read, found.left_out, found.too_short) == ({"Markdown": 1}, [], 0)


def test_the_title_in_front_matter_stands_above_lower_headings(read: Read) -> None:
    found = read({"a.mdx": f"---\ntitle: Kettles\n---\n\n## Returns\n\n{RETURNS}\n"})
    assert sections(found) == [("Kettles > Returns", RETURNS)]


@pytest.mark.parametrize(
    ("before", "heading"),
    [
        ("---\ntitle: Kettles\ntags: [a, b]\n---\n", "Kettles"),
        ("---\n# a comment\n\nlayout: page\ntags:\n- a\ntitle: 'Kettles'\n---\n\n", "Kettles"),
        ('---\r\n"title": K\r\nnote: >\r\n  Some text here.\r\n---\r\n', ""),
        ('+++\ntitle = "Kettles"\n[params]\nx = 1\n+++\n', "Kettles"),
        ("---\nlast modified: 2024-01-01\n...\n", ""),
        ("---\n标题: 水壶\n---\n", ""),
        ("---\n{title: Kettles}\n---\n", ""),
        ("---\n---\n", ""),
        ("---\n- a\n- b\n---\n", ""),
        ("<!-- toc -->\n", ""),
        ("<!-- a --> <!-- b -->  \n", ""),
        ("<!-- a\nb\n--><!-- c -->\n\n", ""),
        ("<!---\na -- b\n-->\n", ""),
        ("---\n_build:\n  list: never\n---\n", ""),
        ("---\n<<: *base\n---\n", ""),
        ("---\nog:title: K\n---\n", ""),
        ("---\n<%* tp.file.title %>\ntitle: Kettles\n---\n", "Kettles"),
        ("---\n<!-- a -->\ntitle: Kettles\n---\n", "Kettles"),
        ('---\n{\n"title": "K"\n}\n---\n', ""),
        ('---\n{"title": "K", "tags": [\n"a",\n"b"\n]}\n---\n', ""),
        ("---\ntitle: Kettles\ntags: [\na,\nb\n]\n---\n", "Kettles"),
        ('---\ntitle: Kettles\nabout: "It boils.\nTwice."\n---\n', "Kettles"),
        (
            "---\ntitle: Kettles\ntags: [\n  a\n]\nabout: >-\n  It boils.\n\n  Twice.\n---\n",
            "Kettles",
        ),
        ('+++\ntitle = "Kettles"\nabout = """\nIt boils.\n"""\n+++\n', "Kettles"),
        ("<!-- badges --><a href='a.b'><img src='a.png'></a>\n", ""),
        ("# Kettles\n\n<!-- a --><br/>\n\n## Returns\n\n", "Kettles > Returns"),
    ],
)
def test_markdown_without_what_no_reader_sees(read: Read, before: str, heading: str) -> None:
    """Front matter and comments."""
    assert sections(read({"a.md": f"{before}{RETURNS}\n"})) == [(heading, RETURNS)]


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        # A line drawn across at the beginning, as between the other parts.
        (f"---\n\n# Costs\n\n{COSTS}\n\n---\n\n# Returns\n\n{RETURNS}\n", [COSTS, RETURNS]),
        (f"---\n{COSTS_ZH}\n\n---\n{RETURNS_ZH}\n", [COSTS_ZH, RETURNS_ZH]),
        (f"---\n\n> {COSTS}\n\n---\n\n{RETURNS}\n", [COSTS, RETURNS]),
        (f"---\n\n**Costs**: {COSTS}\n\n---\n\n{RETURNS}\n", [COSTS, RETURNS]),
        (f"---\nNote: we moved.\n{COSTS}\n\n---\n{RETURNS}\n", [COSTS, RETURNS]),
        (f"---\nNote: we moved.\n\nWe open at 9:30.\n\n---\n{COSTS}\n", ["at 9:30.", COSTS]),
        # A tag that cannot be read is no front matter, and no traceback.
        (f"---\nopen: {{a: !!bool maybe,\nb}}\n\n---\n{RETURNS}\n", ["maybe", RETURNS]),
        # Behind a comment.
        (f"<!-- checked --> {COSTS}\n", [COSTS]),
        (f"<!-- a --><!-- b --> {COSTS}\n{RETURNS}\n", [COSTS, RETURNS]),
        (f"# Costs\n\n<!-- checked\nby Ann --> {COSTS}\n", [COSTS]),
        (f"<!-- checked --> {COSTS}\nReturns\n---\n\n{RETURNS}\n", [COSTS, RETURNS]),
        (f"<!-- checked --> {COSTS}\n---\n{RETURNS}\n", [COSTS, RETURNS]),
    ],
)
def test_markdown_loses_no_line_that_a_reader_sees(read: Read, text: str, lines: list[str]) -> None:
    """A question that it answers would count as one without an answer."""
    passages = read({"a.md": text}).passages
    held = "\n".join(passage.text for passage in passages)
    assert [line for line in lines if line not in held] == []
    assert "checked" not in held
    assert COSTS not in "".join(passage.section_path for passage in passages)


@pytest.mark.parametrize(
    "block",
    [
        "```\nx\n```",
        "~~~ py\n```\n~~~",
        "````md\n```\n# No heading\n```\n````",
        "```md\n> ```\n# No heading\n```",
        "- ```\n  x\n  ```",
        "| a | b |\n|---|---|\n| x | # y |\n",
        "> ```\n> x\n> ```",
        "> > ~~~\n> > x\n> > ~~~",
        "| a | b |\n|---|---|\n| x | y |",
    ],
)
def test_a_heading_behind_a_block_stands_above_its_text(read: Read, block: str) -> None:
    """Where the block ends as Markdown says, also in a quotation, and at a heading."""
    text = f"# Costs\n\n{COSTS}\n\n{block}\n# Returns\n\n{RETURNS}\n\n```\nx\n```\n"
    assert sections(read({"a.md": text})) == [
        ("Costs", f"{COSTS}\n\n{block.rstrip()}"),
        ("Returns", f"{RETURNS}\n\n```\nx\n```"),
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (f"Returns\n=======\n\n{RETURNS}\n", "Returns"),
        (f"1 Kettles\n\n1.1 Returns\n\n{RETURNS}\n", "1 Kettles > 1.1 Returns"),
        (f"第一章 售后\n第二节　退货\n{RETURNS_ZH}\n", "第一章 售后 > 第二节 退货"),
        (f"一、退货\n\n{RETURNS_ZH}\n", "一、退货"),
        (f"一、售后\n（二）退货\n{RETURNS_ZH}", "一、售后 > （二）退货"),
    ],
)
def test_a_text_has_headings_where_they_are_certain(read: Read, text: str, expected: str) -> None:
    found = read({"a.txt": text})
    assert sections(found) == [(expected, RETURNS_ZH if "退" in text else RETURNS)]


@pytest.mark.parametrize(
    "text",
    [
        f"1. Open the lid\n\n2. Fill in water\n\n{RETURNS}",
        f"一、检查封条\n二、填写表格\n三、联系客服。\n{RETURNS_ZH}",
        f"第一章 售后\n第二章 保修\n{RETURNS_ZH}".replace("第二章", "第二章的说明，", 1),
        f"2024 was a good year\n{RETURNS}",
        f"{RETURNS}\n\n一、退货",
    ],
)
def test_what_may_be_an_item_of_a_list_stays_text(read: Read, text: str) -> None:
    """So no line is lost: a heading without a text of its own is none."""
    passages = read({"a.txt": text}).passages
    held = "".join(f"{passage.section_path}{passage.text}" for passage in passages)
    wanted = text.replace("\n", "").replace(" > ", "")
    assert held.replace("\n", "").replace(" > ", "") == wanted


def test_rest_has_levels_in_the_order_of_their_signs(read: Read) -> None:
    code = CODE[:28]
    text = f"""
======
Kettle
======

.. image:: kettle.png
   :alt: {COSTS}

Returns of :ref:`kettles <k>`
*****************************

.. note:: {RETURNS}

Costs
=====

{COSTS}

.. code-block:: python

   {code}

.. A comment: {COSTS}
"""
    assert sections(read({"a.rst": text})) == [
        ("Kettle > Returns of kettles", RETURNS),
        ("Kettle > Returns of kettles > Costs", f"{COSTS}\n\n.. code-block:: python\n\n   {code}"),
    ]


@pytest.mark.parametrize(
    "block",
    [
        ".. toctree::\n   :hidden:\n   :caption: All we sell.\n\n   intro\n   All of it <costs>",
        f".. image:: a.png\n   :alt: {COSTS[:40]}\n         {COSTS}",
        f".. figure:: a.png\n   :alt: {COSTS}",
        f".. raw:: html\n\n   <p>\n   {COSTS}\n   </p>",
        f".. todo:: Ask Ann.\n\n   {COSTS}",
        f".. comment::\n\n   {COSTS}",
        f"..\n   {COSTS}",
        f".. {COSTS}\n   {COSTS}",
        f".. |K2| replace:: the kettle\n   {COSTS}",
        ".. automodule:: kettle\n   :members:\n   :undoc-members:",
        ".. index::\n   single: kettle; costs of it\n   pair: a; b",
        ".. _costs:",
        f".. meta::\n   :description: {COSTS}",
        ".. graphviz::\n\n   digraph { kettle -> costs -> returns }",
        ".. contents:: What is on this page.\n   :local:",
        ".. include:: costs.txt",
        ".. toctree::\n\n   What is it? <costs>\n   Who pays?\n   returns",
        f".. TODO::\n\n   {COSTS}",
        f".. RAW:: html\n\n   {COSTS}",
        f".. meta::\n   :description lang=en: {COSTS}\n   :property=og:title: {COSTS}",
        f".. meta::\n   :http-equiv=refresh: 5\n\n   {COSTS}",
        f".. testsetup:: *\n\n   # {COSTS}\n   import kettle",
        f".. testcleanup::\n\n   # {COSTS}",
        f".. ipython:: python\n\n   print('{COSTS}')\n   # {COSTS}",
        f".. doctest::\n\n   >>> print('It.')\n   {COSTS}",
        f".. mermaid::\n\n   graph TD\n   %% {COSTS}",
    ],
)
def test_rest_without_what_no_reader_sees(read: Read, block: str) -> None:
    """Comments, options, and directives that hold neither text nor code."""
    assert sections(read({"a.rst": f"{RETURNS}\n\n{block}\n"})) == [("", RETURNS)]


@pytest.mark.parametrize(
    ("block", "expected"),
    [
        (f".. tip::\n\n   {COSTS}", COSTS),
        (f".. Note:: {COSTS}", COSTS),
        (f".. WARNING::\n\n   {COSTS.rstrip('.')}", COSTS.rstrip(".")),
        (f".. Code-Block:: python\n\n   {CODE}", CODE),
        (f".. option:: --costs\n\n   {COSTS}", f"--costs\n\n   {COSTS}"),
        (
            f".. py:function:: costs(kettle)\n   :async:\n\n   {COSTS}\n\n   :returns: it",
            f"{COSTS}\n\n   :returns: it",
        ),
        (f".. dropdown:: Who pays?\n\n   {COSTS}", f"Who pays?\n\n   {COSTS}"),
        (f".. figure:: a.png\n   :alt: A kettle.\n\n   {COSTS}", COSTS),
        (f".. glossary::\n\n   costs\n      {COSTS}", f"costs\n      {COSTS}"),
        (f".. details::\n   {COSTS_ZH}", COSTS_ZH),
        (f".. [1] {COSTS}\n   {COSTS}", f"{COSTS}\n   {COSTS}"),
        (f".. [#who] {COSTS}", COSTS),
        (f".. note::\n\n   :who: Ann\n\n   {COSTS}", f":who: Ann\n\n   {COSTS}"),
        (f".. note::\n   :Author: {COSTS}", f":Author: {COSTS}"),
        (f".. note::\n   :warning: {COSTS}", f":warning: {COSTS}"),
        (f".. versionchanged:: 3\n   :func:`x` is new.\n   {COSTS}", f"x` is new.\n   {COSTS}"),
        (f".. tip::\n   :param x: {COSTS}", f":param x: {COSTS}"),
        (f".. hint::\n   {COSTS}\n   :class: it", f"{COSTS}\n   :class: it"),
        (f".. sidebar:: A\n   :subtitle: B\n\n   {COSTS}", f"A\n   :subtitle: B\n\n   {COSTS}"),
        (f".. code::\n   :caption: a.py\n\n   {CODE}", f":caption: a.py\n\n   {CODE}"),
        (f".. csv-table::\n   :header: a, b\n\n   {COSTS}", f":header: a, b\n\n   {COSTS}"),
        (f".. code::\n\n   :who: Ann\n   {COSTS}", f":who: Ann\n   {COSTS}"),
        (f".. math:: E = m c^2\n\n{COSTS}", f"E = m c^2\n\n{COSTS}"),
        (f".. table:: {COSTS}\n   :align: left\n\n   == ==\n   1  2\n   == ==", TABLE),
        (f".. option:: --fee\n\n   {COSTS[:-1]}", f"--fee\n\n   {COSTS[:-1]}"),
        (f".. hlist::\n   :columns: 2\n\n   * {COSTS[:-1]}", f"* {COSTS[:-1]}"),
    ],
)
def test_rest_loses_no_text_that_a_reader_sees(read: Read, block: str, expected: str) -> None:
    """In directives of any name, and in footnotes."""
    found = sections(read({"a.rst": f"Costs\n=====\n\n{block}\n"}))
    assert [(path, text[-len(expected) :]) for path, text in found] == [("Costs", expected)]


@pytest.mark.parametrize(
    ("block", "expected"),
    [
        (f".. note::\n   :class: dropdown\n   :name: who-pays\n\n   {COSTS}", COSTS),
        (f".. note::\n   :class: dropdown\n   {COSTS}", COSTS),
        (f".. tip:: {COSTS}\n   :class: dropdown", COSTS),
        (f".. code-block:: python\n   :linenos:\n   :emphasize-lines: 1,3\n\n   {CODE}", CODE),
        (f".. list-table::\n   :header-rows: 1\n\n   * - {COSTS}", f"* - {COSTS}"),
        (
            f".. csv-table::\n   :widths: 1 2\n   :header: a, b\n\n   {COSTS}",
            f":header: a, b\n\n   {COSTS}",
        ),
    ],
)
def test_options_of_a_directive_in_rest_are_no_text(read: Read, block: str, expected: str) -> None:
    """But those that a reader sees."""
    ((path, text),) = sections(read({"a.rst": f"Costs\n=====\n\n{block}\n"}))
    assert (path, text.strip()) == ("Costs", expected)


def test_html_is_what_a_reader_sees(read: Read) -> None:
    """The heading in an article's header counts; blanks are one; a table keeps its lines."""
    text = f"""<!doctype html><html><head><title>Shop | Kettle</title><style>p {{}}</style></head>
<body><nav><h2>Menu</h2>{COSTS}</nav><article><header><h1>Kettle<a href="#k">¶</a></h1>
by Ann</header>
<p>{RETURNS.replace(" ", "   ")}<script>{COSTS}</script></p>
<![endif--]><![ CDATA[{RETURNS}]]>
<h2>Costs</h2><p>{COSTS}<table><tr><th>Who<th>What<tr><td>A &amp; B<td>3&nbsp;€</table>
<pre>
{CODE}
</pre></article><footer><h3>Imprint</h3>{COSTS}</footer></body></html>"""
    assert sections(read({"a.html": text})) == [
        ("Kettle", RETURNS),
        ("Kettle > Costs", f"{COSTS}\n\nWho | What\nA & B | 3\xa0€\n\n{CODE}"),
    ]


@pytest.mark.parametrize(
    ("head", "expected"),
    [
        ("<title>Kettle</title><h2>Returns</h2>", "Kettle > Returns"),
        ("<h2>Returns</h2>", "Returns"),
        (f"<title>Shop</title><h2>Costs</h2>{COSTS}<h1>Kettle</h1>", "Kettle"),
        # A browser ends the heading, too, where its header ends.
        ("<header><h1>Kettle</header>", "Kettle"),
        ("<svg><title>Box</title></svg><h2>Returns</h2>", "Returns"),
        # What may be the name of the shop, or a menu, stands beside the title of the page.
        ("<title>Kettle</title><header><h1><div>Shop</div></h1></header>", "Kettle > Shop"),
        (
            "<title>Kettle</title><h1><button>Menu</button></h1><h2>Returns</h2>",
            "Kettle > Menu > Returns",
        ),
        (
            "<title>a.rs - source</title><h1><div>core/iter/</div>a.rs</h1>",
            "a.rs - source > core/iter/ a.rs",
        ),
        ("<title>Kettle</title><h1><a name=x></a><p>", "Kettle"),
        ("<title>Shop</title><h1>Kettle</h1><h1><div>Returns</div></h1>", "Returns"),
        ("<h1><div>Help</div><div>Kettle</div></h1><h2>Returns</h2>", "Help Kettle > Returns"),
    ],
)
def test_the_title_of_a_page_stands_in_for_its_first_heading(
    read: Read, head: str, expected: str
) -> None:
    found = sections(read({"a.htm": f"{head}{RETURNS}"}))
    assert found[-1] == (expected, RETURNS)
    assert found[:-1] == ([("Costs", COSTS)] if COSTS in head else [])


@pytest.mark.parametrize(
    ("heading", "expected"),
    [
        ("<h2>Returns<a href='#r'>#</a></h2>", ("Returns", "")),
        ("<h2><span>Returns</span> <em>now</em></h2>", ("Returns now", "")),
        ("<h2>Returns<button>Copy</button></h2>", ("Returns", "Copy\n\n")),
        ("<h2>Returns<svg><text>v</text></svg></h2>", ("Returns", "")),
        ("<h2>Returns", ("Returns", "")),
        ("<h2>Returns</h2><nav><h2><svg/>Menu</h2></nav>", ("Returns", "")),
        ("<h2>Returns</h2><h3></h3>", ("Returns", "")),
        ("<h2>Returns</h2><h3><img src=a.png></h3>", ("Returns", "")),
        ("<h2>Returns</h2><h3/>", ("Returns", "")),
        ("<h2>Returns</h2><h3><table><td>Now</table></h3>", ("Returns", "Now\n\n")),
        # Not at the beginning of the heading alone.
        ("<h2><svg class=i><title>Box</title><text>v</text></svg> Returns</h2>", ("Returns", "")),
        ("<h2><div>Returns</div></h2>", ("Returns", "")),
        ("<h2 class=accordion><button>Returns</button></h2>", ("Returns", "")),
        ("<h2><script>run()</script>Returns</h2>", ("Returns", "")),
        ("<header><h2><svg/><div>Returns</div></h2>by Ann</header>", ("Returns", "")),
        ("<h2><div class=n>1</div>Returns</h2>", ("1 Returns", "")),
        ("<h2><div>Kettle</div><div><div>Returns</div></div></h2>", ("Kettle Returns", "")),
        ("<h2><button>Copy</button>Returns</h2>", ("Copy Returns", "")),
        ("<h2>Returns</h2><h3><a name=x></a>", ("Returns", "")),
        ("<h2>Returns</h2><h3><br><p>Now</p></h3>", ("Returns", "Now\n\n")),
        ("<h2>Returns</h2><div><h3><svg/></div>", ("Returns", "")),
        ("<h2>Returns</h2><h3><div>Now</div>", ("Returns", "Now\n\n")),
        (f"<h2>Returns</h2><h3><div>{COSTS * 4}</div></h3>", ("Returns", f"{COSTS * 4}\n\n")),
    ],
)
def test_a_heading_is_one_whatever_stands_in_it(
    read: Read, heading: str, expected: tuple[str, str]
) -> None:
    """Else its text would stand under the heading of the section before."""
    page = (
        f"<title>Shop</title><h1>Kettle</h1><h2>Costs</h2><p>{COSTS}</p>{heading}<p>{RETURNS}</p>"
    )
    title, before = expected
    assert sections(read({"a.html": page})) == [
        ("Kettle > Costs", COSTS),
        (f"Kettle > {title}", f"{before}{RETURNS}"),
    ]


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ("<tr><th>A</th><th>B</th></tr><tr><td>1</td><td>2</td></tr>", "A | B\n1 | 2"),
        ("<tr><td>1<td><td>3<tr><td>4", "1 | | 3\n4"),
        ("<tr><td>1</td><td></td></tr>", "1"),
        ("<tr><td></td><td> </td></tr><tr><td> </td></tr><tr><td>1</td></tr>", "1"),
        ("<tr>\n  <td>\n1\n</td>\n  <td>2</td>\n</tr>\n<tr></tr>", "1 | 2"),
        ("<tr><td><table><tr><td>1</td></tr></table></td></tr>", "1"),
        ("<tr><td><p>1</p></td><td><p>2</p></td></tr>", "1 | 2"),
        ("<tr><td>\n <div>\n <p>1</p>\n </div></td><td><p></p></td><td>2", "1 | | 2"),
        ("<tr><th><p></p></th><th><p>A<tr><td><p>1</p></td><td><p>2</p>", "| A\n1 | 2"),
        ("<tbody><tr><td><p>a|b</p><td><p>c | d</p></tbody>", "a|b | c | d"),
        ("<caption>Prices</caption><tr><td>1</td><td>2</td></tr>", "Prices\n1 | 2"),
        ("<tr><td></td><td>1</td><td></td></tr>", "1"),
        ("<tr><td>&nbsp;</td><td>&nbsp;</td></tr><tr><td>1<td>2", "\xa0 | \xa0\n1 | 2"),
        # A blank cell keeps the others in their columns.
        ("<tr><th></th><th>A</th><th>B</th></tr><tr><td>1<td>2<td>3", "| A | B\n1 | 2 | 3"),
        ("<tr><td>&nbsp;<td>A<tr><td>1<td>2", "\xa0 | A\n1 | 2"),
        ("<tr><td>1<td>2<td>3<tr><td>\n<td> <td>4", "1 | 2 | 3\n| | 4"),
        # A cell with several lines: which of them belong together, the table does not say.
        ("<tr><td><ul><li>A<li>B</ul></td><td><ul><li>5<li>9</ul></td></tr>", "A\nB\n5\n9"),
        ("<tr><td><p>A</p></td><td><p>5</p><p>9</p></td></tr>", "A\n5\n9"),
        ("<tr><td>A</td><td>5<br>9</td><td>7</td></tr>", "A | 5\n9 | 7"),
        ("<tr><td><p>A</p></td><td><p>5<br/>9</p></td><td><p>7</p></td></tr>", "A\n5\n9\n7"),
        ("<tr><td><p>A</p></td><td><p><br/></p></td><td><p>7</p></td></tr>", "A | | 7"),
        ("<tr><td><h3>A</h3><p>is 5.</p><p>B is 9.</p></td></tr>", "A\nis 5.\nB is 9."),
        ("<tr><td><p>A</p><table><tr><td>5<td>9</table></td></tr>", "A\n5 | 9"),
    ],
)
def test_a_table_of_html_has_its_cells_in_their_columns(
    read: Read, rows: str, expected: str
) -> None:
    [(_, text)] = sections(read({"a.html": f"<p>{COSTS}</p><table>{rows}</table>"}))
    assert text == f"{COSTS}\n\n{expected}"


def test_long_cells_of_html_are_lines_to_cut_at(read: Read) -> None:
    long = [f"{letter} word " * 120 for letter in "abc"]
    table = "".join(f"<td><p>{text}</p></td>" for text in long)
    [(_, text)] = sections(read({"a.html": f"<table><tr>{table}</tr></table>"}))
    assert text.split("\n") == [text.strip() for text in long]


@pytest.mark.parametrize("name", ["a.jsonl", "a.json", "a.csv"])
def test_a_row_of_data_is_a_passage_of_the_document_that_it_names(read: Read, name: str) -> None:
    """Equal passages of one document are one; rows without a document are of the file."""
    rows = [
        {"doc_name": "Kettle", "title": "Returns", "text": RETURNS},
        {"doc_name": "Kettle", "title": "Costs", "text": COSTS},
        {"doc_name": "Kettle", "title": "Again", "text": RETURNS},
        {"doc_name": "", "title": "", "text": f"{RETURNS_ZH}{COSTS_ZH}"},
        {"doc_name": "Kettle", "title": "Short", "text": "Ask us."},
    ]
    lines = [json.dumps(row, ensure_ascii=False) for row in rows]
    text = {
        "a.jsonl": "\n".join(lines),
        "a.json": f"[{', '.join(lines)}]",
        "a.csv": "\n".join(
            ["doc_name,title,text", *(f'{r["doc_name"]},{r["title"]},"{r["text"]}"' for r in rows)]
        ),
    }[name]
    found = read({name: text})
    shown = [(one.doc_name, one.section_path, one.text, one.number) for one in found.passages]
    assert shown == [
        ("Kettle", "Returns", RETURNS, 1),
        ("Kettle", "Costs", COSTS, 2),
        (name, "", f"{RETURNS_ZH}{COSTS_ZH}", 1),
    ]
    assert (list(found.read.values()), found.too_short, found.left_out) == ([2], 1, [])


def test_rows_that_cannot_be_read_are_named_beside_the_others(read: Read) -> None:
    lines = [json.dumps({"text": RETURNS}), "{broken", json.dumps({"question": "Who?"})]
    found = read({"a.jsonl": "\n".join(lines)})
    assert [passage.text for passage in found.passages] == [RETURNS]
    (left_out,) = found.left_out
    assert left_out.name == "a.jsonl"
    assert left_out.reason.startswith("2 of 3 rows cannot be read (a.jsonl:2: not valid JSON")


def test_a_whole_document_in_a_row_is_cut_and_a_long_passage_is_not(read: Read) -> None:
    """Widths: 100 × 83 = 8,300 characters below the limit of 24,000, and three times that above."""
    long = "\n\n".join(f"{at:03} {RETURNS[:77]}" for at in range(100))
    rows = [{"doc_name": "chunk", "text": long}, {"doc_name": "whole", "text": f"{long}\n\n" * 3}]
    found = read({"a.jsonl": "\n".join(map(json.dumps, rows))})
    assert [one.text for one in found.passages if one.doc_name == "chunk"] == [long]
    assert max(len(one.text) for one in found.passages if one.doc_name == "whole") <= 1400


@pytest.mark.parametrize("name", ["clapnq/dev.jsonl", "cmrc2018/dev_800.jsonl"])
def test_passages_of_public_data_are_read_as_they_are(read: Read, name: str) -> None:
    """Every distinct context is one passage of its document, in the order of its rows."""
    rows = [json.loads(line) for line in others_data(f"data/{name}").read_bytes().splitlines()]
    made = [{"doc_name": row["doc_name"], "text": text} for row in rows for text in row["contexts"]]
    found = read({"a.jsonl": "\n".join(map(json.dumps, made))})
    expected: dict[str, dict[str, None]] = {}
    for row in made:
        expected.setdefault(row["doc_name"] or "a.jsonl", {})[row["text"].strip()] = None
    assert (found.too_short, found.left_out) == (0, [])
    assert [(one.doc_name, one.text) for one in found.passages] == [
        (document, text) for document in sorted(expected) for text in expected[document]
    ]
