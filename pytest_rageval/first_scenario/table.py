"""What the columns of a data file hold, and what the words of their names say."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from pathlib import Path
from statistics import median
from typing import Any, Final

from pytest_rageval.datasets.base import BrokenRow, Row
from pytest_rageval.datasets.cells import PASSAGE_KEYS, is_missing, is_nan, value_or_text
from pytest_rageval.datasets.load import data_file, reader_of
from pytest_rageval.errors import shorten
from pytest_rageval.scenario.column_names import snake_case
from pytest_rageval.scenario.data_specs import DatasetSpec
from pytest_rageval.text.json_value import LostPathError, path_in
from pytest_rageval.text.printable import one_line

_MOST_ROWS: Final = 20_000
_DEPTH: Final = 2
_FLAGS: Final = frozenset({"true", "false", "yes", "no", "ja", "nein", "si", "sí", "oui", "non"})
_WIDTH: Final = 48


@dataclass(frozen=True)
class Column:
    """A column and its filled cells; in objects, ``meta.source`` is one, too.

    ``cells`` has a cell for each row, None where it is blank; cells that spell a list are lists.
    """

    name: str
    cells: tuple[Any, ...]

    @cached_property
    def filled(self) -> tuple[Any, ...]:
        """The cells that are not blank."""
        return tuple(cell for cell in self.cells if cell is not None)

    @cached_property
    def texts(self) -> tuple[str, ...]:
        """The texts in the cells, each text of a list by itself; numbers as text."""
        return tuple(text for cell in self.filled for text in texts_in(cell))

    @cached_property
    def distinct(self) -> tuple[str, ...]:
        """The different values, in the order of the rows."""
        return tuple(dict.fromkeys(map(_as_text, self.filled)))

    @property
    def example(self) -> str:
        """The first filled cell, in one line."""
        return shorten(one_line(_as_text(self.filled[0])), _WIDTH) if self.filled else ""

    @cached_property
    def is_number(self) -> bool:
        """Whether all cells are numbers or booleans."""
        return self._mostly(lambda cell: _is_number(cell) or isinstance(cell, bool), least=1.0)

    @cached_property
    def is_flag(self) -> bool:
        """Whether nearly all cells are booleans, or say yes and no."""
        return self._mostly(_is_flag)

    @cached_property
    def is_text(self) -> bool:
        """Whether nearly all cells are texts, or lists of texts; not if all are flags."""
        return self._mostly(lambda cell: bool(texts_in(cell))) and not self.is_flag

    @cached_property
    def is_list(self) -> bool:
        """Whether nearly all cells are lists."""
        return self._mostly(lambda cell: isinstance(cell, list))

    @cached_property
    def typical_length(self) -> float:
        """The median number of characters of its texts; 0 without any."""
        return median(map(len, self.texts)) if self.texts else 0.0

    @cached_property
    def is_prose(self) -> bool:
        """Whether the typical text has several words, or is long."""
        words = median(len(text.split()) for text in self.texts) if self.texts else 0
        return words >= 4 or self.typical_length > 60

    def _mostly(self, fits: Callable[[Any], bool], least: float = 0.9) -> bool:
        return bool(self.filled) and sum(map(fits, self.filled)) >= least * len(self.filled)


@dataclass(frozen=True)
class Table:
    """The columns of a data file and how many of its rows cannot be read."""

    columns: tuple[Column, ...]
    rows: int
    broken: tuple[BrokenRow, ...]
    fields: tuple[Mapping[str, Any], ...] = ()
    """What each row that can be read has."""

    def __getitem__(self, name: str) -> Column:
        """Return a column, or what is at a path or in whole objects; blank where nothing is."""
        known = next((column for column in self.columns if column.name == name), None)
        return known or Column(name, tuple(_cell_at(row, name) for row in self.fields))


def read_table(spec: DatasetSpec, folder: Path, where: str) -> Table:
    """Return the first 20,000 rows by column; raises ScenarioError if the file cannot be read."""
    file = data_file(spec, folder, where, "dataset")
    found = list(islice(reader_of(file, where, "dataset").read(file), _MOST_ROWS))
    rows = [row for row in found if isinstance(row, Row)]
    broken = tuple(row for row in found if isinstance(row, BrokenRow))
    fields = tuple(row.fields for row in rows)
    return Table(tuple(columns_of(fields)), len(found), broken, fields)


def columns_of(rows: Iterable[Mapping[str, Any]]) -> Iterator[Column]:
    """Yield each column of the rows; an object's parts are columns of their own.

    >>> [(one.name, one.cells) for one in columns_of([{"q": "a", "meta": {"n": 1}}, {"q": " "}])]
    [('q', ('a', None)), ('meta.n', (1, None))]
    """
    flat = [dict(_flat(row)) for row in rows]
    for name in dict.fromkeys(name for row in flat for name in row):
        yield Column(name, tuple(row.get(name) for row in flat))


def _flat(row: Mapping[str, Any], before: str = "", depth: int = _DEPTH) -> Iterator[Any]:
    for key, value in row.items():
        name = f"{before}{key}"
        if isinstance(value, Mapping) and value and depth and "." not in str(key):
            yield from _flat(value, f"{name}.", depth - 1)
        else:
            yield name, _cell(value)


def _cell_at(row: Mapping[str, Any], name: str) -> Any:
    path = path_in(name)
    if path is None or name in row:
        return _cell(row.get(name))
    root = path.root or ""
    try:
        return _cell(path.pick({**row, root: _cell(row.get(root))}))
    except LostPathError:
        return None


def _cell(value: Any) -> Any:
    """Return the cell, None for a blank one; the list or object that a text spells."""
    if isinstance(value, str):
        if not value.strip() or is_nan(value):
            return None
        return value_or_text(value)
    return None if is_missing(value) or value in ([], {}) else value


def texts_in(cell: Any) -> list[str]:
    """Return the texts in a cell: a text, the texts of a list, an object's passage, a number."""
    if isinstance(cell, str):
        return [cell]
    if isinstance(cell, Mapping):
        return [str(cell[key]) for key in (*PASSAGE_KEYS, "id") if cell.get(key)][:1]
    if isinstance(cell, bool) or cell is None:
        return []
    if isinstance(cell, list | tuple):
        return [text for part in cell for text in texts_in(part)]
    return [str(cell)]


def _as_text(cell: Any) -> str:
    if isinstance(cell, str):
        return cell
    return json.dumps(cell, ensure_ascii=False, default=str)


def _is_number(cell: Any) -> bool:
    if isinstance(cell, str):
        try:
            float(cell.strip().rstrip("%").replace(",", "."))
        except ValueError:
            return False
    return isinstance(cell, str | int | float)


def _is_flag(cell: Any) -> bool:
    return isinstance(cell, bool) or (isinstance(cell, str) and cell.strip().lower() in _FLAGS)


_WORDS: Final[dict[str, str]] = {
    "question": "question query queries frage pregunta pergunta domanda quesito quesiti soru "
    "pytanie vraag вопрос запрос pertanyaan intrebare întrebare 问题 提问 提問 質問 질문 سؤال",
    "asked": "input prompt utterance request q",
    "answer": "answer response reply antwort respuesta resposta risposta reponse réponse ответ "
    "jawaban raspuns răspuns cevap odpowiedź antwoord svar a "
    "答案 回答 答复 回复 输出 响应 答え 답변 대답 output completion prediction",
    "context": "context passage chunk evidence kontext contexto contesto contexte контекст konteks "
    "excerpt snippet trecho 上下文 段落 片段 문맥 컨텍스트 paragraph",
    "id": "id ids uuid pmid url urls",
    "document": "doc docs document file source page dokument documento quelle fuente fonte "
    "文件 文档 来源 出处 документ источник sumber filename",
    "gold": "gold golden truth expected expect erwartet esperada esperado attendu atteso attesa "
    "asteptat așteptat ideal gt эталон ожидаем oczekiwan 标准 正确 期望 预期 正解 模範 정답 기대 "
    "ground groundtruth",
    "reference": "reference correct ref true referensi referencia referência riferimento référence "
    "richtig correcta correta corretto muster справочн 参考 參考 人工 best human verified",
    "relevant": "relevant relevante pertinent",
    "retrieved": "retrieved retrieval recuperado recuperada abgerufen 检索 召回",
    "given": "actual generated given bot model rag system predicted pred llm assistant chatbot "
    "produced ai gpt chatgpt claude gemini 机器 模型 系统 助手 实际 生成 预测",
    "keyword": "keyword keywords include includes contain contains must fact facts term terms "
    "value values token tokens phrase phrases 关键词",
    "pattern": "pattern patterns regex regexes regexp",
    "run": "latency elapsed duration cost runtime temperature tokens model 模型 延迟 耗时 用时",
    "must": "must include includes contain contains",
    "text": "text texts",
    "negative": "not forbidden forbid never avoid exclude excluded incorrect wrong false rejected "
    "distractor unanswerable 错误 干扰 禁止 不应 不得",
    "score": "score faithfulness relevancy relevance precision recall similarity correctness mrr "
    "ndcg rouge bleu accuracy passing groundedness hit rr rating verdict metric f1 em grade "
    "quality passed 是否 评分 得分 分数 打分 正确率 准确率 召回率 精确率 相关性 相似度 忠实",
    "about": "number no num nr type tipo style length len count by variation variant paraphrase "
    "category intent date time language lang difficulty topic reason explanation index level "
    "status latency ms feedback model_name quality hint band tolerance tool tools 标签 "
    "编号 序号 数量 长度 类型 类别 分类 难度 语言 主题 日期 时间 耗时 延迟 理由 原因 备注 反馈",
}
_EXACT_BELOW: Final = 5
"""Shorter words must be equal; longer ones may begin or end one: ``Testfrage``, ``questions``."""

_ASIAN: Final = re.compile("[\u2e80-\uffff]")

_KINDS: Final = {kind: tuple(text.split()) for kind, text in _WORDS.items()}


def kinds_of(name: str) -> frozenset[str]:
    """Return the kinds of the words in a column's name.

    >>> sorted(kinds_of("expectedAnswer")), sorted(kinds_of("Testfrage"))
    (['answer', 'gold'], ['question'])
    >>> sorted(kinds_of("AI回答"))
    ['answer', 'given']
    """
    words = _words(name)
    return frozenset(
        kind for kind, of_kind in _KINDS.items() if any(_is_in(word, of_kind) for word in words)
    )


def _is_in(word: str, known: tuple[str, ...]) -> bool:
    return any(
        word == other
        or (not other.isascii() and other in word and len(other) > 1)
        or (len(other) >= _EXACT_BELOW and (word.startswith(other) or word.endswith(other)))
        for other in known
    )


def is_all_of(name: str, *kinds: str) -> bool:
    """Return whether each word of a column's name is of one of these kinds."""
    known = tuple(word for kind in kinds for word in _KINDS[kind])
    return all(_is_in(word, known) for word in _words(name))


def is_bare_answer(name: str) -> bool:
    """Return whether a column's name is one word for an answer, and says nothing else of it.

    A Chinese, Japanese or Korean name has no spaces: it may say more than the words known in it.

    >>> is_bare_answer("答案"), is_bare_answer("客服答案"), is_bare_answer("bot answer")
    (True, False, False)
    """
    (word, *more) = _words(name) or [""]
    is_known = not _ASIAN.search(word) or word in _KINDS["answer"]
    return is_known and not more and kinds_of(name) == {"answer"}


def _words(name: str) -> list[str]:
    """Return the words of a name; Latin letters beside Chinese ones are a word of their own."""
    return re.sub(f"(?<=[a-z0-9])(?={_ASIAN.pattern})", "_", snake_case(name)).split("_")
