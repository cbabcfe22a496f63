"""Sentences about nothing in particular, as long as they are asked for, in words that a text does not use. Pure."""

import re
from collections.abc import Collection, Iterator, Sequence

_WORD = re.compile(r"[^\W_]+")
#: Words that every text uses. None of them is more than a word to YAML, as `on` and `no` are.
_COMMON = {1: ("a",), 2: ("of", "to", "in", "by", "at"), 3: ("the", "and", "for")}
_ADJECTIVES = _WORD.findall(
    "amber autumn blue calm coastal cold distant early faded gentle golden grey heavy hollow late little mild muddy "
    "narrow northern old pale patient purple quiet rainy round rusty salty silver sleepy slow small southern "
    "striped sunny tall thin velvet warm wet wide windy winter wooden woollen young"
)
_NOUNS = _WORD.findall(
    "acorn baker barge barley basket beekeeper bell blanket boat bracken brook cellist chimney cloud cook cottage "
    "crow dolphin donkey duck farmer ferry fiddler fisherman fog fox gardener goose grasshopper harbour hare "
    "hedge heron horse hummingbird island kettle lantern lark lighthouse lily maple meadow miller minstrel moon "
    "moth mountain oak orchard otter oyster pear piper plum pony potter quilt rain raven river robin rooster "
    "sailor seagull shepherd sparrow spoon strawberry swan tailor teapot thistle thunderstorm tide turnip violin "
    "walnut weaver willow windmill wren"
)
_VERBS = _WORD.findall(
    "admires befriends carries circles colours crosses drifts encircles faces follows gathers greets hears hums "
    "keeps leaves likes outlives overlooks paints passes pleases recalls rests sees shades sings sketches sleeps "
    "surprises visits wakes warms watches whistles"
)
_PLACES = _WORD.findall(
    "afternoon bakery bay beach bridge canal churchyard cliff courtyard dusk evening fair ferry fireplace forest "
    "garden glen hill lagoon lake marsh mill morning noon park pier pond quay sea seaside shore snow spring square "
    "summer sunrise sunset valley village vineyard winter"
)
_BY = ("at", "by", "in", "of", "for", "to")
_VOWELS, _CONSONANTS = "aeiou", "bdfglmnprstv"
#: Fewer words than this are made more of.
_FEWEST = 5
_SHORT, _LONG = 4, 8
_STEP = 2654435761
#: After so many made-up words that a text holds already it holds all of them.
_TRIES = 10_000


def words_of(text: str) -> frozenset[str]:
    """The words of a text, in lower case."""
    return frozenset(_WORD.findall(text.lower()))


class Prose:
    """An endless text without words of `avoid`, but for `the`, `of` and their like. `start` chooses the text."""

    def __init__(self, avoid: Collection[str], *, start: int = 0) -> None:
        self._avoid = avoid
        self._at = start
        self._lists = [self._known(words) for words in (_ADJECTIVES, _NOUNS, _VERBS, _PLACES)]
        every = sorted({word for words in self._lists for word in words})
        self._by_length: dict[int, tuple[str, ...]] = dict(_COMMON)
        for length in range(4, max(map(len, every)) + 1):
            self._by_length[length] = tuple(word for word in every if len(word) == length)
        self._longest = max(self._by_length)
        self._sentence: Iterator[str] = iter(())

    def begin(self) -> None:
        """Let what comes next be a new sentence."""
        self._sentence = iter(())

    def fill(self, room: int) -> str:
        """The next so many characters: whole words, no blank at either end."""
        parts: list[str] = []
        while room:
            word = self._next()
            left = room - len(word) - 1
            if left != -1 and (left < 1 or (left < _SHORT and room <= self._longest)):
                word = self._exactly(room)  # rather than one that leaves room for `of` or `the` alone
            parts.append(word)
            room -= len(word) + (room > len(word))
        return " ".join(parts)

    def _draw(self, among: int) -> int:
        """The next number of a fixed sequence, below `among`."""
        self._at = (self._at * 1103515245 + 12345) % 2**31
        return (self._at * _STEP >> 16) % among

    def _next(self) -> str:
        while True:
            word = next(self._sentence, None)
            if word is not None:
                return word
            self._sentence = iter(self._compose())

    def _compose(self) -> list[str]:
        """`The quiet heron follows the old ferry by the canal.`"""
        adjectives, nouns, verbs, places = self._lists
        one, two = self._of(nouns), self._of(nouns)
        said = ["The", self._of(adjectives), one, self._of(verbs), "the", self._of(adjectives), two]
        return [*said, self._of(_BY), "the", self._of(places) + "."]

    def _of(self, words: Sequence[str]) -> str:
        return words[self._draw(len(words))]

    def _exactly(self, length: int) -> str:
        """A word of that length; two, if it is a great one that no word has."""
        words = self._by_length.get(length, ())
        if words:
            return self._of(words)
        if length <= _LONG:
            return self._invented(length)
        half = length // 2
        return f"{self._exactly(half)} {self._exactly(length - half - 1)}"

    def _known(self, words: Collection[str]) -> tuple[str, ...]:
        """Those of the words that may be used, and made-up ones if they are few."""
        found = [word for word in words if word not in self._avoid]
        while len(found) < _FEWEST:
            found.append(self._invented(5 + len(found)))
        return tuple(found)

    def _invented(self, length: int) -> str:
        """A word that no language has."""
        word = ""
        for _ in range(_TRIES):
            letters = [_VOWELS if place % 2 else _CONSONANTS for place in range(length)]
            word = "".join(each[self._draw(len(each))] for each in letters)
            if word not in self._avoid:
                break
        return word
