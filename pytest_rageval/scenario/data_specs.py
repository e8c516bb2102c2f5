"""The data of a scenario file: the rows, what a second file adds to them, and the corpus."""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    WithJsonSchema,
    field_validator,
    model_validator,
)

from pytest_rageval.errors import unknown_name
from pytest_rageval.scenario.column_names import OPPOSED
from pytest_rageval.scenario.fields import FIELD_OF, GRADE, KEY_OF
from pytest_rageval.scenario.spec import TEXT, Encoding, Megabytes, Name, Spec, Text, Whole
from pytest_rageval.scenario.yaml.tree import inline_text
from pytest_rageval.text.json_value import may_meet, parse_path

OnInvalid = Literal["fail", "skip", "xfail"]
MaxMb = Annotated[
    Megabytes | None,
    Field(
        description="a file with more, unpacked, is refused; 4096 when absent, of .json.gz, .xlsx "
        "and .parquet 64",
    ),
]


def listed(value: Any) -> Any:
    """Return the list that a single value stands for; all else as it is."""
    return [value] if isinstance(value, str | int | float) else value


_NAME = {**TEXT, "minLength": 1}
_NAMES = {"anyOf": [_NAME, {"type": "array", "items": _NAME}]}
Names = Annotated[list[Name], BeforeValidator(listed), WithJsonSchema(_NAMES)]
"""A name, or a list of them."""


def _one_character(text: str) -> str:
    """Return the delimiter; a tab may be written ``tab``, or as backslash and ``t``."""
    mark = "\t" if text in ("tab", r"\t") else text
    if len(mark) != 1 or mark.isalnum() or mark in ' "\r\n\0':
        raise ValueError(f'expected one character, for instance ";" or "|", or tab; found {text!r}')
    return mark


_ONE_CHARACTER = {"type": "string", "pattern": r'^(tab|\\t|[^A-Za-z0-9 "\r\n])$'}
Delimiter = Annotated[
    Annotated[Text, AfterValidator(_one_character), Field(json_schema_extra=_ONE_CHARACTER)] | None,
    Field(description="separates the cells of csv and tsv, for instance ';' or tab"),
]


Format = Annotated[
    Name | None,
    Field(
        description="jsonl, json, yaml, csv, tsv, xlsx, parquet, traces; by the suffix when absent"
    ),
]
TextEncoding = Annotated[Encoding, Field(description="of text formats, such as gb18030")]


def _is_path(text: str | None) -> str | None:
    if text is not None:
        parse_path(text)
    return text


RowsAt = Annotated[
    Name | None,
    AfterValidator(_is_path),
    Field(description="path to the rows in a json or yaml file, for instance data.rows"),
]


ALIASES: Final = "aliases"
"""The key of a ``key_map`` for a column of more right answers, no field."""

DIVIDED: Final = (
    *("references", ALIASES, "must_include", "must_not_include", "contexts"),
    *("reference_contexts", "retrieved_ids", "reference_ids"),
)
"""The keys of ``split``: fields with lists, whose texts a mark may divide."""


class DatasetSpec(Spec):
    """Where the rows come from and which of them are used."""

    short_form = "path"
    other_forms = ({"type": "array", "items": {"type": "object"}},)
    one_of = (("path",), ("rows",), ("qrels_path", "run_path"))

    path: Name | None = Field(None, description="the data file, relative to the scenario file")
    rows: list[Any] | None = Field(None, description="the rows themselves, in place of a path")
    format: Format = None
    key_map: dict[str, Name] = Field(
        {}, description="our field: your column; dots reach into objects, brackets into lists"
    )
    split: dict[str, Text] = Field(
        {},
        description="field with a list: the mark that divides a text of it, such as '/'",
        json_schema_extra={
            "propertyNames": {
                "enum": [*DIVIDED, *(name for name in FIELD_OF if FIELD_OF[name] in DIVIDED)]
            }
        },
    )
    other_names: bool = Field(
        True, description="whether columns are also read by the names that other tools give them"
    )
    limit: Whole = Field(
        -1,
        ge=-1,
        description="use the first rows, this many; -1 is all, 0 is refused",
        json_schema_extra={"not": {"enum": [0, "0"]}},
    )
    shuffle: bool = Field(
        False, description="random.Random(seed).shuffle of all rows, before the limit"
    )
    seed: Whole = Field(42, description="for shuffle")
    on_invalid: OnInvalid = Field(
        "fail",
        description="how a row is reported that cannot be read as a sample, unless marked"
        " skip; fail is an ERROR (x if marked xfail)",
    )
    blank_answer: Literal["missing", "empty"] = Field(
        "missing",
        description="what a blank cell in a table's column of answers is: no answer, or the "
        "empty answer",
    )
    rows_at: RowsAt = None
    reviews: Names = Field(
        [],
        description="files in which people say which rows to keep: paths, or patterns such as "
        "'questions-review*.csv', which may match nothing yet",
    )
    merge_rows: Name | None = Field(
        None,
        description="column: rows with the same value are one sample, whose contexts and ids "
        "become lists",
    )
    sheet: Name | None = Field(
        None, description="the sheet of a workbook; the first that is not hidden when absent"
    )
    encoding: TextEncoding = "utf-8"
    delimiter: Delimiter = None
    max_row_mb: Megabytes = Field(16.0, description="a longer row is an invalid row")
    max_mb: MaxMb = None
    qrels_path: Name | None = Field(
        None, description="TREC judgements, in place of a path; here or at the top level"
    )
    run_path: Name | None = Field(None, description="the TREC run that they judge")
    queries_path: Name | None = Field(
        None, description="the texts of the queries, with qrels_path; any data format"
    )
    missing_queries: Literal["zero", "skip", "error"] = Field(
        "zero",
        description="a judged query without results: zero scores it 0, skip skips it, error "
        "makes it an invalid row",
    )

    @model_validator(mode="before")
    @classmethod
    def _rows_short_form(cls, data: Any) -> Any:
        return {"rows": data} if isinstance(data, list) else data

    @field_validator("limit")
    @classmethod
    def _limit_is_not_zero(cls, limit: int) -> int:
        if limit == 0:
            raise ValueError("0 would run nothing; -1 means all rows")
        return limit

    @field_validator("key_map")
    @classmethod
    def _key_map_names_fields(cls, key_map: dict[str, str]) -> dict[str, str]:
        fields: dict[str, str] = {}
        for name, column in key_map.items():
            if name in (GRADE, ALIASES):
                fields[name] = column
                continue
            if name not in KEY_OF:
                if column in FIELD_OF:
                    raise ValueError(
                        f"{name!r} is no field, and {column!r} is one: our field is the key "
                        "(left), your column the value (right). "
                        f"Write {{{column}: {inline_text(name)}}}"
                    )
                raise ValueError(unknown_name("field", name, KEY_OF))
            if KEY_OF[name] in fields:
                raise ValueError(f"{name!r} is a second name of {KEY_OF[name]!r}; keep one")
            fields[KEY_OF[name]] = column
        for given, right in (*OPPOSED, ("answer", ALIASES)):
            if given in fields and right in fields and may_meet(fields[given], fields[right]):
                raise ValueError(
                    f"gives the column {fields[given]!r} to {given!r} and to {right!r}: compared "
                    "with itself it is always right; name another column for one of them"
                )
        return fields

    @field_validator("split")
    @classmethod
    def _split_divides_lists(cls, split: dict[str, str]) -> dict[str, str]:
        marks: dict[str, str] = {}
        for name, mark in split.items():
            field = FIELD_OF.get(name, name)
            if field not in DIVIDED:
                raise ValueError(
                    f"{name!r} is no field with a list that can be divided: "
                    f"expected {', '.join(DIVIDED)}"
                )
            if not mark.strip(" "):
                raise ValueError(f"the mark of {name!r} is blank; write for instance '/' or ' or '")
            if field in marks:
                raise ValueError(f"{name!r} is a second name of {field!r}; keep one")
            marks[field] = mark
        return marks

    @model_validator(mode="after")
    def _has_one_source(self) -> DatasetSpec:
        if (self.qrels_path is None) != (self.run_path is None):
            raise ValueError("'qrels_path' and 'run_path' go together")
        if self.queries_path is not None and self.qrels_path is None:
            raise ValueError("'queries_path' is for 'qrels_path'; rows have their own question")
        sources = (self.path, self.rows, self.qrels_path)
        if sum(source is not None for source in sources) != 1:
            raise ValueError("give either 'path' or 'rows', or 'qrels_path' and 'run_path'")
        if self.rows_at is not None and self.path is None:
            raise ValueError("'rows_at' is where the rows are in the file that 'path' names")
        if self.merge_rows is not None and self.qrels_path is not None:
            raise ValueError("'merge_rows' is for 'path' and 'rows', not for TREC files")
        if self.reviews and self.qrels_path is not None:
            raise ValueError("'reviews' are of rows ('path' or 'rows'), not of TREC files")
        return self


class CorpusSpec(Spec):
    """The chunks of the knowledge base, each with its ``doc_name``; any data format."""

    short_form = "path"

    path: Name = Field(description="the data file")
    format: Format = None
    rows_at: RowsAt = None
    encoding: TextEncoding = "utf-8"
    delimiter: Delimiter = None
    max_mb: MaxMb = None


class AnswersSpec(Spec):
    """A second data file, of any format; its columns are added to the rows by a key."""

    short_form = "path"

    path: Name = Field(description="the second data file, of any format")
    key: Name = Field(
        "id", description="the column where both files meet; without it that of the ids"
    )
    prefix: Text = Field(
        "", description="put before the names of its columns, to tell them from the data set's"
    )
    merge_rows: bool = Field(False, description="its rows with the same key are one")
    extra_rows: Literal["error", "ignore"] = Field(
        "error", description="what a row that the data set lacks is"
    )
    format: Format = None
    rows_at: RowsAt = None
    encoding: TextEncoding = "utf-8"
    delimiter: Delimiter = None
    max_mb: MaxMb = None
