"""What several tests share: one thread, and the real corpora where they are at hand."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

# Before anything imports torch: more threads than free cores make small models far slower.
os.environ["OMP_NUM_THREADS"] = "1"
os.environ["MKL_NUM_THREADS"] = "1"

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
