"""The changes that are tried, one per pair of trials: defects that happen in real repositories, and harmless ones.

Each is (name, is it harmless, what stands in prices.py, what replaces it).
"""

CHANGES = (
    ("a renamed docstring", True, "The sum less a discount in percent.", "The sum, less a discount (percent)."),
    ("conflict markers", False, "    printed: list[str] = []\n", "<<<<<<< ours\n    printed: list[str] = []\n"),
    ("a debugger left in", False, "    return sum(amounts)", "    breakpoint()\n    return sum(amounts)"),
    (
        "a list as default",
        False,
        'end: str = "--") -> list[str]:\n    """The lines, then the end."""\n    printed: list[str] = []\n',
        'end: str = "--", printed: list[str] = []) -> list[str]:\n    """The lines, then the end."""\n',
    ),
    (
        "every error swallowed",
        False,
        '    except ValueError:\n        raise ValueError(f"not an amount: {text}") from None',
        "    except:\n        return 0",
    ),
    ("a wrong factor", False, "int(whole) * 100", "int(whole) * 10"),
    ("a wrong sign", False, "(100 - discount)", "(100 + discount)"),
    (
        "a comment on breakpoint()",
        True,
        "    return sum(amounts)",
        "    # no breakpoint() here\n    return sum(amounts)",
    ),
)


def chosen(seed: int) -> tuple[str, bool, str, str]:
    """The change of a trial, by its HARNESS_SEED: the same in both trials of a pair."""
    return CHANGES[seed % len(CHANGES)]
