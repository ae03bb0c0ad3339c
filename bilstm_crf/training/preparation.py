"""From encoded corpora to vocabularies and a network: all that is learned before training."""

import logging
from collections import Counter
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from bilstm_crf.corpus.encoding import EncodedCorpus
from bilstm_crf.corpus.forms import FormTable
from bilstm_crf.corpus.labels import allowed_transitions
from bilstm_crf.corpus.vectors import WordVectors, read_vectors
from bilstm_crf.corpus.vocabulary import (
    UNKNOWN,
    Vocabularies,
    Vocabulary,
    WordVocabulary,
    lookup_keys,
    training_key,
)
from bilstm_crf.model.crf import CRF, EntityLabels
from bilstm_crf.model.tagger import ModelSection, TableSizes, TaggerNetwork
from bilstm_crf.model.word_embeddings import WordEmbeddingsSection

logger = logging.getLogger(__name__)


class PretrainedVectors:
    """The vectors of one or more files, put side by side.

    Args:
        section: names the files.
        wanted_forms: the word forms whose vectors are needed, or None for all the files hold.

    Raises:
        DataError: a file cannot be read, or a row is wrong.

    Attributes:
        size: numbers of a word, those of all files together.
    """

    def __init__(self, section: WordEmbeddingsSection, wanted_forms: Sequence[str] | None):
        keys = None
        if wanted_forms is not None:
            keys = {key for form in wanted_forms for key in lookup_keys(form)}
        wanted = None if keys is None else keys.__contains__
        self._files: list[WordVectors] = [
            read_vectors(path, wanted=wanted) for path in section.vector_paths
        ]
        self._row_of = [{word: row for row, word in enumerate(file.words)} for file in self._files]
        self.size = sum(file.matrix.shape[1] for file in self._files)
        for path, file in zip(section.vector_paths, self._files, strict=True):
            logger.info("%s: %d vectors of size %d", path, len(file.words), file.matrix.shape[1])

    @property
    def words(self) -> dict[str, int]:
        """All words of the files, in file order."""
        merged: dict[str, int] = {}
        for rows in self._row_of:
            for word in rows:
                merged.setdefault(word, len(merged))
        return merged

    def matrix(self, words: Sequence[str]) -> NDArray[np.float32]:
        """Return the (words, size) vectors; zeros where a file does not hold a word."""
        parts = []
        for file, rows in zip(self._files, self._row_of, strict=True):
            numbers = np.array([rows.get(word, -1) for word in words], dtype=np.int64)
            part = file.matrix[numbers]
            part[numbers < 0] = 0.0
            parts.append(part)
        return np.concatenate(parts, axis=1)


def learn_vocabularies(
    train: EncodedCorpus,
    labels: tuple[str, ...],
    section: WordEmbeddingsSection,
    vectors: PretrainedVectors | None,
) -> Vocabularies:
    """Learn words, characters and column values, from the training corpus only.

    Words of the vectors file come in addition, as rows that training does not touch.
    """
    counts = train.form_counts()
    known = vectors.words if vectors else {}
    keys: Counter[str] = Counter()
    chars: Counter[str] = Counter()
    for form, count in counts.items():
        keys[training_key(form, known)] += count
        for char in form:
            chars[char] += count
    kept = {key: n for key, n in keys.items() if n >= section.min_count or key in known}
    trained = sorted(kept, key=lambda key: -kept[key]) if section.size else []
    stored = [word for word in known if word not in kept] if section.store != "train" else []
    columns = {
        name: Vocabulary.by_frequency(Counter(np.asarray(values, dtype=object)[ids].tolist()))
        for name, (values, ids) in train.features.items()
    }
    return Vocabularies(
        WordVocabulary(trained, stored), Vocabulary.by_frequency(chars), labels, columns
    )


def build_network(
    section: ModelSection, vocabularies: Vocabularies, model_scheme: str
) -> TaggerNetwork:
    """Return a network for these vocabularies, with random weights."""
    network = TaggerNetwork(section, table_sizes(vocabularies))
    if isinstance(network.head, CRF):
        allowed = allowed_transitions(vocabularies.labels, model_scheme)
        network.head.set_constraints(allowed, section.crf.constraints)
        network.head.set_label_bias(section.crf.label_bias(vocabularies.labels))
        network.head.set_costs(section.crf.costs(vocabularies.labels))
        if section.crf.decoding == "expected_f1" and section.crf.entity_threshold != "auto":
            entities = EntityLabels.of(vocabularies.labels, model_scheme)
            network.head.set_entity_threshold(entities, section.crf.entity_threshold)
    return network


def table_sizes(vocabularies: Vocabularies) -> TableSizes:
    """Return how many rows the tables of a network have for these vocabularies."""
    return TableSizes(
        trained_words=vocabularies.words.num_trained,
        stored_words=len(vocabularies.words.stored),
        chars=len(vocabularies.chars) + 1,  # row 0 is padding
        labels=len(vocabularies.labels),
        columns={name: len(values) for name, values in vocabularies.columns.items()},
    )


def load_vectors(
    network: TaggerNetwork, vocabularies: Vocabularies, vectors: PretrainedVectors
) -> None:
    """Put the pretrained vectors into the word table."""
    known = vectors.words
    words = [*vocabularies.words.trained, *vocabularies.words.stored]
    rows = np.array([i for i, word in enumerate(words, 1) if word in known], dtype=np.int64)
    if len(rows):
        matrix = vectors.matrix([words[row - 1] for row in rows])
        for member in network.members:
            member.word_embeddings.load_pretrained(rows, matrix)


def word_counts(train: EncodedCorpus, vocabularies: Vocabularies) -> NDArray[np.int64]:
    """Return how often each trained row of the word table occurs: (trained rows,)."""
    counts = np.zeros(vocabularies.words.num_trained, dtype=np.int64)
    for form, count in train.form_counts().items():
        row = vocabularies.words.row(form)
        if row < len(counts):
            counts[row] += count
    return counts


def drop_rare_words(
    network: TaggerNetwork,
    counts: NDArray[np.int64],
    vocabularies: Vocabularies,
    vectors: PretrainedVectors | None,
    rate: float,
) -> None:
    """Tell the word table how rare its words are; those with a pretrained vector are not dropped.

    Their vectors say what they mean however rare they are, also where the words are new.
    """
    counts = counts.copy()
    known = vectors.words if vectors else {}
    counts[UNKNOWN] = 0
    for row, word in enumerate(vocabularies.words.trained, 1):
        if word in known:
            counts[row] = 0
    for member in network.members:
        member.word_embeddings.drop_rare(counts, rate)


def form_table(section: ModelSection, vocabularies: Vocabularies) -> FormTable:
    """Return an empty table of forms for these vocabularies."""
    return FormTable(
        vocabularies.words,
        vocabularies.chars,
        longest=section.char_encoder.longest,
        with_views=section.form_embeddings.size > 0,
    )


def log_hit_rates(forms: dict[str, int], vectors: PretrainedVectors) -> None:
    """Log how many distinct forms and tokens of a corpus have a vector, by look-up key."""
    known = vectors.words
    names = ("as written", "in lower case", "with digits as 0")
    found = Counter[str]()
    for form in forms:
        for name, key in zip(names, lookup_keys(form), strict=True):
            if key in known:
                found[name] += 1
                break
    total = sum(found.values())
    parts = ", ".join(f"{found[name]} {name}" for name in names)
    logger.info(
        "%d of %d distinct training words have a pretrained vector (%s)", total, len(forms), parts
    )
