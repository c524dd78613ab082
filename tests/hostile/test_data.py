"""Data files that are not what they seem: each is refused in one message with its file and place.

Tables of ordinary mistakes stand in tests/data; here are files that are broken, huge or something
else, and what the command line says of them before anything is trained.
"""

import gzip
import io
import json
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.hostile.attack import attack, refused

TABLE = [f"text number {k}\t{'ab'[k % 2]}" for k in range(40)]
NUMBERS = [f"text {k}\t{k}" for k in range(40)]
PAIRS = [f"source {k}\ttarget {k}" for k in range(40)]
OBJECTS = [json.dumps({"text": f"text {k}", "label": "ab"[k % 2]}) for k in range(40)]
TOKENS = [json.dumps({"tokens": ["a", "b"], "tags": ["X", "Y"]}) for _ in range(40)]
SIDES = [json.dumps({"source": f"s {k}", "target": f"t {k}"}) for k in range(40)]
WORDS = ["the\tD", "dog\tN", "barks\tV"]


def among(rows: list[str], bad: str) -> bytes:
    """The rows with a bad one as line 21."""
    return "\n".join([*rows[:20], bad, *rows[20:], ""]).encode("utf-8", "surrogatepass")


def conllu(*words: str, head: str = "1", columns: int = 10, tag: str = "X") -> bytes:
    """A good sentence, and one of these words on line 3 and after."""
    cells = [[str(k), word, "_", tag, *"_____", "_"] for k, word in enumerate(words, 1)]
    cells[0][0] = head
    lines = ["1\tgood\t_\tX" + "\t_" * 6, "", *("\t".join(row[:columns]) for row in cells), ""]
    return "\n".join(lines).encode()


def workbook() -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("xl/workbook.xml", "<workbook/>")
    return file.getvalue()


def bomb(byte: bytes) -> bytes:
    """A small gzip file of very many bytes."""
    return gzip.compress(byte * 200_000_000, 1)


DEEP = "[" * 100_000 + "]" * 100_000
DIGITS = "9" * 6000
# The file's name: the task, its bytes (made when they are needed, if they are many), what is said.
FILES: dict[str, tuple[str, bytes | Callable[[], bytes], str]] = {
    # other formats
    "workbook.xlsx": ("classify", workbook(), "workbook.xlsx is no text but a zip archive; Excel"),
    "renamed.csv": ("classify", workbook(), "renamed.csv is no text but a zip archive; Excel"),
    "old.xls": ("classify", b"\xd0\xcf\x11\xe0\xa1\xb1", "old.xls is no text but a file of an old"),
    "paper.pdf": ("lm", b"%PDF-1.7\nsome text\n", "paper.pdf is no text but a PDF"),
    "letter.rtf": ("lm", b"{\\rtf1 some text}\n", "letter.rtf is no text but a document in RTF"),
    "table.parquet": ("classify", b"PAR1\x15\x04", "table.parquet is no text but a Parquet file"),
    "table.sqlite": ("classify", b"SQLite format 3\0", "table.sqlite is no text but an SQLite"),
    "packed.bz2": ("classify", b"BZh91AY&SY", "packed.bz2 is no text but packed with bzip2"),
    "packed.xz": ("classify", b"\xfd7zXZ\0\0", "packed.xz is no text but packed with xz"),
    "packed.zst": ("classify", b"\x28\xb5\x2f\xfd\0", "packed.zst is no text but packed with zstd"),
    "picture.tsv": ("classify", b"\x89PNG\r\n\x1a\n", "picture.tsv is no text but a picture"),
    "pointer.tsv": ("classify", b"version https://git-lfs.github.com/spec/v1\n", "Git LFS"),
    "twice.gz": ("classify", gzip.compress(gzip.compress(b"a\tb\n")), "inside a gzip file"),
    # bytes that are no text
    "nul.tsv": ("classify", among(TABLE, "a\0b\ta"), "nul.tsv, line 21: byte 0x00"),
    "nul.txt": ("lm", b"some\ntext\0\n", "nul.txt, line 2: byte 0x00"),
    "half.tsv": ("classify", among(TABLE, "a\ud800b\ta"), "half.tsv, line 21: byte 0xed"),
    "utf16.tsv": ("classify", "a\tb\n".encode("utf-16"), "utf16.tsv, line 1: this is UTF-16"),
    "utf16-le.tsv": ("classify", "a\tb\n".encode("utf-16-le"), "utf16-le.tsv, line 1: byte 0x00"),
    "cr.tsv": ("classify", b"a\tx\rb\ty\r" * 20, "cr.tsv: its lines end in CR alone"),
    "garbage.gz": ("classify", gzip.compress(b"a\tb\n") + b"more", "else follows its end"),
    # bombs
    "zeros.gz": ("classify", lambda: bomb(b"\0"), "zeros.gz, line 1: byte 0x00"),
    "lines.gz": ("classify", lambda: bomb(b"\n"), "lines.gz "),
    "letters.gz": ("lm", lambda: bomb(b"a"), "letters.gz unpacks to over 200"),
    "line.tsv": (
        "classify", lambda: among(TABLE, "x" * 10_000_001), "line.tsv, line 21: the line has more"
    ),
    "endless.tsv": ("classify", lambda: b"x" * 100_000_000, "endless.tsv, line 1: the line has"),
    # JSON
    "deep.jsonl": ("classify", among(OBJECTS, f'{{"text": {DEEP}}}'), "deep.jsonl, line 21: JSON"),
    "digits.jsonl": (
        "classify", among(OBJECTS, f'{{"text": "x", "label": {DIGITS}}}'),
        "digits.jsonl, line 21: a number there has too many digits",
    ),
    "nan.jsonl": (
        "classify", among(OBJECTS, '{"text": "x", "label": NaN}'),
        "nan.jsonl, line 21: 'label' is NaN, which is no number",
    ),
    "key.jsonl": (
        "classify", among(OBJECTS, '{"text": "x", "text": "y", "label": "a"}'),
        "key.jsonl, line 21: the key 'text' stands twice",
    ),
    "tokens.jsonl": (
        "tag", among(TOKENS, '{"tokens": ["a"], "tokens": ["b"], "tags": ["X"]}'),
        "tokens.jsonl, line 21: the key 'tokens' stands twice",
    ),
    "empty.jsonl": (
        "tag", among(TOKENS, '{"tokens": ["a", ""], "tags": ["X", "Y"]}'),
        "empty.jsonl, line 21: a token is empty",
    ),
    "sides.jsonl": (
        "translate", among(SIDES, '{"source": "s", "target": "t", "target": "u"}'),
        "sides.jsonl, line 21: the key 'target' stands twice",
    ),
    "array.json": ("classify", b'[{"text": "x", "label": "a"}]\n', "array.json, line 1: one JSON"),
    "pretty.json": ("classify", b'[\n {"text": "x"}\n]\n', "pretty.json, line 1: not JSON"),
    # tables
    "names.csv": (
        "classify", b"text,text,label\na,b,c\n", "names.csv, line 1: 2 columns are called 'text'"
    ),
    "cases.csv": (
        "classify", b"Text,TEXT,label\na,b,c\n", "cases.csv, line 1: 2 columns are called 'text'"
    ),
    "sides.tsv": (
        "translate", b"source\tsource\ttarget\na\tb\tc\n",
        "sides.tsv, line 1: 2 columns are called 'source'",
    ),
    "semicolons.csv": ("classify", b"text;label\na;b\n", "line 1: 1 column found, and none is"),
    "blanks.tsv": ("classify", b"some text    a\n" * 30, "do spaces stand between the columns?"),
    "bars.tsv": ("translate", b"source|target\n" * 30, "do bars stand between the columns?"),
    "digits.tsv": (
        "classify --target number", among(NUMBERS, f"x\t{DIGITS}"),
        "digits.tsv, line 21: a number is expected",
    ),
    "infinite.tsv": (
        "classify --target number", among(NUMBERS, "x\t1e999"),
        "infinite.tsv, line 21: a number is expected, not '1e999'",
    ),
    # words
    "word.conllu": ("tag", conllu("a", "", "b"), "word.conllu, line 4: the word is empty"),
    "space.conllu": ("tag", conllu(" "), "space.conllu, line 3: the word is empty"),
    "number.conllu": ("tag", conllu("a", head=DIGITS), "number.conllu, line 3: word 9999"),
    "nine.conllu": ("tag", conllu("a", columns=9), "nine.conllu, line 3: 9 columns found"),
    "together.conll": (
        "tag", "\n".join(WORDS * 200).encode(), "together.conll, line 1: 1 sentence of 600 words"
    ),
    # too little
    "letter.txt": ("lm", b"a", "letter.txt: a text of 1 character is too short"),
    "letters.txt": ("lm", b"letters", "letters.txt: a text of 7 characters is too short"),
    "row.tsv": ("classify", b"a\tb\n", "row.tsv: 1 different example is too little"),
    "repeats.tsv": ("classify", b"a\tb\n" * 50, "repeats.tsv: 1 different example is too little"),
}  # fmt: skip


@pytest.mark.parametrize("name", FILES)
def test_a_file_is_refused_with_its_place(tmp_path: Path, name: str) -> None:
    task, content, said = FILES[name]
    path, out = tmp_path / name, tmp_path / "run"
    path.write_bytes(content() if callable(content) else content)
    output = refused("train", *task.split(), path, "--out", out, inside=[out])
    assert said in output
    assert not out.exists()


def test_the_limit_of_a_line_can_be_raised_or_lifted(tmp_path: Path) -> None:
    path = tmp_path / "long.tsv"
    path.write_bytes(among(TABLE, f"{'x' * 5000}\ta"))
    out = tmp_path / "run"
    how = ["--out", out, "--epochs", "1", "--hidden", "4"]
    said = refused("train", "classify", path, *how, "--max-line", "4999", inside=[out])
    assert "long.tsv, line 21: the line has more than 4,999 characters" in said
    assert attack("train", "classify", path, *how, "--max-line", "0", inside=[out]).status == 0
    assert "line 21" in refused("predict", out, path, "--max-line", "4999")
    assert attack("predict", out, path, "--max-line", "6000").status == 0


MISTAKES = {
    "no data and no place": (["train", "tag"], ["which data?", "where to?"]),
    "no such file and no place": (
        ["train", "lm", "nowhere.txt"], ["nowhere.txt: no such file", "where to?"]
    ),
    "three files": (
        ["train", "translate", "--source", "a.de", "--target", "b.en", "--dev", "c.de"],
        ["a.de: no such file", "b.en: no such file", "c.de: no such file", "where to?"],
    ),
    "a file in the place of the run": (
        ["train", "lm", "nowhere.txt", "--out", __file__],
        ["nowhere.txt: no such file", "test_data.py is a file: a run is left in a folder"],
    ),
    "a name misspelt before the colon": (
        ["train", "classify", "bultin:words", "--out", "r"], ["did you mean builtin:words?"]
    ),
    "a name misspelt behind the colon": (
        ["train", "classify", "builtin:wrods", "--out", "r"], ["Did you mean builtin:words?"]
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", MISTAKES)
def test_all_mistakes_of_a_command_are_said_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.chdir(tmp_path)
    command, parts = MISTAKES[name]
    said = refused(*command, inside=[tmp_path])
    assert all(part in said for part in parts), said
