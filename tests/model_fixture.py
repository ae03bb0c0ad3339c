"""The model file that every version must read, and how a test sees one refused."""

from pathlib import Path
from typing import Any

import pytest
import torch

from bilstm_crf.errors import ModelFileError
from bilstm_crf.prediction.model_file import load_model

FIXTURE = Path(__file__).parent / "fixtures" / "model-v1.pt"


def fixture_content() -> dict[str, Any]:
    """Return what is in the fixture, to be changed by a test."""
    return dict(torch.load(FIXTURE, weights_only=True))


def refused(path: Path) -> str:
    """Return the one line with which a file is refused."""
    with pytest.raises(ModelFileError) as caught:
        load_model(path)
    message = str(caught.value)
    assert message.startswith(f"{path}: ")
    assert "\n" not in message
    return message
