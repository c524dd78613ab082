"""Models: from text to an answer."""

from unspool.models.classifier import Classifier, ClassifierSettings
from unspool.models.crf import CRF
from unspool.models.language_model import LanguageModel, LanguageModelSettings
from unspool.models.model import Loss, Model
from unspool.models.ngram import KneserNey
from unspool.models.speak import Wish, generate, score
from unspool.models.tagger import Tagger, TaggerSettings

__all__ = [
    "CRF", "Classifier", "ClassifierSettings", "KneserNey", "LanguageModel",
    "LanguageModelSettings", "Loss", "Model", "Tagger", "TaggerSettings", "Wish", "generate",
    "score",
]  # fmt: skip
