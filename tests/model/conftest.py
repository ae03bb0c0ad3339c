"""Let the tests of the model import the oracle ``tests/reference.py`` and their own cases."""

import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path += [str(HERE), str(HERE.parent)]
