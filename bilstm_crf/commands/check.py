"""``bilstm-crf check``: say what a corpus is, what is wrong with it and where."""

from collections.abc import Sequence
from pathlib import Path

from bilstm_crf.commands.check_report import report_text
from bilstm_crf.commands.json_output import write_json
from bilstm_crf.commands.output import write_text
from bilstm_crf.commands.reading_options import ReadingOptions, reading_options
from bilstm_crf.corpus.checks import CorpusCheck, check_corpus, split_of
from bilstm_crf.corpus.data_section import expand_paths
from bilstm_crf.corpus.mended_file import mended_text
from bilstm_crf.errors import ConfigError, RunError

_CONFIG_ENDINGS = (".yaml", ".yml")


def check(inputs: Sequence[str], overrides: Sequence[str] = ()) -> CorpusCheck:
    """Check files, or the corpus of a configuration.

    Args:
        inputs: paths and patterns of data files, or one configuration file.
        overrides: ``data.x=value`` and ``labels.x=value``, how to read the files.

    Raises:
        BilstmCrfError: a file cannot be read at all, or the configuration is wrong.
    """
    options, files, vectors = _what_to_check(inputs, overrides)
    return check_corpus(files, options.reader_settings(), options.labels, vectors)


def check_command(
    inputs: Sequence[str], overrides: Sequence[str], *, json: str | None, fix: Path | None
) -> int:
    """Do what ``bilstm-crf check`` was asked for; return the exit code, 1 if errors were found."""
    result = check(inputs, overrides)
    if fix is not None:
        _write_mended(result, _what_to_check(inputs, overrides)[0], fix)
    if json is not None:
        write_json(result.as_dict(), json)
    if json != "-":
        write_text([report_text(result)], "-")
    return 1 if result.num_errors else 0


def _what_to_check(
    inputs: Sequence[str], overrides: Sequence[str]
) -> tuple[ReadingOptions, list[tuple[str, Path]], list[Path]]:
    """Return how to read, the files with their splits, and files of word vectors."""
    configs = [one for one in inputs if one.lower().endswith(_CONFIG_ENDINGS)]
    if not configs:
        files = expand_paths(inputs)
        if not files or Path("-") in files:
            raise ConfigError("check needs files, for it reads them more than once")
        return reading_options(overrides), [(split_of(path), path) for path in files], []
    if len(inputs) > 1:
        raise ConfigError(f"{configs[0]}: check takes one configuration, or data files")
    # Here, for the whole configuration knows the model, and that imports torch.
    from bilstm_crf.config import load_config

    config = load_config(configs[0], overrides)
    splits = [
        (split, path) for split in ("train", "dev", "test") for path in config.data.files(split)
    ]
    if not splits:
        raise ConfigError(f"{configs[0]}: names no data to check (data.train, dev, test)")
    options = ReadingOptions(data=config.data, labels=config.labels)
    return options, splits, config.model.word_embeddings.vector_paths


def _write_mended(result: CorpusCheck, options: ReadingOptions, target: Path) -> None:
    """Write the mended files: one to the target itself, several into it as a folder."""
    several = len(result.files) > 1
    settings = options.reader_settings()
    for file in result.files:
        path = target / file.path.name if several else target
        if path.resolve() == file.path.resolve():
            raise RunError(f"{path}: --fix writes a copy; give another name")
        write_text(mended_text(file.path, settings, file.scheme.scheme), str(path))
