"""Members of a JSON object on a line, and the line with some of them changed."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from unspool.data.files import DataError
from unspool.data.json_line import as_json, members, put

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)
OBJECTS = st.dictionaries(st.text(max_size=3), VALUES, max_size=4)
STYLES = st.sampled_from([(",", ":"), (", ", ": "), (" ,\t", " :  ")])


@given(OBJECTS, STYLES, st.booleans())
def test_random_members_are_those_that_json_reads(
    value: dict[str, Any], style: tuple[str, str], ascii: bool
) -> None:
    line = f" {json.dumps(value, separators=style, ensure_ascii=ascii)} "
    found = members(line, "here")
    assert {key: member.value for key, member in found.items()} == value
    assert all(line[m.start :].startswith(m.raw) for m in found.values())


@given(OBJECTS, OBJECTS, STYLES, st.booleans())
def test_random_changes_are_those_of_a_dictionary(
    value: dict[str, Any], changes: dict[str, Any], style: tuple[str, str], ascii: bool
) -> None:
    line = json.dumps(value, separators=style, ensure_ascii=ascii)
    changed = put(line, {key: json.dumps(new) for key, new in changes.items()})
    assert json.loads(changed) == value | changes
    assert list(json.loads(changed)) == list(value | changes)


@given(OBJECTS, STYLES, st.booleans())
def test_random_lines_stay_as_they_are_where_nothing_changes(
    value: dict[str, Any], style: tuple[str, str], ascii: bool
) -> None:
    line = f"{json.dumps(value, separators=style, ensure_ascii=ascii)}  "
    assert put(line, {}) == line
    assert put(line, {key: m.raw for key, m in members(line, "here").items()}) == line


def test_the_rest_of_the_line_keeps_its_spelling() -> None:
    line = r'{ "a":1e2,"t" : "\u00e9\/", "label":"x" ,"z": 1.50 }'
    assert put(line, {"label": '"y"'}) == line.replace('"x"', '"y"')
    assert put("{ }", {"a": "1"}) == '{"a": 1 }'


@given(st.text())
def test_text_becomes_a_string_unless_it_looks_like_what_stood_there(text: str) -> None:
    assert json.loads(as_json(text)) == text
    assert as_json(text, like=1) in (text, as_json(text))


@pytest.mark.parametrize("number", ["0", "-1.50", "1e5", "true"])
def test_numbers_go_back_as_they_are_written(number: str) -> None:
    assert as_json(number, like=0.5) == number
    assert as_json(number, like="x") == f'"{number}"'


@pytest.mark.parametrize("line", ['{"a": 1', "[1]", "3", '{"a": 1} {"b": 2}', "{", "nope"])
def test_other_things_than_one_object_are_refused(line: str) -> None:
    with pytest.raises(DataError, match=r"^here: .*one (JSON )?object"):
        members(line, "here")
