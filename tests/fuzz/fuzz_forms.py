"""Trees as the bytes of files and messages, and bytes with a few of them changed."""

from __future__ import annotations

import csv
import gzip
import io
import json
import random
import re
import zipfile
from collections.abc import Callable, Iterator
from decimal import Decimal
from typing import Any, Final
from xml.sax.saxutils import escape, quoteattr

import yaml
from fuzz_values import Odd, deep, digits, number

Form = Callable[[random.Random, Any], bytes]
"""Writes a tree, which may have odd values."""

_MARK: Final = "ODD{}VALUE"
ENCODINGS: Final = ("utf-16", "gb18030", "cp1252", "utf-7", "utf-8-sig", "shift_jis", "utf-8")


def json_text(tree: Any) -> str:
    """Return a tree as JSON."""
    return _filled(json.dumps, tree)


def _filled(write: Callable[[Any], str], tree: Any) -> str:
    """Return what is written of a tree, with the texts of its odd values."""
    texts: list[str] = []
    written = write(_marked(tree, texts))
    for at, text in enumerate(texts):
        mark = _MARK.format(at)
        written = written.replace(f'"{mark}"', text).replace(mark, text)
    return written


def _marked(tree: Any, texts: list[str]) -> Any:
    if isinstance(tree, int) and abs(tree) > 10**4000:
        tree = Odd(str(Decimal(tree)), tree)
    if isinstance(tree, Odd):
        texts.append(tree.text)
        return _MARK.format(len(texts) - 1)
    if isinstance(tree, dict):
        return {name: _marked(part, texts) for name, part in tree.items()}
    return [_marked(part, texts) for part in tree] if isinstance(tree, list) else tree


def as_json(_: random.Random, tree: Any) -> bytes:
    """Return a tree as JSON."""
    return json_text(tree).encode()


def as_lines(_: random.Random, tree: Any) -> bytes:
    """Return the parts of a list as JSON, one a line."""
    rows = tree if isinstance(tree, list) else [tree]
    return "".join(f"{json_text(row)}\n" for row in rows).encode()


def as_yaml(chance: random.Random, tree: Any) -> bytes:
    """Return a tree as YAML, which JSON is, too."""
    if chance.random() < 0.5:
        try:
            return _filled(_dumped, tree).encode()
        except (yaml.YAMLError, UnicodeError):
            pass
    return json_text(tree).encode()


def _dumped(tree: Any) -> str:
    return str(
        yaml.dump(tree, Dumper=getattr(yaml, "CSafeDumper", yaml.SafeDumper), allow_unicode=True)
    )


def as_sets(_: random.Random, tree: Any) -> bytes:
    """Return a mapping of paths and values as lines for ``--rag-set``."""
    changes = tree if isinstance(tree, dict) else {"metrics": tree}
    lines = (f"{name}={json_text(part)}" for name, part in changes.items())
    return "\n".join(lines).encode("utf-8", "surrogatepass")


def as_csv(chance: random.Random, tree: Any) -> bytes:
    """Return rows with commas, at times with another mark."""
    return _table(chance, tree, chance.choice(",,,,;|"))


def as_tsv(chance: random.Random, tree: Any) -> bytes:
    """Return rows with tabs."""
    return _table(chance, tree, "\t")


def _table(chance: random.Random, tree: Any, mark: str) -> bytes:
    names, rows = _columns(tree)
    stream = io.StringIO()
    writer = csv.writer(stream, delimiter=mark, lineterminator=chance.choice(["\n", "\r\n"]))
    writer.writerows([names, *([_cell(chance, row.get(name)) for name in names] for row in rows)])
    return stream.getvalue().encode("utf-8", "surrogatepass")


def _columns(tree: Any) -> tuple[list[str], list[dict[str, Any]]]:
    rows = [row for row in tree if isinstance(row, dict)] if isinstance(tree, list) else []
    return list(dict.fromkeys(name for row in rows for name in row)), rows


def _cell(chance: random.Random, part: Any) -> str:
    """Return a value as a cell: a text as it is, all else as JSON, or as Python writes it."""
    if part is None or isinstance(part, str):
        return part or ""
    text = json_text(part)
    return text.replace('"', "'") if chance.random() < 0.3 else text


def as_parquet(chance: random.Random, tree: Any) -> bytes:
    """Return rows as a Parquet file, lists and mappings as columns of such, or as JSON."""
    import pyarrow
    import pyarrow.parquet

    names, rows = _columns(tree)
    cells = {name: [row.get(name) for row in rows] for name in names if name.isprintable()}
    compression = chance.choice(("none", "snappy"))
    for make in (_typed, _texts):
        sink = pyarrow.BufferOutputStream()
        try:
            table = pyarrow.table({name: make(one) for name, one in cells.items()} or {"id": ["a"]})
            pyarrow.parquet.write_table(table, sink, compression=compression)
            return bytes(sink.getvalue())
        except (pyarrow.ArrowException, TypeError, ValueError, OverflowError, AttributeError):
            continue
    raise AssertionError("texts can be written")


def _typed(cells: list[Any]) -> Any:
    """Return a column as Arrow makes it of values; raises for what has no type there."""
    import pyarrow

    if any(isinstance(cell, Odd) and cell.text[0] in "[{" for cell in cells):
        return _texts(cells)
    return pyarrow.array([cell.made if isinstance(cell, Odd) else cell for cell in cells])


def _texts(cells: list[Any]) -> Any:
    import pyarrow

    texts = [one if isinstance(one, str | None) else json_text(one) for one in cells]
    return pyarrow.array(
        [None if one is None else _unicode(one) for one in texts], pyarrow.string()
    )


def _unicode(text: str) -> str:
    return text.encode("utf-8", "backslashreplace").decode()


def as_xlsx(chance: random.Random, tree: Any) -> bytes:
    """Return rows as a workbook that a spreadsheet program might have written."""
    names, rows = _columns(tree)
    lines = [names, *([row.get(name) for name in names] for row in rows)]
    sheet = "".join(f"<row>{''.join(map(_xml_cell, line))}</row>" for line in lines)
    xml = f"{_XML}<worksheet {_MAIN}><sheetData>{sheet}</sheetData></worksheet>".encode()
    if chance.random() < 0.2:
        xml = shaken(chance, xml)
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_STORED) as packed:
        for name, text in _WORKBOOK.items():
            packed.writestr(zipfile.ZipInfo(name), text)
        packed.writestr(zipfile.ZipInfo("xl/worksheets/sheet1.xml"), xml)
    return stream.getvalue()


def _xml_cell(part: Any) -> str:
    if isinstance(part, bool):
        return f'<c t="b"><v>{int(part)}</v></c>'
    text = part if isinstance(part, str) else "" if part is None else json_text(part)
    if not isinstance(part, str) and re.fullmatch(r"[-+.\deE]+|NaN|-?Infinity", text):
        return f"<c><v>{text}</v></c>"
    shown = re.sub("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]", "?", text)
    return f'<c t="inlineStr"><is><t>{escape(shown)}</t></is></c>' if text else "<c/>"


_XML: Final = '<?xml version="1.0" encoding="UTF-8"?>'
_MAIN: Final = 'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'
_OFFICE: Final = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_PACKAGE: Final = "http://schemas.openxmlformats.org/package/2006"
_SHEET_TYPE: Final = "application/vnd.openxmlformats-officedocument.spreadsheetml"


def _relations(kind: str, target: str) -> str:
    one = f'<Relationship Id="rId1" Type={quoteattr(f"{_OFFICE}/{kind}")} Target="{target}"/>'
    return f'{_XML}<Relationships xmlns="{_PACKAGE}/relationships">{one}</Relationships>'


_WORKBOOK: Final = {
    "[Content_Types].xml": (
        f'{_XML}<Types xmlns="{_PACKAGE}/content-types">'
        '<Default Extension="rels" '
        'ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
        f'<Override PartName="/xl/workbook.xml" ContentType="{_SHEET_TYPE}.sheet.main+xml"/>'
        f'<Override PartName="/xl/worksheets/sheet1.xml" ContentType="{_SHEET_TYPE}.worksheet+xml"'
        "/></Types>"
    ),
    "_rels/.rels": _relations("officeDocument", "xl/workbook.xml"),
    "xl/workbook.xml": (
        f'{_XML}<workbook {_MAIN} xmlns:r="{_OFFICE}"><sheets>'
        '<sheet name="rows" sheetId="1" r:id="rId1"/></sheets></workbook>'
    ),
    "xl/_rels/workbook.xml.rels": _relations("worksheet", "worksheets/sheet1.xml"),
}


def as_is(_: random.Random, tree: Any) -> bytes:
    """Return a text, or bytes."""
    return tree if isinstance(tree, bytes) else str(tree).encode("utf-8", "surrogatepass")


def shaken(chance: random.Random, raw: bytes) -> bytes:
    """Return bytes with a few of them changed, cut or put in."""
    made = bytearray(raw)
    for _ in range(chance.choice([1, 1, 2, 5])):
        at = chance.randrange(len(made) + 1)
        how = chance.random()
        if how < 0.35:
            made[at:at] = chance.choice(_PIECES)
        elif how < 0.5:
            made[at : at + 1] = bytes([chance.randrange(256)])
        elif how < 0.6 and at < len(made):
            made[at] ^= 1 << chance.randrange(8)
        elif how < 0.75:
            del made[at : at + chance.choice([1, 3, 20])]
        elif how < 0.85:
            del made[at:]
        else:
            made[at:at] = made[: chance.randrange(60)]
    return bytes(made)


_PIECES: Final = (
    *(b"\n", b"\r", b"\t", b": ", b"- ", b"&a ", b"*a ", b"<<: ", b"!!set ", b"{", b"]", b'"'),
    *(b"'", b"#", b"|\n", b"\x00", b"\xff\xfe", b"\xef\xbb\xbf", b"\\ud800", b"NaN", b"1e999"),
    *(b"9" * 5000, b"[" * 2000, b"{'a':" * 500, b";", b",", b"\xed\xa0\x80", b"?", b"%", b"---\n"),
)


def replaced(chance: random.Random, raw: bytes, text: str) -> bytes:
    """Return bytes with ``text`` in the place of one of their words."""
    words = list(re.finditer(rb"[^\s,;:=&\"'{}\[\]]+", raw))
    if not words:
        return raw + text.encode("utf-8", "surrogatepass")
    word = chance.choice(words)
    return raw[: word.start()] + text.encode("utf-8", "surrogatepass") + raw[word.end() :]


def odd_text(chance: random.Random, kind: str, size: int) -> str:
    """Return something nested ``size`` deep, or a number of ``size`` digits, as a text has it."""
    if kind == "depth":
        return deep(chance, size).text
    return (digits(chance, size) if chance.random() < 0.6 else number(chance)).text


def recoded(chance: random.Random, raw: bytes) -> tuple[bytes, str]:
    """Return a text in another encoding, and the name of that."""
    encoding = chance.choice(ENCODINGS)
    text = raw.decode("utf-8", "surrogatepass") if raw.isascii() else raw.decode("utf-8", "replace")
    errors = "surrogatepass" if "utf" in encoding and encoding != "utf-7" else "replace"
    return text.encode(encoding, errors), encoding


def packed(chance: random.Random, raw: bytes) -> bytes:
    """Return bytes with gzip, at times damaged."""
    made = gzip.compress(raw, 1, mtime=0)
    return shaken(chance, made) if chance.random() < 0.5 else made


def lines_of(raw: bytes) -> Iterator[str]:
    """Yield the lines of a text, whatever its bytes are."""
    yield from raw.decode("utf-8", "surrogateescape").split("\n")
