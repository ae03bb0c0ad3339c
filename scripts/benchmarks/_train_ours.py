"""Our training, epoch by epoch, and where the time of a step goes; started by the benchmark.

Usage: python _train_ours.py TRAIN_FILE HIDDEN_SIZE BATCH_SIZE PRECISION [--defaults] [--stages]

Trained is what the others train too, the loss of the labels; with --defaults also what this tool
adds to it unless told otherwise, the second task and the running mean of the weights.
"""

import json
import sys
import time
from collections import defaultdict
from pathlib import Path

import torch
from _train_protocol import serve
from torch import Tensor
from torch.autograd import grad

from bilstm_crf.config import Config
from bilstm_crf.corpus.batches import Batch, make_batch, plan_batches
from bilstm_crf.model.layout import look_up, project
from bilstm_crf.training.corpora import read_training_corpus
from bilstm_crf.training.language_model import NeighbourWords
from bilstm_crf.training.loop import EpochDone, Trainer
from bilstm_crf.training.optimizers import Optimizer
from bilstm_crf.training.preparation import (
    build_network,
    form_table,
    learn_vocabularies,
    word_counts,
)
from bilstm_crf.training.processes import Processes

WORD_SIZE = 100
ROUNDS = 3


class Ours:
    """A network and its data with the default settings but for the sizes."""

    def __init__(
        self,
        path: Path,
        hidden: int,
        batch: int,
        precision: str,
        device: str = "cpu",
        *,
        defaults: bool = False,
    ):
        training = {"epochs": 1000, "batch_size": batch, "precision": precision}
        if not defaults:
            training["average"] = 0
        config = Config.model_validate(
            {
                "data": {"train": str(path)},
                "model": {"word_embeddings": {"size": WORD_SIZE}, "lstm": {"hidden_size": hidden}},
                "training": training,
            }
        )
        torch.manual_seed(1)
        self.section = config.training
        learned = read_training_corpus(config.data, config.labels)
        self.corpus = learned.corpus
        vocabularies = learn_vocabularies(
            learned.corpus, learned.labels, config.model.word_embeddings, None
        )
        network = build_network(config.model, vocabularies, config.labels.model_scheme)
        self.network = network.to(device)
        guesser = None
        if defaults:
            counts = word_counts(self.corpus, vocabularies)
            size = network.lstm.output_size
            guesser = NeighbourWords(self.section.language_model, size, counts).to(device)
        self.forms = form_table(config.model, vocabularies)
        self.forms.extend(learned.corpus.forms)
        self.trainer = Trainer(
            self.network,
            self.section,
            self.corpus,
            self.forms,
            evaluate=None,
            seed=1,
            processes=Processes(),
            language_model=guesser,
        )
        self.events = self.trainer.run()

    def epoch(self) -> float:
        for event in self.events:
            if isinstance(event, EpochDone):
                return event.train_loss
        raise RuntimeError("no epochs left")


class Stages:
    """The steps of an epoch taken apart: the time of each part, forward and backward."""

    def __init__(self, ours: Ours):
        self.ours, self.network = ours, ours.network
        self.optimizer = Optimizer(ours.section.optimizer, ours.network, clip=ours.section.clip)
        self.spent: dict[str, float] = defaultdict(float)
        self.since = 0.0

    def epoch(self) -> dict[str, float]:
        """Return the processor seconds of each part in one epoch."""
        self.spent.clear()
        self.network.train()
        section, corpus = self.ours.section, self.ours.corpus
        self.since = time.process_time()
        plan = plan_batches(
            corpus.lengths, batch_size=section.batch_size, batch_tokens=section.batch_tokens,
            shuffle=(1, 1),
        )  # fmt: skip
        for sentences in plan:
            batch = make_batch(corpus, self.ours.forms, sentences)
            self.optimizer.zero_grad()
            self._done("data")
            with torch.autocast("cpu", torch.bfloat16, enabled=section.precision == "bf16"):
                loss = self._forward(batch)
            self._backward(loss / len(sentences))
            self.optimizer.step(1e-6)
            self._done("optimiser")
        return dict(self.spent)

    def _done(self, part: str) -> None:
        now = time.process_time()
        self.spent[part] += now - self.since
        self.since = now

    def _forward(self, batch: Batch) -> Tensor:
        network = self.network
        self.words = network.word_embeddings(batch.words)
        self._done("embeddings")
        self.chars = network.char_encoder(batch.chars)
        self._done("characters")
        views = network.form_embeddings(batch.form_features)
        self.vectors = torch.cat([self.words, self.chars, views], dim=1)
        self.inputs = network.input_dropout(look_up(batch.index, self.vectors))
        self._done("embeddings")
        self.states = network.lstm(self.inputs, batch.lengths)
        self._done("LSTM")
        self.emissions = project(network.projection, network.output_dropout(self.states)).float()
        self._done("projection")
        loss = network.head.loss(self.emissions, batch.labels, batch.mask).sum()
        self._done("CRF")
        return loss

    def _backward(self, loss: Tensor) -> None:
        network = self.network
        crf, projection, lstm, chars = (
            [p for p in module.parameters() if p.requires_grad]
            for module in (network.head, network.projection, network.lstm, network.char_encoder)
        )
        d_emissions, *d_crf = grad(loss, [self.emissions, *crf])
        self._done("CRF, backward")
        d_states, *d_projection = grad(self.emissions, [self.states, *projection], d_emissions)
        self._done("projection, backward")
        d_inputs, *d_lstm = grad(self.states, [self.inputs, *lstm], d_states)
        self._done("LSTM, backward")
        d_words, d_chars = grad(self.inputs, [self.words, self.chars], d_inputs)
        self._done("embeddings, backward")
        d_char_weights = grad(self.chars, chars, d_chars)
        self._done("characters, backward")
        (d_table,) = grad(self.words, [network.word_embeddings.weight], d_words)
        network.word_embeddings.weight.grad = d_table
        weights = [*crf, *projection, *lstm, *chars]
        gradients = [*d_crf, *d_projection, *d_lstm, *d_char_weights]
        for weight, gradient in zip(weights, gradients, strict=True):
            weight.grad = gradient
        self._done("embeddings, backward")


def lstm_work(ours: Ours) -> float:
    """Return the floating-point operations of the LSTM's products in one epoch."""
    layers = [*ours.network.lstm.forward_layers, *ours.network.lstm.backward_layers]
    weights = sum(p.numel() for layer in layers for p in layer.parameters() if p.dim() == 2)
    # A weight takes part in a multiplication and an addition for each token, forward, towards
    # the inputs and towards the weights.
    return 2.0 * 3 * weights * ours.corpus.num_tokens


def product_rate(kind: torch.dtype) -> float:
    """Return the floating-point operations a second of a large matrix product."""
    size = 1024
    left, right = torch.randn(size, size).to(kind), torch.randn(size, size).to(kind)
    fastest = float("inf")
    for _ in range(10):
        start = time.process_time()
        left @ right
        fastest = min(fastest, time.process_time() - start)
    return 2.0 * size**3 / fastest


def main() -> None:
    path, hidden, batch, precision = sys.argv[1:5]
    torch.set_num_threads(1)
    defaults = "--defaults" in sys.argv
    ours = Ours(Path(path).resolve(), int(hidden), int(batch), precision, defaults=defaults)
    if "--stages" not in sys.argv:
        serve(ours.epoch)
        return
    stages = Stages(ours)
    stages.epoch()  # to warm up
    rounds = [stages.epoch() for _ in range(ROUNDS)]
    fastest = {part: min(spent[part] for spent in rounds) for part in rounds[0]}
    kind = torch.bfloat16 if precision == "bf16" else torch.float32
    record = {"spent": fastest, "work": lstm_work(ours), "rate": product_rate(kind)}
    print(json.dumps(record))


if __name__ == "__main__":
    main()
