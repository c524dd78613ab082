"""One token a line: what the column formats share when they are written again."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from unspool.data.examples import check_cell


@dataclass(frozen=True)
class TokenLayout:
    """The lines as they stood, which of them are the words of each sentence, and how to change one.

    `put(line, tag, score)` gives the line with another tag.
    """

    texts: Sequence[str]
    sentences: Sequence[Sequence[int]]
    put: Callable[[str, str, str | None], str]
    forbidden: str

    def lines(
        self, tags: Sequence[Sequence[str]], scores: Sequence[Sequence[str]] | None
    ) -> list[str]:
        """All lines, those of words with their new tags."""
        for value in {tag for sentence in (*tags, *(scores or ())) for tag in sentence}:
            if not value:
                raise ValueError("an empty tag cannot be written into a column")
            check_cell(value, self.forbidden)
        out = list(self.texts)
        for number, indices in enumerate(self.sentences):
            for position, index in enumerate(indices):
                score = None if scores is None else scores[number][position]
                out[index] = self.put(out[index], tags[number][position], score)
        return out
