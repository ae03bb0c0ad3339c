"""``bilstm-crf info``: what a model file is."""

from pathlib import Path
from typing import Any

import torch

from bilstm_crf.console import print_table
from bilstm_crf.errors import ModelFileError
from bilstm_crf.prediction.model_file import TrainedModel, load_model


def describe_model(path: Path) -> list[tuple[str, str]]:
    """Return what a model is, as (name, value) lines."""
    model = load_model(path)
    words, record = model.vocabularies.words, model.record
    section = model.section
    weights = sum(t.numel() for n, t in model.weights.items() if not n.endswith(".stored"))
    lines = [
        ("file", f"{path} ({path.stat().st_size / 1e6:.1f} MB)"),
        ("entity types", ", ".join(_types(model))),
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
            f"head {section.head}, {weights:,} weights",
        ),
    ]
    if model.vocabularies.columns:
        lines.append(("extra columns", ", ".join(model.vocabularies.columns)))
    for split, scores in record.get("scores", {}).items():
        lines.append((f"{split} F1", _scores(scores)))
    if model.temperature != 1.0:
        lines.append(("temperature", f"{model.temperature:.4f}"))
    lines += [(name, str(record[name])) for name in ("seed", "epoch", "started") if name in record]
    for split, files in record.get("data", {}).items():
        lines += [(f"{split} data", f"{f['path']} (sha256 {f['sha256'][:12]})") for f in files]
    versions = record.get("versions", {})
    lines.append(("made with", ", ".join(f"{name} {v}" for name, v in versions.items())))
    return lines


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
