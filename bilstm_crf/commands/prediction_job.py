"""From inputs to output, block by block: what the command predict does once a model is loaded."""

import logging
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import cast

from bilstm_crf.commands.predict_options import PredictOptions
from bilstm_crf.console import TokenBar
from bilstm_crf.corpus.byte_order import as_utf8, encoding_of
from bilstm_crf.corpus.data_section import ReaderSettings
from bilstm_crf.corpus.text_source import STANDARD_INPUT, open_bytes
from bilstm_crf.corpus.tokenizer import TokenUnit
from bilstm_crf.errors import DataError
from bilstm_crf.prediction.document_output import FORMATS
from bilstm_crf.prediction.documents import (
    JsonLines,
    LabelledDocument,
    TextLines,
    TokenSentences,
)
from bilstm_crf.prediction.input_format import detect_input_format
from bilstm_crf.prediction.labeller import Labeller
from bilstm_crf.prediction.line_aligned import LineAligned
from bilstm_crf.prediction.line_blocks import LastEnd, last_line_end, read_blocks, read_some
from bilstm_crf.prediction.questions import Questions, Thresholds
from bilstm_crf.prediction.sheet_blocks import sentence_ends
from bilstm_crf.prediction.spacy_tokens import SpacyTokenizer
from bilstm_crf.prediction.text_sentences import Tokenizer, sentences_of

logger = logging.getLogger(__name__)

_DESCRIPTIONS = {
    "tokens": "a token a line",
    "text": "running text, a document a line",
    "jsonl": "JSON lines",
}


class PredictionJob:
    """One run of the command.

    Args:
        labeller: the model.
        options: what the user asked for.
        settings: how to read columns.
        bar: shows how far it is.
        flush: called before waiting for more input.
    """

    def __init__(
        self,
        labeller: Labeller,
        options: PredictOptions,
        settings: ReaderSettings,
        bar: TokenBar,
        flush: Callable[[], None],
    ):
        self._labeller, self._options, self._bar, self._flush = labeller, options, bar, flush
        columns = labeller.training_columns
        self._settings = replace(settings, features={**columns, **settings.features})
        self._thresholds = Thresholds.parse(options.thresholds, labeller.types)
        self._unit: TokenUnit | Tokenizer
        if options.tokens.startswith("spacy:"):
            self._unit = SpacyTokenizer(options.tokens.removeprefix("spacy:"))
        else:
            known = options.tokens if options.tokens != "auto" else labeller.token_unit
            self._unit = cast(TokenUnit, known)

    def run(self, sources: Iterable["Source"], output_format: str) -> Iterator[bytes]:
        """Yield the output, piece by piece."""
        if output_format in ("tokens", "conll"):
            yield from self._lines(sources, keep_columns=output_format == "conll")
        else:
            yield from map(str.encode, self._written(sources, output_format))

    def _lines(self, sources: Iterable["Source"], *, keep_columns: bool) -> Iterator[bytes]:
        """Yield token lines with labels; those of token files stay as they are."""
        last = b"\n"
        for source in sources:
            if source.format != "tokens":
                yield from map(str.encode, self._written([source], "tokens"))
                continue
            self._tell_that_tokens_are_there(source)
            questions = Questions(
                token_probabilities=bool(self._options.probabilities),
                marginals=self._options.marginals,
                thresholds=self._thresholds,
            )
            aligned = LineAligned(
                self._labeller, source.path, self._settings, questions, keep_columns=keep_columns
            )
            if not last.endswith(b"\n"):
                yield b"\n"
            pieces = map(aligned.add_labels, self._blocks(source))
            for piece, num_tokens in chain(pieces, (finish() for finish in (aligned.finish,))):
                self._bar.advance(num_tokens)
                last = piece or last
                yield piece

    def _written(self, sources: Iterable["Source"], name: str) -> Iterator[str]:
        """Yield documents in the format of a name."""
        probabilities = self._options.wants_probabilities(name)
        questions = Questions(
            probabilities=probabilities,
            token_probabilities=probabilities and name == "tokens",
            marginals=self._options.marginals,
            thresholds=self._thresholds,
            k_best=self._options.k_best,
        )
        documents = (one for source in sources for one in self._labelled(source, questions))
        return FORMATS[name](documents, self._labeller.file_scheme)

    def _labelled(self, source: "Source", questions: Questions) -> Iterator[LabelledDocument]:
        reader = self._reader(source)
        blocks = map(reader.read, self._blocks(source))
        for documents in map(list, chain(blocks, (finish() for finish in (reader.finish,)))):
            sentences = [sentence for one in documents for sentence in one.sentences]
            predictions = self._labeller.predict_sentences(sentences, questions)
            for document in documents:
                own = list(islice(predictions, len(document.sentences)))
                self._bar.advance(sum(len(one.sentence) for one in own))
                yield LabelledDocument(document, own)

    def _reader(self, source: "Source") -> TextLines | JsonLines | TokenSentences:
        if source.format == "tokens":
            self._tell_that_tokens_are_there(source)
            return TokenSentences(source.path, self._settings, self._labeller.context_tokens)
        kind = JsonLines if source.format == "jsonl" else TextLines
        return kind(source.path, partial(sentences_of, unit=self._unit))

    def _tell_that_tokens_are_there(self, source: "Source") -> None:
        if self._options.tokens != "auto":
            logger.warning(
                "--tokens %s: %s has a token a line, which is not cut", self._options.tokens,
                source.name,
            )  # fmt: skip

    def _blocks(self, source: "Source") -> Iterator[bytes]:
        for block in source.blocks():
            yield block
            self._flush()


class Source:
    """One input: opened, its format found from its beginning.

    Args:
        path: the file, or ``-``.
        format_: ``auto`` or what it is.
        settings: how to read it.

    Attributes:
        name: what messages call it.
        format: what it is.
    """

    def __init__(self, path: Path, format_: str, settings: ReaderSettings):
        self.path, self._settings = path, settings
        self._stream = open_bytes(path)
        try:
            self._head = read_some(self._stream)
            self._encoding = encoding_of(self._head, settings.encoding, path)
        except DataError:
            self.close()
            raise
        head = as_utf8(self._head, self._encoding)
        self.format = format_ if format_ != "auto" else detect_input_format(head)
        self._last_end: LastEnd = last_line_end
        if self.format == "tokens":
            self._last_end = sentence_ends(head, settings, path)
        self.name = "standard input" if path == STANDARD_INPUT else str(path)
        marked = f" in {self._encoding}" * (self._encoding != settings.encoding)
        logger.info("%s: read as %s%s", self.name, _DESCRIPTIONS[self.format], marked)

    def blocks(self) -> Iterator[bytes]:
        """Yield the whole input in blocks of whole lines or, of token lines, whole sentences.

        Then close it.
        """
        yield from read_blocks(
            self._stream,
            self.path,
            head=self._head,
            last_end=self._last_end,
            encoding=self._encoding,
        )
        self.close()

    def close(self) -> None:
        """Close the input."""
        if self.path != STANDARD_INPUT:
            self._stream.close()
