"""The words of the built-in grammar: who does what to whom."""

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class Noun:
    singular: str
    plural: str
    kind: str

    def form(self, plural: bool) -> str:
        return self.plural if plural else self.singular

    @property
    def marked(self) -> bool:
        """Whether the form tells the number: that of `deer` does not."""
        return self.singular != self.plural


@dataclass(frozen=True)
class Verb:
    singular: str
    plural: str
    past_singular: str
    past_plural: str

    def form(self, plural: bool, past: bool) -> str:
        if past:
            return self.past_plural if plural else self.past_singular
        return self.plural if plural else self.singular


@dataclass(frozen=True)
class Frame:
    """A verb with those it likes as subject and object; no objects where it takes none."""

    weight: int
    verb: Verb
    subjects: tuple[Noun, ...]
    objects: tuple[Noun, ...]


# Many words here are nouns in one place and verbs in another: cook, guard, duck, fish, fly, watch,
# saw and all events. Two are adjectives and adverbs: fast, early.
KINDS = {
    "person": "hunter farmer cook guard girl boy king thief/thieves doctor woman/women "
    "child/children",
    "animal": "fox/foxes deer/deer duck dog cat mouse/mice rabbit bird sheep/sheep fish/fish "
    "goose/geese fly/flies",
    "thing": "key table door box/boxes lamp watch/watches saw cabinet apple carrot cake gate house "
    "tree",
    "event": "walk dance visit hunt plan chase run fall",
}


def _nouns(kind: str, words: str) -> Iterable[Noun]:
    for word in words.split():
        singular, _, plural = word.partition("/")
        yield Noun(singular, plural or singular + "s", kind)


NOUNS = {noun.singular: noun for kind, words in KINDS.items() for noun in _nouns(kind, words)}


def chosen(words: str) -> tuple[Noun, ...]:
    """Nouns by name; a kind's name in capitals stands for all of it."""
    found: list[Noun] = []
    for word in words.split():
        if word.isupper():
            found += [noun for noun in NOUNS.values() if noun.kind == word.lower()]
        else:
            found.append(NOUNS[word])
    return tuple(found)


def _frame(weight: int, verb: str, subjects: str, objects: str) -> Frame:
    plural, singular, past = verb.split()
    return Frame(weight, Verb(singular, plural, past, past), chosen(subjects), chosen(objects))


BE = Verb("is", "are", "was", "were")
_EAT, _CHASE, _FEAR = "eat eats ate", "chase chases chased", "fear fears feared"
_GUARD, _HUNT, _LOVE = "guard guards guarded", "hunt hunts hunted", "love loves loved"
FRAMES = (
    _frame(12, "shoot shoots shot", "hunter", "fox deer duck"),
    _frame(2, "shoot shoots shot", "farmer", "rabbit bird"),
    _frame(4, _HUNT, "hunter king", "fox deer rabbit"),
    _frame(2, _HUNT, "fox cat", "mouse bird goose"),
    _frame(4, _CHASE, "dog", "cat fox thief"),
    _frame(3, _CHASE, "cat", "mouse bird"),
    _frame(3, _CHASE, "fox", "duck rabbit goose"),
    _frame(3, _CHASE, "guard", "thief"),
    _frame(4, _EAT, "cat", "mouse fish"),
    _frame(2, _EAT, "duck bird fish", "fly"),
    _frame(2, _EAT, "fox", "goose rabbit"),
    _frame(3, _EAT, "deer rabbit sheep mouse", "apple carrot"),
    _frame(3, _EAT, "PERSON", "apple cake fish"),
    _frame(4, _FEAR, "fox deer duck rabbit", "hunter"),
    _frame(2, _FEAR, "mouse bird", "cat"),
    _frame(2, _FEAR, "cat sheep goose", "dog"),
    _frame(2, _FEAR, "thief", "guard dog"),
    _frame(9, "see sees saw", "PERSON ANIMAL", "PERSON ANIMAL THING EVENT"),
    _frame(9, "watch watches watched", "PERSON ANIMAL", "PERSON ANIMAL EVENT"),
    _frame(6, "hear hears heard", "PERSON ANIMAL", "PERSON ANIMAL EVENT"),
    _frame(5, "cook cooks cooked", "cook farmer woman", "fish duck carrot"),
    _frame(5, _GUARD, "guard", "gate house king"),
    _frame(3, _GUARD, "dog", "sheep house"),
    _frame(5, "visit visits visited", "PERSON", "PERSON house"),
    _frame(7, "plan plans planned", "king doctor hunter girl cook", "EVENT"),
    _frame(5, _LOVE, "PERSON", "EVENT"),
    _frame(2, _LOVE, "PERSON", "PERSON dog cat"),
    _frame(3, "open opens opened", "thief guard boy girl", "door box cabinet gate"),
    _frame(2, "mend mends mended", "farmer boy woman", "saw watch lamp table"),
    _frame(3, "sleep sleeps slept", "PERSON ANIMAL", ""),
    _frame(3, "run runs ran", "PERSON dog cat fox deer mouse rabbit", ""),
    _frame(5, "walk walks walked", "PERSON dog goose", ""),
    _frame(4, "dance dances danced", "PERSON", ""),
    _frame(5, "fish fishes fished", "hunter boy girl king", ""),
    _frame(5, "duck ducks ducked", "thief boy hunter guard", ""),
    _frame(5, "fly flies flew", "bird duck goose fly", ""),
    _frame(4, "fall falls fell", "apple lamp tree key box saw", ""),
)
ADJECTIVES = {
    "person": ("old", "young", "tired", "hungry", "clever", "fast"),
    "animal": ("old", "young", "hungry", "small", "clever", "fast"),
    "thing": ("old", "new", "small", "red", "heavy"),
    "event": ("early", "new", "fast"),
}
OFTEN = ("often", "never", "always", "rarely")
HOW = ("fast", "early", "slowly", "quietly")
PLACES = chosen("table door box cabinet gate house tree")
LOCKED = chosen("cabinet door box gate house")
BESIDES = chosen("PERSON ANIMAL THING")
NEAR = ("near", "behind", "beside")
ON = ("on", "under", "near", "behind")
# A determiner of either number, or of one; "the" far more often than the rest.
EITHER = ("my", "his", "her", "their")
ONE = ("a", "this", "that", "every")
MANY = ("these", "those", "some", "many")
SUBJECT_PRONOUNS = {False: ("he", "she"), True: ("they", "we", "you")}
OBJECT_PRONOUNS = {False: ("him", "her"), True: ("them", "us", "you")}
