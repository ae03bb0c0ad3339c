"""What an import costs: help without torch, every module without the extras."""

import subprocess
import sys

import pytest

import bilstm_crf

HEAVY = ("torch", "numpy", "scipy", "sklearn", "seqeval", "matplotlib")
EXTRAS = ("onnx", "onnxruntime", "onnxscript", "tensorboard", "gensim", "spacy")


def python(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("arguments", [["--help"], ["--version"], ["train", "--help"], []])
def test_help_loads_nothing_heavy(arguments: list[str]) -> None:
    out = python(
        "import sys\n"
        "from bilstm_crf.cli import main\n"
        f"sys.argv = ['bilstm-crf', *{arguments}]\n"
        "try:\n"
        "    main()\n"
        "except SystemExit:\n"
        "    pass\n"
        f"print('\\nheavy:', [name for name in {HEAVY} if name in sys.modules])\n"
    )
    assert out.endswith("heavy: []\n")


def test_import_of_the_package_loads_nothing_heavy() -> None:
    code = f"import sys, bilstm_crf; print([n for n in {HEAVY} if n in sys.modules])"
    assert python(code) == "[]\n"


def test_every_module_imports_without_the_extras() -> None:
    out = python(
        "import importlib, pkgutil, sys\n"
        f"sys.modules.update(dict.fromkeys({EXTRAS}))\n"
        "import bilstm_crf\n"
        "found = [m.name for m in pkgutil.walk_packages(bilstm_crf.__path__, 'bilstm_crf.')]\n"
        "for name in found:\n"
        "    if not name.endswith('__main__'):\n"
        "        importlib.import_module(name)\n"
        "print(len(found))\n"
    )
    assert int(out) > 30


def test_public_names_are_there_and_are_all() -> None:
    from bilstm_crf import api

    assert all(getattr(bilstm_crf, name) is not None for name in bilstm_crf.__all__)
    assert set(api.__all__) | {"CRF", "__version__"} == set(bilstm_crf.__all__)
