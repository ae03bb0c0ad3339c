"""scripts/ablation: its variants are valid settings, and its table says what the runs reached."""

import importlib.machinery
import importlib.util
import json
from pathlib import Path
from types import ModuleType

import pytest

from bilstm_crf.config import load_config

ROOT = Path(__file__).parent.parent


@pytest.fixture(scope="module")
def ablation() -> ModuleType:
    loader = importlib.machinery.SourceFileLoader("ablation", str(ROOT / "scripts" / "ablation"))
    spec = importlib.util.spec_from_loader("ablation", loader)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    return module


def finish(folder: Path, dev: float, test: float) -> None:
    folder.mkdir(parents=True)
    report = {"dev": {"f1": dev}, "test": {"f1": test}}
    (folder / "report.json").write_text(json.dumps(report), encoding="utf-8")


def test_every_variant_but_the_default_changes_every_config(ablation: ModuleType) -> None:
    for corpus in ablation.CORPORA:
        path = ROOT / "configs" / f"{corpus}.yaml"
        base = load_config(path, ablation.BASE)
        variants = {n: (*ablation.BASE, *keys) for n, keys in ablation.VARIANTS.items()}
        same = [name for name, keys in variants.items() if load_config(path, keys) == base]
        assert "default" in same
        # A config may have a variant's value of its own, but not the values of most of them.
        assert len(same) <= 3


def test_the_table_has_mean_and_sd_of_the_finished_seeds(
    ablation: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ablation, "RUNS", tmp_path)
    finish(tmp_path / "wnut17" / "default" / "seed-1", 0.5, 0.3)
    finish(tmp_path / "wnut17" / "default" / "seed-2", 0.52, 0.36)
    finish(tmp_path / "wnut17" / "no_crf" / "seed-1", 0.4, 0.25)
    assert ablation.table(["wnut17"], ["default", "no_crf", "no_chars"], [1, 2]).split("\n")[
        2:
    ] == [
        "| default | 51.00 ± 1.41 | 33.00 ± 4.24 |",
        "| no_crf | 40.00 | 25.00 |",
        "| no_chars | – | – |",
    ]


def test_finished_runs_are_not_trained_again(
    ablation: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trained: list[tuple[str, str, int]] = []
    monkeypatch.setattr(ablation, "RUNS", tmp_path)
    monkeypatch.setattr(ablation, "train", lambda *run: trained.append(run[:3]))
    monkeypatch.setattr(
        "sys.argv",
        ["ablation", "--corpora", "wnut17", "--variants", "default", "--seeds", "1", "2"],
    )
    finish(tmp_path / "wnut17" / "default" / "seed-1", 0.5, 0.3)
    assert ablation.main() == 0
    assert trained == [("wnut17", "default", 2)]
