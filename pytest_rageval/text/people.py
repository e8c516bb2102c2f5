"""Names of people, as they are shown and as they are compared."""

from __future__ import annotations

import re
import unicodedata
from typing import Final

# Unicode's Default_Ignorable_Code_Point beyond the category Cf: fillers, variation selectors.
_FILLERS: Final = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]"
)


def shown_name(text: str) -> str:
    r"""Return a name with letters composed (NFC), without invisible characters, blanks squeezed.

    >>> shown_name(" An\u200bna  Li ")
    'Anna Li'
    """
    visible = (one for one in _FILLERS.sub("", text) if unicodedata.category(one) != "Cf")
    return " ".join(unicodedata.normalize("NFC", "".join(visible)).split())


def name_key(text: str) -> str:
    r"""Return what is equal for two spellings of one name; capitals do not count.

    >>> name_key("ANNA") == name_key("anna\ufeff")
    True
    """
    return shown_name(text).casefold()
