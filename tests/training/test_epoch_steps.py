"""Small data is gone through several times in an epoch."""

import pytest

from bilstm_crf.corpus.encoding import encode
from bilstm_crf.corpus.forms import FormTable
from bilstm_crf.corpus.sentence import Sentence
from bilstm_crf.corpus.vocabulary import Vocabulary, WordVocabulary
from bilstm_crf.model.tagger import ModelSection, TableSizes, TaggerNetwork
from bilstm_crf.training.loop import EpochDone, StepDone, Trainer
from bilstm_crf.training.processes import Processes
from bilstm_crf.training.settings import TrainingSection


def events(sentences: int, **settings: int) -> list[StepDone | EpochDone]:
    """Train on that many sentences of one word each and return what happened."""
    corpus = encode(Sentence(tokens=(f"w{i}",), labels=("O",)) for i in range(sentences))
    words = WordVocabulary(corpus.forms)
    forms = FormTable(words, Vocabulary("w"), longest=10)
    forms.extend(corpus.forms)
    sizes = TableSizes(trained_words=len(words), stored_words=0, chars=3, labels=1)
    network = TaggerNetwork(ModelSection(), sizes)
    section = TrainingSection(batch_size=4, **settings)
    trainer = Trainer(network, section, corpus, forms, evaluate=None, seed=1, processes=Processes())
    return list(trainer.run())


@pytest.mark.parametrize(
    ("sentences", "epoch_steps", "steps"),
    [
        (10, 1, 3),  # one pass: 4 + 4 + 2 sentences
        (10, 3, 3),
        (10, 4, 6),  # whole passes only
        (10, 7, 9),
        (40, 7, 10),  # enough in one pass
    ],
)
def test_an_epoch_is_whole_passes_until_it_has_its_steps(
    sentences: int, epoch_steps: int, steps: int
) -> None:
    found = events(sentences, epochs=2, epoch_steps=epoch_steps)
    counts = [sum(isinstance(e, StepDone) and e.epoch == epoch for e in found) for epoch in (1, 2)]
    assert counts == [steps, steps]
    assert [e.epoch for e in found if isinstance(e, EpochDone)] == [1, 2]


def test_with_accumulation_a_step_is_several_batches() -> None:
    found = events(10, epochs=1, epoch_steps=2, accumulate=3)
    steps = [event for event in found if isinstance(event, StepDone)]
    assert len(steps) == 2
    assert steps[-1].tokens == 20  # two passes over ten tokens


def test_each_pass_sees_every_sentence_once() -> None:
    steps = [e for e in events(10, epochs=1, epoch_steps=9) if isinstance(e, StepDone)]
    assert [steps[2].tokens, steps[5].tokens, steps[8].tokens] == [10, 20, 30]
