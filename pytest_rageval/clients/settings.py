"""Settings as plain values: how a model is reached and used, and what a run's processes share.

Nothing here reads the environment or the disk; the scenario's schema fills these in.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, get_args
from urllib.parse import SplitResult, urlsplit

from pytest_rageval.errors import OptionError, Problem, unknown_name
from pytest_rageval.redaction import shown_url
from pytest_rageval.run_paths import ImportMode

if TYPE_CHECKING:
    from pytest_rageval.scenario.model_specs import ModelSpec

CacheMode = Literal["off", "read", "readwrite", "refresh", "replay"]
CACHE_MODES: Final[tuple[CacheMode, ...]] = get_args(CacheMode)
ReplyForm = Literal["auto", "json_schema", "json_object", "text"]

JUDGE_TOKENS: Final = 2048
"""The longest reply of a judge where no ``max_tokens`` is written; see ``CachedChat``."""

SHORT_TOKENS: Final = JUDGE_TOKENS // 8
"""The same after a time-out: a slow local model writes so many in ``timeout_s``."""

OPENAI_URL = "https://api.openai.com/v1"


@dataclass(frozen=True, slots=True)
class Price:
    """US dollars per million tokens."""

    input: float
    output: float = 0.0

    def cost_usd(self, prompt_tokens: float, completion_tokens: float) -> float:
        """Return what so many tokens cost.

        >>> Price(input=0.15, output=0.6).cost_usd(2_000_000, 500_000)
        0.6
        """
        return (prompt_tokens * self.input + completion_tokens * self.output) / 1e6


@dataclass(frozen=True, slots=True)
class ClientSettings:
    """One model of one provider, how it is asked, and how hard.

    ``role`` is the part of the scenario that these come from; messages begin with it. ``model`` is
    the provider's name for it, or ``pkg.mod:attr`` for the provider ``python``. ``base_url`` is
    OpenAI's for None. ``api_key_env`` is the name of an environment variable; None sends no key.
    ``price`` is None where costs are unknown. A value of ``headers`` may say ``${NAME}`` for an
    environment variable. ``temperature``, ``max_tokens`` and ``seed`` are left out of requests when
    they are None; ``extra_body`` is added to requests. ``form`` is how JSON is asked for: auto
    tries json_schema and steps down where the server cannot.

    ``concurrency`` requests are in flight at most and ``rpm`` requests and ``tpm`` tokens start in
    any minute, over all processes of a run. A request may take ``timeout_s``; one that fails for a
    passing reason is repeated ``retries`` times, with waits of ``max_wait_s`` altogether at most; a
    reply above ``max_mb`` is an error, and one that cannot be used is asked for again ``reasks``
    times; after ``max_failures`` such replies in a row the model is not asked any more (None: it
    always is). ``batch_size`` is the number of texts embedded at once. ``folders`` may hold the
    module of a ``pkg.mod:attr``, in addition to ``sys.path``; ``import_mode`` says how they are
    added to it; ``source_sha256`` is a digest of the module's code, "" if that is not known.
    """

    model: str
    role: str = "judge"
    provider: str = "openai"
    base_url: str | None = field(default=None, repr=False)
    api_key_env: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    temperature: float | None = 0.0
    max_tokens: int | None = None
    seed: int | None = None
    extra_body: Mapping[str, Any] = field(default_factory=dict, repr=False)
    form: ReplyForm = "auto"
    concurrency: int = 32
    rpm: int | None = None
    tpm: int | None = None
    timeout_s: float = 60.0
    retries: int = 4
    max_wait_s: float = 120.0
    max_mb: float = 8.0
    reasks: int = 2
    max_failures: int | None = 20
    batch_size: int = 64
    price: Price | None = None
    folders: tuple[Path, ...] = ()
    import_mode: ImportMode = "prepend"
    source_sha256: str = ""

    @property
    def url(self) -> SplitResult:
        """Where requests go, taken apart."""
        return urlsplit(self.base_url or OPENAI_URL)

    @property
    def endpoint(self) -> str:
        """Where requests go, without user, password and query, so that it can be shown."""
        return shown_url(self.url.geturl()).rstrip("/")

    @property
    def shown(self) -> str:
        """How messages call this model."""
        return f"{self.role} {self.model!r}"


def client_settings(role: str, spec: ModelSpec, **other: Any) -> ClientSettings:
    """Return how a model is reached and asked by its part of a scenario; ``other`` overrides it."""
    names = spec.__class__.model_fields.keys() & {found.name for found in fields(ClientSettings)}
    price = None if spec.price is None else Price(spec.price.input, spec.price.output)
    own = {"role": role, "api_key_env": spec.key_variable, "price": price}
    return ClientSettings(**{name: getattr(spec, name) for name in names} | own | other)


@dataclass(frozen=True, slots=True)
class RunSettings:
    """What the processes of a run have in common.

    ``cache_dir`` outlives the run; without one the mode counts as off. ``shared_dir`` is a folder
    for this run alone, in which its processes share limits, locks and the ledger. Without one, a
    budget holds for one process; without one, or without file locks, limits are divided by
    ``processes``. ``shards`` run at once on other machines and do not know each other: limits are
    divided by their number, too, and ``budget_usd`` is the part of this one. ``started_at``
    (seconds since 1970) must be the same in all processes; with the folder it names the run, so
    that refresh knows what the run itself has asked. The budget covers all calls, embeddings
    included.

    Raises OptionError for an unknown mode: a misspelled replay must not send requests.
    """

    cache_dir: Path | None = None
    cache_mode: CacheMode = "readwrite"
    shared_dir: Path | None = None
    processes: int = 1
    shards: int = 1
    budget_usd: float | None = None
    is_dry: bool = False
    """Whether nobody is asked at all: a variable with a key need not be set."""
    expects_failures: bool = True
    """Whether a sample may be xfailed: not with pytest's ``--runxfail``."""
    started_at: float = field(default_factory=time.time)

    def __post_init__(self) -> None:
        if self.cache_mode not in CACHE_MODES:
            message = unknown_name("mode of the cache", str(self.cache_mode), CACHE_MODES)
            raise OptionError([Problem("cache_mode", message)])
