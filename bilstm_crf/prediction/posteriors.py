"""How probable a model holds given entities and whole label paths to be.

The probability of an entity is exact: the share of all label paths of the sentence, weighted by
their probability, in which exactly this entity stands. It is asked of the distribution over
paths, not put together from the probabilities of single tokens. (Where the model's own scheme is
IO or IOB1, whose first labels do not show a beginning, the tail of a longer entity counts too.)
"""

import copy
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from jaxtyping import Bool, Float, Int64
from numpy.typing import NDArray
from torch import Tensor

from bilstm_crf.corpus.batches import make_batch, plan_batches
from bilstm_crf.corpus.encoding import encode
from bilstm_crf.corpus.labels import SCHEMES, spans_to_labels, split_label
from bilstm_crf.corpus.sentence import Sentence, Span
from bilstm_crf.model.crf import CRF
from bilstm_crf.model.softmax_head import SoftmaxHead
from bilstm_crf.prediction.predictor import Tagger
from bilstm_crf.training.corpora import with_known_columns
from bilstm_crf.training.preparation import form_table

BATCH_SENTENCES = 64
BATCH_TOKENS = 4_096
"""Limits of a batch, padding included; the distribution holds several numbers a label and token."""


@dataclass(frozen=True)
class ScoredSpans:
    """The entities of one sentence with their probabilities.

    Attributes:
        spans: the entities; those of a type unknown to the model have probability 0.
        path_probability: of the label path that has exactly these entities; None if the
            model does not know a type.
    """

    spans: tuple[Span, ...]
    path_probability: float | None


def score_spans(
    tagger: Tagger, sentences: Sequence[Sentence], *alternatives: Sequence[Sequence[Span]]
) -> list[list[ScoredSpans]]:
    """Ask a model for the probabilities of entities.

    Args:
        tagger: the model.
        sentences: the sentences.
        alternatives: sets of entities, such as gold and predicted ones; each has the spans of
            every sentence, in token offsets.

    Returns:
        For each alternative the scored spans of every sentence.
    """
    questions = _Questions(tagger.labels, tagger.model.scheme)
    head, temperature = _tempered(tagger)
    # The one path of a sentence without tokens is certain.
    results = [[ScoredSpans((), 1.0)] * len(sentences) for _ in alternatives]
    for numbers, emissions, mask in _emissions(tagger, sentences):
        asked = _Batch(head, emissions / temperature, mask)
        for result, spans in zip(results, alternatives, strict=True):
            found = questions.ask(asked, [spans[number] for number in numbers])
            for number, scored in zip(numbers, found, strict=True):
                result[number] = scored
    return results


def _tempered(tagger: Tagger) -> tuple[CRF | SoftmaxHead, float]:
    """Return the head with its scores divided by the model's temperature, and that."""
    head = copy.deepcopy(tagger.network.head)
    temperature = tagger.model.temperature
    with torch.no_grad():
        for parameter in head.parameters():
            parameter.div_(temperature)
    return head, temperature


def _emissions(
    tagger: Tagger, sentences: Sequence[Sentence]
) -> Iterator[
    tuple[NDArray[np.int64], Float[Tensor, "batch time labels"], Bool[Tensor, "batch time"]]
]:
    """Yield the numbers of the sentences of a batch, their emissions and mask."""
    model = tagger.model
    corpus = encode(sentences, tuple(model.vocabularies.columns))
    corpus = with_known_columns(corpus, model.vocabularies)
    forms = form_table(model.section, model.vocabularies)
    forms.extend(corpus.forms)
    plan = plan_batches(corpus.lengths, batch_size=BATCH_SENTENCES, batch_tokens=BATCH_TOKENS)
    with torch.inference_mode():
        for numbers in plan:
            batch = make_batch(corpus, forms, numbers, with_labels=False).to(tagger.device)
            yield numbers, tagger.network.emissions(batch), batch.mask


class _Batch:
    """What can be asked about a batch, whichever head the model has."""

    def __init__(
        self,
        head: CRF | SoftmaxHead,
        emissions: Float[Tensor, "batch time labels"],
        mask: Bool[Tensor, "batch time"],
    ):
        self._head, self.emissions, self.mask = head, emissions, mask
        self._distribution = head.distribution(emissions, mask) if isinstance(head, CRF) else None
        self._marginals = None if isinstance(head, CRF) else head.marginals(emissions, mask)

    def log_probability(self, paths: Int64[Tensor, "batch time"]) -> Float[Tensor, " batch"]:
        """Return the log probability of one label path per sentence."""
        if self._distribution is None or not isinstance(self._head, CRF):
            return self._head.log_likelihood(self.emissions, paths, self.mask)
        score = self._head.path_score(self.emissions, paths, self.mask)
        return score - self._distribution.log_partition

    def span_probability(
        self,
        sentences: Int64[Tensor, " spans"],
        starts: Int64[Tensor, " spans"],
        allowed: Bool[Tensor, "spans positions labels"],
    ) -> Float[Tensor, " spans"]:
        """Return the probability that every label of a span is an allowed one."""
        if self._distribution is not None:
            return self._distribution.span_probability(sentences, starts, allowed)
        if self._marginals is None:
            raise ValueError("a batch has either a distribution over paths or marginals")
        time = self._marginals.shape[1]
        steps = starts[:, None] + torch.arange(allowed.shape[1], device=starts.device)
        inside = steps < time
        steps = steps.clamp(max=time - 1)
        each = (self._marginals[sentences[:, None], steps] * allowed).sum(2)  # (spans, positions)
        unrestricted = ~inside | ~self.mask[sentences[:, None], steps] | allowed.all(2)
        return each.masked_fill(unrestricted, 1.0).prod(1)


class _Questions:
    """Turns entities into questions about labels.

    Args:
        labels: the labels of the model, in the order of their ids.
        scheme: their scheme.
    """

    def __init__(self, labels: Sequence[str], scheme: str):
        self._ids = {label: number for number, label in enumerate(labels)}
        self._types = {split_label(label)[1] for label in labels} - {""}
        self._scheme = scheme

    def ask(self, batch: _Batch, spans: Sequence[Sequence[Span]]) -> list[ScoredSpans]:
        """Return the probabilities of the entities of each sentence of a batch."""
        probabilities = iter(self._span_probabilities(batch, spans))
        paths = self._path_probabilities(batch, spans)
        return [
            ScoredSpans(
                tuple(
                    replace(
                        span,
                        probability=next(probabilities) if span.type in self._types else 0.0,
                    )
                    for span in row
                ),
                path if all(span.type in self._types for span in row) else None,
            )
            for row, path in zip(spans, paths, strict=True)
        ]

    def _path_probabilities(self, batch: _Batch, spans: Sequence[Sequence[Span]]) -> list[float]:
        paths = torch.zeros(batch.mask.shape, dtype=torch.int64)
        for row, found, length in zip(paths, spans, batch.mask.sum(1).tolist(), strict=True):
            known = [span for span in found if span.type in self._types]
            labels = spans_to_labels(known, length, self._scheme)
            row[:length] = torch.tensor([self._ids[label] for label in labels])
        logs: list[float] = batch.log_probability(paths.to(batch.mask.device)).exp().tolist()
        return [min(1.0, value) for value in logs]

    def _span_probabilities(self, batch: _Batch, spans: Sequence[Sequence[Span]]) -> list[float]:
        asked = [
            (sentence, span)
            for sentence, row in enumerate(spans)
            for span in row
            if span.type in self._types
        ]
        if not asked:
            return []
        longest = max(span.end - span.start for _, span in asked)
        allowed = torch.ones(len(asked), longest + 1, len(self._ids), dtype=torch.bool)
        for row, (_, span) in zip(allowed, asked, strict=True):
            self._restrict(row, span)
        device = batch.mask.device
        sentences = torch.tensor([sentence for sentence, _ in asked], device=device)
        starts = torch.tensor([span.start for _, span in asked], device=device)
        found: list[float] = batch.span_probability(sentences, starts, allowed.to(device)).tolist()
        return [min(1.0, value) for value in found]

    def _restrict(self, allowed: Bool[Tensor, "positions labels"], span: Span) -> None:
        """Allow the labels of an entity at its tokens, and none that continues it after."""
        length = span.end - span.start
        labels = spans_to_labels([Span(0, length, span.type)], length, self._scheme)
        allowed[:length] = False
        for position, label in enumerate(labels):
            allowed[position, self._ids[label]] = True
        row = SCHEMES[self._scheme]
        if row.adjacent is not None:
            allowed[0, self._ids[f"{row.adjacent}-{span.type}"]] = True
        if split_label(labels[-1])[0] in row.unfinished:
            for prefix in row.continuing:
                allowed[length, self._ids[f"{prefix}-{span.type}"]] = False
