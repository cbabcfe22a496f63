"""The program that is being changed: prices in cents."""


def parse(text: str) -> int:
    """Cents of an amount such as `12.50`; ValueError if it is none."""
    whole, _, cents = text.partition(".")
    try:
        return int(whole) * 100 + int(cents or 0)
    except ValueError:
        raise ValueError(f"not an amount: {text}") from None


def total(amounts: list[int], discount: int = 0) -> int:
    """The sum less a discount in percent."""
    return sum(amounts) * (100 - discount) // 100


def receipt(lines: list[str], end: str = "--") -> list[str]:
    """The lines, then the end."""
    printed: list[str] = []
    printed.extend(lines)
    return [*printed, end]
