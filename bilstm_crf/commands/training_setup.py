"""All that a training run needs before its first step: corpora, network, trainer."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass

import torch

from bilstm_crf.commands.stop_signals import StopSignals
from bilstm_crf.config import Config
from bilstm_crf.corpus.encoding import EncodedCorpus
from bilstm_crf.corpus.label_ids import LearnedLabels
from bilstm_crf.errors import ConfigError
from bilstm_crf.evaluation.metrics import EntityScores
from bilstm_crf.model.crf import CRFSection
from bilstm_crf.model.tagger import TaggerNetwork
from bilstm_crf.prediction.model_file import TrainedModel
from bilstm_crf.training.corpora import HeldOut, hold_out, read_corpus, read_training_corpus
from bilstm_crf.training.language_model import NeighbourWords
from bilstm_crf.training.loop import Trainer
from bilstm_crf.training.preparation import (
    PretrainedVectors,
    build_network,
    drop_rare_words,
    form_table,
    learn_vocabularies,
    load_vectors,
    log_hit_rates,
    word_counts,
)
from bilstm_crf.training.processes import Processes
from bilstm_crf.training.random_state import seed_everything
from bilstm_crf.training.swapped_entities import EntitySwapper

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class TrainingSetUp:
    """A run that can start.

    Attributes:
        network: with its first weights, on the device.
        trainer: trains it.
        dev: the data that chooses the best epoch, if there is any.
        test: the data that is scored once at the end, if there is any.
        model: what goes into the model file beside the weights, which are still missing.
    """

    network: TaggerNetwork
    trainer: Trainer
    dev: HeldOut | None
    test: HeldOut | None
    model: TrainedModel


def set_up_training(
    config: Config, device: torch.device, processes: Processes, signals: StopSignals
) -> TrainingSetUp:
    """Read the corpora, learn the vocabularies from the training data, build the network.

    Args:
        config: the whole configuration, paths absolute.
        device: where to train.
        processes: the group this process belongs to; it is joined here.
        signals: may stop the scoring of dev at any moment.

    Raises:
        BilstmCrfError: the configuration does not fit the data, or a file is wrong.
    """
    seed_everything(config.seed)
    logger.info(
        "seed %d, device %s, %d torch threads", config.seed, device, torch.get_num_threads()
    )
    learned = read_training_corpus(config.data, config.labels)
    _check_type_weights(config.model.crf, learned.types)
    others = {
        "dev": read_corpus(config.data, config.labels, "dev"),
        "test": read_corpus(config.data, config.labels, "test"),
    }
    vectors = _read_vectors(config, learned.corpus, [c for c in others.values() if c is not None])
    vocabularies = learn_vocabularies(
        learned.corpus, learned.labels, config.model.word_embeddings, vectors
    )
    network = build_network(config.model, vocabularies, config.labels.model_scheme)
    if vectors is not None:
        load_vectors(network, vocabularies, vectors)
    counts = word_counts(learned.corpus, vocabularies)
    drop_rare_words(network, counts, vocabularies, vectors, config.model.dropout.rare_words)
    network.to(device)
    guesser = None
    if config.training.language_model.weight and config.model.word_embeddings.size:
        guesser = NeighbourWords(config.training.language_model, network.lstm.output_size, counts)
        guesser.to(device)
    swapper = None
    if config.training.swap_entities:
        share = config.training.swap_entities
        swapper = EntitySwapper(learned.corpus, config.labels.model_scheme, share)
    forms = form_table(config.model, vocabularies)
    forms.extend(learned.corpus.forms)
    if forms.num_shortened:
        logger.warning(
            "%d distinct words longer than %d characters: the character encoder sees head and tail",
            forms.num_shortened, config.model.char_encoder.longest,
        )  # fmt: skip
    model = TrainedModel(
        section=config.model,
        vocabularies=vocabularies,
        scheme=config.labels.model_scheme,
        file_scheme=learned.scheme,
        weights={},
    )
    held = {
        name: None if corpus is None else _hold_out(corpus, name, model, learned)
        for name, corpus in others.items()
    }
    dev = held["dev"]
    if dev is None:
        logger.warning("no data.dev: every epoch counts as the best, the last one is kept")
    processes.start(device)
    processes.share_weights(network)
    if guesser is not None:
        processes.share_weights(guesser)
    # Each process drops other units, as it works on other sentences.
    torch.manual_seed(config.seed + processes.rank)
    trainer = Trainer(
        network,
        config.training,
        learned.corpus,
        forms,
        evaluate=None if dev is None else _DevScorer(dev, network, processes, signals),
        seed=config.seed,
        processes=processes,
        language_model=guesser,
        swapper=swapper,
    )
    logger.info(
        "%d words tuned, %d stored, %d characters, %d labels, %s weights",
        len(vocabularies.words.trained), len(vocabularies.words.stored), len(vocabularies.chars),
        len(vocabularies.labels), f"{sum(p.numel() for p in network.parameters()):,}",
    )  # fmt: skip
    return TrainingSetUp(network, trainer, dev, held["test"], model)


class _DevScorer:
    """Scores a network on dev; all processes get the scores that rank 0 worked out."""

    def __init__(
        self, dev: HeldOut, network: TaggerNetwork, processes: Processes, signals: StopSignals
    ):
        self._dev, self._network = dev, network
        self._processes, self._signals = processes, signals

    def __call__(self) -> EntityScores:
        if self._processes.count == 1:
            with self._signals.at_once():
                return self._dev.score(self._network)
        own = self._dev.score(self._network) if self._processes.rank == 0 else None
        scores: EntityScores = self._processes.broadcast_object(own)
        return scores


def _check_type_weights(section: CRFSection, types: Sequence[str]) -> None:
    for name in section.type_weights:
        if name not in types:
            raise ConfigError(
                f"model.crf.type_weights: {name!r} is no entity type of the training data, "
                f"which has {', '.join(types) or 'none'}"
            )
    weights = (section.missed_weight, section.spurious_weight, *section.type_weights.values())
    if not section.margin and any(weight != 1.0 for weight in weights):
        logger.warning(
            "model.crf.margin is 0: missed_weight, spurious_weight and type_weights, which "
            "multiply it, change nothing"
        )


def _read_vectors(
    config: Config, train: EncodedCorpus, others: list[EncodedCorpus]
) -> PretrainedVectors | None:
    words = config.model.word_embeddings
    if words.vectors is None or not words.size:
        return None
    splits = [train] if words.store == "train" else [train, *others]
    needed = None if words.store == "all" else [form for c in splits for form in c.forms]
    vectors = PretrainedVectors(words, needed)
    if vectors.size != words.size:
        names = ", ".join(str(path) for path in words.vector_paths)
        raise ConfigError(
            f"model.word_embeddings.size is {words.size}, but the vectors in {names} have "
            f"size {vectors.size}; set model.word_embeddings.size: {vectors.size}"
        )
    log_hit_rates(train.form_counts(), vectors)
    return vectors


def _hold_out(
    corpus: EncodedCorpus, name: str, model: TrainedModel, learned: LearnedLabels
) -> HeldOut:
    forms = form_table(model.section, model.vocabularies)
    return hold_out(corpus, name, forms, learned, model.scheme, model.vocabularies)
