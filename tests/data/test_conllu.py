"""CoNLL-U: what is read, and that nothing else changes when it is written."""

import random
from pathlib import Path

import pytest

from unspool.data.conllu import COLUMNS
from unspool.data.files import DataError
from unspool.data.tagged import TaggedFile, read_tagged

SENTENCE = """\
# sent_id = 1
# text = vámonos al mar _
1-2\tvámonos\t_\t_\t_\t_\t_\t_\t_\t_
1\tvamos\tir\tVERB\tV\tMood=Imp\t0\troot\t0:root\tA=1|Score=3
2\tnos\tnosotros\tPRON\tP\tCase=Acc|Number=Plur\t1\tobj\t1:obj\t_
2.1\tya\tya\tADV\t_\t_\t_\t_\t1:advmod\t_
3\ta l\ta\tADP\tA\t_\t4\tcase\t4:case\tSpaceAfter=No
4\t_\t_\tNOUN\tN\t_\t1\tobl\t1:obl\t_
"""
SECOND = "1\tsí\tsí\tINTJ\tI\tPolarity=Pos\t0\troot\t0:root\t_\n"
WORDS = [("vamos", "nos", "a l", "_"), ("sí",)]


def read(folder: Path, content: str, **options: object) -> TaggedFile:
    (folder / "a.conllu").write_text(content, encoding="utf-8", newline="")
    return read_tagged(folder / "a.conllu", **options)  # type: ignore[arg-type]


@pytest.mark.parametrize("column", COLUMNS)
@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_filling_in_its_own_tags_gives_the_same_bytes(
    tmp_path: Path, column: str, end: str, mark: str
) -> None:
    text = mark + f"{SENTENCE}\n{SECOND}\n\t\n".replace("\n", end)
    file = read(tmp_path, text, column=column)
    tags = [example.tags or () for example in file.examples]
    assert "".join(line + "\n" for line in file.fill(tags)) == text
    place = COLUMNS.index(column)
    tokens = [line.split("\t") for line in (SENTENCE + SECOND).split("\n")]
    assert sum(tags, ()) == tuple(cells[place] for cells in tokens if cells[0].isdecimal())


@pytest.mark.parametrize("seed", range(5))
def test_only_the_column_changes(tmp_path: Path, seed: int) -> None:
    draw = random.Random(seed)
    place = draw.randrange(2, 10)
    text = f"{SENTENCE}\n{SECOND}"  # no blank line, and no line end, after the last sentence
    file = read(tmp_path, text.rstrip("\n"), column=COLUMNS[place])
    assert [example.words for example in file.examples] == WORDS
    assert [e.where.split(", ")[1] for e in file.examples] == ["line 4", "line 10"]
    tags = [[f"T{draw.random()}" for _ in words] for words in WORDS]
    rest = (tag for sentence in tags for tag in sentence)
    for old, new in zip(text.rstrip("\n").split("\n"), file.fill(tags), strict=True):
        cells: list[str] = [*old.split("\t")]
        if cells[0].isdecimal():
            cells[place] = next(rest)
        assert new.split("\t") == cells


def test_scores_go_into_misc(tmp_path: Path) -> None:
    file = read(tmp_path, SENTENCE)
    filled = list(file.fill([["A", "B", "C", "D"]], [["0.1", "0.2", "0.3", "0.4"]]))
    assert [line.split("\t")[9] for line in filled if line[0] != "#"] == [
        "_", "A=1|Score=0.1", "Score=0.2", "_", "SpaceAfter=No|Score=0.3", "Score=0.4"
    ]  # fmt: skip


def test_a_sentence_that_is_not_annotated_can_only_be_tagged(tmp_path: Path) -> None:
    text = SENTENCE + "\n" + SECOND.replace("INTJ", "_")
    with pytest.raises(DataError, match=r"a\.conllu, line 10: the word 'sí' has no upos"):
        read(tmp_path, text)
    file = read(tmp_path, text, need_tags=False)
    assert [example.tags is None for example in file.examples] == [False, True]
    assert list(file.fill([["A"] * 4, ["B"]]))[-1] == SECOND.replace("INTJ", "B").rstrip()


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("5\tx\tx\tNOUN", "4 columns found: a line of CoNLL-U has 10"),
        (SECOND.rstrip().replace("\t", " "), "1 column found"),
        (SECOND.rstrip() + "\t_", "11 columns found"),
        (SECOND.rstrip(), r"word 1 stands where word 5 is expected \(a blank line"),
        (SECOND.rstrip().replace("1\ts", "x\ts"), ".*begins with a number.*got 'x'"),
    ],
)
def test_a_broken_line_is_named(tmp_path: Path, line: str, message: str) -> None:
    with pytest.raises(DataError, match=rf"a\.conllu, line 9: {message}"):
        read(tmp_path, SENTENCE + line + "\n\n" + SECOND)


def test_an_unknown_column_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"the columns of CoNLL-U are id, form, .*got 'pos'"):
        read(tmp_path, SENTENCE, column="pos")
