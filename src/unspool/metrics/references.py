"""What a text is compared with: one right text, or several of which any is right."""

from collections.abc import Sequence

References = Sequence[str] | Sequence[Sequence[str]]


def each_list(references: References, hypotheses: Sequence[str]) -> list[list[str]]:
    """The right texts of each hypothesis, as a list."""
    if isinstance(references, str) or isinstance(hypotheses, str):
        raise ValueError('texts come in lists, one for each example: give ["a b"], not "a b"')
    if len(references) != len(hypotheses):
        raise ValueError(
            f"{len(references)} references and {len(hypotheses)} hypotheses: give one for each, or "
            "a list where several are right"
        )
    if not references:
        raise ValueError("there are no texts to compare: give at least one")
    found = [[texts] if isinstance(texts, str) else list(texts) for texts in references]
    if not all(found):
        raise ValueError(f"example {found.index([]) + 1} has no reference: give at least one")
    return found
