"""``bilstm-crf predict``: label files of any size, or what comes through a pipe, as it comes."""

import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain, islice
from pathlib import Path

from bilstm_crf.commands.binary_output import binary_output
from bilstm_crf.commands.reading_options import reading_options
from bilstm_crf.console import TokenBar
from bilstm_crf.corpus.data_section import ReaderSettings, expand_paths
from bilstm_crf.corpus.text_source import STANDARD_INPUT, open_bytes
from bilstm_crf.corpus.tokenizer import TokenUnit
from bilstm_crf.errors import ConfigError
from bilstm_crf.model.inference import BATCH_SENTENCES
from bilstm_crf.prediction.document_output import FORMATS
from bilstm_crf.prediction.documents import (
    JsonLines,
    LabelledDocument,
    TextLines,
    TokenSentences,
)
from bilstm_crf.prediction.input_format import INPUT_FORMATS, detect_input_format
from bilstm_crf.prediction.line_aligned import LineAligned
from bilstm_crf.prediction.line_blocks import read_blocks, read_some
from bilstm_crf.prediction.model_file import load_model
from bilstm_crf.prediction.more_vectors import with_vectors
from bilstm_crf.prediction.predictor import Tagger
from bilstm_crf.prediction.questions import Questions, Thresholds
from bilstm_crf.prediction.text_sentences import sentences_of

logger = logging.getLogger(__name__)

OUTPUT_FORMATS = ("auto", "tokens", "conll", *(name for name in FORMATS if name != "tokens"))
TOKEN_UNITS = ("auto", "words", "characters")
_DESCRIPTIONS = {
    "tokens": "a token a line",
    "text": "running text, a document a line",
    "jsonl": "JSON lines",
}


@dataclass(frozen=True)
class PredictOptions:
    """How to read, what to ask and how to write; see the help of ``bilstm-crf predict``."""

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


def predict_command(
    model: Path, inputs: Sequence[str], output: str, options: PredictOptions
) -> None:
    """Label inputs and write the result as UTF-8; see the help of ``bilstm-crf predict``.

    Raises:
        BilstmCrfError: an option, the model, an input or the output is wrong.
    """
    _check_names(options)
    paths = expand_paths(inputs or ["-"])
    for path in paths:
        if output != "-" and path != STANDARD_INPUT and path.absolute() == Path(output).absolute():
            raise ConfigError(f"{output}: is an input too; write to another file")
    trained = load_model(model)
    if options.vectors:
        trained = with_vectors(trained, options.vectors)
    tagger = Tagger(trained, options.device, batch_sentences=options.batch_size)
    settings = reading_options(options.overrides).reader_settings()
    with binary_output(output) as stream, TokenBar(output_is_shown=output == "-") as bar:
        job = _Job(tagger, options, settings, bar, stream.flush)
        for piece in job.run(paths):
            stream.write(piece)


def _check_names(options: PredictOptions) -> None:
    for option, name, known in (
        ("--input-format", options.input_format, INPUT_FORMATS),
        ("--output-format", options.output_format, OUTPUT_FORMATS),
        ("--tokens", options.tokens, TOKEN_UNITS),
    ):
        if name not in known:
            raise ConfigError(f"{option} {name}: expected {', '.join(known)}")


class _Job:
    """One run of the command.

    Args:
        tagger: the model.
        options: what the user asked for.
        settings: how to read columns.
        bar: shows how far it is.
        flush: called before waiting for more input.
    """

    def __init__(
        self,
        tagger: Tagger,
        options: PredictOptions,
        settings: ReaderSettings,
        bar: TokenBar,
        flush: Callable[[], None],
    ):
        self._tagger, self._options, self._bar, self._flush = tagger, options, bar, flush
        columns = tagger.training_columns
        self._settings = replace(settings, features={**columns, **settings.features})
        self._thresholds = Thresholds.parse(options.thresholds, tagger.types)
        unit = options.tokens if options.tokens != "auto" else tagger.token_unit
        self._unit: TokenUnit = "characters" if unit == "characters" else "words"

    def run(self, paths: Sequence[Path]) -> Iterator[bytes]:
        """Yield the output, piece by piece."""
        following = (_Source(path, self._options.input_format, self._settings) for path in paths)
        first = next(following)
        sources = chain([first], following)
        name = self._options.output_format
        if name == "auto":
            name = "jsonl" if first.format == "jsonl" else "tokens"
        if name in ("tokens", "conll"):
            yield from self._lines(sources, keep_columns=name == "conll")
        else:
            yield from map(str.encode, self._written(sources, name))

    def _lines(self, sources: Iterable["_Source"], *, keep_columns: bool) -> Iterator[bytes]:
        """Yield token lines with labels; those of token files stay as they are."""
        if self._options.k_best:
            raise ConfigError("--k-best needs --output-format jsonl")
        last = b"\n"
        for source in sources:
            if source.format != "tokens":
                yield from map(str.encode, self._written([source], "tokens"))
                continue
            questions = Questions(
                token_probabilities=bool(self._options.probabilities),
                marginals=self._options.marginals,
                thresholds=self._thresholds,
            )
            aligned = LineAligned(
                self._tagger, source.path, self._settings, questions, keep_columns=keep_columns
            )
            if not last.endswith(b"\n"):
                yield b"\n"
            for block in self._blocks(source, whole_sentences=True):
                last, num_tokens = aligned.add_labels(block)
                self._bar.advance(num_tokens)
                yield last

    def _written(self, sources: Iterable["_Source"], name: str) -> Iterator[str]:
        """Yield documents in the format of a name."""
        jsonl = name == "jsonl"
        if not jsonl and (self._options.k_best or self._options.marginals):
            raise ConfigError("--k-best and --marginals of documents need --output-format jsonl")
        asked = self._options.probabilities
        questions = Questions(
            probabilities=jsonl if asked is None else asked,
            marginals=self._options.marginals,
            thresholds=self._thresholds,
            k_best=self._options.k_best,
        )
        documents = (one for source in sources for one in self._labelled(source, questions))
        return FORMATS[name](documents, self._tagger.model.file_scheme)

    def _labelled(self, source: "_Source", questions: Questions) -> Iterator[LabelledDocument]:
        reader = self._reader(source)
        for block in self._blocks(source, whole_sentences=reader.whole_sentences):
            documents = list(reader.read(block))
            sentences = [sentence for one in documents for sentence in one.sentences]
            predictions = self._tagger.predict_sentences(sentences, questions)
            for document in documents:
                own = list(islice(predictions, len(document.sentences)))
                self._bar.advance(sum(len(one.sentence) for one in own))
                yield LabelledDocument(document, own)

    def _reader(self, source: "_Source") -> TextLines | JsonLines | TokenSentences:
        if source.format == "tokens":
            return TokenSentences(source.path, self._settings)
        kind = JsonLines if source.format == "jsonl" else TextLines
        return kind(source.path, partial(sentences_of, unit=self._unit))

    def _blocks(self, source: "_Source", *, whole_sentences: bool) -> Iterator[bytes]:
        for block in source.blocks(whole_sentences):
            yield block
            self._flush()


class _Source:
    """One input: opened, its format found from its beginning.

    Args:
        path: the file, or ``-``.
        format_: ``auto`` or what it is.
        settings: its encoding.
    """

    def __init__(self, path: Path, format_: str, settings: ReaderSettings):
        self.path, self._encoding = path, settings.encoding
        self._stream = open_bytes(path)
        self._head = read_some(self._stream)
        self.format = format_ if format_ != "auto" else detect_input_format(self._head)
        name = "standard input" if path == STANDARD_INPUT else path
        logger.info("%s: read as %s", name, _DESCRIPTIONS[self.format])

    def blocks(self, whole_sentences: bool) -> Iterator[bytes]:
        """Yield the whole input in blocks, and close it."""
        try:
            yield from read_blocks(
                self._stream,
                self.path,
                head=self._head,
                whole_sentences=whole_sentences,
                encoding=self._encoding,
            )
        finally:
            if self.path != STANDARD_INPUT:
                self._stream.close()
