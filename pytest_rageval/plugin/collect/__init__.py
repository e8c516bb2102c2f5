"""Collection: scenario files and marked test functions become pytest items."""

import pytest


class RagevalWarning(pytest.PytestWarning):
    """Something in a scenario that is allowed but probably a mistake.

    Defined here because warning filters use its path: ``ignore::pytest_rageval.plugin.collect...``.
    """
