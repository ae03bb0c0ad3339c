"""What the tests of this folder share: random models, and the content of a model file."""

import sys
from pathlib import Path
from typing import Any

import pytest

sys.path.append(str(Path(__file__).parent.parent))


@pytest.fixture
def content() -> dict[str, Any]:
    """What is in the model file fixture, to be changed by a test."""
    from model_fixture import fixture_content

    return fixture_content()
