"""``bilstm-crf compare``: do two systems differ on the same gold file?"""

from collections.abc import Sequence
from pathlib import Path

from bilstm_crf.commands.columns import parse_column
from bilstm_crf.commands.json_output import write_json
from bilstm_crf.commands.score_tables import show_comparison
from bilstm_crf.corpus.data_section import Column
from bilstm_crf.corpus.labels import detect_scheme
from bilstm_crf.corpus.readers import ReaderSettings, read_sentences
from bilstm_crf.corpus.sentence import Sentence
from bilstm_crf.evaluation.counts import count_entities
from bilstm_crf.evaluation.entities import SEQEVAL_DEFAULT, Entity, EntityFinder
from bilstm_crf.evaluation.letters import to_bioes_letters
from bilstm_crf.evaluation.parallel import side_by_side
from bilstm_crf.evaluation.statistics import RESAMPLES, Comparison, compare_systems


def compare_command(
    first: Path, second: Path, gold: Path, label_column: str, gold_column: str, *, json: str | None
) -> None:
    """Do what ``bilstm-crf compare`` was asked for; see its help."""
    comparison = compare_files(
        first,
        second,
        gold,
        label_column=parse_column(label_column),
        gold_column=parse_column(gold_column),
    )
    if json is not None:
        write_json(comparison.as_dict(), json)
    if json != "-":
        show_comparison(comparison, str(first), str(second))


def compare_files(
    first: Path,
    second: Path,
    gold: Path,
    *,
    label_column: Column = -1,
    gold_column: Column = "auto",
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> Comparison:
    """Compare two files of predicted labels.

    Args:
        first: a columns file with the labels of the first system.
        second: likewise of the second.
        gold: a labelled file with the same tokens.
        label_column: the column of the predicted labels.
        gold_column: the column of the gold labels.
        resamples: of the bootstrap and of the randomisation.
        seed: of both.

    The three files may be in different label schemes; entities are compared.

    Raises:
        DataError: a file cannot be read, or the tokens differ; names the first place.
    """
    truth = _read(gold, gold_column)
    systems = [_read(path, label_column) for path in (first, second)]
    for sentences in systems:
        for _ in side_by_side(truth, sentences):
            pass
    entities = [_entities(sentences) for sentences in (truth, *systems)]
    types = {name for rows in entities for row in rows for _, _, name in row}
    counts = [count_entities(entities[0], found, types=sorted(types)) for found in entities[1:]]
    return compare_systems(*counts, resamples=resamples, seed=seed)


def _read(path: Path, column: Column) -> list[Sentence]:
    return list(read_sentences(path, ReaderSettings(label_column=column)))


def _entities(sentences: Sequence[Sentence]) -> list[list[Entity]]:
    rows = [sentence.labels or () for sentence in sentences]
    rename = to_bioes_letters(detect_scheme(rows).scheme)
    find = EntityFinder(SEQEVAL_DEFAULT)
    return [find(rename(row)) for row in rows]
