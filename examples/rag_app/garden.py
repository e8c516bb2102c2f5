"""A small system that finds passages and answers from them: BM25 over a handful of documents.

    python garden.py "When do tulip bulbs go into the ground?"
    python garden.py --serve 8000

It needs nothing but Python, and stands in for your own application.
"""

from __future__ import annotations

import json
import math
import re
import sys
from collections import Counter
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
# Words of Latin script, and every Chinese character for itself.
TOKEN = re.compile(r"[a-z0-9]+|[\u4e00-\u9fff]")
STOP_WORDS = re.compile(
    r"an?|and|are|at|do|does|for|how|in|is|it|of|on|the|to|what|when|which|[的了是吗]"
)
K1, B = 1.2, 0.75


@dataclass(frozen=True)
class Passage:
    """A sentence of the documents; ``doc_name`` says of which."""

    text: str
    doc_name: str


def tokens(text: str) -> list[str]:
    return [token for token in TOKEN.findall(text.lower()) if not STOP_WORDS.fullmatch(token)]


class Garden:
    """Answers questions about the garden from its documents."""

    def __init__(self, folder: Path = HERE / "documents") -> None:
        self.passages = [
            Passage(line.strip(), path.name)
            for path in sorted(folder.glob("*.txt"))
            for line in path.read_text(encoding="utf-8").splitlines()
            if line.strip()
        ]
        self._counts = [Counter(tokens(passage.text)) for passage in self.passages]
        self._frequency = Counter(token for counts in self._counts for token in counts)
        self._mean_length = sum(map(Counter.total, self._counts)) / len(self._counts)

    def search(self, question: str, k: int = 3) -> list[Passage]:
        """Return the k best passages, best first; those that share no word are none."""
        asked = set(tokens(question))
        scored = [(self._score(asked, counts), at) for at, counts in enumerate(self._counts)]
        best = sorted(scored, key=lambda found: (-found[0], found[1]))[:k]
        return [self.passages[at] for score, at in best if score > 0.0]

    def ask(self, question: str) -> dict[str, Any]:
        """Return the answer, the best passage word for word, and what it was found in."""
        found = self.search(question)
        contexts = [{"text": passage.text, "source": passage.doc_name} for passage in found]
        return {"answer": found[0].text if found else "I do not know.", "contexts": contexts}

    def _score(self, asked: set[str], counts: Counter[str]) -> float:
        length = counts.total() / self._mean_length
        return math.fsum(
            self._weight(token)
            * counts[token]
            * (K1 + 1)
            / (counts[token] + K1 * (1 - B + B * length))
            for token in asked
            if token in counts
        )

    def _weight(self, token: str) -> float:
        """Return how much a word says: rare ones more."""
        having = self._frequency[token]
        return math.log(1 + (len(self.passages) - having + 0.5) / (having + 0.5))


_garden: list[Garden] = []


def ask(question: str) -> dict[str, Any]:
    """Answer a question; the documents are read at the first one."""
    if not _garden:
        _garden.append(Garden())
    return _garden[0].ask(question)


class Handler(BaseHTTPRequestHandler):
    """``POST /ask`` with ``{"question": ...}``."""

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        found = ask(asked["question"])
        body = json.dumps(
            {"reply": {"text": found["answer"], "passages": found["contexts"]}}
        ).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


def make_server(port: int = 0) -> ThreadingHTTPServer:
    """Return the server, not yet serving; port 0 is a free one."""
    return ThreadingHTTPServer(("127.0.0.1", port), Handler)


if __name__ == "__main__":
    if sys.argv[1] == "--serve":
        make_server(int(sys.argv[2])).serve_forever()
    print(json.dumps(ask(" ".join(sys.argv[1:])), ensure_ascii=False, indent=2))  # noqa: T201
