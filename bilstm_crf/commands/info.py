"""``bilstm-crf info``: what a model file is."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch

from bilstm_crf.config import Config
from bilstm_crf.console import print_table
from bilstm_crf.corpus.context import context_limit
from bilstm_crf.errors import ModelFileError
from bilstm_crf.prediction.model_file import TrainedModel, load_model
from bilstm_crf.strict_yaml import write_yaml

_SAID_ALREADY = {
    "seed",
    "output_dir",
    "data.train",
    "data.dev",
    "data.test",
    "model.word_embeddings.vectors",
}


def describe_model(path: Path) -> list[tuple[str, str]]:
    """Return what a model is, as (name, value) lines."""
    model = load_model(path)
    words, section = model.vocabularies.words, model.section
    weights = [tensor for name, tensor in model.weights.items() if not name.endswith(".stored")]
    dtypes = sorted({str(tensor.dtype).removeprefix("torch.") for tensor in weights})
    lines = [
        ("file", f"{path} ({path.stat().st_size / 1e6:.1f} MB)"),
        ("entity types", ", ".join(_types(model)) or "none"),
        (
            "labels",
            f"{len(model.vocabularies.labels)} in {model.scheme}, files in {model.file_scheme}",
        ),
        ("words", f"{len(words.trained)} tuned in training, {len(words.stored)} from vectors only"),
        ("characters", str(len(model.vocabularies.chars.strings))),
        (
            "network",
            f"word size {section.word_embeddings.size}, char encoder {section.char_encoder.type}, "
            f"{section.lstm.layers} x BiLSTM of {section.lstm.hidden_size} per direction, "
            f"head {section.head}",
        ),
        ("weights", f"{sum(tensor.numel() for tensor in weights):,} in {', '.join(dtypes)}"),
        ("weights hash", f"sha256 {model.weights_hash()}"),
    ]
    if model.vocabularies.columns:
        lines.append(("extra columns", ", ".join(model.vocabularies.columns)))
    if model.temperature != 1.0:
        lines.append(("temperature", f"{model.temperature:.4f}"))
    if (most := context_limit(model.record.get("config", {}).get("data", {}))) is not None:
        lines.append(("context", f"the sentences around in the document, {most} tokens at once"))
    try:
        lines += _record_lines(model.record)
    except (AttributeError, KeyError, TypeError, ValueError):
        lines.append(("record", "not one that bilstm-crf train wrote"))
    return [(name, _printable(value)) for name, value in lines]


def config_of(path: Path) -> str:
    """Return the configuration that a model was trained with, as YAML.

    Raises:
        ModelFileError: the model has none on record.
    """
    config = load_model(path).record.get("config")
    if not isinstance(config, dict):
        raise ModelFileError(f"{path}: this model has no configuration on record")
    return write_yaml(config)


def _record_lines(record: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield how the model was made: scores, seed, data, versions, settings."""
    for split, scores in record.get("scores", {}).items():
        yield f"{split} F1", _scores(scores)
    for name in ("seed", "epoch", "started"):
        if name in record:
            yield name, str(record[name])
    for split, files in record.get("data", {}).items():
        for file in files:
            yield f"{split} data", f"{file['path']} (sha256 {file['sha256']})"
    versions = record.get("versions", {})
    yield "made with", ", ".join(f"{name} {version}" for name, version in versions.items())
    defaults = _flat(Config.model_validate({"data": {}}).model_dump(mode="json"))
    for key, value in _flat(record.get("config", {})).items():
        if key not in _SAID_ALREADY and (key not in defaults or defaults[key] != value):
            yield "setting", f"{key}: {write_yaml(value, one_line=True).strip()}"


def _flat(values: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    """Return nested sections as one mapping with dotted keys."""
    flat: dict[str, Any] = {}
    for key, value in values.items():
        if isinstance(value, dict) and value:
            flat |= _flat(value, f"{prefix}{key}.")
        else:
            flat[prefix + key] = value
    return flat


def _printable(text: str) -> str:
    """Return text from a file without anything that a terminal would act on."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def print_transitions(path: Path) -> None:
    """Write the learned transition scores, START and END included, as a table to stdout.

    Raises:
        ModelFileError: the model has no CRF.
    """
    model = load_model(path)
    names, table = transition_table(model)
    rows = [
        [name, *(f"{value:.2f}" for value in row)] for name, row in zip(names, table, strict=True)
    ]
    print_table(["from \\ to", *names[1:], "END"], rows)


def transition_table(model: TrainedModel) -> tuple[list[str], list[list[float]]]:
    """Return row names (START first) and scores from each row's label to each label and END.

    START to END does not exist and is given as nan.

    Raises:
        ModelFileError: the model has no CRF.
    """
    if "head.transitions" not in model.weights:
        raise ModelFileError("this model has no transitions: its head is softmax")
    weights: dict[str, Any] = {n.removeprefix("head."): t.float() for n, t in model.weights.items()}
    start = torch.cat([weights["start_transitions"], torch.tensor([float("nan")])])
    inner = torch.cat([weights["transitions"], weights["end_transitions"][:, None]], dim=1)
    return ["START", *model.vocabularies.labels], torch.cat([start[None], inner]).tolist()


def _types(model: TrainedModel) -> list[str]:
    return sorted({label.partition("-")[2] for label in model.vocabularies.labels} - {""})


def _scores(scores: dict[str, Any]) -> str:
    return (
        f"{100 * scores['f1']:.2f} (P {100 * scores['precision']:.2f}, "
        f"R {100 * scores['recall']:.2f}, {scores['support']} entities)"
    )
