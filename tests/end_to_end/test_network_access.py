"""Nothing reaches for the network: no command when it runs, and only one script by its imports."""

import ast
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
NETWORK_MODULES = {"socket", "ssl", "http", "urllib", "requests", "httpx", "aiohttp", "ftplib"}
MAY_USE_IT = {"scripts/get_data"}

RUN = """
import json, sys
reached = []
EVENTS = ("socket.connect", "socket.getaddrinfo", "socket.sendto", "urllib.Request")
sys.addaudithook(lambda event, arguments: reached.append(event) if event in EVENTS else None)
from bilstm_crf.cli import main
codes = []
for arguments in json.loads(sys.argv[1]):
    sys.argv = ["bilstm-crf", *arguments]
    try:
        main()
    except SystemExit as end:
        codes.append(end.code or 0)
    before = list(reached)
import socket
try:
    socket.create_connection(("127.0.0.1", 9), timeout=1)
except OSError:
    pass
print(json.dumps({"codes": codes, "reached": before, "hooked": reached != before}))
"""


def test_no_command_reaches_for_the_network(
    make_config: Callable[..., Path], tmp_path: Path
) -> None:
    config, run, data = (
        make_config(sentences=10, epochs=1),
        tmp_path / "run",
        tmp_path / "dev.conll",
    )
    model = run / "model.pt"
    commands = [
        ["train", config, "--output-dir", run],
        ["eval", model, data],
        ["predict", model, data, "--output", tmp_path / "labels.conll"],
        ["predict", model, data, "--probabilities", "--output-format", "jsonl"],
        ["check", data],
        ["convert", data, tmp_path / "dev.jsonl"],
        ["info", model],
    ]
    plain = json.dumps([[str(part) for part in command] for command in commands])
    done = subprocess.run(
        [sys.executable, "-c", RUN, plain], capture_output=True, text=True, check=False, cwd=ROOT
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    assert found["codes"] == [0] * len(commands), done.stderr
    assert found["hooked"]
    assert found["reached"] == []


@pytest.mark.parametrize("folder", ["bilstm_crf", "scripts"])
def test_only_the_download_script_imports_network_modules(folder: str) -> None:
    using = set()
    for path in (ROOT / folder).rglob("*"):
        if not path.is_file() or path.suffix not in ("", ".py"):
            continue
        if not path.suffix and b"python" not in path.read_bytes().partition(b"\n")[0]:
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = []
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom):
                names = [node.module or ""]
            if any(name.partition(".")[0] in NETWORK_MODULES for name in names):
                using.add(str(path.relative_to(ROOT)))
    assert using <= MAY_USE_IT
