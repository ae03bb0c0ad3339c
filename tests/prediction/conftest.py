"""Lets the tests of this folder share the random models."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parent.parent))
