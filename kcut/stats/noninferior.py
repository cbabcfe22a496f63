"""The exact test of "WITH is not worse by more than a margin": what KEEP for being cheaper rests on."""

from kcut.stats.benefit import benefit_below


def noninferior(x1: int, n1: int, x2: int, n2: int, margin: float) -> float:
    """The exact p of "the second rate is not higher than the first by `margin` or more", 0 < margin < 1.

    Unconditional: tables are ordered by the score statistic of "first rate - second rate = -margin" (Farrington and
    Manning 1990), and p is their chance at the pair of rates that far apart under which they are likeliest. It is
    `benefit_below` with the groups exchanged: that the second adds the margin is rejected. As precise as that.
    """
    return benefit_below(x2, n2, x1, n1, margin)
