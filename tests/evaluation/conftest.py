"""An evaluated file as the tests of the report use it: small, with awkward strings in it."""

import random
from collections.abc import Callable

import pytest

from bilstm_crf.corpus.labels import model_labels, spans_to_labels
from bilstm_crf.corpus.sentence import Span
from bilstm_crf.evaluation.evaluation import Evaluation, evaluate_analysis
from bilstm_crf.evaluation.records import RunAnalysis, SentenceRecord, Transitions
from bilstm_crf.evaluation.report import ReportedRun

TYPES = ("PER", 'a "very" long & <awkward> type', "地点", "$x_1$")


def make_analysis(seed: int = 0, types: tuple[str, ...] = TYPES) -> RunAnalysis:
    rng = random.Random(seed)
    words = ["<b>bold</b>", "&amp;", "Ålesund", "of", "شهر", "x" * 90, "'quoted'", "東京"]
    records = []
    for number in range(30):
        length = rng.randint(3, 12)
        gold = [Span(0, 2, rng.choice(types), 0.6)] if number % 5 else []
        predicted = [Span(0, rng.choice((1, 2)), rng.choice(types), rng.random())]
        records.append(
            SentenceRecord(
                tokens=tuple(rng.choice(words) for _ in range(length)),
                gold=tuple(spans_to_labels(gold, length, "BIO")),
                predicted=tuple(spans_to_labels(predicted, length, "BIO")),
                gold_spans=tuple(gold),
                predicted_spans=tuple(predicted),
                path_probability=rng.random(),
                gold_path_probability=rng.random(),
                where=f"test.conll:{number}",
            )
        )
    labels = model_labels(types, "BIOES")
    scores = [tuple(rng.gauss(0, 2) for _ in labels) for _ in labels]
    return RunAnalysis(
        scheme="BIO",
        split="test",
        sentences=tuple(records),
        training_entities={"東京 of": ("PER",)},
        transitions=Transitions(tuple(labels), scores[0], tuple(scores), scores[1]),
        fingerprints={
            "test": [{"path": "/data/" + "deep/" * 30 + "test.conll", "sha256": "0f" * 32}]
        },
    )


def _make_run(evaluation: Evaluation | None, name: str = "run <1>") -> ReportedRun:
    epochs = [
        {
            "epoch": epoch,
            "train_loss": 9 / epoch,
            "dev": {"precision": 0.5, "recall": 0.5, "f1": 1 - 1 / epoch},
            "learning_rate": 0.01,
            "tokens_per_second": 1000.0,
            "seconds": 2.0,
        }
        for epoch in range(1, 6)
    ]
    summary = {"dev": {"f1": 0.8}, "best_epoch": 5, "seconds": 10.0}
    return ReportedRun(name, epochs, summary, "seed: 1\nname: <x>\n", evaluation)


@pytest.fixture(scope="session")
def evaluation() -> Evaluation:
    return evaluate_analysis(make_analysis(), resamples=200)


@pytest.fixture(scope="session")
def other_evaluation() -> Evaluation:
    """Another model's predictions on the sentences of ``evaluation``."""
    first, second = make_analysis(), make_analysis(1)
    records = [
        SentenceRecord(
            tokens=one.tokens,
            gold=one.gold,
            predicted=(*other.predicted, *["O"] * len(one.tokens))[: len(one.tokens)],
        )
        for one, other in zip(first.sentences, second.sentences, strict=True)
    ]
    return evaluate_analysis(RunAnalysis("BIO", "test", tuple(records)), resamples=200)


@pytest.fixture(scope="session")
def make_run() -> Callable[..., ReportedRun]:
    return _make_run
