"""Slugs: the file names that component names stand for."""

import hashlib
import json
import re
import string
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kcut.model.names import slug, visible, visible_document


def digest(name: str) -> str:
    return hashlib.sha256(name.encode()).hexdigest()[:8]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("tidy-imports", "tidy-imports"),
        ("Tidy Imports", "tidy-imports"),
        ("foo/bar", "foo-bar"),
        ("FILE.md#Heading", "file-md-heading"),
        ("  --a__b!! ", "a-b"),
        ("../../etc/passwd", "etc-passwd"),
        ("a\0b\nc", "a-b-c"),
        ("café", "caf"),
        ("cafe\u0301", "caf"),  # the accent joins its letter first
        ("élan", "lan"),
        ("\u212aelvin", "kelvin"),  # the Kelvin sign is a K
        ("İstanbul", "i-stanbul"),
        ("٣", f"c-{digest('٣')}"),
        ("日本語", f"c-{digest('日本語')}"),
        ("---", f"c-{digest('---')}"),
        ("", f"c-{digest('')}"),
        ("a" * 100, "a" * 100),
        ("a" * 101, "a" * 80 + "-" + digest("a" * 101)),
        ("A" * 101, "a" * 80 + "-" + digest("A" * 101)),
        ("b" * 79 + "-" + "c" * 40, "b" * 79 + "-" + digest("b" * 79 + "-" + "c" * 40)),
        ("-" * 300 + "x", "x"),
    ],
)
def test_a_name_has_one_slug(name: str, expected: str) -> None:
    assert slug(name) == expected


def test_a_name_that_is_not_utf8_is_hashed_by_its_bytes() -> None:
    assert slug("\udcff\udcfe") == "c-" + hashlib.sha256(b"\xff\xfe").hexdigest()[:8]
    assert re.fullmatch(r"c-[0-9a-f]{8}", slug("\ud800"))
    assert slug("\ud800") != slug("\udc00")


@given(st.text(alphabet=st.characters(exclude_categories=())))
def test_every_text_has_a_slug_that_is_a_plain_file_name(name: str) -> None:
    text = slug(name)
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", text)
    assert len(text) <= 100


@given(st.text(max_size=30))
def test_a_slug_is_its_own_slug(name: str) -> None:
    assert slug(slug(name)) == slug(name)


@given(st.text(alphabet=string.ascii_letters + string.digits + "-_ ./é", min_size=1, max_size=99))
def test_case_and_normal_form_change_nothing_in_a_short_name(name: str) -> None:
    if not slug(name).startswith("c-"):
        assert slug(name) == slug(name.upper()) == slug(unicodedata.normalize("NFD", name))


@given(st.text(alphabet="ab", min_size=101, max_size=160), st.text(alphabet="ab", min_size=101, max_size=160))
def test_long_names_that_differ_have_slugs_that_differ(one: str, other: str) -> None:
    assert (slug(one) == slug(other)) == (one == other)


def test_what_is_no_text_is_made_visible() -> None:
    assert visible("caf\udce9 \ud800 é\n") == "caf\\xe9 \\ud800 é\n"
    given_document = {"a\udcff": ["\udcfe", {"b": ("\udcfd", 1, None, True)}], "c": "d"}
    assert visible_document(given_document) == {"a\\xff": ["\\xfe", {"b": ["\\xfd", 1, None, True]}], "c": "d"}


ANY_TEXT = st.text(st.characters(exclude_categories=()))
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | ANY_TEXT,
    lambda inner: st.lists(inner) | st.dictionaries(ANY_TEXT, inner),
)


@given(VALUES)
def test_any_document_can_be_written_as_utf8(document: object) -> None:
    text = json.dumps(visible_document(document), ensure_ascii=False)
    assert json.loads(text.encode()) == visible_document(document)


@given(st.text())
def test_text_stays_as_it_is(text: str) -> None:
    assert visible(text) == text
