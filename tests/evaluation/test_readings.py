"""Every reading against an independent judge: seqeval itself, and a port of conlleval."""

import json
import random
import time
from collections import Counter
from collections.abc import Sequence

import pytest
import seqeval.scheme
from seqeval.metrics import accuracy_score, classification_report

from bilstm_crf.corpus.labels import SCHEMES, model_labels, spans_to_labels
from bilstm_crf.corpus.sentence import Span
from bilstm_crf.evaluation.metrics import score
from bilstm_crf.evaluation.readings import READINGS, readings
from bilstm_crf.evaluation.text_report import classification_text

Rows = list[list[str]]

STRICT_CLASS = {
    "IO": seqeval.scheme.IOB1,
    "IOB1": seqeval.scheme.IOB1,
    "BIO": seqeval.scheme.IOB2,
    "BIOES": seqeval.scheme.IOBES,
    "BMES": seqeval.scheme.IOBES,
    "BILOU": seqeval.scheme.BILOU,
}


def judged_by_conlleval(gold: Rows, predicted: Rows) -> dict[str, tuple[float, float, float, int]]:
    """Score B/I/O labels the way the conlleval script does: one pass, no set of spans.

    The script walks over the tokens with one token of memory. It counts a gold chunk and a
    guessed chunk where each begins, opens a candidate where both begin with one type, and
    counts the candidate as correct if both chunks end at the same token.
    """

    def ends(before: str, type_before: str, after: str, type_after: str) -> bool:
        if before in "BI" and after in "BO":
            return True
        return before != "O" and type_before != type_after

    def begins(before: str, type_before: str, after: str, type_after: str) -> bool:
        if after == "B" or (before == "O" and after == "I"):
            return True
        return after != "O" and type_before != type_after

    def cut(label: str) -> tuple[str, str]:
        return (label[0], label[2:]) if label != "O" else ("O", "")

    found_gold, found_guess, right = Counter(), Counter(), Counter()
    last_gold = last_guess = ("O", "")
    candidate = False
    rows = zip(gold, predicted, strict=True)
    for gold_label, guess_label in (
        pair for g, p in rows for pair in [*zip(g, p, strict=True), ("O", "O")]
    ):
        now_gold, now_guess = cut(gold_label), cut(guess_label)
        if candidate:
            gold_end, guess_end = ends(*last_gold, *now_gold), ends(*last_guess, *now_guess)
            if gold_end and guess_end and last_gold[1] == last_guess[1]:
                candidate = False
                right[last_gold[1]] += 1
            elif gold_end != guess_end or now_gold[1] != now_guess[1]:
                candidate = False
        gold_begin, guess_begin = begins(*last_gold, *now_gold), begins(*last_guess, *now_guess)
        if gold_begin and guess_begin and now_gold[1] == now_guess[1]:
            candidate = True
        found_gold[now_gold[1]] += gold_begin
        found_guess[now_guess[1]] += guess_begin
        last_gold, last_guess = now_gold, now_guess

    def numbers(correct: int, guessed: int, existing: int) -> tuple[float, float, float, int]:
        precision = correct / guessed if guessed else 0.0
        recall = correct / existing if existing else 0.0
        total = precision + recall
        return precision, recall, 2 * precision * recall / total if total else 0.0, existing

    types = {name for name in (+found_gold) + (+found_guess) if name}
    scores = {name: numbers(right[name], found_guess[name], found_gold[name]) for name in types}
    scores["micro avg"] = numbers(right.total(), found_guess.total(), found_gold.total())
    return scores


def renamed(rows: Rows, letters: dict[str, str]) -> Rows:
    return [[letters.get(label[0], label[0]) + label[1:] for label in row] for row in rows]


def random_rows(scheme: str, count: int, seed: int) -> tuple[Rows, Rows]:
    """Make rows of gold and predictions: legal, legal with a few slips, and mere noise."""
    rng = random.Random(seed)
    types = ("A", "B-b", "C")
    alphabet = model_labels(types, scheme)

    def legal(length: int) -> list[str]:
        spans, at = [], 0
        while (at := at + rng.choice((0, 0, 1, 2))) < length:
            end = min(length, at + rng.choice((1, 1, 2, 3)))
            spans.append(Span(at, end, rng.choice(types)))
            at = end
        return spans_to_labels(spans, length, scheme)

    def slips(row: list[str]) -> list[str]:
        return [rng.choice(alphabet) if rng.random() < 0.2 else label for label in row]

    def noise(length: int) -> list[str]:
        return [rng.choice((*alphabet, "O", "O")) for _ in range(length)]

    gold, predicted = [], []
    for _ in range(count):
        length = rng.randint(1, 7)
        row = noise(length) if rng.random() < 0.2 else legal(length)
        gold.append(row)
        predicted.append(rng.choice((slips(row), slips(row), noise(length), list(row))))
    return gold, predicted


def assert_same(scores, judged: dict[str, dict[str, float]]) -> None:
    averages = {"micro avg": scores, "macro avg": scores.macro, "weighted avg": scores.weighted}
    assert {*scores.types, *averages} == set(judged)
    for name, ours in (scores.types | averages).items():
        theirs = judged[name]
        assert (ours.precision, ours.recall, ours.f1) == (
            theirs["precision"],
            theirs["recall"],
            theirs["f1-score"],
        ), name
    assert scores.support == judged["micro avg"]["support"]
    for name, ours in scores.types.items():
        assert ours.support == judged[name]["support"]


@pytest.mark.parametrize("scheme", SCHEMES)
def test_every_reading_equals_its_judge_on_random_rows(scheme: str):
    gold, predicted = random_rows(scheme, 10_000, seed=len(scheme))
    to_bioes = {"BMES": {"M": "I"}, "BILOU": {"L": "E", "U": "S"}}.get(scheme, {})
    to_bio = {} if scheme == "IOB1" else {"M": "I", "E": "I", "L": "I", "S": "B", "U": "B"}
    strict_class = STRICT_CLASS[scheme]
    strict_letters = {"M": "I"} if scheme == "BMES" else {}
    for start in range(0, len(gold), 500):
        part = slice(start, start + 500)
        g, p = gold[part], predicted[part]
        found = readings(g, p, scheme=scheme)

        judged = classification_report(
            renamed(g, to_bioes), renamed(p, to_bioes), output_dict=True, zero_division=0
        )
        assert_same(found.by_name["seqeval_default"], judged)
        assert_same(score(g, p, scheme=scheme), judged)

        strict = classification_report(
            renamed(g, strict_letters),
            renamed(p, strict_letters),
            output_dict=True,
            zero_division=0,
            mode="strict",
            scheme=strict_class,
        )
        assert_same(found.by_name["seqeval_strict"], strict)

        by_script = judged_by_conlleval(renamed(g, to_bio), renamed(p, to_bio))
        ours = found.by_name["conlleval"]
        assert set(ours.types) == set(by_script) - {"micro avg"}
        for name, numbers in by_script.items():
            one = ours if name == "micro avg" else ours.types[name]
            assert (one.precision, one.recall, one.f1, one.support) == pytest.approx(numbers)

        assert ours.accuracy == accuracy_score(g, p)
    # in IO every row of labels is well formed
    assert bool(found.predicted_illegal.labels) == (scheme != "IO")
    assert bool(found.gold_illegal.labels) == (scheme != "IO")


def test_readings_agree_on_well_formed_rows():
    gold, _ = random_rows("BIOES", 300, seed=5)
    rows = [row for row in gold if not readings([row], [row], scheme="BIOES").gold_illegal.labels]
    shifted = [rows[i - 1][: len(row)] for i, row in enumerate(rows)]
    pairs = [
        (g, p)
        for g, p in zip(rows, shifted, strict=True)
        if len(g) == len(p) and not readings([g], [p], scheme="BIOES").predicted_illegal.labels
    ]
    assert len(pairs) > 20
    found = readings([g for g, _ in pairs], [p for _, p in pairs], scheme="BIOES")
    numbers = {
        (s.precision, s.recall, s.f1, tuple(s.types.items())) for s in found.by_name.values()
    }
    assert len(numbers) == 1


def test_malformed_predictions_divide_the_readings():
    """Entities that begin with I count for the lenient rules only."""
    gold = ["B-PER I-PER O B-LOC", "O B-LOC I-LOC I-LOC", "B-PER O B-PER I-PER", "O O B-LOC O"]
    predicted = [
        "I-PER I-PER O I-LOC",
        "O B-LOC I-PER I-PER",
        "B-PER I-PER I-LOC I-LOC",
        "O O B-LOC I-LOC",
    ]
    found = readings(
        [row.split() for row in gold], [row.split() for row in predicted], scheme="BIO"
    )
    for name in ("seqeval_default", "conlleval"):
        lenient = found.by_name[name]
        assert (lenient.correct, lenient.predicted, lenient.support) == (2, 7, 6)
        assert lenient.precision == 2 / 7
        assert lenient.recall == 2 / 6
        assert round(lenient.f1, 4) == 0.3077
        assert round(lenient.macro.f1, 4) == 0.3095
        assert lenient.types["LOC"].precision == 0.25
    strict = found.by_name["seqeval_strict"]
    assert (strict.correct, strict.predicted, strict.support) == (0, 3, 6)
    assert (strict.precision, strict.recall, strict.f1) == (0.0, 0.0, 0.0)
    assert found.headline == score(
        [row.split() for row in gold], [row.split() for row in predicted], scheme="BIO"
    )


def test_illegal_labels_are_counted_with_what_each_reading_made_of_them():
    gold = [["B-A", "O"], ["O", "O"]]
    predicted = [["B-A", "O"], ["I-A", "I-A"]]
    found = readings(gold, predicted, scheme="BIO")
    assert found.gold_illegal.labels == found.gold_illegal.sentences == 0
    assert found.gold_illegal.first is None
    assert found.predicted_illegal.labels == 1
    assert found.predicted_illegal.first == (1, 0)
    assert found.predicted_illegal.entities == {
        "seqeval_strict": 0,
        "seqeval_default": 1,
        "conlleval": 1,
    }


def test_adjacent_entities_predicted_as_one_are_wrong_in_every_reading():
    """The border between E and B counts."""
    gold = [["B-M", "E-M", "B-M", "E-M"], ["S-M", "S-M"]]
    predicted = [["B-M", "I-M", "I-M", "E-M"], ["B-M", "E-M"]]
    for scores in readings(gold, predicted, scheme="BIOES").by_name.values():
        assert (scores.support, scores.predicted, scores.correct) == (4, 2, 0)
        assert (scores.precision, scores.recall, scores.f1) == (0.0, 0.0, 0.0)


@pytest.mark.parametrize(
    ("gold", "predicted", "support", "guessed"),
    [
        ([["O", "O"], ["O"]], [["O", "O"], ["O"]], 0, 0),
        ([["O", "O"], ["O"]], [["B-PER", "O"], ["O"]], 0, 1),
        ([["B-PER", "I-PER"], ["O"]], [["O", "O"], ["O"]], 1, 0),
        ([], [], 0, 0),
        ([[]], [[]], 0, 0),
    ],
)
def test_nothing_to_score_gives_zeros_and_a_note(gold, predicted, support, guessed):
    """Never NaN, never a crash."""
    found = readings(gold, predicted, scheme="BIO")
    for scores in found.by_name.values():
        assert (scores.support, scores.predicted) == (support, guessed)
        for one in (scores, scores.macro, scores.weighted):
            assert (one.precision, one.recall, one.f1) == (0.0, 0.0, 0.0)
        assert bool(scores.notes) == (support == 0)
        assert "NaN" not in json.dumps(scores.as_dict())
        assert "weighted avg" in classification_text(scores)


def test_a_type_the_model_never_saw_is_missed():
    """Gold ORG stays in the sum though no prediction can match it."""
    gold = ["B-PER I-PER O", "B-LOC O B-LOC O", "B-ORG I-ORG O B-PER", "B-ORG O"]
    rows = [row.split() for row in gold]
    best = [[label if "ORG" not in label else "O" for label in row] for row in rows]
    for scores in readings(rows, best, scheme="BIO").by_name.values():
        assert scores.types["ORG"].support == 2
        assert scores.types["ORG"].recall == 0.0
        assert (scores.precision, scores.recall) == (1.0, 4 / 6)
        assert scores.f1 == pytest.approx(0.8)
        assert scores.macro.f1 == pytest.approx(2 / 3)


def test_a_letter_the_scheme_lacks_stops_nothing():
    found = readings([["B-A", "I-A"]], [["B-A", "E-A"]], scheme="BIO")
    assert found.by_name["seqeval_strict"].correct == 0
    assert found.by_name["seqeval_default"].correct == 1
    assert found.predicted_illegal.labels >= 1


def test_readings_are_plain_json():
    found = readings([["B-A", "O"]], [["B-A", "O"]], scheme="BIO").as_dict()
    assert set(found["readings"]) == set(READINGS)
    assert json.loads(json.dumps(found)) == found
    for scores in found["readings"].values():
        assert {"precision", "recall", "f1", "support", "types"} <= set(scores)


@pytest.mark.parametrize("digits", [2, 4])
@pytest.mark.parametrize("names", [("PER", "LOC"), ("a-type-with-a-rather-long-name",)])
def test_text_report_is_laid_out_as_that_of_seqeval(digits: int, names: Sequence[str]):
    gold = [[f"B-{name}", f"I-{name}", "O"] for name in names] * 3
    predicted = [[*row[:1], "O", *row[2:]] if i % 3 else row for i, row in enumerate(gold)]
    expected = classification_report(gold, predicted, digits=digits, zero_division=0)
    assert classification_text(score(gold, predicted, scheme="BIO"), digits=digits) == expected


@pytest.mark.slow
def test_a_large_corpus_is_scored_in_seconds(capsys: pytest.CaptureFixture[str]):
    gold, predicted = random_rows("BIO", 4_000, seed=1)
    outside = ["O"] * 20
    gold = [row + outside for row in gold] * 3
    predicted = [row + outside for row in predicted] * 3
    tokens = sum(map(len, gold))
    assert tokens >= 240_000
    started = time.process_time()
    readings(gold, predicted, scheme="BIO")
    ours = time.process_time() - started
    started = time.process_time()
    classification_report(gold, predicted, zero_division=0)
    classification_report(
        gold, predicted, zero_division=0, mode="strict", scheme=seqeval.scheme.IOB2
    )
    theirs = time.process_time() - started
    with capsys.disabled():
        print(f"\n{tokens} tokens: three readings {ours:.1f} s CPU, seqeval's two {theirs:.1f} s")
    assert ours < 20
