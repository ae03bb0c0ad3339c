"""Labelled documents as text: a table of output formats that stream document by document."""

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from bilstm_crf.corpus.sentence import Sentence, Span
from bilstm_crf.corpus.writers import WRITERS
from bilstm_crf.evaluation.markup import MarkedText, mark_up_html
from bilstm_crf.prediction.documents import LabelledDocument
from bilstm_crf.prediction.labeller import Prediction
from bilstm_crf.prediction.token_columns import probability_cells

_DIGITS = 6
"""Decimals of a probability."""

_LEAST_MARGINAL = 0.001
"""Labels less probable than this are not listed."""

DocumentFormat = Callable[[Iterable[LabelledDocument], str], Iterator[str]]
"""Turns labelled documents into pieces of text; the second argument is the scheme of labels."""


def write_token_lines(documents: Iterable[LabelledDocument], scheme: str) -> Iterator[str]:
    """Yield each token, a tab and its label, and an empty line after each sentence.

    Probabilities that were asked for follow in further columns.
    """
    for document in documents:
        for one in document.predictions:
            rows = zip(one.sentence.tokens, one.labels, _further_columns(one), strict=True)
            yield "".join([f"{token}\t{label}{rest}\n" for token, label, rest in rows]) + "\n"


def _further_columns(prediction: Prediction) -> Iterable[str]:
    values, marginals = prediction.token_probabilities, prediction.marginals
    if values is None and marginals is None:
        return [""] * len(prediction.labels)
    rows = None if marginals is None else (row.items() for row in marginals)
    return ("".join(f"\t{cell}" for cell in cells) for cells in probability_cells(values, rows))


def write_jsonl(documents: Iterable[LabelledDocument], scheme: str) -> Iterator[str]:
    """Yield an object a line: what came in, the text, and its entities under ``spans``.

    With marginals, ``marginals`` lists the tokens and the probability of each label; with k best
    paths, ``k_best`` lists for each sentence sets of entities with their probability.
    """
    for labelled in documents:
        document = labelled.document
        fields = {**document.fields, "text": document.text}
        fields["spans"] = [_entry(span, document.text) for span in labelled.spans()]
        if any(one.marginals is not None for one in labelled.predictions):
            fields["marginals"] = [
                entry for one in labelled.predictions for entry in _marginals(one, document.text)
            ]
        if any(one.k_best is not None for one in labelled.predictions):
            fields["k_best"] = [_ranked(one, labelled) for one in labelled.predictions]
        yield _as_json(fields) + "\n"


def _entry(span: Span, text: str) -> dict[str, Any]:
    entry: dict[str, Any] = {
        "start": span.start,
        "end": span.end,
        "type": span.type,
        "text": text[span.start : span.end],
    }
    if span.probability is not None:
        entry["probability"] = round(span.probability, _DIGITS)
    return entry


def _marginals(prediction: Prediction, text: str) -> list[dict[str, Any]]:
    offsets, marginals = prediction.sentence.offsets or (), prediction.marginals or []
    return [
        {
            "start": start,
            "end": end,
            "text": text[start:end],
            "labels": {
                label: round(value, _DIGITS)
                for label, value in sorted(labels.items(), key=_by_falling_value)
                if value >= _LEAST_MARGINAL
            },
        }
        for (start, end), labels in zip(offsets, marginals, strict=True)
    ]


def _by_falling_value(item: tuple[str, float]) -> float:
    return -item[1]


def _ranked(prediction: Prediction, labelled: LabelledDocument) -> list[dict[str, Any]]:
    text = labelled.document.text
    return [
        {
            "probability": round(value, _DIGITS),
            "spans": [_entry(span, text) for span in labelled.spans_of(prediction, spans)],
        }
        for value, spans in prediction.k_best or []
    ]


def _as_json(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    # Half of a surrogate pair, which JSON can carry and UTF-8 cannot, stays an escape.
    return text if _is_encodable(text) else json.dumps(value)


def _is_encodable(text: str) -> bool:
    if text.isascii():
        return True
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def write_html(documents: Iterable[LabelledDocument], scheme: str) -> Iterator[str]:
    """Yield a page with the entities in colour."""
    marked = (MarkedText(one.document.text, one.spans()) for one in documents)
    return mark_up_html(marked)


def _by_table(name: str) -> DocumentFormat:
    """Return the format of the corpus writers' table; a document is one of its sentences."""
    writer = WRITERS[name]

    def write(documents: Iterable[LabelledDocument], scheme: str) -> Iterator[str]:
        yield writer.begin
        for number, labelled in enumerate(documents):
            sentence, spans = _whole(labelled)
            yield (writer.between if number else "") + writer.sentence(sentence, spans, scheme)
        yield writer.end

    return write


def _whole(labelled: LabelledDocument) -> tuple[Sentence, Sequence[Span]]:
    """Return a document as one sentence, and its entities counted in its tokens."""
    tokens: list[str] = []
    offsets: list[tuple[int, int]] = []
    spans: list[Span] = []
    for one in labelled.predictions:
        first = len(tokens)
        spans += [Span(s.start + first, s.end + first, s.type, s.probability) for s in one.spans]
        tokens += one.sentence.tokens
        offsets += one.sentence.offsets or ()
    text = labelled.document.text
    return Sentence(tuple(tokens), text=text, offsets=tuple(offsets)), spans


FORMATS: dict[str, DocumentFormat] = {
    "tokens": write_token_lines,
    "jsonl": write_jsonl,
    "inline": _by_table("inline"),
    "html": write_html,
    "doccano": _by_table("doccano"),
    "prodigy": _by_table("prodigy"),
    "label-studio": _by_table("label-studio"),
}
"""Format name -> what writes it."""
