"""promptfoo's providers as targets."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from pytest_rageval.errors import shorten
from pytest_rageval.importing.base import (
    ImportNotes,
    NotTakenError,
    body_without_secrets,
    sounds_secret_in,
    without_secrets,
)
from pytest_rageval.importing.files import Folder, Part, is_code, shown_name
from pytest_rageval.importing.promptfoo_prompts import Prompt
from pytest_rageval.importing.templates import (
    Path,
    as_json,
    env_name,
    is_template,
    names_in,
    rewritten,
)
from pytest_rageval.importing.written_files import Code
from pytest_rageval.redaction import looks_secret, shown_url
from pytest_rageval.text.json_value import change_texts

_SERVERS: Final[Mapping[str, tuple[str | None, str | None]]] = {
    "openai": (None, None),
    "ollama": ("http://localhost:11434/v1", None),
    "groq": ("https://api.groq.com/openai/v1", "GROQ_API_KEY"),
    "openrouter": ("https://openrouter.ai/api/v1", "OPENROUTER_API_KEY"),
    "mistral": ("https://api.mistral.ai/v1", "MISTRAL_API_KEY"),
    "perplexity": ("https://api.perplexity.ai", "PERPLEXITY_API_KEY"),
    "deepseek": ("https://api.deepseek.com/v1", "DEEPSEEK_API_KEY"),
    "xai": ("https://api.x.ai/v1", "XAI_API_KEY"),
    "togetherai": ("https://api.together.xyz/v1", "TOGETHER_API_KEY"),
    "anthropic": ("https://api.anthropic.com/v1", "ANTHROPIC_API_KEY"),
    "google": ("https://generativelanguage.googleapis.com/v1beta/openai", "GEMINI_API_KEY"),
}
"""Servers that speak OpenAI's API: URL, and variable that holds the key; None: our default."""

_KINDS: Final = frozenset({"chat", "completion", "messages", "responses"})
"""The kinds of models that may stand after a server's name, and are asked alike here."""

_OTHERS: Final = frozenset(
    {"agents", "assistant", "chatkit", "codex", "embedding", "embeddings", "image", "live"}
    | {"moderation", "realtime", "transcription", "tts", "video", "voice"}
)
"""Kinds that cannot be asked here."""

_CHAT_KEYS: Final = ("temperature", "max_tokens", "seed")
_SERVER_KEYS: Final = (
    "apiBaseUrl",
    "baseURL",
    "apiHost",
    "apiKeyEnvar",
    "apiKey",
    "apiKeyRequired",
)
_HTTP_KEYS: Final = frozenset(
    {"url", "method", "headers", "body", "queryParams", "transformResponse", "responseParser"}
)
_HAVE_VARIABLES: Final = ("url", "headers", "body", "query")
_URL: Final = re.compile(r"\s*[^\s/?#]+://|\{\{-?\s*env\.\w+\s*-?\}\}(?=/|\s*$)")
_PYTHON: Final = re.compile(r"(?:python:|file://)(?P<file>[^:]+\.py)(?::(?P<function>\w+))?")
_PATH: Final = re.compile(
    r"(?:\(?\s*(?P<arg>\w+)\s*\)?\s*=>\s*)?(?P<root>\w+)(?P<path>(?:\??\.\w+|\[\d+\])*)\s*;?"
)


@dataclass(frozen=True, slots=True)
class Provider:
    """What is asked: its label, and its keys as a target, still without a prompt.

    ``prompts`` are those that it names, () for all. Of Python there is ``code``, and no target.
    """

    label: str
    target: Mapping[str, Any]
    is_chat: bool
    prompts: tuple[str, ...] = ()
    code: Code | None = None
    where: str = ""

    def asked_with(self, prompts: Sequence[Prompt], notes: ImportNotes) -> list[Prompt]:
        """Return the prompts that it names, all where it names none; note names of no prompt."""
        for name in self.prompts:
            if not any(prompt.is_named(name) for prompt in prompts):
                why = f"no prompt that was taken is called {shorten(repr(name), 60)}"
                notes.add(self.where, f"provider {_named(self.label)}: prompts", why)
        return [
            prompt
            for prompt in prompts
            if not self.prompts or any(map(prompt.is_named, self.prompts))
        ]

    def asking(self, prompt: Prompt, places: Mapping[Path, str]) -> dict[str, Any]:
        """Return the target that shows a prompt, with our places for the variables.

        Raises NotTakenError where it cannot.
        """
        user = rewritten(prompt.user, places)
        if self.is_chat:
            system = None if prompt.system is None else rewritten(prompt.system, places)
            if found := re.search(r"\$\{\w+\}", f"{system}\n{user}"):
                raise NotTakenError(f"{found[0]} in a prompt: a model is told no variables")
            parts = {"system": system, "prompt": None if user == "{question}" else user}
            return {**self.target, **{key: text for key, text in parts.items() if text is not None}}
        if prompt.system is not None:
            raise NotTakenError("messages of a chat cannot be put into a request over HTTP")
        known = {**places, ("prompt",): user}
        shown = {key: self.target[key] for key in _HAVE_VARIABLES if key in self.target}
        return {**self.target, **change_texts(shown, lambda text: rewritten(text, known))}


def providers_of(config: Part, folder: Folder, notes: ImportNotes) -> list[Provider]:
    """Return the providers that can be asked; the others are noted."""
    found = []
    for part in parts_of(config):
        try:
            found.append(_provider(part, folder, notes))
        except NotTakenError as error:
            notes.add(part.where, f"provider {_named(part.value)}", error)
    return found


def parts_of(config: Part) -> Iterator[Part]:
    """Yield the providers, which may also be called targets."""
    key = "targets" if config.of("providers").value is None else "providers"
    yield from config.of(key).parts()


def note_keys(part: Part, notes: ImportNotes) -> None:
    """Note the keys of a provider, beside its config, that have no counterpart here."""
    given = with_id(part.value)
    for key in sorted(map(str, given.keys() - {"id", "label", "config", "prompts"})):
        notes.add(
            part.where, f"provider {_named(given.get('id'))}: {key}", "has no counterpart here"
        )


def _named(value: Any) -> str:
    name = str(value.get("id", "") if isinstance(value, dict) else value)
    return repr(shorten(shown_name(name), 60))


def _provider(part: Part, folder: Folder, notes: ImportNotes) -> Provider:
    given = with_id(part.value)
    name, config = str(given.get("id")), given.get("config") or {}
    if not isinstance(config, dict):
        raise NotTakenError("its config is no mapping")
    note_keys(part, notes)
    prompts = given.get("prompts") or []
    only = tuple(map(str, prompts if isinstance(prompts, list) else [prompts]))
    python = _PYTHON.fullmatch(name)
    if python is not None:
        safe_config = without_secrets(config, part.where, notes)
        code = Code(folder.program(python["file"]), python["function"] or "call_api", safe_config)
        label = str(given.get("label") or code.file)
        return Provider(label, {}, False, only, code, where=part.where)
    is_http = name in ("http", "https") or name.startswith(("http://", "https://"))
    target = _http(name, config, part, notes) if is_http else chat_target(name, config, part, notes)
    label = str(given.get("label") or (shown_url(target["url"]) if is_http else target["model"]))
    return Provider(label, target, not is_http, only, where=part.where)


def with_id(given: Any) -> dict[str, Any]:
    """Return a provider with its ``id``; it may be a bare id, or {openai:gpt-4: {...}}."""
    if isinstance(given, dict) and "id" not in given and len(given) == 1:
        ((name, options),) = given.items()
        return {**(options if isinstance(options, dict) else {}), "id": name}
    return given if isinstance(given, dict) else {"id": given}


def chat_target(
    name: str, config: Mapping[str, Any], part: Part, notes: ImportNotes
) -> dict[str, Any]:
    """Return a model of promptfoo's by the keys of our target; no API key is copied.

    Raises NotTakenError for code, for what OpenAI's API does not reach, and for a URL of variables.
    """
    if name.startswith("file://") and name.endswith((".yaml", ".yml", ".json")):
        raise NotTakenError(
            "is a file of providers, which is not read; copy what it says under 'providers'"
        )
    if is_code(name) or name.startswith(("python:", "exec:", "file://", "golang:", "ruby:")):
        raise NotTakenError(
            "runs code; give a function of yours that takes the question and returns the answer: "
            "target: my_module:answer"
        )
    server, *rest = name.split(":")
    if server not in _SERVERS or not rest or rest[0] in _OTHERS or rest[0].endswith("-sdk"):
        raise NotTakenError("is none that can be asked here")
    if rest[0] in _KINDS and len(rest) > 1:
        rest = rest[1:]
    base_url, variable = _SERVERS[server]
    base_url = _server(config, part, notes) or base_url
    target: dict[str, Any] = {"model": ":".join(rest)}
    if base_url is not None:
        target["base_url"] = base_url
    if (named := _key_variable(config) or variable) is not None:
        target["api_key_env"] = named
    target |= {key: config[key] for key in _CHAT_KEYS if key in config}
    known = {*_CHAT_KEYS, *_SERVER_KEYS}
    form = config.get("response_format")
    if isinstance(form, dict) and not looks_secret(json.dumps(form, default=str)):
        target["extra_body"] = {"response_format": form}
        known.add("response_format")
    note_rest(name, config, known, part, notes)
    return target


def _server(config: Mapping[str, Any], part: Part, notes: ImportNotes) -> str | None:
    """Return the URL of a server without user, password and query; None if there is none.

    Raises NotTakenError for one with variables.
    """
    key = next((name for name in ("apiBaseUrl", "baseURL", "apiHost") if config.get(name)), None)
    if key is None:
        return None
    url = f"https://{config[key]}/v1" if key == "apiHost" else config[key]
    if is_template(str(url)):
        raise NotTakenError(f"its {key} is made of variables; write out the base_url")
    if (bare := shown_url(str(url))) != url:
        why = "its user, password and query are not copied; put a secret into headers, as ${NAME}"
        notes.add(part.where, f"{key} {shorten(bare, 60)}", why)
    return bare


def _key_variable(config: Mapping[str, Any]) -> str | None:
    """Return the variable of the environment that a config takes its key from, None for none."""
    if re.fullmatch(r"[A-Za-z_]\w*", str(config.get("apiKeyEnvar", ""))):
        return str(config["apiKeyEnvar"])
    named = re.fullmatch(
        r"\$\{(\w+)\}|\{\{\s*env\.(\w+)\s*\}\}", str(config.get("apiKey", "")).strip()
    )
    return (named[1] or named[2]) if named else None


def note_rest(
    name: str, config: Mapping[str, Any], known: Collection[str], part: Part, notes: ImportNotes
) -> None:
    """Note the keys of a provider's config that are not ``known``."""
    if "apiKey" in config and _key_variable(config) is None:
        known = {*known, "apiKey"}
        notes.add(
            part.where,
            f"provider {_named(name)}: apiKey",
            "is not copied; put the key into the variable that api_key_env names, "
            "OPENAI_API_KEY where it names none",
        )
    for key in sorted(map(str, config.keys() - known)):
        notes.add(part.where, f"provider {_named(name)}: {key}", "has no counterpart here")


def _http(name: str, config: Mapping[str, Any], part: Part, notes: ImportNotes) -> dict[str, Any]:
    url = config.get("url") or (name if "://" in name else None)
    if url is None:
        raise NotTakenError("its config has no url")
    if not isinstance(url, str) or not _URL.match(url):  # not quoted: it may hold a password
        raise NotTakenError("its url begins neither with http:// or https:// nor {{env.NAME}}")
    target: dict[str, Any] = {"url": without_secrets(url, part.where, notes, "url")}
    body = config.get("body")
    method = str(config.get("method") or ("POST" if body is not None else "GET")).upper()
    target["method"] = method
    headers = config.get("headers") or {}
    if headers and isinstance(headers, dict):
        texts = {str(key): str(value) for key, value in headers.items()}
        texts = without_secrets(texts, part.where, notes, named=sounds_secret_in)
        kept = dict(_same_for_all(texts, name, part, notes))
        target |= {"headers": kept} if kept else {}
    if body is not None and method != "GET":
        target["body"] = _body(body, part, notes)
    if isinstance(config.get("queryParams"), dict):
        target["query"] = without_secrets(
            config["queryParams"], part.where, notes, named=sounds_secret_in
        )
    path = _answer_path(config.get("transformResponse", config.get("responseParser")))
    if path:
        target["answer"] = path
    else:
        why = "of a JSON reply the field 'answer' is the answer here; there it is the whole reply"
        notes.add(part.where, f"provider {_named(name)}: no transformResponse", why)
    _note_unsent(name, config, method, part, notes)
    note_rest(name, config, _HTTP_KEYS, part, notes)
    return target


def _note_unsent(
    name: str, config: Mapping[str, Any], method: str, part: Part, notes: ImportNotes
) -> None:
    """Note what a request cannot send although its key is known."""
    for key in ("headers", "queryParams"):
        if config.get(key) and not isinstance(config[key], dict):
            notes.add(
                part.where, f"provider {_named(name)}: {key}", "is no mapping of names to texts"
            )
    if config.get("body") and method == "GET":
        why = "is not sent with GET; write method: POST to send it"
        notes.add(part.where, f"provider {_named(name)}: body", why)


def _same_for_all(
    headers: Mapping[str, str], name: str, part: Part, notes: ImportNotes
) -> Iterator[tuple[str, str]]:
    """Yield the headers that name no variable but the environment's; the others are noted."""
    for header, text in headers.items():
        if all(map(env_name, names_in(text))):
            yield header, text
        else:
            why = "is left out: it names a variable, and headers are the same for all rows here"
            notes.add(part.where, f"provider {_named(name)}: header {header}", why)


def _body(body: Any, part: Part, notes: ImportNotes) -> Any:
    """Return the body of a request without secrets, parsed if it is a text of JSON."""
    if isinstance(body, str):
        try:
            body = json.loads(body)
        except ValueError:
            return body_without_secrets(body, part.where, notes)
    return without_secrets(as_json(body), part.where, notes, "body")


def _answer_path(transform: Any) -> str | None:
    """Return the path of the answer that a transform of the form ``json.a.b`` leads to.

    None without a transform. Raises NotTakenError for one of another form.
    """
    if transform in (None, "", "text"):
        return None
    found = _PATH.fullmatch(transform.strip()) if isinstance(transform, str) else None
    if found is None or found["root"] not in ("json", found["arg"]) or not found["path"]:
        raise NotTakenError(
            f"its transformResponse {shorten(repr(transform), 80)} is no path such as json.answer"
        )
    return found["path"].replace("?", "").lstrip(".")
