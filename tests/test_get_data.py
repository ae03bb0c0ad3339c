"""scripts/get_data: checksums, local folders, and messages that help."""

import hashlib
import importlib.machinery
import importlib.util
import subprocess
import sys
import threading
import tomllib
import zipfile
from collections.abc import Callable, Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

ROOT = Path(__file__).parent.parent
SCRIPT = ROOT / "scripts" / "get_data"
CORPORA = tomllib.loads((ROOT / "data" / "corpora.toml").read_text(encoding="utf-8"))
ROWS = b"Oslo\tB-LOC\n"


def run(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, SCRIPT, *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def get_data() -> ModuleType:
    loader = importlib.machinery.SourceFileLoader("get_data", str(SCRIPT))
    spec = importlib.util.spec_from_loader("get_data", loader)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    return module


class QuietHandler(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: Any) -> None:
        pass


@pytest.fixture
def home(tmp_path: Path) -> Iterator[tuple[Path, str]]:
    """A folder, and the local address it is served at."""
    folder = tmp_path / "home"
    folder.mkdir()
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(QuietHandler, directory=str(folder)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield folder, f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()
    server.server_close()


def corpus(base: str, *files: dict[str, Any], **settings: Any) -> dict[str, Any]:
    row = {"home": "here", "licence": "free", "folders": ["toy"], "base": base}
    return {**row, "files": list(files), **settings}


def test_download_is_checked_recorded_and_not_repeated(
    get_data: ModuleType, home: tuple[Path, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, url = home
    (folder / "a.tsv").write_bytes(ROWS)
    digest = hashlib.sha256(ROWS).hexdigest()
    toy = corpus(url, {"name": "train.conll", "path": "a.tsv", "sha256": digest})
    get_data.get("toy", toy, None, tmp_path)
    assert (tmp_path / "toy" / "train.conll").read_bytes() == ROWS
    assert (tmp_path / "toy" / "SHA256SUMS").read_text() == f"{digest}  train.conll\n"

    (folder / "a.tsv").unlink()
    get_data.get("toy", toy, None, tmp_path)
    assert "unchanged" in capsys.readouterr().out

    (tmp_path / "toy" / "train.conll").write_bytes(b"edited")
    with pytest.raises(get_data.GetDataError, match="has changed; delete it"):
        get_data.get("toy", toy, None, tmp_path)


def test_a_file_that_is_not_the_published_one_is_not_kept(
    get_data: ModuleType, home: tuple[Path, str], tmp_path: Path
) -> None:
    folder, url = home
    (folder / "a.tsv").write_bytes(ROWS)
    toy = corpus(url, {"name": "train.conll", "path": "a.tsv", "sha256": "0" * 64})
    with pytest.raises(get_data.GetDataError, match="is not the published file: sha256"):
        get_data.get("toy", toy, None, tmp_path)
    assert not (tmp_path / "toy").exists()


def test_without_a_published_digest_the_first_download_is_the_measure(
    get_data: ModuleType, home: tuple[Path, str], tmp_path: Path
) -> None:
    folder, url = home
    (folder / "a.tsv").write_bytes(ROWS)
    toy = corpus(url, {"name": "train.conll", "path": "a.tsv"})
    get_data.get("toy", toy, None, tmp_path)
    (tmp_path / "toy" / "train.conll").unlink()
    (folder / "a.tsv").write_bytes(b"something else\tO\n")
    with pytest.raises(get_data.GetDataError, match="delete SHA256SUMS to accept it"):
        get_data.get("toy", toy, None, tmp_path)
    assert not (tmp_path / "toy" / "train.conll").exists()


def test_an_address_that_does_not_answer(
    get_data: ModuleType, home: tuple[Path, str], tmp_path: Path
) -> None:
    toy = corpus(home[1], {"name": "train.conll", "path": "missing.tsv"})
    with pytest.raises(get_data.GetDataError, match=r"cannot fetch .*missing.tsv.*use --from"):
        get_data.get("toy", toy, None, tmp_path)


def test_archives_are_unpacked_and_packed_alike(get_data: ModuleType, tmp_path: Path) -> None:
    source = tmp_path / "downloads"
    source.mkdir()
    with zipfile.ZipFile(source / "v.zip", "w") as archive:
        archive.writestr("v.txt", "the 0.1 0.2\n")
    toy = corpus("", {"name": "v.txt.gz", "path": "v.zip", "member": "v.txt"})
    get_data.get("toy", toy, source, tmp_path)
    from_zip = (tmp_path / "toy" / "v.txt.gz").read_bytes()
    (source / "v.txt").write_text("the 0.1 0.2\n")
    get_data.get("toy", toy, source, tmp_path)
    assert (tmp_path / "toy" / "v.txt.gz").read_bytes() == from_zip


def test_places_in_words_are_cut_off(get_data: ModuleType, tmp_path: Path) -> None:
    (tmp_path / "w.txt").write_text("科0\tO\n技1\tO\n\n5\tO\n😀0\tO\n", encoding="utf-8")
    toy = corpus("", {"name": "train.conll", "path": "w.txt"}, bare_characters=True)
    get_data.get("toy", toy, tmp_path, tmp_path)
    written = (tmp_path / "toy" / "train.conll").read_text(encoding="utf-8")
    assert written == "科\tO\n技\tO\n\n5\tO\n😀\tO\n"


@pytest.mark.parametrize("name", sorted(CORPORA))
def test_every_row_of_the_table_is_whole(name: str) -> None:
    row = CORPORA[name]
    assert {"about", "home", "licence", "folders", "files"} <= row.keys()
    assert ("base" in row) != ("by_hand" in row)
    assert all("path" in file for file in row["files"]) == ("base" in row)
    assert all(len(file.get("sha256", "0" * 64)) == 64 for file in row["files"])


def test_corpora_that_cannot_be_downloaded_say_how_to_get_them(tmp_path: Path) -> None:
    done = run("conll2003", "--into", tmp_path)
    assert done.returncode == 1
    assert "agreement" in done.stderr
    assert "--from" in done.stderr
    for name in ("eng.train", "eng.testa", "eng.testb"):
        (tmp_path / name).write_bytes(ROWS)
    assert run("conll2003", "--from", tmp_path, "--into", tmp_path).returncode == 0
    assert (tmp_path / "conll2003" / "dev.conll").read_bytes() == ROWS


def test_missing_files_and_unknown_names(tmp_path: Path) -> None:
    done = run("wnut17", "--from", tmp_path, "--into", tmp_path / "out")
    assert done.returncode == 1
    assert done.stderr.startswith("get_data: none of train.conll, wnut17train.conll found in")
    assert not (tmp_path / "out" / "wnut17").exists()
    assert run("wnut", "--into", tmp_path).returncode == 2


def test_list_names_every_corpus() -> None:
    listed = run().stdout
    assert all(f"{name}\n" in listed and row["licence"] in listed for name, row in CORPORA.items())


@pytest.mark.parametrize(
    ("name", "folder"),
    [
        ("wnut17", "wnut17"),
        ("bc5cdr", "bc5cdr-iob"),
        ("bc5cdr_iobes", "bc5cdr-iobes"),
        ("uner_danish", "uner_danish_ddt"),
        ("uner_chinese", "uner_chinese_gsdsimp"),
        ("crossner_politics", "crossner"),
        ("crossner_science", "crossner"),
    ],
)
def test_local_copies_are_the_published_files(
    name: str, folder: str, corpora: Callable[[str], Path], tmp_path: Path
) -> None:
    source = corpora(folder).parent
    assert run(name, "--from", source, "--into", tmp_path).returncode == 0
    sums = dict(
        reversed(line.split("  "))
        for line in (tmp_path / name / "SHA256SUMS").read_text().strip().split("\n")
    )
    assert sums == {file["name"]: file["sha256"] for file in CORPORA[name]["files"]}
