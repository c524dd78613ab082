"""What a text costs under a model, per token or per character.

`nats` is the sum of -log p over the text, natural logarithms. Perplexities compare only between
models with the same tokens; bits per character compare between tokens too, as long as these
spell the whole text: words leave spaces out, and an unknown one costs the same however long.
"""

import math


def perplexity(nats: float, tokens: int) -> float:
    """exp(nats / tokens): between how many equally likely tokens the model is in doubt."""
    _check(tokens, "tokens")
    try:
        return math.exp(nats / tokens)
    except OverflowError:
        return math.inf


def bits_per_character(nats: float, characters: int) -> float:
    """nats / (characters log 2), with the characters of the text whatever its tokens are."""
    _check(characters, "characters")
    return nats / (characters * math.log(2))


def _check(count: int, of: str) -> None:
    if count < 1:
        raise ValueError(f"a text of {count} {of} has no cost for each: give at least 1")
