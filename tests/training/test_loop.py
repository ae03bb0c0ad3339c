"""The training loop: what it yields, and what decides how training goes on."""

import copy
from collections.abc import Callable
from typing import Any

import pytest
import torch

from bilstm_crf.corpus.encoding import EncodedCorpus, encode
from bilstm_crf.corpus.label_ids import learn_labels
from bilstm_crf.corpus.labels import LabelsSection
from bilstm_crf.corpus.sentence import Sentence
from bilstm_crf.errors import RunError
from bilstm_crf.evaluation.metrics import EntityScores, score
from bilstm_crf.model.tagger import ModelSection, TaggerNetwork
from bilstm_crf.training.events import EpochDone, StepDone, Stopped
from bilstm_crf.training.loop import Trainer
from bilstm_crf.training.precision import trains_in_bf16
from bilstm_crf.training.preparation import build_network, form_table, learn_vocabularies
from bilstm_crf.training.processes import Processes
from bilstm_crf.training.settings import TrainingSection

NO_DROPOUT = {"inputs": 0, "outputs": 0, "words": 0}
SENTENCES = [
    Sentence(("Ada", "met", "Bob"), ("B-PER", "O", "B-PER"), path="t.conll", lines=range(1, 4)),
    Sentence(("in", "New", "York"), ("O", "B-LOC", "I-LOC"), path="t.conll", lines=range(5, 8)),
    Sentence(("Bob", "left"), ("B-PER", "O"), path="t.conll", lines=range(9, 11)),
    Sentence(("York", "waits", "for", "Ada"), ("B-LOC", "O", "O", "B-PER"), path="t.conll"),
]


def make_trainer(
    evaluate: Callable[[], EntityScores] | None = None,
    dropout: dict[str, float] = NO_DROPOUT,
    **settings: Any,
) -> Trainer:
    torch.manual_seed(7)
    learned = learn_labels(encode(SENTENCES), LabelsSection())
    section = ModelSection.model_validate(
        {"word_embeddings": {"size": 8}, "lstm": {"hidden_size": 8}, "dropout": dropout}
    )
    vocabularies = learn_vocabularies(learned.corpus, learned.labels, section.word_embeddings, None)
    forms = form_table(section, vocabularies)
    forms.extend(learned.corpus.forms)
    return Trainer(
        build_network(section, vocabularies, "BIOES"),
        TrainingSection.model_validate(
            {"epochs": 3, "epoch_steps": 1, "batch_size": 2, **settings}
        ),
        learned.corpus,
        forms,
        evaluate=evaluate,
        seed=1,
        processes=Processes(),
    )


def weights(network: TaggerNetwork) -> torch.Tensor:
    return torch.cat([p.detach().flatten() for p in network.parameters()])


def finish(trainer: Trainer) -> list[StepDone | EpochDone]:
    return list(trainer.run())


def test_tells_of_every_step_and_epoch() -> None:
    events = finish(make_trainer())
    assert [type(e).__name__ for e in events] == ["StepDone", "StepDone", "EpochDone"] * 3
    steps = [e for e in events if isinstance(e, StepDone)]
    assert [(e.epoch, e.step, e.steps) for e in steps[:3]] == [(1, 1, 2), (1, 2, 2), (2, 1, 2)]
    assert steps[1].tokens == 12
    epochs = [e for e in events if isinstance(e, EpochDone)]
    assert [e.epoch for e in epochs] == [1, 2, 3]
    assert all(e.dev is None and e.is_best for e in epochs)
    assert epochs[0].train_loss == steps[1].loss
    assert epochs[0].tokens_per_second > 0


def test_learns_the_training_data() -> None:
    trainer = make_trainer(epochs=40, optimizer={"learning_rate": 0.03})
    losses = [e.train_loss for e in finish(trainer) if isinstance(e, EpochDone)]
    assert losses[-1] < 0.1 < 1 < losses[0]


def test_the_rate_follows_the_schedule() -> None:
    trainer = make_trainer(schedule={"type": "linear"}, optimizer={"learning_rate": 0.3})
    rates = [e.learning_rate for e in finish(trainer) if isinstance(e, EpochDone)]
    assert rates == pytest.approx([0.2, 0.1, 0.0])


def dev_scores(*f1: float) -> Callable[[], EntityScores]:
    """Return an evaluation whose F1 are as given, one after the other."""
    remaining = iter(f1)

    def evaluate() -> EntityScores:
        right = round(100 * next(remaining))
        found = [["B-X"]] * right + [["O"]] * (100 - right)
        return score([["B-X"]] * 100, found, scheme="BIO")

    return evaluate


def test_the_first_of_the_best_epochs_is_best() -> None:
    events = finish(make_trainer(dev_scores(0.2, 0.5, 0.5, 0.4), epochs=4))
    assert [e.is_best for e in events if isinstance(e, EpochDone)] == [True, True, False, False]


def test_patience_ends_training() -> None:
    events = finish(make_trainer(dev_scores(0.2, 0.5, 0.4, 0.3, 0.9), epochs=5, patience=2))
    assert [e.epoch for e in events if isinstance(e, EpochDone)] == [1, 2, 3, 4]


def test_accumulated_batches_make_the_step_of_one_large_batch() -> None:
    large, small = make_trainer(batch_size=4), make_trainer(batch_size=1, accumulate=4)
    finish(large)
    finish(small)
    torch.testing.assert_close(weights(large.network), weights(small.network))


def test_a_loss_that_is_not_a_number_names_the_batch_and_the_likely_cause() -> None:
    trainer = make_trainer()
    with torch.no_grad():
        trainer.network.projection.bias[0] = float("nan")
    with pytest.raises(RunError, match=r"became nan in epoch 1.*t\.conll.*learning_rate"):
        finish(trainer)


@pytest.mark.parametrize("settings", [{}, {"average": 0.9}, {"optimizer": {"type": "sgd"}}])
def test_stops_after_a_step_and_goes_on_as_if_nothing_had_been(settings: dict[str, Any]) -> None:
    dropout = {"inputs": 0.5, "outputs": 0.5, "words": 0.1}
    straight = make_trainer(dropout=dropout, **settings)
    finish(straight)

    stopped = make_trainer(dropout=dropout, **settings)
    events = stopped.run()
    while not isinstance(next(events), EpochDone):
        pass
    stopped.stop_requested = True
    next(events)  # the first step of the second epoch
    with pytest.raises(Stopped):
        next(events)
    state = copy.deepcopy(stopped.state_dict())
    torch.manual_seed(99)  # a new process draws other numbers
    resumed = make_trainer(dropout=dropout, **settings)
    resumed.load_state_dict(state)
    first, *_ = finish(resumed)
    assert isinstance(first, StepDone)
    assert (first.epoch, first.step) == (2, 2)
    assert torch.equal(weights(resumed.network), weights(straight.network))
    with resumed.averaged(), straight.averaged():
        assert torch.equal(weights(resumed.network), weights(straight.network))


def test_dev_is_scored_with_the_averaged_weights() -> None:
    seen: list[torch.Tensor] = []

    def evaluate() -> EntityScores:
        seen.append(weights(trainer.network))
        return score([["B-X"]], [["B-X"]], scheme="BIO")

    trainer = make_trainer(evaluate, epochs=1, average=0.9)
    finish(trainer)
    with trainer.averaged():
        assert torch.equal(seen[0], weights(trainer.network))
    assert not torch.equal(seen[0], weights(trainer.network))


def test_sentences_without_tokens_are_passed_over() -> None:
    empty: EncodedCorpus = encode([Sentence((), ())])
    trainer = make_trainer(epochs=1)
    trainer._corpus = empty
    events = finish(trainer)
    assert len(events) == 1
    assert isinstance(events[0], EpochDone)
    assert events[0].train_loss == 0


def test_bf16_learns_as_well() -> None:
    trainer = make_trainer(epochs=40, precision="bf16", optimizer={"learning_rate": 0.03})
    losses = [e.train_loss for e in finish(trainer) if isinstance(e, EpochDone)]
    assert losses[-1] < 0.1


def test_auto_takes_bf16_where_the_processor_has_it(monkeypatch: pytest.MonkeyPatch) -> None:
    cpu = torch.device("cpu")
    for has, found in (("_is_avx512_bf16_supported", True), ("_is_amx_tile_supported", False)):
        monkeypatch.setattr(torch.cpu, has, lambda found=found: found)
    assert trains_in_bf16("auto", cpu)
    monkeypatch.setattr(torch.cpu, "_is_avx512_bf16_supported", lambda: False)
    assert not trains_in_bf16("auto", cpu)
    assert not trains_in_bf16("auto", torch.device("meta"))
    assert trains_in_bf16("bf16", cpu)
    assert not trains_in_bf16("float32", cpu)
