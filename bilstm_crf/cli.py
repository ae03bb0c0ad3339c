"""The command line: options, help and exit codes; the work is imported when a command runs.

Exit codes: 0 done, 1 a mistake in input or configuration (one line on stderr), 2 wrong
usage, 130 stopped by Ctrl-C, 143 by SIGTERM. Anything else is a bug and shows its traceback.
"""

import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from bilstm_crf import __version__
from bilstm_crf.commands.stop_signals import Interrupted, stop_at_once_on_signals
from bilstm_crf.console import say, set_up_logging, show_error
from bilstm_crf.errors import BilstmCrfError

app = typer.Typer(
    name="bilstm-crf",
    help="Train, evaluate and use named-entity recognisers: characters and words, BiLSTM, CRF.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)

ModelArgument = Annotated[Path, typer.Argument(metavar="MODEL.pt", help="A model file.")]
DeviceOption = Annotated[
    str, typer.Option("--device", help="auto, cpu, cuda, cuda:N or mps.", metavar="DEVICE")
]
ThreadsOption = Annotated[
    int | None, typer.Option("--threads", min=1, help="Torch threads; default: all cores.")
]


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"bilstm-crf {__version__}")
        raise typer.Exit


@app.callback()
def _common(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Show only warnings.")] = False,
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="Show details.")] = False,
) -> None:
    set_up_logging(-1 if quiet else 1 if verbose else 0)


def _set_threads(threads: int | None) -> None:
    if threads is not None:
        import torch

        torch.set_num_threads(threads)


@app.command()
def train(
    config: Annotated[
        Path | None, typer.Argument(metavar="CONFIG.yaml", help="The configuration.")
    ] = None,
    set_: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="Override a key: training.epochs=3."),
    ] = None,
    output_dir: Annotated[
        Path | None, typer.Option(help="Run folder; default: output_dir, or runs/<config name>.")
    ] = None,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace a run that is in the folder.")
    ] = False,
    resume: Annotated[
        Path | None, typer.Option(metavar="RUN", help="Go on with an interrupted run.")
    ] = None,
    seeds: Annotated[
        int, typer.Option(min=1, help="Train this many seeds, report their spread, keep the best.")
    ] = 1,
    half: Annotated[
        bool, typer.Option("--half", help="Store the weights in float16; show the change of F1.")
    ] = False,
    device: DeviceOption = "auto",
    threads: ThreadsOption = None,
) -> None:
    """Train a model; writes model.pt and reports into a run folder.

    Ctrl-C finishes the step, saves the state and says how to go on; twice stops at once.
    Relative paths in CONFIG.yaml, and in --set, start from the folder of CONFIG.yaml.
    """
    from bilstm_crf.commands.train import train_command

    _set_threads(threads)
    train_command(
        config,
        [*(set_ or []), *(["training.half=true"] if half else [])],
        output_dir=output_dir,
        device=device,
        overwrite=overwrite,
        resume_run=resume,
        seeds=seeds,
    )


@app.command()
def config() -> None:
    """Print the default configuration with every key explained."""
    from bilstm_crf.commands.config import defaults_as_yaml

    typer.echo(defaults_as_yaml(), nl=False)


@app.command()
def info(
    model: ModelArgument,
    transitions: Annotated[
        bool, typer.Option("--transitions", help="Print the learned transition scores instead.")
    ] = False,
    settings: Annotated[
        bool, typer.Option("--config", help="Print the configuration it was trained with instead.")
    ] = False,
) -> None:
    """Say what a model is: labels, sizes, scores, data, versions and settings."""
    from bilstm_crf.commands.info import config_of, describe_model, print_transitions

    if transitions:
        print_transitions(model)
        return
    if settings:
        typer.echo(config_of(model), nl=False)
        return
    for name, value in describe_model(model):
        typer.echo(f"{name + ':':<16}{value}")


@app.command()
def export(
    model: ModelArgument,
    folder: Annotated[Path, typer.Argument(metavar="OUT", help="Folder to write.")],
    format_: Annotated[
        str, typer.Option("--format", metavar="FORMAT", help="onnx, the only one so far.")
    ] = "onnx",
    int8: Annotated[
        bool, typer.Option("--int8", help="Also write a graph with 8-bit weights.")
    ] = False,
    verify: Annotated[
        Path | None, typer.Option(metavar="DATA", help="Compare with the model on this file.")
    ] = None,
) -> None:
    """Write a model as ONNX graph, numpy tables and a predictor that needs no torch."""
    from bilstm_crf.commands.export import export_command

    if format_ != "onnx":
        raise typer.BadParameter(f"{format_!r}; expected onnx", param_hint="--format")
    export_command(model, folder, int8=int8, verify=verify)


@app.command("eval")
def eval_(
    model: Annotated[
        Path | None,
        typer.Argument(metavar="MODEL", help="A model file or run folder; default: the newest."),
    ] = None,
    data: Annotated[
        list[str] | None,
        typer.Argument(metavar="DATA", help="Labelled files; default: the model's own test data."),
    ] = None,
    predictions: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Score gold and predicted columns that any tool wrote."),
    ] = None,
    gold_column: Annotated[
        str, typer.Option(help="Column of gold labels in FILE: from 0, from the end, or a name.")
    ] = "-2",
    predicted_column: Annotated[str, typer.Option(help="Column of predicted labels.")] = "-1",
    token_column: Annotated[str, typer.Option(help="Column of tokens.")] = "0",
    delimiter: Annotated[str, typer.Option(help="auto, tab, space, or the character.")] = "auto",
    scheme: Annotated[
        str, typer.Option(help="Scheme of the labels in FILE, such as BIO; auto looks at them.")
    ] = "auto",
    set_: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="How to read DATA: data.token_column=0."),
    ] = None,
    json: Annotated[
        str | None, typer.Option(metavar="FILE", help="Write all numbers as JSON; - for stdout.")
    ] = None,
    device: DeviceOption = "auto",
    threads: ThreadsOption = None,
) -> None:
    """Score a model on labelled files, or predictions of any tool, by three readings."""
    from bilstm_crf.commands.eval import PredictionColumns, eval_command

    _set_threads(threads)
    columns = PredictionColumns.parse(
        gold_column, predicted_column, token_column, delimiter, scheme
    )
    eval_command(
        model, data or [], predictions, columns, overrides=set_ or [], json=json, device=device
    )


@app.command()
def predict(
    model: ModelArgument,
    inputs: Annotated[
        list[str] | None,
        typer.Argument(metavar="INPUT...", help="Files or patterns; - is standard input."),
    ] = None,
    output: Annotated[
        str, typer.Option("--output", "-o", metavar="FILE", help="Default: standard output.")
    ] = "-",
    input_format: Annotated[
        str,
        typer.Option(
            help="auto, tokens (one a line, columns or CSV), text (running text) or jsonl."
        ),
    ] = "auto",
    output_format: Annotated[
        str,
        typer.Option(
            help="tokens (token, tab, label), conll (the line, columns kept, and the label), "
            "jsonl, inline, html, doccano, prodigy or label-studio; auto: jsonl for jsonl, else "
            "tokens."
        ),
    ] = "auto",
    probabilities: Annotated[
        bool | None,
        typer.Option(help="Give the exact probability of each entity; default: in jsonl only."),
    ] = None,
    marginals: Annotated[
        bool, typer.Option("--marginals", help="Give the probability of each token's labels.")
    ] = False,
    threshold: Annotated[
        list[str] | None,
        typer.Option(metavar="X", help="Drop less probable entities: 0.9, or PER=0.5; repeatable."),
    ] = None,
    k_best: Annotated[
        int,
        typer.Option(
            min=0, max=100, help="Give so many best label paths of each sentence (jsonl)."
        ),
    ] = 0,
    tokens: Annotated[
        str,
        typer.Option(
            help="Cut text into words, parts (no marks inside words), characters or "
            "spacy:LANGUAGE; auto: as in training."
        ),
    ] = "auto",
    vectors: Annotated[
        list[Path] | None,
        typer.Option(metavar="FILE", help="Word vectors for words that the model did not keep."),
    ] = None,
    set_: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="How to read: data.token_column=1."),
    ] = None,
    batch_size: Annotated[int, typer.Option(min=1, help="Sentences decoded at once.")] = 192,
    device: DeviceOption = "auto",
    threads: ThreadsOption = None,
) -> None:
    """Label files or a stream; token lines keep their lines, text and JSON get offsets."""
    from bilstm_crf.commands.numpy_setup import set_up_numpy

    set_up_numpy()
    from bilstm_crf.commands.predict import predict_command
    from bilstm_crf.commands.predict_options import PredictOptions

    options = PredictOptions(
        input_format=input_format,
        output_format=output_format,
        probabilities=probabilities,
        marginals=marginals,
        thresholds=threshold or [],
        k_best=k_best,
        tokens=tokens,
        vectors=vectors or [],
        overrides=set_ or [],
        batch_size=batch_size,
        device=device,
        threads=threads,
    )
    predict_command(model, inputs or [], output, options)


@app.command()
def calibrate(
    model: ModelArgument,
    data: Annotated[
        list[str], typer.Argument(metavar="DEV...", help="Labelled files, not the training data.")
    ],
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FILE", help="Model to write; default: MODEL.pt."),
    ] = None,
    set_: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="How to read: data.label_column=2."),
    ] = None,
    device: DeviceOption = "auto",
    threads: ThreadsOption = None,
) -> None:
    """Fit the temperature of a model, so that its probabilities mean what they say."""
    from bilstm_crf.commands.calibrate import calibrate_command

    _set_threads(threads)
    calibrate_command(model, data, output, overrides=set_ or [], device=device)


@app.command()
def compare(
    first: Annotated[Path, typer.Argument(metavar="A", help="Predicted labels of one system.")],
    second: Annotated[Path, typer.Argument(metavar="B", help="Predicted labels of another.")],
    gold: Annotated[Path, typer.Option(metavar="FILE", help="The gold labels of the same tokens.")],
    label_column: Annotated[
        str, typer.Option(help="Column of the labels in A and B: from 0, from the end, or a name.")
    ] = "-1",
    gold_column: Annotated[str, typer.Option(help="Column of the labels in FILE.")] = "auto",
    json: Annotated[
        str | None, typer.Option(metavar="FILE", help="Write all numbers as JSON; - for stdout.")
    ] = None,
) -> None:
    """Say whether two systems differ: paired bootstrap and randomisation, per type."""
    from bilstm_crf.commands.compare import compare_command

    compare_command(first, second, gold, label_column, gold_column, json=json)


@app.command()
def report(
    runs: Annotated[
        list[Path] | None, typer.Argument(metavar="RUN", help="Run folders; default: the newest.")
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Default: report.html in the first run.")
    ] = None,
    open_: Annotated[bool, typer.Option("--open", help="Show it in the browser.")] = False,
) -> None:
    """Write one HTML file about a run, or about several side by side."""
    from bilstm_crf.commands.report import report_command

    report_command(runs or [], output, open_in_browser=open_)


@app.command()
def check(
    data: Annotated[
        list[str], typer.Argument(metavar="DATA...", help="Data files, or one CONFIG.yaml.")
    ],
    set_: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="How to read: data.label_column=2."),
    ] = None,
    json: Annotated[
        str | None, typer.Option(metavar="FILE", help="Write all findings as JSON; - for stdout.")
    ] = None,
    fix: Annotated[
        Path | None,
        typer.Option(metavar="OUT", help="Write a mended copy; a folder, if of several files."),
    ] = None,
) -> None:
    """Say what a corpus is, what is wrong with it and where; exit code 1 if it has errors."""
    from bilstm_crf.commands.check import check_command

    raise typer.Exit(check_command(data, set_ or [], json=json, fix=fix))


@app.command()
def convert(
    inputs: Annotated[list[str], typer.Argument(metavar="IN...", help="Labelled files; - stdin.")],
    output: Annotated[str, typer.Argument(metavar="OUT", help="File to write; - for stdout.")],
    to: Annotated[
        str | None,
        typer.Option(
            help="conll, jsonl, doccano, prodigy, label-studio, inline or html; default: by OUT."
        ),
    ] = None,
    scheme: Annotated[
        str | None, typer.Option(help="Label scheme to write, such as bioes; default: as read.")
    ] = None,
    set_: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="How to read: data.label_column=2."),
    ] = None,
) -> None:
    """Convert labelled files to another format or label scheme."""
    from bilstm_crf.commands.convert import convert as convert_files

    convert_files(inputs, output, to=to, scheme=scheme, overrides=set_ or [])


def main() -> None:
    """Run the command line; the only place where errors become exit codes."""
    _read_file_names_as_utf8()
    for stream in (sys.stdout, sys.stderr):
        # Help and reports give way to a terminal that cannot show them; data is written as bytes.
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    if not _is_one_of_several_processes():
        # There a process may wait inside torch for the others, where no handler gets its turn.
        stop_at_once_on_signals()
    try:
        app()
    except BilstmCrfError as error:
        show_error(str(error))
        sys.exit(1)
    except Interrupted as stop:
        if os.environ.get("RANK", "0") == "0":
            say(str(stop))
        sys.exit(128 + stop.signal_number)
    except BrokenPipeError:
        # The reader of our output has gone; there is nobody left to tell.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)


def _read_file_names_as_utf8() -> None:
    """Start again in Python's UTF-8 mode where the locale knows only fewer characters.

    Files named in a configuration, which is UTF-8, could not be opened otherwise.
    """
    if sys.getfilesystemencoding() != "utf-8" and not sys.flags.utf8_mode and sys.executable:
        os.execv(sys.executable, [sys.executable, "-X", "utf8", *sys.orig_argv[1:]])


def _is_one_of_several_processes() -> bool:
    return os.environ.get("WORLD_SIZE", "1") != "1"
