"""Text made safe for one line of a terminal, and numbers in the words people read."""

import unicodedata
from textwrap import wrap

#: Printed where a value is unknown or undefined.
UNKNOWN = "-"

_SHORT = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}
#: Control, format (bidi, zero width, tags), surrogate, line and paragraph separator.
_HIDDEN = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})


def plain(text: str) -> str:
    """`text` as one line in which nothing acts on a terminal or hides: such characters are shown as escapes.

    Bytes that could not be decoded (lone surrogates) are shown as `\\xNN`. Never raises; the result can be encoded.
    """
    if text.isascii() and text.isprintable():
        return text
    return "".join(map(_visible, text))


def _visible(char: str) -> str:
    """`char`, or its escape if it is not to reach a terminal as it is."""
    if char in _SHORT:
        return _SHORT[char]
    if unicodedata.category(char) not in _HIDDEN:
        return char
    code = ord(char)
    if 0xDC80 <= code <= 0xDCFF:  # how Python carries an undecodable byte
        return f"\\x{code - 0xDC00:02x}"
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def width(text: str) -> int:
    """How many terminal columns `text` takes: wide characters two, combining ones none."""
    if text.isascii():
        return len(text)
    return sum(map(_columns, text))


def _columns(char: str) -> int:
    if unicodedata.category(char) in {"Mn", "Me"}:
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1


def fold(text: str, indent: int, columns: int = 80) -> str:
    """`text` in lines of at most `columns`, those after the first indented; a long word stays whole."""
    blanks = " " * indent
    return "\n".join(
        wrap(text, columns, subsequent_indent=blanks, break_long_words=False, break_on_hyphens=False) or [""]
    )


def pad(text: str, columns: int) -> str:
    """`text` with spaces to at least that many terminal columns."""
    return text + " " * max(0, columns - width(text))


def shorten(text: str, columns: int) -> str:
    """`plain(text)`, cut in the middle with `...` if it takes more than `columns` terminal columns."""
    text = plain(text)
    if width(text) <= columns:
        return text
    if columns <= 3:
        return "..."[:columns]
    head = (columns - 3 + 1) // 2
    return _fit(text, head) + "..." + _fit(text[::-1], columns - 3 - head)[::-1]


def limited(text: str, columns: int) -> str:
    """`shorten(text, columns)`, of at most twice as many characters: combining ones take no columns."""
    if len(text) > 20 * columns:  # both ends are more than what can be seen
        text = text[: 10 * columns] + text[-10 * columns :]
    text = shorten(text, columns)
    return text if len(text) <= 2 * columns else text[: 2 * columns - 3] + "..."


def _fit(text: str, columns: int) -> str:
    """The longest start of `text` that takes at most `columns`."""
    taken = 0
    for index, char in enumerate(text):
        taken += _columns(char)
        if taken > columns:
            return text[:index]
    return text


def money(usd: float | None) -> str:
    """US dollars: `$12.50`, `$0.104`, `$0.0004`; `-` if unknown."""
    if usd is None:
        return UNKNOWN
    if usd == 0 or usd >= 1:
        return f"${usd:.2f}"
    if usd >= 0.001:
        return f"${usd:.3f}"
    return f"${usd:.4f}" if usd >= 0.0001 else "<$0.0001"


def duration(ms: float | None) -> str:
    """Milliseconds as `420ms`, `18.7s`, `2m05s` or `1h02m`; `-` if unknown."""
    if ms is None:
        return UNKNOWN
    if round(ms) < 1000:
        return f"{round(ms)}ms"
    if round(ms / 100) < 600:
        return f"{ms / 1000:.1f}s"
    seconds = round(ms / 1000)
    if seconds < 3600:
        return f"{seconds // 60}m{seconds % 60:02d}s"
    minutes = round(seconds / 60)
    return f"{minutes // 60}h{minutes % 60:02d}m"


def clock(seconds: float) -> str:
    """Seconds as a stopwatch shows them: `0:41`, `1:02:03`."""
    whole = max(0, int(seconds))
    if whole < 3600:
        return f"{whole // 60}:{whole % 60:02d}"
    return f"{whole // 3600}:{whole // 60 % 60:02d}:{whole % 60:02d}"


def rate(value: float | None) -> str:
    """A rate with two digits, more only where two would claim exactly 0 or 1; `-` if undefined."""
    if value is None:
        return UNKNOWN
    for digits in (2, 3, 4):
        text = f"{value:.{digits}f}"
        if value in {0, 1} or float(text) not in {0, 1}:
            return text
    return "<0.0001" if value < 0.5 else ">0.9999"


def signed(value: float | None) -> str:
    """A difference of rates with its sign: `+0.03`, `-0.40`, `0.00`; `-` if undefined."""
    if value is None:
        return UNKNOWN
    if value == 0:
        return "0.00"
    return ("-" if value < 0 else "+") + rate(abs(value)).lstrip("<>")


def count(number: int, noun: str, plural: str | None = None) -> str:
    """`1 trial`, `3 trials`."""
    return f"{number} {noun if number == 1 else plural or noun + 's'}"
