from pathlib import Path

import pytest

from bilstm_crf.commands.compare import compare_files
from bilstm_crf.commands.score_tables import show_comparison
from bilstm_crf.errors import DataError

GOLD = ["Ann\tB-PER", "Lee\tI-PER", "", "Rome\tB-LOC", "fell\tO", ""]


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path, Path]:
    """Gold, a system that is right, in BIOES, and one that sees only half."""
    gold, right, half = (tmp_path / name for name in ("gold", "right", "half"))
    gold.write_text("\n".join(GOLD * 20), encoding="utf-8")
    bioes = ["Ann\tB-PER", "Lee\tE-PER", "", "Rome\tS-LOC", "fell\tO", ""]
    right.write_text("\n".join(bioes * 20), encoding="utf-8")
    part = ["Ann\tO", "Lee\tO", "", "Rome\tB-LOC", "fell\tO", ""]
    half.write_text("\n".join(part * 20), encoding="utf-8")
    return gold, right, half


def test_systems_are_compared_per_type_whatever_their_scheme(files, capsys):
    gold, right, half = files
    found = compare_files(half, right, gold, resamples=500)
    assert (found.micro.first, found.micro.second) == (pytest.approx(2 / 3), 1.0)
    assert found.micro.p_bootstrap < 0.01
    assert found.micro.p_randomisation < 0.01
    assert found.types["LOC"].difference == 0.0
    assert found.types["LOC"].p_bootstrap == 1.0
    assert found.types["PER"].difference == 1.0
    show_comparison(found, "half", "right")
    shown = capsys.readouterr()
    assert "+33.33" in shown.out
    assert all(len(line) <= 80 for line in shown.out.splitlines())
    assert "A = half, B = right; 500 resamples" in shown.err


def test_other_tokens_are_refused_with_the_first_place(files, tmp_path: Path):
    gold, right, _ = files
    other = tmp_path / "other"
    other.write_text("Ann\tO\nLeo\tO\n", encoding="utf-8")
    with pytest.raises(DataError, match=f"{other}:2: token 'Leo', but 'Lee' at {gold}:2"):
        compare_files(right, other, gold)
    other.write_text("Ann\tO\nLee\tO\n", encoding="utf-8")
    with pytest.raises(DataError, match=f"{gold}:4: one more sentence"):
        compare_files(other, right, gold)
