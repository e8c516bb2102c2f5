"""Every reader that is fed. To add one, add an entry to one of the two lists."""

from __future__ import annotations

from fuzz_cases import Reader
from fuzz_files import file_readers
from fuzz_ground import Ground
from fuzz_messages import message_readers


def readers_of(ground: Ground) -> list[Reader]:
    """Return all readers, in the order of their turns."""
    return [*file_readers(ground), *message_readers(ground)]
