"""Models: from text to an answer."""

from unspool.models.bridge import Bridge, EncoderBridge
from unspool.models.classifier import Classifier, ClassifierSettings
from unspool.models.crf import CRF
from unspool.models.decoder import Decoder
from unspool.models.language_model import LanguageModel, LanguageModelSettings
from unspool.models.model import Loss, Model
from unspool.models.ngram import KneserNey
from unspool.models.search import Search, Translated, Translation, noisy_channel, translate
from unspool.models.seq2seq import Seq2Seq
from unspool.models.speak import Wish, generate, score
from unspool.models.tagger import Tagger, TaggerSettings
from unspool.models.transformer import Transformer
from unspool.models.translator import Translator, TranslatorSettings

__all__ = [
    "CRF", "Bridge", "Classifier", "ClassifierSettings", "Decoder", "EncoderBridge", "KneserNey",
    "LanguageModel", "LanguageModelSettings", "Loss", "Model", "Search", "Seq2Seq", "Tagger",
    "TaggerSettings", "Transformer", "Translated", "Translation", "Translator",
    "TranslatorSettings", "Wish", "generate", "noisy_channel", "score", "translate",
]  # fmt: skip
