"""The public Python names; ``from bilstm_crf import ...`` takes them from here."""

from bilstm_crf.commands.eval_model import evaluate
from bilstm_crf.commands.train import train
from bilstm_crf.config import Config, load_config
from bilstm_crf.corpus.sentence import Sentence, Span
from bilstm_crf.errors import BilstmCrfError
from bilstm_crf.model.crf import CRF
from bilstm_crf.prediction.predictor import Tagger

__all__ = [
    "CRF",
    "BilstmCrfError",
    "Config",
    "Sentence",
    "Span",
    "Tagger",
    "evaluate",
    "load_config",
    "train",
]
