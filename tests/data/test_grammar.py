"""The built-in grammar, read by a reader of its own that knows English and not the lexicon."""

from collections import Counter, defaultdict

import pytest

from unspool.data.grammar import TAGS, agreement_pairs, grammar
from unspool.data.tagged import Tagged

DRAWN = grammar(4000, 3)
Tokens = list[tuple[str, str]]
ANY = {"singular", "plural"}
IRREGULAR = {"women", "children", "mice", "geese"}
SAME = {"deer", "sheep", "fish"}
PAST = {
    "shot", "hunted", "chased", "ate", "feared", "saw", "watched", "heard", "cooked", "guarded",
    "visited", "planned", "loved", "opened", "mended", "slept", "ran", "walked", "danced",
    "fished", "ducked", "flew", "fell",
}  # fmt: skip


def noun_number(word: str) -> set[str]:
    if word in SAME:
        return ANY
    return {"plural"} if word in IRREGULAR or word.endswith("s") else {"singular"}


def determiner_number(word: str) -> set[str]:
    if word in ("a", "an", "this", "that", "every"):
        return {"singular"}
    return {"plural"} if word in ("these", "those", "some", "many") else ANY


def pronoun_number(word: str) -> set[str]:
    return {"singular"} if word in ("he", "she", "it") else {"plural"}


def verb_number(word: str) -> set[str]:
    if word in PAST:
        return ANY
    return {"singular"} if word.endswith("s") else {"plural"}


class Reader:
    """Reads one sentence from left to right; each rule eats what it knows."""

    def __init__(self, tokens: Tokens):
        self.tokens = [*tokens, ("", "")]

    def tag(self, ahead: int = 0) -> str:
        return self.tokens[ahead][1]

    def take(self, *tags: str) -> str:
        word, tag = self.tokens.pop(0)
        assert tag in tags, f"{word} is {tag}, and {tags} is expected before {self.tokens}"
        return word

    def noun_phrase(self) -> set[str]:
        determiner = self.take("DET")
        following = self.tokens[0][0]
        if determiner in ("a", "an"):
            assert (determiner == "an") == (following[0] in "aeiou")
        if self.tag() == "ADJ":
            self.take("ADJ")
        number = noun_number(self.take("NOUN")) & determiner_number(determiner)
        assert number, f"{determiner} {following} do not agree"
        return number

    def subject(self) -> set[str]:
        if self.tag() == "PRON":
            return pronoun_number(self.take("PRON"))
        number = self.noun_phrase()
        if self.tag() == "PRON":
            assert self.take("PRON") == "that"
            number = self.relative(number)
        self.places()
        return number

    def relative(self, number: set[str]) -> set[str]:
        if self.tag() == "VERB":
            number = self.verb(number)
            self.noun_phrase()
        else:
            self.verb(self.noun_phrase())
        return number

    def verb(self, number: set[str]) -> set[str]:
        word = self.take("VERB")
        assert number & verb_number(word), f"{word} does not agree with a {number}"
        return number & verb_number(word)

    def places(self) -> None:
        while self.tag() == "PREP":
            self.take("PREP")
            self.noun_phrase()

    def sentence(self) -> None:
        number = self.subject()
        if self.tag() == "ADV":
            self.take("ADV")
        self.verb(number)
        if self.tag() == "ADV":
            self.take("ADV")
        if self.tag() in ("PRON", "ADJ"):
            self.take("PRON", "ADJ")
        elif self.tag() == "DET":
            self.noun_phrase()
        self.places()
        assert self.take("PUNCT") == "."
        assert self.tokens == [("", "")]


def tokens(example: Tagged) -> Tokens:
    assert example.tags is not None
    return list(zip(example.words, example.tags, strict=True))


def test_every_sentence_is_english_and_agrees() -> None:
    for example in DRAWN:
        Reader(tokens(example)).sentence()


def test_the_reader_hears_a_wrong_verb() -> None:
    wrong = [("the", "DET"), ("keys", "NOUN"), ("is", "VERB"), ("old", "ADJ"), (".", "PUNCT")]
    with pytest.raises(AssertionError, match="does not agree"):
        Reader(wrong).sentence()


def test_the_tags_are_those_it_names() -> None:
    assert {tag for example in DRAWN for _, tag in tokens(example)} == set(TAGS)


def test_more_sentences_begin_with_the_same_ones() -> None:
    assert grammar(50, 3) == DRAWN[:50]
    assert grammar(50, 4) != DRAWN[:50]
    assert grammar(0, 3) == []


def test_words_alone_do_not_tell_the_tag_and_sentences_do() -> None:
    by_word: defaultdict[str, Counter[str]] = defaultdict(Counter)
    by_sentence: defaultdict[tuple[str, ...], set[tuple[str, ...] | None]] = defaultdict(set)
    for example in DRAWN:
        by_sentence[example.words].add(example.tags)
        for word, tag in tokens(example):
            by_word[word][tag] += 1
    both = {word for word, tags in by_word.items() if min(tags["NOUN"], tags["VERB"]) >= 5}
    assert {"duck", "cooks", "saw", "watches", "flies", "walk", "plans"} <= both
    assert min(by_word["that"].values()) >= 5 <= min(by_word["her"].values())
    assert all(len(tags) == 1 for tags in by_sentence.values())


def roles(example: Tagged) -> tuple[str, str, str] | None:
    """Subject, verb and object of `the N V the N .`, and None for other sentences."""
    if example.tags != ("DET", "NOUN", "VERB", "DET", "NOUN", "PUNCT"):
        return None
    return example.words[1], example.words[2], example.words[4]


def test_hunters_shoot_foxes_and_both_are_subjects_and_objects() -> None:
    drawn = [found for example in grammar(20_000, 0) if (found := roles(example))]
    hunters, foxes = {"hunter", "hunters"}, {"fox", "foxes"}
    shots = [(who, whom) for who, verb, whom in drawn if verb in ("shot", "shoots", "shoot")]
    right = sum(who in hunters and whom in foxes for who, whom in shots)
    wrong = sum(who in foxes and whom in hunters for who, whom in shots)
    assert right > 50
    assert wrong < right / 10
    for animals in (hunters, foxes):
        assert sum(who in animals for who, _, _ in drawn) > 100
        assert sum(whom in animals for _, _, whom in drawn) > 100


def test_roles_are_swapped_now_and_then() -> None:
    shooters = Counter(
        found[0].removesuffix("s")
        for example in grammar(40_000, 0)
        if (found := roles(example)) and found[1] in ("shot", "shoots", "shoot")
    )
    total = sum(shooters.values())
    assert 0 < total - shooters["hunter"] - shooters["farmer"] < 0.05 * total


def test_pairs_differ_in_the_number_of_the_verb_only() -> None:
    numbers = Counter()
    for index, (right, wrong, distractors) in enumerate(agreement_pairs(2000, 5)):
        assert distractors == index % 4
        words = list(zip(right.split(), wrong.split(), strict=True))
        (place,) = [i for i, (one, other) in enumerate(words) if one != other]
        one, other = (verb_number(word) for word in words[place])
        assert len(one) == len(other) == 1
        assert one != other
        numbers.update(one)
        nouns = nouns_of([word for word, _ in words[:place]])
        assert noun_number(nouns[0]) == one
        assert len(nouns) == 1 + distractors
        assert all(noun_number(noun) == other for noun in nouns[1:])
    assert min(numbers.values()) > 800


def nouns_of(words: list[str]) -> list[str]:
    """The nouns of phrases without relative clauses: each ends its phrase."""
    often, after = {"often", "never", "always", "rarely"}, {"to", "near", "behind", "beside"}
    words = [word for word in words if word not in often]
    ends = [i for i in range(len(words)) if i + 1 == len(words) or words[i + 1] in after]
    return [words[i] for i in ends]


def test_a_count_below_nought_is_an_error() -> None:
    with pytest.raises(ValueError, match="0 or more; got -1"):
        grammar(-1, 0)
