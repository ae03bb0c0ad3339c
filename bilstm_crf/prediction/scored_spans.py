"""How probable a model holds given entities and whole label paths to be, right ones and wrong."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
from jaxtyping import Bool, Float, Int64
from torch import Tensor

from bilstm_crf.corpus.labels import spans_to_labels
from bilstm_crf.corpus.sentence import Sentence, Span
from bilstm_crf.model.crf import CRF
from bilstm_crf.model.crf_posterior import PathDistribution
from bilstm_crf.prediction.entity_patterns import EntityPatterns
from bilstm_crf.prediction.posterior import Distribution, TemperedHead, asked
from bilstm_crf.prediction.predictor import Tagger


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
    patterns = EntityPatterns(tagger.labels, tagger.model.scheme)
    tempered = TemperedHead(tagger.network.head, tagger.model.temperature)
    # The one path of a sentence without tokens is certain.
    results = [[ScoredSpans((), 1.0)] * len(sentences) for _ in alternatives]
    for batch in tagger.emissions(sentences):
        numbers, emissions, mask = batch.sentences.tolist(), batch.emissions, batch.mask
        distribution = tempered.distribution(emissions, mask)
        for result, spans in zip(results, alternatives, strict=True):
            rows = [spans[number] for number in numbers]
            known = [[span for span in row if span.type in tagger.types] for row in rows]
            flat = [(row, span) for row, found in enumerate(known) for span in found]
            values = iter(patterns.probabilities(asked(distribution, emissions.device), flat))
            paths = _path_ids(known, mask, tagger)
            path_values = _path_probabilities(tempered, distribution, emissions, mask, paths)
            for number, row, found, value in zip(numbers, rows, known, path_values, strict=True):
                result[number] = ScoredSpans(
                    tuple(
                        replace(span, probability=next(values) if span in found else 0.0)
                        for span in row
                    ),
                    value if len(found) == len(row) else None,
                )
    return results


def _path_ids(
    spans: Sequence[Sequence[Span]], mask: Bool[Tensor, "batch time"], tagger: Tagger
) -> Int64[Tensor, "batch time"]:
    """Return the label ids of the paths that have exactly these entities."""
    ids = {label: number for number, label in enumerate(tagger.labels)}
    paths = torch.zeros(mask.shape, dtype=torch.int64)
    for row, found, length in zip(paths, spans, mask.sum(1).tolist(), strict=True):
        labels = spans_to_labels(found, length, tagger.model.scheme)
        row[:length] = torch.tensor([ids[label] for label in labels])
    return paths.to(mask.device)


def _path_probabilities(
    tempered: TemperedHead,
    distribution: Distribution,
    emissions: Float[Tensor, "batch time labels"],
    mask: Bool[Tensor, "batch time"],
    paths: Int64[Tensor, "batch time"],
) -> list[float]:
    head, scores = tempered.head, emissions / tempered.temperature
    if isinstance(head, CRF) and isinstance(distribution, PathDistribution):
        # not the likelihood, which may count paths that the constraints rule out
        logs = head.path_score(scores, paths, mask) - distribution.log_partition
    else:
        logs = head.log_likelihood(scores, paths, mask)
    values: list[float] = logs.exp().clamp(max=1.0).tolist()
    return values
