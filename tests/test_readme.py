"""The README keeps its word: its file tree, its commands, its config keys.

``python tests/test_readme.py`` writes the file tree anew from the modules' docstrings.
"""

import ast
import os
import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml

from bilstm_crf.config import Config

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
TREE = re.compile(r"(<!-- tree: .*? -->\n```\n)(.*?)(```)", re.DOTALL)
CORPORA = tomllib.loads((ROOT / "data" / "corpora.toml").read_text(encoding="utf-8"))
FOLDERS = ("commands", "corpus", "model", "training", "evaluation", "prediction")


def first_line(path: Path) -> str:
    text = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    return text.split("\n")[0].replace("``", "")


def file_tree() -> str:
    lines = []
    for folder in ("", *FOLDERS):
        base = ROOT / "bilstm_crf" / folder
        if folder:
            lines.append(f"  {folder + '/':<28} {first_line(base / '__init__.py')}")
        for path in sorted(base.glob("*.py")):
            if not folder or path.name != "__init__.py":
                name = ("    " if folder else "  ") + path.name
                lines.append(f"{name:<30} {first_line(path)}")
    return "".join(f"{line.rstrip()}\n" for line in ["bilstm_crf/", *lines])


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", README, re.DOTALL)


def shown_commands() -> list[str]:
    """Return what the README types at a prompt: bash blocks, and ``$`` lines of other blocks."""
    lines = [line for block in blocks("bash") for line in block.split("\n")]
    lines += [line[2:] for line in README.split("\n") if line.startswith("$ ")]
    return [line.split("#")[0].strip() for line in lines if line.split("#")[0].strip()]


def test_file_tree_has_a_line_for_every_file() -> None:
    found = TREE.search(README)
    assert found
    assert found[2] == file_tree(), "run: python tests/test_readme.py"


def test_there_are_commands() -> None:
    assert len(shown_commands()) > 8
    assert any(command.startswith("scripts/demo") for command in shown_commands())


@pytest.mark.parametrize("command", sorted(set(shown_commands())))
def test_commands_and_their_options_exist(command: str) -> None:
    words = shlex.split(command.split("|")[-1].split(">")[0])
    if words[0].startswith("scripts/"):
        assert (ROOT / words[0]).stat().st_mode & 0o100
    elif words[0] == "bilstm-crf":
        done = subprocess.run(
            [sys.executable, "-m", "bilstm_crf", words[1], "--help"],
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        for option in (word for word in words[2:] if word.startswith("--")):
            assert option in done.stdout, f"{command}: no option {option}"
    for word in words[1:]:
        if word.startswith(("configs/", "data/sample")):
            assert (ROOT / word).exists(), word
        elif words[0] == "scripts/get_data" and re.fullmatch("[a-z0-9_]+", word):
            assert word in CORPORA, word


def test_config_example_and_table_have_the_keys_there_are() -> None:
    (example,) = blocks("yaml")
    Config.model_validate(yaml.safe_load(example))
    rows = re.findall(r"^\| `(\w+)`(?:, `(\w+)`)? \|", README, re.MULTILINE)
    assert {key for row in rows for key in row if key} == set(Config.model_fields)


@pytest.mark.slow
def test_tour_runs_as_it_is_written(tmp_path: Path) -> None:
    for folder in ("configs", "data"):
        (tmp_path / folder).symlink_to(ROOT / folder)
    tour = README[README.index("## Three minutes") : README.index("## Your own data")]
    commands = re.findall(r"^\$ bilstm-crf (.*)$", tour, re.MULTILINE)
    programs = [["-m", "bilstm_crf", *shlex.split(command)] for command in commands]
    programs += [["-c", code] for code in re.findall(r"```python\n(.*?)```", tour, re.DOTALL)]
    elsewhere = README[README.index("## In other programs") : README.index("## Several processes")]
    for number, code in enumerate(re.findall(r"```python\n(.*?)```", elsewhere, re.DOTALL)):
        (tmp_path / f"program{number}.py").write_text(code, encoding="utf-8")
        programs.append([f"program{number}.py"])
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    for program in programs:
        done = subprocess.run(
            [sys.executable, *program],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        assert done.stdout or "train" in program
    assert len(programs) > 5


if __name__ == "__main__":
    text = TREE.sub(lambda found: found[1] + file_tree() + found[3], README)
    (ROOT / "README.md").write_text(text, encoding="utf-8")
