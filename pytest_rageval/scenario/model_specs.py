"""What a scenario file says of its metrics, and of the models that they ask."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from typing import Annotated, Any, ClassVar, Final, Literal
from urllib.parse import urlsplit

from pydantic import AfterValidator, BeforeValidator, Field, field_validator, model_validator

from pytest_rageval.errors import did_you_mean, shorten, unknown_name
from pytest_rageval.import_path import ImportPathError, split_path
from pytest_rageval.model import value_text
from pytest_rageval.scenario.fields import FIELD_OF, NEEDED_FIELDS
from pytest_rageval.scenario.spec import (
    Amount,
    Count,
    Megabytes,
    Name,
    Number,
    Retries,
    Seconds,
    Spec,
    Text,
    Whole,
    expected,
    without_own_keys,
)

ENGLISH: Final = "english"
"""As ragas' prompts write it."""

LANGUAGES: Final = {
    "ar": "Arabic",
    "bn": "Bengali",
    "cs": "Czech",
    "da": "Danish",
    "de": "German",
    "el": "Greek",
    "en": ENGLISH,
    "es": "Spanish",
    "fa": "Persian",
    "fi": "Finnish",
    "fr": "French",
    "he": "Hebrew",
    "hi": "Hindi",
    "hu": "Hungarian",
    "id": "Indonesian",
    "it": "Italian",
    "ja": "Japanese",
    "ko": "Korean",
    "nl": "Dutch",
    "no": "Norwegian",
    "pl": "Polish",
    "pt": "Portuguese",
    "ro": "Romanian",
    "ru": "Russian",
    "sv": "Swedish",
    "th": "Thai",
    "tr": "Turkish",
    "uk": "Ukrainian",
    "vi": "Vietnamese",
    "zh": "Simplified Chinese",
}

_CODE = re.compile(r"[A-Za-z]{1,3}([-_]\w+)*")
# Three letters are a name in title case ("Lao"), or with a second word ("min nan"); else a code.
_FIRST_WORD = r"[^\W\d_]{4,}|[A-Z][a-z]{2}|[^\W\d_]{3}(?= [^\W\d_]{3})"
_NAME = re.compile(rf"({_FIRST_WORD})([ -][^\W\d_]+|[ ]?\([^()]+\))*")


def check_language(text: str) -> str:
    """Return ``text``: ``auto``, a code or a name; ValueError for an unknown code, or no name.

    Names beyond those of the codes are taken as they are: a judge knows more languages. A name of
    two letters (Ga) is read as a code, and refused.
    """
    if text.lower() in ("auto", ENGLISH):
        return text
    is_code = _CODE.fullmatch(text) and re.split("[-_]", text.lower())[0] in LANGUAGES
    if is_code or _NAME.fullmatch(text):
        return text
    known = ", ".join(sorted(LANGUAGES))
    hint = did_you_mean(text, [*LANGUAGES, *LANGUAGES.values()])
    raise ValueError(
        f"unknown language {shorten(repr(text))}.{hint} Known: auto, {known}; "
        "or write its English name"
    )


def _key_is_named(name: str) -> str:
    if not re.fullmatch(r"[A-Za-z_]\w*", name, re.ASCII):
        raise ValueError("expected the NAME of an environment variable, not the key itself")
    return name


KeyVariable = Annotated[
    Name,
    AfterValidator(_key_is_named),
    Field(json_schema_extra={"type": "string", "pattern": "^[A-Za-z_][A-Za-z0-9_]*$"}),
]
"""The name of the environment variable that holds an API key."""


Url = Annotated[Name, Field(json_schema_extra={"type": "string", "pattern": "^https?://"})]


class PriceSpec(Spec):
    """US dollars per million tokens."""

    short_form = "input"

    input: Amount = Field(description="of the prompt, or of texts to embed")
    output: Amount = Field(0.0, description="of the reply")


class ModelSpec(Spec):
    """A model and how it is asked; a bare name is its model."""

    short_form: ClassVar[str | None] = "model"

    model: Name = Field(description="the server's, or the package's, name for it")
    provider: Name = Field(
        "openai",
        description="openai: any server with OpenAI's API; the others are for embeddings",
    )
    base_url: Url | None = Field(
        None,
        description="of another server with OpenAI's API, with its /v1; no user or password in it",
    )
    api_key_env: KeyVariable | None = Field(
        None,
        description="the environment variable that holds the key, never the key itself; "
        "OPENAI_API_KEY when absent without a base_url",
    )
    headers: dict[str, Text] = Field(
        {}, description="sent along; ${NAME} is an environment variable"
    )
    extra_body: dict[str, Any] = Field(
        {},
        description="added to each request, for other parameters of a server; part of the cache"
        " key, as a digest",
    )
    concurrency: Whole = Field(
        32, ge=1, le=1024, description="calls in flight at most, over all workers and scenarios"
    )
    rpm: Count | None = Field(None, description="requests that begin in any minute at most")
    tpm: Count | None = Field(
        None, description="tokens of requests that begin in any minute at most"
    )
    timeout_s: Seconds = Field(60.0, description="for one request")
    retries: Retries = Field(
        4,
        description="how often a request is sent again after a failure that may pass; rate "
        "limits do not count",
    )
    max_wait_s: Amount = Field(
        120.0, description="longest wait of one call, and longest time without any success"
    )
    max_mb: Megabytes = Field(8.0, description="a longer reply, unpacked, is an error")
    price: PriceSpec | None = Field(
        None, description="US dollars per million tokens; --rag-budget needs it"
    )

    @model_validator(mode="before")
    @classmethod
    def _refuse_unknown_profile(cls, data: Any) -> Any:
        """Refuse a profile that is not under ``models``: a known one was filled in before."""
        if isinstance(data, dict) and "profile" in data:
            known = data.get(_KNOWN_PROFILES)
            known = known if isinstance(known, tuple) else ()
            raise ValueError(
                f"{unknown_name('profile', str(data['profile']), known)} (under 'models')"
            )
        return data

    @field_validator("base_url")
    @classmethod
    def _base_url_is_one(cls, url: str | None) -> str | None:
        """Refuse what is no URL; the message never quotes it, for it may hold a password."""
        if url is not None and not url.startswith(("http://", "https://")):
            raise ValueError("expected a URL that begins with http:// or https://")
        try:
            if url is not None and urlsplit(url).port == 0:
                raise ValueError
        except ValueError:
            raise ValueError("expected a URL like http://127.0.0.1:8000/v1") from None
        return url

    @property
    def key_variable(self) -> str | None:
        """The variable that holds the key; OPENAI_API_KEY is for OpenAI only, unless named."""
        is_openai = self.provider == "openai" and self.base_url is None
        return self.api_key_env or ("OPENAI_API_KEY" if is_openai else None)


def _as_word(value: Any) -> Any:
    return "off" if value is False else value  # YAML reads off as false


class ControlsSpec(Spec):
    """Whether the judge has to tell good rows from bad ones before its scores count."""

    short_form = "mode"
    null_is_empty = True

    mode: Annotated[
        Literal["warn", "require", "off"],
        BeforeValidator(_as_word),
        Field(
            json_schema_extra={
                "type": ["string", "boolean"],
                "enum": ["warn", "require", "off", False],
            }
        ),
    ] = Field(
        "warn",
        description="warn: control rows are asked beside the samples, and a metric whose judge "
        "does not tell them apart is marked; require: they are asked first, and "
        "such a metric fails on each sample without being asked; off: not asked",
    )
    file: Name | None = Field(
        None, description="control rows for metrics of your own, relative to the scenario file"
    )


class JudgeSpec(ModelSpec):
    """The model that judges."""

    temperature: Amount | None = Field(
        0.0, description="null leaves it out, for models that take none"
    )
    max_tokens: Count | None = Field(
        None,
        description="longest reply; one that is cut off is asked for again with twice as many. "
        "When absent 2048, then 4096, then no limit",
    )
    seed: Whole | None = Field(None, description="for servers that know it")
    form: Literal["auto", "json_schema", "json_object", "text"] = Field(
        "auto",
        description="how JSON is asked for; auto begins with a schema and steps down where the "
        "server cannot",
    )
    reasks: Whole = Field(
        2, ge=0, le=10, description="how often a reply that cannot be used is asked for again"
    )
    max_failures: Count | None = Field(
        20,
        description="after so many unusable replies in a row the rest is not asked; null never "
        "stops",
    )
    language: Annotated[
        Name, AfterValidator(check_language), Field(json_schema_extra={"type": "string"})
    ] = Field("auto", description="of the prompts: auto, a code, or an English name")
    repeats: Whole = Field(
        1, ge=1, le=100, description="each judged metric is asked so often; the score is the mean"
    )
    controls: ControlsSpec = Field(
        ControlsSpec(),
        description="whether the judge has to tell good rows from bad ones",
    )


class EmbeddingSpec(ModelSpec):
    """The model that turns texts into vectors."""

    batch_size: Whole = Field(64, ge=1, description="how many texts are embedded at once")


class ProfileSpec(JudgeSpec):
    """A model under ``models``, for any role; its name is its ``model`` when that is absent."""

    short_form: ClassVar[str | None] = None
    null_is_empty = True

    model: Name = Field("", description="the name of the profile when absent")
    batch_size: Whole = Field(64, ge=1, description="texts embedded at once")

    @model_validator(mode="before")
    @classmethod
    def _refuse_unknown_profile(cls, data: Any) -> Any:
        """A profile names no other one: leave the key to be found unknown."""
        return data


_KNOWN_PROFILES = "known profiles"
"""The key that hands the names of all profiles, a tuple, which no file has, to a message."""

_OF_OTHER_ROLES: Final[Mapping[str, Collection[str]]] = {
    "judge": ProfileSpec.model_fields.keys() - JudgeSpec.model_fields.keys(),
    "embedding": ProfileSpec.model_fields.keys() - EmbeddingSpec.model_fields.keys(),
    "target": ("form", "reasks", "language", "repeats", "controls", "batch_size"),
}
"""The keys of a profile that a role leaves to the others."""


def filled_roles(data: dict[str, Any]) -> dict[str, Any]:
    """Return the keys of a scenario with each role that names a profile filled in from it."""
    profiles = data.get("models")
    if not isinstance(profiles, dict):
        return data
    roles = {"judge": _filled, "embedding": _filled, "target": _filled_target}
    filled = {
        role: fill(data[role], profiles, _OF_OTHER_ROLES[role])
        for role, fill in roles.items()
        if data.get(role) is not None
    }
    return {**data, **filled}


def _filled(given: Any, profiles: dict[str, Any], of_others: Collection[str]) -> Any:
    """Return a role with the keys of its profile that it does not have itself.

    A role without a profile comes back as it is; one with an unknown profile gets the names of the
    known ones, for the message.
    """
    keys = given if isinstance(given, dict) else {"model": given}
    name = keys.get("profile", keys.get("model"))
    is_known = isinstance(name, str) and name in profiles
    profile = (profiles[str(name)] or {}) if is_known else None  # null is one without keys
    if not isinstance(profile, dict):
        return {**keys, _KNOWN_PROFILES: tuple(profiles)} if "profile" in keys else given
    rest = {key: value for key, value in keys.items() if key != "profile"}
    if rest.get("model") == name:
        del rest["model"]
    inherited = {key: profile[key] for key in profile if key not in ("profile", *of_others)}
    return {"model": name, **inherited, **rest}


def _filled_target(target: Any, profiles: dict[str, Any], of_others: Collection[str]) -> Any:
    """Return a target that is a model with the keys of its profile; others as they are."""
    if isinstance(target, str) and target in profiles:
        target = {"profile": target}
    if not isinstance(target, dict) or target.get("type", "chat") != "chat":
        return target
    filled = _filled(target, profiles, of_others)
    return target if filled is target else {"type": "chat", **filled}


class MetricSpec(Spec):
    """One entry under ``metrics``: a name, or a name with its options; or ``use`` an import path.

    The fields from ``range`` to ``timeout_s`` describe a metric of the user's own; those of them
    in ``OF_COLUMNS`` describe a ``column`` of the data, too.
    """

    metric: Name = Field(description="name of a metric, or an import path")
    name: Name | None = Field(
        None, description="how results, weights, thresholds and gates call it"
    )
    use: Name | None = Field(None, description="import path of a metric of your own")
    range: Annotated[tuple[Number | None, Number | None] | None, expected("[lowest, highest]")] = (
        Field(None, description="lowest and highest score, null for no end; [0, 1] when absent")
    )
    needs: list[Name] | None = Field(None, description="fields that a row must have")
    asks: list[Literal["judge", "embedding"]] | None = Field(
        None, description="the models that it asks: judge, embedding"
    )
    higher_is_better: bool | None = Field(None, description="true when absent")
    version: Count | None = Field(None, description="a change makes saved runs incomparable")
    timeout_s: Seconds | None = Field(None, description="for one sample; async functions only")
    options: dict[str, Any] = Field({}, description="the metric's own")
    column: Name | None = Field(None, description="of the data: its numbers are the scores")

    @model_validator(mode="before")
    @classmethod
    def _from_short_forms(cls, data: Any) -> Any:
        if isinstance(data, str):
            return {"metric": data}
        if isinstance(data, dict) and "use" in data:
            return _used_metric(data, cls.model_fields)
        if isinstance(data, dict) and "column" in data:
            return _column_metric(data)
        if not isinstance(data, dict) or len(data) != 1:
            raise ValueError(
                "write a metric as 'f1' or as 'f1: {normalizer: squad}', one of your own as "
                "{use: 'my_metrics:politeness'}, a column of the data as {column: latency_s}"
            )
        ((metric, options),) = data.items()
        if options is not None and not isinstance(options, dict):
            raise ValueError(f"the options of {metric!r} must be a mapping, found {options!r}")
        options = without_own_keys(options or {})
        if "use" in options:
            return _used_metric({"name": metric, **options}, cls.model_fields)
        if "column" in options:
            return _column_metric({"name": metric, **options})
        return {"metric": metric, "name": options.pop("name", None), "options": options}

    @property
    def attribute(self) -> str | None:
        """The last name of the import path, which is the metric's name unless it is given one."""
        return None if self.use is None else re.split(r"[:.]", self.use)[-1]

    @field_validator("use")
    @classmethod
    def _use_is_an_import_path(cls, path: str | None) -> str | None:
        if path is not None:
            try:
                split_path(path)
            except ImportPathError as error:
                raise ValueError(str(error)) from None
        return path

    @field_validator("range")
    @classmethod
    def _range_ascends(
        cls, ends: tuple[float | None, float | None] | None
    ) -> tuple[float | None, float | None] | None:
        low, high = ends or (None, None)
        if low is not None and high is not None and low >= high:
            ends_text = f"{value_text(low)} and {value_text(high)}"
            raise ValueError(f"expected the lower end first, found {ends_text}")
        return ends

    @field_validator("needs")
    @classmethod
    def _needs_are_fields(cls, needs: list[str] | None) -> list[str] | None:
        for name in needs or ():
            if FIELD_OF.get(name) not in NEEDED_FIELDS:
                raise ValueError(unknown_name("field", name, NEEDED_FIELDS))
        return None if needs is None else sorted({FIELD_OF[name] for name in needs})


OF_COLUMNS: Final = ("column", "name", "range", "higher_is_better", "lower_is_better")
"""The keys of a metric that is a column of the data."""


def _column_metric(data: dict[str, Any]) -> dict[str, Any]:
    """Return a metric that is a column of the data; ``lower_is_better`` is said the other way."""
    keys = without_own_keys(data)
    for key in keys:
        if key not in OF_COLUMNS:
            raise ValueError(unknown_name("key of a column", key, OF_COLUMNS))
    lower = keys.pop("lower_is_better", None)
    if lower is not None:
        if not isinstance(lower, bool) or "higher_is_better" in keys:
            raise ValueError("lower_is_better: expected true or false, without higher_is_better")
        keys["higher_is_better"] = not lower
    return {"name": keys["column"], **keys, "metric": keys["column"]}


def _used_metric(data: dict[str, Any], fields: Iterable[str]) -> dict[str, Any]:
    """Return a metric of the user's own: what the schema does not know are its options."""
    known = set(fields) - {"metric", "options", "column"}
    keys = {key: value for key, value in data.items() if key in known}
    rest = {key: value for key, value in data.items() if key not in known}
    return {**keys, "metric": data["use"], "options": without_own_keys(rest)}
