"""A small English with agreement over a distance, and with tags.

Three things can be learnt from it. Agreement: in `the keys to the cabinet are on the table .` the
verb looks past the nearer noun. Tags: `duck`, `saw`, `watches` and others are nouns here and
verbs there, `that` and `her` determiners and pronouns, so the word alone does not tell. Who does
what to whom: hunters shoot foxes, and foxes fear hunters; both are subjects and objects, and
only now and then (`SWAPPED`) are the roles the wrong way round.
"""

import random
from collections.abc import Sequence
from dataclasses import dataclass

from unspool.data import lexicon
from unspool.data.lexicon import BE, FRAMES, Frame, Noun, Verb
from unspool.data.tagged import Tagged

TAGS = ("DET", "ADJ", "NOUN", "VERB", "PREP", "PRON", "ADV", "PUNCT")
SWAPPED = 0.02
Token = tuple[str, str]


@dataclass(frozen=True)
class _Clause:
    """A sentence around its verb, which is still to be put into one of its forms."""

    before: list[Token]
    verb: Verb
    plural: bool
    after: list[Token]

    def tokens(self, plural: bool, past: bool) -> list[Token]:
        verb = (self.verb.form(plural, past), "VERB")
        return [*self.before, verb, *self.after, (".", "PUNCT")]


def grammar(count: int, seed: int = 0) -> list[Tagged]:
    """`count` sentences with the tag of every word; more of them begin with the same ones."""
    rng = _random(count, seed)
    found = []
    for number in range(1, count + 1):
        clause = _clause(rng)
        words, tags = zip(*clause.tokens(clause.plural, rng.random() < 0.4), strict=True)
        found.append(Tagged(words, tags, f"builtin:grammar, sentence {number}"))
    return found


def agreement_pairs(count: int, seed: int = 0) -> list[tuple[str, str, int]]:
    """(right, wrong, distractors): two sentences that differ in the number of the verb only.

    Between subject and verb stand 0, 1, 2, 3, 0, ... nouns, in turn, all of the other number
    than the subject. The number of every one of these nouns shows in its form.
    """
    rng = _random(count, seed)
    found = []
    for index in range(count):
        clause = _clause(rng, distractors=index % 4)
        right, wrong = (
            " ".join(word for word, _ in clause.tokens(plural, past=False))
            for plural in (clause.plural, not clause.plural)
        )
        found.append((right, wrong, index % 4))
    return found


def _random(count: int, seed: int) -> random.Random:
    if count < 0:
        raise ValueError(f"count is how many sentences to draw, 0 or more; got {count}")
    return random.Random(seed)


def _clause(rng: random.Random, distractors: int | None = None) -> _Clause:
    """Any clause; or, where `distractors` says how many, one that tells right from wrong."""
    plural = rng.random() < 0.5
    if rng.random() < 0.2:
        noun = rng.choice(lexicon.BESIDES)
        verb, after = BE, _state(rng, noun)
    else:
        frame = rng.choices(FRAMES, [frame.weight for frame in FRAMES])[0]
        noun, other = _roles(rng, frame)
        verb, after = frame.verb, _rest(rng, other)
    if distractors is not None:
        if not noun.marked:
            return _clause(rng, distractors)
        others = [not plural] * distractors
        subject = _noun_phrase(rng, noun, plural) + _phrases(rng, noun, others)
    else:
        subject = _subject(rng, noun, plural)
    often = [(rng.choice(lexicon.OFTEN), "ADV")] if rng.random() < 0.1 else []
    if verb is BE:  # are often hungry, but often eat
        return _Clause(subject, verb, plural, often + after)
    return _Clause(subject + often, verb, plural, after)


def _roles(rng: random.Random, frame: Frame) -> tuple[Noun, Noun | None]:
    noun = rng.choice(frame.subjects)
    if not frame.objects:
        return noun, None
    other = rng.choice(frame.objects)
    if other.kind in ("person", "animal") and rng.random() < SWAPPED:
        return other, noun
    return noun, other


def _subject(rng: random.Random, noun: Noun, plural: bool) -> list[Token]:
    kind = rng.random()
    if kind < 0.1:
        return [_pronoun(rng, noun, plural, "they", lexicon.SUBJECT_PRONOUNS)]
    if kind < 0.2 and noun.kind in ("person", "animal"):
        return _noun_phrase(rng, noun, plural) + _relative(rng, noun, plural)
    distractors = rng.choices((0, 1, 2, 3), (60, 22, 12, 6))[0]
    others = [rng.random() < 0.5 for _ in range(distractors)]
    return _noun_phrase(rng, noun, plural) + _phrases(rng, noun, others)


def _rest(rng: random.Random, other: Noun | None) -> list[Token]:
    """What follows a verb: an object or a manner, and sometimes a place."""
    where = _place(rng, lexicon.NEAR) if rng.random() < 0.15 else []
    if other is None:
        how = [(rng.choice(lexicon.HOW), "ADV")] if rng.random() < 0.4 else []
        return how + where
    plural = rng.random() < 0.4
    if rng.random() < 0.1:
        return [_pronoun(rng, other, plural, "them", lexicon.OBJECT_PRONOUNS), *where]
    return _noun_phrase(rng, other, plural) + where


def _state(rng: random.Random, noun: Noun) -> list[Token]:
    """What follows a form of be."""
    if rng.random() < 0.5:
        return [(rng.choice(lexicon.ADJECTIVES[noun.kind]), "ADJ")]
    return _place(rng, lexicon.ON)


def _place(rng: random.Random, prepositions: Sequence[str]) -> list[Token]:
    noun, plural = rng.choice(lexicon.PLACES), rng.random() < 0.3
    return [(rng.choice(prepositions), "PREP"), *_noun_phrase(rng, noun, plural)]


def _phrases(rng: random.Random, noun: Noun, plurals: Sequence[bool]) -> list[Token]:
    """One prepositional phrase for each number, each upon the one before: distractors."""
    found: list[Token] = []
    for plural in plurals:
        if noun.singular == "key":
            preposition, noun = "to", rng.choice(lexicon.LOCKED)
        else:
            preposition = rng.choice(lexicon.NEAR)
            noun = rng.choice([other for other in lexicon.BESIDES if other.marked])
        found += [(preposition, "PREP"), *_noun_phrase(rng, noun, plural)]
    return found


def _relative(rng: random.Random, noun: Noun, plural: bool) -> list[Token]:
    """`that fears the hunter`, or `that the hunters shoot`, with a verb of its own."""
    that, other_plural = ("that", "PRON"), rng.random() < 0.5
    active = rng.random() < 0.5
    fits = [f for f in FRAMES if f.objects and noun in (f.subjects if active else f.objects)]
    frame = rng.choices(fits, [frame.weight for frame in fits])[0]
    other = rng.choice(frame.objects if active else frame.subjects)
    phrase = [("the", "DET"), (other.form(other_plural), "NOUN")]
    past = rng.random() < 0.4
    if active:
        return [that, (frame.verb.form(plural, past), "VERB"), *phrase]
    return [that, *phrase, (frame.verb.form(other_plural, past), "VERB")]


def _noun_phrase(rng: random.Random, noun: Noun, plural: bool) -> list[Token]:
    found: list[Token] = [(noun.form(plural), "NOUN")]
    if rng.random() < 0.15:
        found.insert(0, (rng.choice(lexicon.ADJECTIVES[noun.kind]), "ADJ"))
    if rng.random() < 0.7:
        determiner = "the"
    else:
        determiner = rng.choice(lexicon.EITHER + (lexicon.MANY if plural else lexicon.ONE))
    if determiner == "a" and found[0][0][0] in "aeiou":
        determiner = "an"
    return [(determiner, "DET"), *found]


def _pronoun(
    rng: random.Random, noun: Noun, plural: bool, several: str, persons: dict[bool, tuple[str, ...]]
) -> Token:
    if noun.kind == "person":
        return rng.choice(persons[plural]), "PRON"
    return (several if plural else "it"), "PRON"
