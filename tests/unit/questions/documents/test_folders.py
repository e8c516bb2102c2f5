"""Which files of a folder are read, and what is said of the others."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from within_a_minute import within_a_minute

from pytest_rageval.questions.base import Documents
from pytest_rageval.questions.documents.read import find_files, read_documents

Read = Callable[..., Documents]
TEXT = "You may send back any kettle within thirty days, unless its seal is broken by you."
ZH = "水壶自签收之日起三十天内可以退货，但封条已被拆开的除外；退款在七个工作日内原路返回。"


def names(documents: Documents) -> list[str]:
    return [passage.doc_name for passage in documents.passages]


def left_out(documents: Documents) -> dict[str, str]:
    return {file.name: file.reason for file in documents.left_out}


def test_files_are_read_by_name_and_installed_or_hidden_ones_left_alone(read: Read) -> None:
    found = read(
        {
            "b.md": TEXT,
            "a/z.MD": TEXT,
            "a.txt": TEXT,
            ".git/x.md": TEXT,
            "node_modules/y/README.md": TEXT,
            "env/pyvenv.cfg": "",
            "env/lib/x.md": TEXT,
            "logo.png": b"\x89PNG",
            "Makefile": "all:",
        }
    )
    assert names(found) == ["a.txt", "a/z.MD", "b.md"]
    assert found.read == {"Markdown": 2, "text": 1}
    reason = "no format of documents"
    assert left_out(found) == {"logo.png": reason, "Makefile": reason}


def test_one_file_may_be_named_and_a_missing_one_is_said(tmp_path: Path) -> None:
    path = tmp_path / ".hidden.md"
    path.write_text(TEXT)
    assert names(read_documents(path)) == [".hidden.md"]
    assert left_out(read_documents(tmp_path / "no")) == {"no": "no such file or folder"}


def test_files_that_are_ours_are_neither_read_nor_named(read: Read, tmp_path: Path) -> None:
    read({"a.md": TEXT, "questions.jsonl": "{}"})
    docs = tmp_path / "docs"
    found = read_documents(docs, skip=[docs / "../docs/questions.jsonl"])
    assert (names(found), found.left_out) == (["a.md"], [])


def test_links_are_followed_once_and_never_out_of_the_folder(read: Read, tmp_path: Path) -> None:
    """A mounted folder has its files under a hidden one, and links to them."""
    docs = tmp_path / "docs"
    (tmp_path / "secret.md").write_text(TEXT)
    read({"a/one.md": TEXT, ".data/two.md": TEXT})
    for name, target in {
        "loop": docs,
        "a/up": docs / "a",
        "again.md": docs / "a/one.md",
        "two.md": docs / ".data/two.md",
        "out.md": tmp_path / "secret.md",
        "up": tmp_path,
        "self": docs / "self",
        "gone.md": docs / "gone",
    }.items():
        (docs / name).symlink_to(target)
    found = read({})
    assert names(found) == ["a/one.md", "two.md"]
    assert left_out(found) == {
        "gone.md": "a symbolic link that leads nowhere",
        "out.md": "a symbolic link that leaves the folder",
        "self": "a symbolic link that leads nowhere",
        "up": "a symbolic link that leaves the folder",
    }


def test_a_folder_that_cannot_be_read_is_named(
    read: Read, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By a folder that refuses, since an administrator may read all."""
    scandir = os.scandir

    def refuse(path: Path) -> object:
        if Path(path).name == "locked":
            raise PermissionError(13, "Permission denied")
        return scandir(path)

    monkeypatch.setattr(os, "scandir", refuse)
    found = read({"locked/a.md": TEXT, "b.md": TEXT})
    assert names(found) == ["b.md"]
    assert left_out(found) == {"locked/": "a folder that cannot be read: Permission denied"}


def test_any_name_of_a_file_can_be_written(read: Read, tmp_path: Path) -> None:
    """Also one with a line end, or in another encoding."""
    read({"new\nline.md": TEXT})
    Path(os.fsdecode(os.fsencode(tmp_path / "docs") + b"/\xd6l.md")).write_text(TEXT)
    assert names(read({})) == ["\\xd6l.md", "new\nline.md"]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "gb18030"])
@pytest.mark.parametrize("name", ["a.md", "a.txt", "a.rst", "a.html"])
def test_usual_encodings_are_recognized(read: Read, name: str, encoding: str) -> None:
    found = read({name: f"{ZH}\r\n".encode(encoding)})
    assert [passage.text for passage in found.passages] == [ZH]


def test_western_letters_are_recognized_and_a_declared_encoding_counts(read: Read) -> None:
    german = "Sie können den Kessel binnen dreißig Tagen zurückgeben, außer wenn er geöffnet wurde."
    taiwan = "退貨期限為三十天，但封條已被拆開者除外。" * 2
    page = b'<meta charset="big5"><p>' + taiwan.encode("big5")
    found = read({"a.txt": german.encode("cp1252"), "b.html": page})
    assert [one.text for one in found.passages] == [german, taiwan]


@pytest.mark.parametrize(
    "declared",
    [
        "utf-16",
        "utf-16-le",
        "utf-32",
        "utf-7",
        "unicode_escape",
        "rot13",
        "hex",
        "undefined",
        "none",
    ],
)
def test_a_declared_encoding_that_cannot_be_is_no_encoding(read: Read, declared: str) -> None:
    """The page was garbage without an error, or ended in a traceback."""
    text = r"Return the kettle within 30 days, +AGE- or \u0041, if the seal is not broken at all."
    page = f'<meta charset="{declared}"><p>{text}'.encode()
    assert [one.text for one in read({"a.html": page}).passages] == [text]


# Each has a character, the last, that the declared encoding lacks by the letter, and that pages
# which declare it have all the same: browsers read the wider encoding of the second column.
WIDER = [
    ("euc-kr", "cp949", "반품 기한은 30일이며 봉인을 뜯은 상품은 환불되지 않습니다. 뷁"),
    ("windows-949", "cp949", "반품 기한은 30일이며 봉인을 뜯은 상품은 환불되지 않습니다. 뷁"),
    ("Shift_JIS", "cp932", "返品は三十日以内です。開封した商品は返金できません。㈱①"),
    ("x-sjis", "cp932", "返品は三十日以内です。開封した商品は返金できません。㈱①"),
    ("big5", "big5hkscs", "退貨期限為三十天，但封條已被拆開者除外，請放回盒子裏"),
    ("x-gbk", "gb18030", "退货期限为三十天，但封条已被拆开者除外，请放回盒子里。"),
    ("iso-8859-9", "cp1254", "İade süresi otuz gündür, mührü açılmış “ürünler” hariç."),
    ("tis-620", "cp874", "คืนสินค้าได้ภายในสามสิบวัน เว้นแต่เปิด “ตราผนึก” แล้ว"),
]


@pytest.mark.parametrize(("declared", "wider", "text"), WIDER)
def test_a_page_is_read_as_browsers_read_its_label(
    read: Read, declared: str, wider: str, text: str
) -> None:
    """The label was dropped without a word, and Korean was read as Chinese."""
    long_enough = f"{text} {text}"
    page = f'<meta charset="{declared}"><p>{long_enough}'.encode(wider)
    assert [one.text for one in read({"a.html": page}).passages] == [long_enough]


def test_a_page_that_is_not_in_what_it_declares_is_not_guessed(read: Read) -> None:
    """Cut in half, the last syllable is a byte that Korean has not; two lines stand before it."""
    korean = "반품 기한은 30일이며 봉인을 뜯은 상품은 환불되지 않습니다.".encode("cp949")
    page = b'<meta charset="euc-kr">\n<p>' + korean + b"\n\xb9 <p>"
    found = read({"a.html": page, "b.md": TEXT})
    message = "declares euc-kr, but byte 0xb9 in line 3 is not in it; save it as UTF-8"
    assert left_out(found) == {"a.html": message}


def test_a_page_that_declares_utf_8_may_still_be_guessed(read: Read) -> None:
    """Templates write it into pages that somebody then saves in the encoding of the system."""
    page = b'<meta charset="utf-8"><p>' + ZH.encode("gb18030")
    assert [one.text for one in read({"a.html": page}).passages] == [ZH]


BROKEN: dict[str, tuple[str, bytes, str]] = {
    "empty": ("a.md", b" \n\n", "empty"),
    "null": ("a.md", b"abc\0def" * 20, "binary: a null"),
    "binary": ("a.txt", bytes(range(256)) * 10, "binary: a null"),
    "half a character": ("a.md", ZH.encode()[:-1], "not UTF-8 (byte 0xe3 in line 1)"),
    "short": ("a.md", b"Hello.", "too short to ask about"),
    "headings": ("a.md", b"# Hello\n\n## World\n", "no text"),
    "large": ("a.txt", b"word " * 10 * 2**20, "larger than 16 MB"),
    "long row": (
        "a.jsonl",
        b'{"text": "' + b"word " * 10 * 2**20 + b'"}',
        "no passages in 1 row (a.jsonl:1: longer than 16 MB",
    ),
    "hidden": ("a.html", b"<nav>" * 100_000, "no text"),
    "no json": ("a.json", b"{", "not valid JSON"),
    "no rows": ("a.json", b"[]", "no rows"),
    "no passages": (
        "a.json",
        b'[{"question": "Who?"}]',
        "no passages in 1 row (a.json: row 1: no text under one of text",
    ),
    "a number": ("a.json", b"7", "expected a list of objects"),
    "a deep one": ("a.json", b"[" * 100_000, ""),
    "no table": ("a.csv", b"\0\0\0", ""),
    "a bad mark": ("a.txt", b"\xff\xfe\x00", "not utf-16"),
}  # fmt: skip


@pytest.mark.full
@pytest.mark.parametrize("case", BROKEN)
def test_what_cannot_be_read_is_named_with_its_reason(read: Read, case: str) -> None:
    name, raw, reason = BROKEN[case]
    found = read({name: raw, "sound.md": TEXT})
    assert names(found) == ["sound.md"]
    assert found.read == {"Markdown": 1}
    assert left_out(found)[name].startswith(reason)


@pytest.mark.full
def test_a_long_line_and_deep_html_are_read(read: Read) -> None:
    """3 MB in a line; 100,000 elements that are open."""
    found = read({"a.txt": TEXT * 40_000, "b.html": "<div>" * 100_000 + TEXT})
    assert names(found)[-1] == "b.html"
    assert found.passages[-1].text == TEXT


@pytest.mark.full
@pytest.mark.parametrize("unit", ["<", "<!", "<a ", "</", '<a b="', "<!--", "<![CDATA[", "<?"])
def test_broken_html_takes_no_time(read: Read, unit: str) -> None:
    """200,000 tags that never end took minutes."""
    with within_a_minute():
        found = read({"a.html": f"<p>{TEXT}</p>" + unit * 200_000})
    assert found.passages[0].text.startswith(TEXT)


class Name(str):
    """A name that counts how often any is compared."""

    times = 0

    def __radd__(self, prefix: str) -> Name:
        return Name(f"{prefix}{self}")

    def __lt__(self, other: str) -> bool:
        Name.times += 1
        return super().__lt__(other)


@pytest.mark.full
def test_many_links_are_compared_seldom(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Stores of large files put a link in place of each; all were sorted again for each.

    A heap of 2,000 has 11 levels, with two comparisons at each.
    """
    (tmp_path / "a.md").write_text("text", "utf-8")
    for number in range(2_000):
        (tmp_path / f"{number}.md").symlink_to("a.md")
    monkeypatch.setattr("pytest_rageval.questions.documents.read.plain_name", Name)
    assert list(find_files(tmp_path).files) == ["a.md"]
    assert 2_000 < Name.times < 2_000 * 11 * 2


@pytest.mark.full
def test_a_table_with_many_columns_takes_little_time(tmp_path: Path) -> None:
    """Each name was looked for among all names before it: 20,000 columns took seven seconds."""
    names = ",".join(f"c{number}" for number in range(100_000))
    (tmp_path / "a.csv").write_text(f"{names}\n" + "1," * 99_999 + "1\n", "utf-8")
    with within_a_minute():
        assert read_documents(tmp_path).passages == []
