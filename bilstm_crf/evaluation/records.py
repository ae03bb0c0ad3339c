"""What a trained model said about an evaluated file: the input of analysis and report.

``train`` and ``eval`` fill it and write it as ``analysis.json`` into the run folder; the
report is made from that file alone, without the model.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bilstm_crf.corpus.sentence import Span
from bilstm_crf.errors import DataError

FORMAT = 1


@dataclass(frozen=True, slots=True)
class SentenceRecord:
    """One evaluated sentence.

    Attributes:
        tokens: its tokens.
        gold: its labels in the scheme of the file.
        predicted: the model's labels in the same scheme.
        gold_spans: the gold entities with the probability the model gives them, in token
            offsets; empty if no probabilities are known.
        predicted_spans: the predicted entities with theirs.
        path_probability: the probability of the whole predicted label sequence.
        gold_path_probability: of the whole gold sequence; None too where the model does not
            know one of its labels.
        where: ``file:line`` of the sentence, for messages.
    """

    tokens: tuple[str, ...]
    gold: tuple[str, ...]
    predicted: tuple[str, ...]
    gold_spans: tuple[Span, ...] = ()
    predicted_spans: tuple[Span, ...] = ()
    path_probability: float | None = None
    gold_path_probability: float | None = None
    where: str = ""


@dataclass(frozen=True)
class Transitions:
    """The transition scores of a model, the grammar it has learned.

    Attributes:
        labels: the model's labels, in the order of the axes.
        start: score of each label as the first, shape ``(labels,)``.
        pairs: score of label j after label i at ``[i][j]``, shape ``(labels, labels)``.
        end: score of each label as the last, shape ``(labels,)``.
    """

    labels: tuple[str, ...]
    start: tuple[float, ...]
    pairs: tuple[tuple[float, ...], ...]
    end: tuple[float, ...]


@dataclass(frozen=True)
class RunAnalysis:
    """All that is known of one model on one file.

    Attributes:
        scheme: the scheme of the labels in `sentences`.
        split: which part of the data it is: ``dev``, ``test`` or a file name.
        sentences: the evaluated sentences, in the order of the file.
        training_entities: each entity text (tokens joined by a space) of the training data
            with the types it had there; None if the training data is not known.
        transitions: the transition scores, None for a model without them.
        fingerprints: by split of the data, its files with their ``path`` and ``sha256``.
    """

    scheme: str
    split: str
    sentences: tuple[SentenceRecord, ...]
    training_entities: Mapping[str, tuple[str, ...]] | None = None
    transitions: Transitions | None = None
    fingerprints: Mapping[str, Sequence[Mapping[str, str]]] | None = None


def training_entities(
    sentences: Iterable[tuple[Sequence[str], Sequence[Span]]],
) -> dict[str, tuple[str, ...]]:
    """Collect the entity texts of training sentences, given as tokens and spans."""
    types: dict[str, set[str]] = {}
    for tokens, spans in sentences:
        for span in spans:
            types.setdefault(" ".join(tokens[span.start : span.end]), set()).add(span.type)
    return {text: tuple(sorted(found)) for text, found in types.items()}


def write_analysis(analysis: RunAnalysis, path: Path) -> None:
    """Write an analysis as JSON, one sentence a line."""
    head = {
        "format": FORMAT,
        "scheme": analysis.scheme,
        "split": analysis.split,
        "training_entities": analysis.training_entities,
        "transitions": _plain_transitions(analysis.transitions),
        "fingerprints": analysis.fingerprints,
    }
    lines = [json.dumps(_plain(record), ensure_ascii=False) for record in analysis.sentences]
    text = json.dumps(head, ensure_ascii=False)
    path.write_text(
        f'{text[:-1]}, "sentences": [\n' + ",\n".join(lines) + "\n]}\n", encoding="utf-8"
    )


def read_analysis(path: Path) -> RunAnalysis:
    """Read an analysis back.

    Raises:
        DataError: the file is not an analysis of this version.
    """
    try:
        stored = json.loads(path.read_text(encoding="utf-8"))
        if stored["format"] != FORMAT:
            raise DataError(
                f"analysis of format {stored['format']!r}, expected {FORMAT}; "
                "write it anew with bilstm-crf eval",
                path,
            )
        return RunAnalysis(
            scheme=stored["scheme"],
            split=stored["split"],
            sentences=tuple(map(_record, stored["sentences"])),
            training_entities=_known_entities(stored["training_entities"]),
            transitions=_transitions(stored["transitions"]),
            fingerprints=stored["fingerprints"],
        )
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise DataError(
            f"not an analysis file ({type(error).__name__}: {error}); "
            "write it anew with bilstm-crf eval",
            path,
        ) from error


def _known_entities(stored: dict[str, list[str]] | None) -> dict[str, tuple[str, ...]] | None:
    if stored is None:
        return None
    return {text: tuple(types) for text, types in stored.items()}


def _plain(record: SentenceRecord) -> dict[str, Any]:
    return {
        "tokens": record.tokens,
        "gold": record.gold,
        "predicted": record.predicted,
        "gold_spans": _plain_spans(record.gold_spans),
        "predicted_spans": _plain_spans(record.predicted_spans),
        "path_probability": record.path_probability,
        "gold_path_probability": record.gold_path_probability,
        "where": record.where,
    }


def _plain_spans(spans: Sequence[Span]) -> list[list[Any]]:
    return [[span.start, span.end, span.type, span.probability] for span in spans]


def _record(stored: dict[str, Any]) -> SentenceRecord:
    return SentenceRecord(
        tokens=tuple(stored["tokens"]),
        gold=tuple(stored["gold"]),
        predicted=tuple(stored["predicted"]),
        gold_spans=tuple(Span(*values) for values in stored["gold_spans"]),
        predicted_spans=tuple(Span(*values) for values in stored["predicted_spans"]),
        path_probability=stored["path_probability"],
        gold_path_probability=stored["gold_path_probability"],
        where=stored["where"],
    )


def _plain_transitions(transitions: Transitions | None) -> dict[str, Any] | None:
    if transitions is None:
        return None
    return {
        "labels": transitions.labels,
        "start": transitions.start,
        "pairs": transitions.pairs,
        "end": transitions.end,
    }


def _transitions(stored: dict[str, Any] | None) -> Transitions | None:
    if stored is None:
        return None
    return Transitions(
        tuple(stored["labels"]),
        tuple(stored["start"]),
        tuple(map(tuple, stored["pairs"])),
        tuple(stored["end"]),
    )
