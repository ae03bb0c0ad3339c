"""``bilstm-crf predict``: label files of any size, or what comes through a pipe, as it comes."""

import logging
import os
import sys
from collections.abc import Sequence
from contextlib import ExitStack, closing
from itertools import chain
from pathlib import Path

from bilstm_crf.commands.output import binary_output
from bilstm_crf.commands.predict_options import PredictOptions
from bilstm_crf.commands.prediction_job import PredictionJob, Source
from bilstm_crf.commands.reading_options import reading_options
from bilstm_crf.console import TokenBar
from bilstm_crf.corpus.data_section import expand_paths
from bilstm_crf.corpus.text_source import STANDARD_INPUT
from bilstm_crf.errors import ConfigError
from bilstm_crf.prediction.labeller import Labeller
from bilstm_crf.prediction.light_model import UnusualModelError
from bilstm_crf.prediction.light_tagger import LightTagger

logger = logging.getLogger(__name__)


def predict_command(
    model: Path, inputs: Sequence[str], output: str, options: PredictOptions
) -> None:
    """Label inputs and write the result as UTF-8; see the help of ``bilstm-crf predict``.

    Raises:
        BilstmCrfError: an option, the model, an input or the output is wrong.
    """
    paths = expand_paths(inputs or ["-"])
    for path in paths:
        if output != "-" and path != STANDARD_INPUT and path.absolute() == Path(output).absolute():
            raise ConfigError(f"{output}: is an input too; write to another file")
    settings = reading_options(options.overrides).reader_settings()
    with ExitStack() as opened:
        following = (
            opened.enter_context(closing(Source(path, options.input_format, settings)))
            for path in paths
        )
        first = next(following)
        output_format = options.output_format
        if output_format == "auto":
            output_format = "jsonl" if first.format == "jsonl" else "tokens"
        options.check(output_format)
        labeller = load_labeller(model, options)
        stream = opened.enter_context(binary_output(output))
        bar = opened.enter_context(TokenBar(output_is_shown=output == "-"))
        job = PredictionJob(labeller, options, settings, bar, stream.flush)
        for piece in job.run(chain([first], following), output_format):
            stream.write(piece)


def load_labeller(model: Path, options: PredictOptions) -> Labeller:
    """Return what labels: without torch where the CPU does it and no k best paths are asked for.

    Raises:
        ModelFileError: the model cannot be used.
        ConfigError: it cannot do what is asked.
    """
    if not options.k_best and not options.vectors and _is_cpu(options.device):
        threads = options.threads or len(os.sched_getaffinity(0))
        try:
            return LightTagger(model, batch_sentences=options.batch_size, threads=threads)
        except UnusualModelError as reason:
            logger.debug("%s; torch reads it", reason)
    import torch

    from bilstm_crf.prediction.model_file import load_model
    from bilstm_crf.prediction.more_vectors import with_vectors
    from bilstm_crf.prediction.predictor import Tagger

    if options.threads is not None:
        torch.set_num_threads(options.threads)
    trained = load_model(model)
    if options.k_best and trained.section.head != "crf":
        raise ConfigError(
            f"--k-best: {model} was trained with model.head: {trained.section.head}, which scores "
            "each token by itself; only a crf has best label paths"
        )
    if options.vectors:
        trained = with_vectors(trained, options.vectors)
    # Memory grows with the paths that are kept of each sentence.
    sentences = max(1, options.batch_size // max(1, options.k_best))
    return Tagger(trained, options.device, batch_sentences=sentences)


def _is_cpu(device: str) -> bool:
    """Return whether a device is the CPU, as far as can be told without torch."""
    may_have_gpu = sys.platform == "darwin" or any(Path("/dev").glob("nvidia[0-9]*"))
    return device == "cpu" or (device == "auto" and not may_have_gpu)
