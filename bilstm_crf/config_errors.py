"""What is wrong with a configuration, in words: place, key, what was found, what is expected."""

import difflib
import re
from collections.abc import Iterable, Mapping
from typing import Any

from pydantic_core import ErrorDetails

from bilstm_crf.section import Section, sections_in
from bilstm_crf.strict_yaml import Document, KeyPath, dotted

NAMES_ELSEWHERE = {
    "lr": "training.optimizer.learning_rate",
    "learning_rate": "training.optimizer.learning_rate",
    "weight_decay": "training.optimizer.weight_decay",
    "hidden": "model.lstm.hidden_size",
    "hidden_dim": "model.lstm.hidden_size",
    "num_layers": "model.lstm.layers",
    "word_dim": "model.word_embeddings.size",
    "embedding_dim": "model.word_embeddings.size",
    "embeddings": "model.word_embeddings.vectors",
    "glove": "model.word_embeddings.vectors",
    "char_dim": "model.char_encoder.size",
    "char_hidden": "model.char_encoder.hidden_size",
    "num_epochs": "training.epochs",
    "max_epochs": "training.epochs",
    "early_stopping": "training.patience",
    "grad_clip": "training.clip",
    "out_dir": "output_dir",
}
"""What other programs call our keys."""


def explain(errors: Iterable[ErrorDetails], document: Document, root: type[Section]) -> str:
    """Return a line for each mistake, in the order of the file.

    Args:
        errors: of pydantic.
        document: what was read.
        root: the class of the whole configuration.
    """
    messages: dict[tuple[KeyPath, str], list[str]] = {}
    for error in errors:
        path = _path_in_document(document.values, error)
        tag = ".type" if error["type"] == "union_tag_invalid" else ""
        said = messages.setdefault((path, dotted(path) + tag), [])
        what = _what_is_wrong(error, path, root)
        if what not in said:
            said.append(what)
    found = []
    for (path, key), said in messages.items():
        if any(_is_within(other, path) for other, _ in messages):
            continue  # it could be a single value as well, but a list was meant
        # A rule between several keys begins with the name of one.
        number, place = document.place(
            path or tuple(said[0].partition(" ")[0].strip(":").split("."))
        )
        where = f"{place}: {key}" if key else place
        found.append((number, f"{where}: {' or '.join(said)}{_found(document.values, path, said)}"))
    return "\n".join(text for _, text in sorted(found, key=lambda item: item[0]))


def _is_within(path: KeyPath, outer: KeyPath) -> bool:
    """Whether a path is that of an item of the list at ``outer``."""
    return path[: len(outer)] == outer and any(isinstance(p, int) for p in path[len(outer) :])


def _what_is_wrong(error: ErrorDetails, path: KeyPath, root: type[Section]) -> str:
    kind = error["type"]
    if kind == "extra_forbidden":
        return f"unknown key{_suggestion(path, root, error['loc'])}"
    if kind == "missing":
        return "missing, and it has no default"
    if kind == "union_tag_invalid":
        context = error["ctx"]
        return f"{context['tag']!r} is not one of {context['expected_tags']}"
    if kind in ("model_type", "model_attributes_type", "dict_type", "union_tag_not_found"):
        keys = ", ".join(_known_keys(path, root, error["loc"]))
        return "expected a section of keys" + (f" ({keys})" if keys else "")
    if kind == "string_type" and isinstance(error["input"], int | float):
        return f"should be text; put quotes around it: '{error['input']}'"
    message = error["msg"].removeprefix("Value error, ")
    message = re.sub(r"^(Input|String|List|Value) should", "should", message)
    return message.replace("should be a valid list", "should be a list")


def _found(values: Any, path: KeyPath, said: list[str]) -> str:
    """Return what stands at the path, unless the message says it already."""
    for part in path:
        try:
            values = values[part]
        except (KeyError, IndexError, TypeError):
            return ""
    known = repr(values) if isinstance(values, str) else "found"
    if any(word in text for text in said for word in ("found", "unknown key", "quotes", known)):
        return ""
    if isinstance(values, dict):
        return ", found a section" if "should be" in said[0] else ""
    shown = repr(values)
    return f", found {shown if len(shown) <= 80 else shown[:77] + '...'}"


def _path_in_document(values: Any, error: ErrorDetails) -> KeyPath:
    """Drop what pydantic puts between the keys: the names of the members of unions."""
    path: list[str | int] = []
    last = len(error["loc"]) - 1
    for index, part in enumerate(error["loc"]):
        if isinstance(values, dict) and part in values:
            values = values[str(part)]
        elif isinstance(values, list) and isinstance(part, int) and part < len(values):
            values = values[part]
        elif index < last or error["type"] != "missing":
            continue
        path.append(part)
    return tuple(path)


def _suggestion(path: KeyPath, root: type[Section], location: KeyPath) -> str:
    name, known = str(path[-1]), _known_keys(path[:-1], root, location)
    everywhere = all_keys(root)
    close = difflib.get_close_matches(name, known, n=1, cutoff=0.7)
    if close:
        return f"; did you mean {close[0]!r}?"
    elsewhere = [place for place, key in everywhere.items() if key == name]
    if name in NAMES_ELSEWHERE:
        elsewhere = [NAMES_ELSEWHERE[name]]
    if not elsewhere:
        near = difflib.get_close_matches(name, list(everywhere.values()), n=1, cutoff=0.8)
        elsewhere = [place for place, key in everywhere.items() if key in near]
    elsewhere = [place for place in elsewhere if place != dotted(path)]
    if elsewhere:
        return f"; did you mean {' or '.join(elsewhere)}?"
    return f"; known keys: {', '.join(known)}" if known else ""


def _known_keys(path: KeyPath, root: type[Section], location: KeyPath) -> list[str]:
    """Return the keys of the section at a path.

    Args:
        path: as in the file.
        root: the class of the whole configuration.
        location: the path with the names of the chosen members of unions in it.
    """
    found = [root]
    for part in path:
        found = [
            inner
            for section in found
            if str(part) in section.model_fields
            for inner in sections_in(section.model_fields[str(part)].annotation)
        ]
        chosen = [s for s in found if "type" in s.model_fields
                  and s.model_fields["type"].default in location]  # fmt: skip
        found = chosen or found
    return sorted({key for section in found for key in section.model_fields})


def all_keys(section: type[Section], prefix: str = "") -> Mapping[str, str]:
    """Return all dotted names of a configuration, each with its last part."""
    names: dict[str, str] = {}
    for name, field in section.model_fields.items():
        names[prefix + name] = name
        for inner in sections_in(field.annotation):
            names |= all_keys(inner, f"{prefix}{name}.")
    return names
