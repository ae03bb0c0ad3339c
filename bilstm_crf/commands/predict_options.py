"""What ``bilstm-crf predict`` is asked for."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import get_args

from bilstm_crf.corpus.tokenizer import TokenUnit
from bilstm_crf.errors import ConfigError
from bilstm_crf.model.numpy_network import BATCH_SENTENCES
from bilstm_crf.prediction.document_output import FORMATS
from bilstm_crf.prediction.input_format import INPUT_FORMATS

OUTPUT_FORMATS = ("auto", "tokens", "conll", *(name for name in FORMATS if name != "tokens"))
TOKEN_UNITS = ("auto", *get_args(TokenUnit), "spacy")


@dataclass(frozen=True)
class PredictOptions:
    """How to read, what to ask and how to write; see the help of ``bilstm-crf predict``.

    Raises:
        ConfigError: a name is unknown.
    """

    input_format: str = "auto"
    output_format: str = "auto"
    probabilities: bool | None = None
    marginals: bool = False
    thresholds: Sequence[str] = ()
    k_best: int = 0
    tokens: str = "auto"
    vectors: Sequence[Path] = ()
    overrides: Sequence[str] = ()
    batch_size: int = BATCH_SENTENCES
    device: str = "auto"
    threads: int | None = None

    def __post_init__(self) -> None:
        for option, name, known in (
            ("--input-format", self.input_format, INPUT_FORMATS),
            ("--output-format", self.output_format, OUTPUT_FORMATS),
            ("--tokens", self.tokens.partition(":")[0], TOKEN_UNITS),
        ):
            if name not in known:
                raise ConfigError(f"{option} {name}: expected {', '.join(known)}")
        if self.tokens in ("spacy", "spacy:"):
            raise ConfigError("--tokens spacy: expected a language behind it, such as spacy:en")

    def wants_probabilities(self, output_format: str) -> bool:
        """Return whether entities get probabilities: where not said otherwise, in JSON lines."""
        return output_format == "jsonl" if self.probabilities is None else self.probabilities

    def check(self, output_format: str) -> None:
        """Refuse what an output format cannot hold.

        Raises:
            ConfigError: it is asked for.
        """
        if self.k_best and output_format != "jsonl":
            raise ConfigError("--k-best needs --output-format jsonl")
        if self.probabilities and output_format not in ("jsonl", "tokens", "conll", "html"):
            raise ConfigError("--probabilities needs --output-format jsonl, tokens, conll or html")
        if self.marginals and output_format not in ("jsonl", "tokens", "conll"):
            raise ConfigError("--marginals needs --output-format jsonl, tokens or conll")
