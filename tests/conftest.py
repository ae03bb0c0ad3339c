"""What several tests share: one thread, and the real corpora where they are at hand."""

import logging
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import settings

# Before anything imports torch: more threads than free cores make small models far slower.
os.environ["OMP_NUM_THREADS"] = "1"
os.environ["MKL_NUM_THREADS"] = "1"

# A busy machine misses any deadline; where CI judges a change, the examples are always the same.
settings.register_profile("ours", deadline=None, derandomize="CI" in os.environ)
settings.load_profile("ours")

ROOT = Path(__file__).parent.parent


@pytest.fixture(scope="session")
def corpora() -> Callable[[str], Path]:
    """Find a real corpus by its folder's name, or skip the test and say why.

    They are looked for in ``$BILSTM_CRF_CORPORA``, else in ``shared/data`` beside the repository.
    """
    base = Path(os.environ.get("BILSTM_CRF_CORPORA", ROOT.parent / "shared" / "data"))

    def find(name: str) -> Path:
        if not (base / name).is_dir():
            pytest.skip(
                f"no corpus {name} in {base}; set BILSTM_CRF_CORPORA to the folder of corpora"
            )
        return base / name

    return find


@pytest.fixture(autouse=True)
def _library_log() -> Iterator[None]:
    """Undo what a command in a test did to the log: it writes to a screen that is gone."""
    logger = logging.getLogger("bilstm_crf")
    before = (list(logger.handlers), logger.level, logger.propagate)
    yield
    logger.handlers, logger.level, logger.propagate = before
