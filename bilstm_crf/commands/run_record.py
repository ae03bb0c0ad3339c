"""What a run leaves on record of its making: configuration, data, versions, time."""

import platform
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import torch

import bilstm_crf
from bilstm_crf.config import Config
from bilstm_crf.training.corpora import fingerprint


def run_record(config: Config) -> dict[str, Any]:
    """Return the record of a run that starts now, as plain types.

    Every file that it learns from is named with the SHA-256 of its content, the vectors included.
    """
    data = config.data
    files: dict[str, list[Path]] = {
        "train": data.files("train"),
        "dev": data.files("dev"),
        "test": data.files("test"),
        "vectors": config.model.word_embeddings.vector_paths,
    }
    return {
        "config": config.model_dump(mode="json"),
        "seed": config.seed,
        "data": {
            name: [{"path": str(path), "sha256": fingerprint(path)} for path in paths]
            for name, paths in files.items()
            if paths
        },
        "versions": {
            "bilstm-crf": bilstm_crf.__version__,
            "torch": str(torch.__version__),
            "numpy": np.__version__,
            "python": platform.python_version(),
        },
        "started": datetime.now(UTC).isoformat(timespec="seconds"),
    }


def content_hashes(record: dict[str, Any]) -> dict[str, list[str]]:
    """Return the hashes of the files of a record, wherever the files lie."""
    return {name: [file["sha256"] for file in files] for name, files in record["data"].items()}
