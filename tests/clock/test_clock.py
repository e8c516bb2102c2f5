"""The clock that jumps does so, in every process: else all tests would be green beside it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

READS = """
import sys, time
from datetime import UTC, date, datetime
from pathlib import Path
changed = Path(sys.argv[1]).stat().st_mtime  # by the clock of the system
read = [time.time, lambda: time.time_ns() / 10**9, lambda: datetime.now(UTC).timestamp()]
read += [lambda: datetime.now().timestamp(), lambda: datetime.today().timestamp()]
read += [lambda: datetime.utcnow().replace(tzinfo=UTC).timestamp()]
print(*(round((clock() - changed) / 3600) for _ in range(11) for clock in read))
print(datetime.now() - datetime(2020, 1, 1) > date.resolution)
"""


@pytest.mark.parametrize("is_nested", [False, True])
def test_the_wall_clock_jumps_in_a_process_and_in_one_that_it_starts(
    tmp_path: Path, *, is_nested: bool
) -> None:
    """Eleven readings of each of six clocks meet each of eleven hours, 5 times 0, 4 times 1."""
    (tmp_path / "new").touch()
    command = [sys.executable, "-W", "ignore", "-c", READS, str(tmp_path / "new")]
    if is_nested:
        command = [sys.executable, "-c", f"import subprocess; subprocess.run({command})"]
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parent)}
    out = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    *hours, is_later = out.stdout.split()
    for clock in range(6):
        assert sorted(map(int, hours[clock::6])) == [-1, -1, 0, 0, 0, 0, 0, 1, 1, 1, 1]
    assert is_later == "True"
