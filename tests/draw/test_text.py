import unicodedata

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from unspool.draw import alignment_text
from unspool.draw.labels import columns, cut, shorten, visible

# As terminals show them: one column, two, none, and what must not reach a terminal.
TOKENS = st.text("ab漢かｱ한e\u0301\u200d\u1161\n \t\x1b\u202eא", max_size=30)


def test_an_alignment_as_a_terminal_shows_it() -> None:
    weights = [[1.0, 0.0, 0.0], [0.1, 0.6, 0.3], [0.0, 0.2, 0.8]]
    assert alignment_text(["the", "cat", "."], ["le", "chat", "。"], weights).split("\n") == [
        "     the cat .",
        "  le ███",
        "chat     ▒▒▒ ░",
        "  。     ░░░ ▓",
    ]


def test_accents_take_no_column_and_chinese_two() -> None:
    found = alignment_text(["漢字", "e\u0301e\u0301"], ["か", "ab"], [[1, 1], [1, 1]])
    assert found.split("\n") == ["   漢字 e\u0301e\u0301", "か ████ ██", "ab ████ ██"]


@given(st.lists(TOKENS, min_size=1), st.lists(TOKENS, min_size=1), st.integers(12, 60))
def test_no_line_is_too_wide_and_nothing_is_lost(
    source: list[str], target: list[str], width: int
) -> None:
    weights = torch.rand(len(target), len(source))
    blocks = alignment_text(source, target, weights, width=width).split("\n\n")
    for block in blocks:
        lines = block.split("\n")
        assert len(lines) == 1 + len(target)
        assert all(columns(line) <= width for line in lines)
        assert not any(unicodedata.category(c) == "Cc" or c == "\u202e" for c in "".join(lines))
    heads = " ".join(block.split("\n")[0] for block in blocks).split()
    assert len(heads) == len(source)


@given(st.lists(st.sampled_from(["ab", "漢字", "e\u0301", "x"]), min_size=1, max_size=40))
def test_every_bar_stands_under_its_token(source: list[str]) -> None:
    for at in range(len(source)):
        weights = [[1.0 * (k == at) for k in range(len(source))]]
        blocks = alignment_text(source, ["t"], weights, width=30).split("\n\n")
        head, row = next(b.split("\n") for b in blocks if "█" in b)
        start = columns(row[: row.index("█")])
        under = "".join(c for k, c in enumerate(head) if columns(head[: k + 1]) > start)
        assert under.split()[0] == source[at]
        assert row.count("█") == columns(source[at])


def test_a_terminal_can_be_too_narrow() -> None:
    with pytest.raises(ValueError, match="12 columns or more, not 5"):
        alignment_text(["a"], ["b"], [[1]], width=5)


def test_bad_shapes_are_refused() -> None:
    with pytest.raises(ValueError, match=r"expected \(1, 2\)"):
        alignment_text(["a", "b"], ["c"], [[1], [0]])


@pytest.mark.parametrize(
    ("token", "shown"),
    [("", "∅"), (" ", "␣"), ("\n", "⏎"), ("\u0301", "◌\u0301"), ("\x1b[0m", "\ufffd[0m"),
     ("\u202ea", "\ufffda"), ("\u093f", "◌\u093f"), ("ok", "ok")],
)  # fmt: skip
def test_tokens_that_cannot_be_seen_get_a_sign(token: str, shown: str) -> None:
    assert visible(token) == shown


@given(TOKENS, st.integers(1, 12))
def test_cutting_keeps_to_the_limit(token: str, limit: int) -> None:
    for found in (cut(token, limit), shorten(token, limit)):
        assert columns(found) <= limit
        assert (found == token) == (columns(token) <= limit)
    start = cut(token, limit).removesuffix("…")
    assert token.startswith(start)
    rest = token[len(start) :]
    # A letter keeps its accents, or goes with them.
    assert not start or not rest or columns(rest[0]) > 0 or columns(start) == 0


def test_names_keep_their_ends() -> None:
    assert shorten("a long name of a model, seed 12", 15) == "a long …seed 12"
