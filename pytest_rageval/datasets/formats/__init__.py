"""Files to rows. A module of this folder that defines READERS adds a data format.

``NAMES`` lists what its modules define: a run is spared those whose names it does not use. A
module that is not listed is always loaded.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

NAMES: Final[Mapping[str, tuple[str, ...]]] = {
    "delimited": ("csv", "tsv"),
    "headers": (),
    "json_file": ("json", "jsonl"),
    "json_shapes": (),
    "pages": (),
    "parquet": ("parquet",),
    "promptfoo_tables": (),
    "rows_at": (),
    "traces": ("traces",),
    "tool_results": (),
    "trec_files": (),
    "trec_tables": (),
    "xlsx": ("xlsx",),
    "yaml_file": ("yaml",),
}
