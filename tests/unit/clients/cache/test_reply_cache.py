"""The cache on disk; over several processes see test_processes.py."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from pytest_rageval.clients.accounting import Purpose
from pytest_rageval.clients.base import Message
from pytest_rageval.clients.cache import Cache, Key, answer_key, chat_key
from pytest_rageval.clients.settings import CacheMode, ClientSettings, RunSettings

VALUE = {"text": "yes", "model": "m"}


def key(text: str = "Is it?", model: str = "m", metric: str = "f") -> Key:
    return chat_key(ClientSettings(model), [Message("user", text)], None, Purpose(metric))


def open_cache(folder: Path, mode: CacheMode = "readwrite", **run: Any) -> Cache:
    return Cache(RunSettings(cache_dir=folder, cache_mode=mode, **run))


def keep(folder: Path, *entries: tuple[Key, str]) -> None:
    """Keep VALUE under each key, for a sample, in a run of its own."""
    cache = open_cache(folder)
    for one, sample in entries or [(key(), "")]:
        cache.put("reply", one, VALUE, sample)
    cache.close()


def the_file(folder: Path, kind: str = "reply") -> Path:
    (found,) = folder.glob(f"*.{kind}.jsonl")
    return found


def test_what_was_put_is_got_by_a_later_run(tmp_path: Path) -> None:
    keep(tmp_path)
    later = open_cache(tmp_path)
    assert later.get("reply", key().sha256) == VALUE
    assert later.get("reply", key("Is it not?").sha256) is None
    assert later.get("vector", key().sha256) is None


def test_other_processes_of_the_run_see_it_at_once(tmp_path: Path) -> None:
    """Two caches of one run stand for two processes; both have looked before."""
    run = RunSettings(cache_dir=tmp_path / "cache", shared_dir=tmp_path / "run")
    one, other = Cache(run), Cache(run)
    for number in range(3):
        assert other.get("reply", key(f"{number}").sha256) is None
        one.put("reply", key(f"{number}"), {"text": f"{number}"})
        assert other.get("reply", key(f"{number}").sha256) == {"text": f"{number}"}
    other.put("reply", key("back"), VALUE)
    assert one.get("reply", key("back").sha256) == VALUE
    one.close()
    other.close()


def test_entries_are_readable_lines_of_json(tmp_path: Path) -> None:
    keep(tmp_path, (key("它好吗？"), "s1"), (key("Is it?"), "s2"))
    values = [json.loads(line) for line in the_file(tmp_path).read_text("ascii").splitlines()]
    assert values == [
        {"sha256": key("它好吗？").sha256, "value": VALUE},
        {"sha256": key("Is it?").sha256, "value": VALUE},
    ]
    lines = the_file(tmp_path, "reply-keys").read_text("ascii").splitlines()
    first = json.loads(lines[0])
    assert (first["sha256"], first["sample"]) == (key("它好吗？").sha256, "s1")
    assert first["key"]["messages"] == [["user", "它好吗？"]]


def test_the_newest_entry_counts(tmp_path: Path) -> None:
    cache = open_cache(tmp_path)
    cache.put("reply", key(), {"text": "old"})
    cache.put("reply", key(), {"text": "new"})
    cache.close()
    assert open_cache(tmp_path).get("reply", key().sha256) == {"text": "new"}


def test_files_may_be_joined(tmp_path: Path) -> None:
    keep(tmp_path / "a", (key("one"), ""))
    keep(tmp_path / "b", (key("two"), ""))
    (tmp_path / "c").mkdir()
    joined = the_file(tmp_path / "a").read_bytes() + the_file(tmp_path / "b").read_bytes()
    (tmp_path / "c/recording.reply.jsonl").write_bytes(joined)
    cache = open_cache(tmp_path / "c", "replay")
    assert cache.get("reply", key("one").sha256) == cache.get("reply", key("two").sha256) == VALUE


def test_the_folder_says_that_it_is_a_cache_and_is_not_versioned(tmp_path: Path) -> None:
    keep(tmp_path / "new")
    assert (tmp_path / "new/.gitignore").read_text() == "*\n"
    tag = (tmp_path / "new/CACHEDIR.TAG").read_text()
    assert tag.startswith("Signature: 8a477f597d28d172789f06886806bc55\n")


def test_a_gitignore_of_the_users_stays(tmp_path: Path) -> None:
    (tmp_path / ".gitignore").write_text("!*\n")
    keep(tmp_path)
    assert (tmp_path / ".gitignore").read_text() == "!*\n"


@pytest.mark.parametrize("mode", ["off", "read", "replay"])
def test_nothing_is_made_by_a_mode_that_does_not_write(tmp_path: Path, mode: CacheMode) -> None:
    cache = open_cache(tmp_path / "cache", mode)
    assert not cache.writes
    assert cache.get("reply", key().sha256) is None
    assert not (tmp_path / "cache").exists()


def test_without_a_folder_there_is_no_cache() -> None:
    assert Cache(RunSettings(cache_mode="readwrite")).mode == "off"


@pytest.mark.parametrize("earlier", ["2", "9998", "9999"])
def test_what_a_refresh_has_replaced_does_not_come_back_by_a_clock_set_back(
    tmp_path: Path, earlier: str
) -> None:
    """Its file sorts after all that were there; one that ends the calendar is no reason to fail."""
    keep(tmp_path)
    the_file(tmp_path).rename(tmp_path / f"{earlier:0>4}1231T235959-999999-x-1.reply.jsonl")
    (tmp_path / "recorded.reply.jsonl").write_text("")  # a name that is no time
    new = open_cache(tmp_path, "refresh")
    new.put("reply", key(), {"text": "no"})
    new.close()
    found = open_cache(tmp_path).get("reply", key().sha256)
    assert found == (VALUE if earlier == "9999" else {"text": "no"})


@pytest.mark.parametrize("name", ["all", "2026-all", "99999999", "~"])
def test_what_was_joined_is_older_than_what_a_refresh_has_replaced(
    tmp_path: Path, name: str
) -> None:
    """A name of the user's own tells no time: `all` sorts behind the year."""
    keep(tmp_path)
    for kind in ("reply", "reply-keys"):
        the_file(tmp_path, kind).rename(tmp_path / f"{name}.{kind}.jsonl")
    new = open_cache(tmp_path, "refresh")
    new.put("reply", key(), {"text": "no"}, "new")
    new.close()
    later = open_cache(tmp_path)
    assert later.get("reply", key().sha256) == {"text": "no"}


def test_refresh_takes_only_what_its_own_run_has_written(tmp_path: Path) -> None:
    keep(tmp_path / "cache")
    run = RunSettings(
        cache_dir=tmp_path / "cache", cache_mode="refresh", shared_dir=tmp_path / "run"
    )
    one, other = Cache(run), Cache(run)
    assert one.get("reply", key().sha256) is None
    one.put("reply", key(), {"text": "new"})
    assert one.get("reply", key().sha256) == other.get("reply", key().sha256) == {"text": "new"}
    one.close()
    assert open_cache(tmp_path / "cache").get("reply", key().sha256) == {"text": "new"}


@pytest.mark.parametrize(
    ("shared", "started_at", "value"), [("a", 1.0, VALUE), ("a", 2.0, None), ("b", 1.0, None)]
)
def test_a_run_is_known_by_its_folder_and_its_beginning(
    tmp_path: Path, shared: str, started_at: float, value: Any
) -> None:
    first = open_cache(tmp_path, "refresh", shared_dir=tmp_path / "a", started_at=1.0)
    first.put("reply", key(), VALUE)
    first.close()
    other = open_cache(tmp_path, "refresh", shared_dir=tmp_path / shared, started_at=started_at)
    assert other.get("reply", key().sha256) == value


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"{",
        b"[1]",
        b"\x00" * 100,
        b'{"sha256": "SHA", "value": {"text"',
        b'{"sha256": "SHA", "value": 1}',
        b'{"sha256": "SHA"}',
        b'{"sha256": 1, "value": {}}',
        b"\xff" * 100,
    ],
)
@pytest.mark.parametrize("end", [b"", b"\n"])
def test_a_damaged_line_is_none_and_can_be_written_again(
    tmp_path: Path, line: bytes, end: bytes
) -> None:
    """The entry after it, in the same file, is not touched."""
    keep(tmp_path, (key(), ""))
    path = the_file(tmp_path)
    whole = path.read_bytes()
    damaged = line.replace(b"SHA", key().sha256.encode())
    path.write_bytes(damaged + b"\n" + whole.replace(key().sha256.encode(), b"f" * 64) + end)
    cache = open_cache(tmp_path)
    assert cache.get("reply", key().sha256) is None
    assert cache.explain_miss("reply", key()) == f"its entry in {tmp_path} is damaged"
    assert cache.get("reply", Key({}, "", "f" * 64).sha256) == VALUE
    cache.put("reply", key(), VALUE)
    assert cache.get("reply", key().sha256) == VALUE
    cache.close()


def test_an_unfinished_last_line_is_not_taken(tmp_path: Path) -> None:
    """What a process leaves that is killed while it writes."""
    keep(tmp_path, (key("one"), ""), (key("two"), ""))
    path = the_file(tmp_path)
    path.write_bytes(path.read_bytes()[:-1])
    cache = open_cache(tmp_path, "read")
    assert cache.get("reply", key("one").sha256) == VALUE
    assert cache.get("reply", key("two").sha256) is None


def test_lines_that_were_laid_out_anew_are_read(tmp_path: Path) -> None:
    keep(tmp_path)
    path = the_file(tmp_path)
    entry = json.loads(path.read_text())
    path.write_text(json.dumps(dict(reversed(entry.items())), separators=(",", ":")) + "\n")
    assert open_cache(tmp_path, "read").get("reply", key().sha256) == VALUE


def test_a_file_that_is_deleted_meanwhile_is_a_miss(tmp_path: Path) -> None:
    keep(tmp_path)
    cache = open_cache(tmp_path, "read")
    assert cache.get("reply", key().sha256) == VALUE
    the_file(tmp_path).unlink()
    assert cache.get("reply", key().sha256) is None


def test_a_folder_that_cannot_be_written_is_a_problem_and_no_error(tmp_path: Path) -> None:
    """A file where the folder should be, which stops root, too, as a read-only folder does not."""
    (tmp_path / "cache").write_text("")
    cache = open_cache(tmp_path / "cache")
    cache.put("reply", key(), VALUE)
    assert cache.get("reply", key().sha256) is None
    assert cache.problem is not None
    assert cache.problem.startswith(f"replies are not kept: {tmp_path / 'cache'}: ")


def test_a_disk_that_fills_up_leaves_no_half_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache = open_cache(tmp_path)
    cache.put("reply", key("first"), VALUE)
    before = {path.name: path.read_bytes() for path in tmp_path.glob("*.jsonl")}
    write = os.write
    with monkeypatch.context() as full:
        full.setattr(os, "write", lambda file, data: write(file, data[: len(data) // 2]))
        cache.put("reply", key("second"), VALUE)
    assert {path.name: path.read_bytes() for path in tmp_path.glob("*.jsonl")} == before
    assert cache.problem == f"replies are not kept: {tmp_path}: No space left on device"
    cache.put("reply", key("third"), VALUE)  # somebody has made room
    cache.close()
    later = open_cache(tmp_path, "read")
    assert [later.get("reply", key(text).sha256) for text in ("first", "second", "third")] == [
        VALUE,
        None,
        VALUE,
    ]


def test_a_miss_in_an_empty_cache_says_so(tmp_path: Path) -> None:
    text = open_cache(tmp_path, "replay").explain_miss("reply", key())
    assert text == f"{tmp_path} holds no replies"


def test_a_file_of_keys_that_is_gone_explains_nothing(tmp_path: Path) -> None:
    """Files may be deleted at any time; of a link, what it leads to."""
    (tmp_path / "z.reply-keys.jsonl").symlink_to(tmp_path / "gone")
    text = open_cache(tmp_path, "replay").explain_miss("reply", key())
    assert text == f"{tmp_path} holds no replies"


def test_a_miss_is_explained_by_the_entry_of_the_same_sample(tmp_path: Path) -> None:
    """The entry of s2 differs in one field, that of s1 in two; but s1 is who asks."""
    mine = key("Is it?", model="old", metric="g")
    keep(tmp_path, (mine, "s1"), (key("Is it true?", model="m"), "s2"))
    cache = open_cache(tmp_path, "replay")
    found = cache.explain_miss("reply", key("Is it?", model="m"), sample="s1")
    assert found == (
        "the nearest entry differs: model: 'm' here, 'old' in the cache; "
        "metric: 'f' here, 'g' in the cache"
    )


def test_what_was_never_recorded_is_not_explained_by_others(tmp_path: Path) -> None:
    """[R8] Another sample's question, or another metric's about this one, says nothing."""
    keep(tmp_path, (key("Can I return?"), "s1"), (key("Is it true?", metric="other"), "s2"))
    cache = open_cache(tmp_path, "replay")
    for sample in ("s9", "s2"):
        found = cache.explain_miss("reply", key("Is there a fee?"), sample=sample)
        assert found.startswith("nothing was recorded for this question of this metric about this")
    assert "text" not in cache.explain_miss("reply", key("Is there a fee?"), sample="s9")
    mine = cache.explain_miss("reply", key("Can I go?"), sample="s1")
    assert mine.startswith("the nearest entry differs: message 1 differs from character")


def test_a_miss_of_an_unknown_sample_is_explained_by_any_entry(tmp_path: Path) -> None:
    keep(tmp_path, (key("Is it?", metric="old"), "s1"))
    cache = open_cache(tmp_path, "replay")
    found = cache.explain_miss("reply", key("Is it?", metric="new"), sample="s9")
    assert found == "the nearest entry differs: metric: 'new' here, 'old' in the cache"


def test_an_entry_that_only_python_takes_for_the_same_is_not_called_damaged(tmp_path: Path) -> None:
    cache = open_cache(tmp_path)
    cache.put("answer", answer_key({}, {"metadata.n": 1}), VALUE)
    text = cache.explain_miss("answer", answer_key({}, {"metadata.n": 1.0}))
    assert text == "the nearest entry differs: 1, 1.0 and true, or null and nothing, are not alike"
