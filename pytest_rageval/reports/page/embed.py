"""JSON as it can stand in a page."""

from __future__ import annotations

import json
import re
from typing import Any

_UNSAFE = re.compile("[<>&\u2028\u2029\x7f-\x9f\ud800-\udfff]")


def embedded_json(value: Any) -> str:
    r"""Return ``value`` as JSON that can stand in a script element of a page.

    No ``<`` is in it, so that nothing ends the element or begins a comment, and nothing that
    UTF-8 cannot hold.

    >>> embedded_json(["</script>"])
    '["\\u003c/script\\u003e"]'
    """
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return _UNSAFE.sub(lambda found: f"\\u{ord(found[0]):04x}", text)
