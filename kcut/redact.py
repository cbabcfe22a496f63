"""Credentials in commands and logs, replaced by `***`.

Every pattern is bounded or begins where none of its own characters stand before, so that the time is linear
in the text whatever the text is.
"""

import json
import re
from collections.abc import Iterable, Mapping

MASK = "***"
#: A known secret of fewer characters is not looked for: it may be a part of any word.
SHORTEST = 8

#: Where a word can begin; an escaped newline of a JSON log ends one as well.
_START = r"(?:(?<![A-Za-z0-9_-])|(?<=\\[nrt]))"
_DIGIT = r"(?=[A-Za-z_-]{0,200}[0-9])"

#: Keys that their first characters tell.
_KEYS = re.compile(
    _START
    + r"(?:"
    + r"|".join(
        (
            r"sk-ant-[A-Za-z0-9_-]{4,}",
            rf"sk-{_DIGIT}[A-Za-z0-9_-]{{8,}}",
            r"(?:gh[pousr]_|github_pat_|glpat-|xox[abeoprs]-|xapp-)[A-Za-z0-9_-]{6,}",
            r"(?:AKIA|ASIA|ABIA|ACCA)[0-9A-Z]{12,}",
            r"AIza[A-Za-z0-9_-]{20,}",
            r"ya29\.[A-Za-z0-9_-]{16,}",
            r"(?:hf|npm|gsk|r8|dop_v1|shpat|whsec|sk_live|sk_test|rk_live|rk_test)_[A-Za-z0-9]{16,}(?![A-Za-z0-9_])",
            rf"pypi-{_DIGIT}[A-Za-z0-9_-]{{16,}}",
            r"xai-[A-Za-z0-9]{20,}",
            r"SG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}",
            r"eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{4,}(?:\.[A-Za-z0-9_-]*)?",
        )
    )
    + r")"
)
_BEARER = re.compile(r"\b(bearer|basic)([ \t]{1,8})(?=[^\s\"']{0,200}[0-9])([A-Za-z0-9._~+/=-]{8,})", re.IGNORECASE)
_AUTHORIZATION = re.compile(
    r"(authorization[\"']?[ \t]{0,8}[:=][ \t]{0,8}[\"']?(?:(?:bearer|basic|token)[ \t]{1,8})?+)"
    r"([^\s\"'$\\*][^\s\"']*)",
    re.IGNORECASE,
)
_USERINFO = re.compile(r"(?<=://)([^\s/@:'\"]*:)([^\s/'\"$*][^\s/'\"]*)(?=@)")
_URL_TOKEN = re.compile(r"(?<=://)[A-Za-z0-9_-]{20,}(?=@)")

#: `NAME=value`, `"name": "value"`, `name: value` and `--name value`, in whatever quotes.
_ASSIGNMENT = re.compile(
    r"(?<![\w.$-])(?<!\$\{)(?P<dashes>-{0,2})(?P<name>[A-Za-z_][A-Za-z0-9_.-]{0,100})(?![\w.-])"
    r"(?P<between>\\*[\"']?[ \t]{0,4}[:=](?![=:])[ \t]{0,4}|[ \t]{1,8})"
    r"(?:(?P<quote>\\*[\"'])|(?=[^\s\"';&|<>()\\]))"
)
_BARE = re.compile(r"[^\s\"';&|<>()\\]+")
_DOUBLE = re.compile(r"(?:[^\"\\\n]|\\[^\n])*+")
_SINGLE = re.compile(r"[^'\n]*+")
_ESCAPED = re.compile(r"[^\"'\\\n]*+")

_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[A-Z]+")
#: A name that ends in one of these tells of a secret, and holds none.
_ABOUT = re.compile(
    r"file|path|dir|directory|url|uri|endpoint|names?|counts?|limits?|length|size|type|env|var|ttl|expiry|timeout|"
    r"field|header|prefix|stdin|prompt|policy|manager|store|helper|budget|usage|s|parser|template|regex"
)
_SECRET = ("token", "secret", "password", "passwd", "passphrase", "credential", "apikey", "privatekey")
_NO_SECRET = ("tokens", "tokeniz", "tokenis", "secretary", "passwordless")
_HARMLESS = re.compile(
    r"(?i:true|false|yes|no|on|off|none|null|nil|undefined|required|optional|x{3,}|\*+|\.{3,}|\d{1,3}|"
    r"<[^>]*>?|\{\{.*|%\w+%|\[.*)"
)
_REFERENCE = re.compile(r"(?i:(?:bearer|basic|token)[ ])?(?:\$(?:[\w{(]|$)|`)")
_WHOLE_REFERENCE = re.compile(r"(?:\w+ )?\$(?:\w+|\{[^}]*\}|\(.*\))")
_ATTRIBUTE = re.compile(r"(?:self|cls|args|opts|options|os|env|environ|process|config|settings|secrets|vars)\.[\w.]+")

_BLOCK = re.compile(r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----")
_BLOCK_END = re.compile(r"-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----")
_BLOCK_BODY = re.compile(r"(?:[ \t\r\n]|\\[nr])*+(?:[A-Za-z0-9+/=]{16,}(?:[ \t\r\n]|\\[nr])*+)*+")

_HEX = re.compile(r"[0-9a-fA-F]{32,}")
_LONG = re.compile(r"[A-Za-z0-9]{20,}|[A-Za-z0-9+/]{32,}")


def redact(text: str) -> tuple[str, bool]:
    """The text with every credential replaced by `***`, and whether there were any."""
    out = _blocks(text)
    out = _assignments(out)
    out = _AUTHORIZATION.sub(rf"\1{MASK}", out)
    out = _BEARER.sub(rf"\1\2{MASK}", out)
    out = _USERINFO.sub(rf"\1{MASK}", out)
    out = _URL_TOKEN.sub(MASK, out)
    out = _KEYS.sub(MASK, out)
    return out, out != text


def redact_bytes(data: bytes) -> tuple[bytes, bool]:
    """As `redact`, for bytes of any encoding that keeps ASCII; other bytes stay as they are."""
    out, found = redact(data.decode("utf-8", "surrogateescape"))
    return out.encode("utf-8", "surrogateescape"), found


def secret_values(named: Mapping[str, str]) -> frozenset[str]:
    """The values whose names say that they are secrets; not those so short that other text may hold them."""
    return frozenset(
        value
        for name, value in named.items()
        if len(value) >= SHORTEST and _secret_name(name) and not _HARMLESS.fullmatch(value) and not _is_path(value)
    )


def redact_known(data: bytes, secrets: Iterable[str]) -> bytes:
    """The bytes without these very secrets, as they are or as JSON writes them."""
    for secret in sorted(secrets, key=len, reverse=True):
        for spelling in {secret, json.dumps(secret)[1:-1], json.dumps(secret, ensure_ascii=False)[1:-1]}:
            data = data.replace(spelling.encode("utf-8", "surrogateescape"), MASK.encode())
    return data


def looks_like_credential(text: str) -> bool:
    """True for what `redact` would replace, and for long words that no name of a model or version is like."""
    if redact(text)[1]:
        return True
    return any(_random(match[0]) for match in _LONG.finditer(text))


def _random(word: str) -> bool:
    mixed = any(map(str.islower, word)) and any(map(str.isupper, word)) and any(map(str.isdigit, word))
    hexadecimal = _HEX.fullmatch(word) is not None and not word.isalpha() and not word.isdigit()
    return mixed or hexadecimal


def _is_path(value: str) -> bool:
    return value.startswith(("/", "./", "../", "~/")) and not any(
        _random(match[0]) for match in _LONG.finditer(value)
    )


def _blocks(text: str) -> str:
    """Private key blocks, whole or with their end missing."""
    parts: list[str] = []
    done = position = 0
    last_end = max((match.start() for match in _BLOCK_END.finditer(text)), default=-1)
    while (begin := _BLOCK.search(text, position)) is not None:
        stop = begin.end()
        if stop <= last_end and (end := _BLOCK_END.search(text, stop)) is not None:
            stop = end.end()
        elif body := _BLOCK_BODY.match(text, stop):
            stop = body.end()
        position = stop
        if stop > begin.end():  # the words alone are no key
            parts += (text[done : begin.start()], MASK)
            done = stop
    return "".join(parts) + text[done:] if parts else text


def _assignments(text: str) -> str:
    parts: list[str] = []
    done = position = 0
    while (match := _ASSIGNMENT.search(text, position)) is not None:
        option = match["between"].isspace()
        kind = _secret_name(match["name"])
        if kind is None or (option and not match["dashes"]):
            position = match.end("name")
            continue
        start = match.end()
        stop = _value_end(text, start, match["quote"])
        value = text[start:stop]
        colon = ":" in match["between"] and match["quote"] is None
        if _is_secret(value, match["name"], kind, quote=match["quote"], colon=colon, after=text[stop : stop + 1]):
            parts += (text[done:start], MASK)
            done = stop
        position = max(stop, match.end("name"))
    return "".join(parts) + text[done:] if parts else text


def _value_end(text: str, start: int, quote: str | None) -> int:
    if quote is None:
        pattern = _BARE
    elif len(quote) > 1:
        pattern = _ESCAPED
    else:
        pattern = _DOUBLE if quote == '"' else _SINGLE
    match = pattern.match(text, start)
    return match.end() if match else start


def _secret_name(name: str) -> str | None:
    """Which word makes a name that of a secret, None if none does. `MAX_TOKENS` counts and `key` sorts."""
    words = [match[0].lower() for match in _WORD.finditer(name)]
    joined = "".join(words)
    if not words or _ABOUT.fullmatch(words[-1]) or any(word in joined for word in _NO_SECRET):
        return None
    if len(words) > 1 and words[-1] in {"key", "keys", "pwd", "pass", "auth", "pat"}:
        return words[-1]
    return next((word for word in _SECRET if word in joined), None)


def _is_secret(value: str, name: str, kind: str, *, quote: str | None, colon: bool, after: str) -> bool:
    """Whether a value assigned to a secret's name is one itself, and not a reference, a switch or a number."""
    if (
        not value
        or value.startswith(("-", "id=", MASK))
        or _HARMLESS.fullmatch(value)
        or value.lower() == name.lower()
    ):
        return False
    if quote == "'" and _WHOLE_REFERENCE.fullmatch(value):
        return False
    if quote != "'" and _REFERENCE.match(value):
        return False
    if kind in {"key", "keys", "token"} and value.isdigit() and len(value) < 10:
        return False
    if quote is None and (after == "(" or _ATTRIBUTE.fullmatch(value) or _is_path(value)):
        return False
    if colon:  # `token: expected` is prose, `x-api-key: 1f2e3d4c` a header
        return len(value) >= 6 and any(map(str.isdigit, value))
    return True
