"""The command line as a whole: help, exit codes, what goes where, and terminals of all kinds."""

import logging
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from bilstm_crf import cli, console
from bilstm_crf.errors import ConfigError

COMMANDS = sorted(typer.main.get_command(cli.app).commands)  # type: ignore[attr-defined]


@pytest.fixture
def main(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Iterator[Callable[..., tuple[int, str, str]]]:
    handlers = {n: signal.getsignal(n) for n in (signal.SIGINT, signal.SIGTERM)}

    def run(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["bilstm-crf", *arguments])
        code: Any = 0
        try:
            cli.main()
        except SystemExit as stop:
            code = stop.code or 0
        return code, *capsys.readouterr()

    yield run
    for number, handler in handlers.items():
        signal.signal(number, handler)
    logging.getLogger("bilstm_crf").handlers.clear()


def fail_with(monkeypatch: pytest.MonkeyPatch, act: Callable[[], Any]) -> None:
    """Let the command ``config`` do something else."""
    monkeypatch.setattr("bilstm_crf.commands.config.defaults_as_yaml", act)


# Help


def test_there_are_the_commands_one_expects() -> None:
    assert {"train", "eval", "predict", "info", "config"} <= set(COMMANDS)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_and_every_option_is_explained(command: str) -> None:
    shown = CliRunner().invoke(cli.app, [command, "--help"], env={"COLUMNS": "100"})
    assert shown.exit_code == 0
    assert "\x1b" not in shown.output
    for option in typer.main.get_command(cli.app).commands[command].params:  # type: ignore[attr-defined]
        assert getattr(option, "help", ""), f"{command} {option.name}"


def test_no_arguments_show_the_help(main: Callable) -> None:
    code, out, err = main()
    assert code == 2
    assert "train" in out + err


def test_the_version(main: Callable) -> None:
    code, out, _ = main("--version")
    assert code == 0
    assert re.fullmatch(r"bilstm-crf \d+\.\d+\.\d+\n", out)


@pytest.mark.parametrize("encoding", ["ascii", "cp1252"])
def test_help_on_a_terminal_that_knows_few_letters(encoding: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "bilstm_crf", "train", "--help"],
        capture_output=True,
        check=False,
        env={**os.environ, "PYTHONUTF8": "0", "PYTHONIOENCODING": encoding},
    )
    assert done.returncode == 0
    assert b"CONFIG.yaml" in done.stdout


# Exit codes


@pytest.mark.parametrize(
    "arguments",
    [
        ("trian",),
        ("train", "--no-such-option"),
        ("train", "a.yaml", "b.yaml"),
        ("train", "a.yaml", "--seeds", "0"),
        ("train", "a.yaml", "--threads", "many"),
        ("info",),
    ],
)
def test_wrong_usage(main: Callable, arguments: tuple[str, ...]) -> None:
    code, out, err = main(*arguments)
    assert code == 2
    assert out == ""
    assert "Usage: " in err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("train", "no.yaml"), "no.yaml: no such configuration file"),
        (("train",), "no configuration; give a YAML file, or --resume RUN"),
        (("train", "no.yaml", "--resume", "run"), "--resume takes the run's own configuration"),
        (("info", "no.pt"), "no.pt: no such file"),
        (("train", "no.yaml", "--device", "toaster", "--set", "x"), "no.yaml: no such"),
    ],
)
def test_mistakes_are_one_line_and_code_1(
    main: Callable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: Any, said: str
) -> None:
    monkeypatch.chdir(tmp_path)
    code, out, err = main(*arguments)
    assert code == 1
    assert out == ""
    assert err.startswith("error: ")
    assert err.count("\n") == 1
    assert said in err


def test_several_mistakes_are_a_line_each(main: Callable, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail() -> str:
        raise ConfigError("first\nsecond")

    fail_with(monkeypatch, fail)
    assert main("config") == (1, "", "error: first\nerror: second\n")


def test_a_bug_keeps_its_traceback(main: Callable, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail() -> str:
        raise ZeroDivisionError("a bug")

    fail_with(monkeypatch, fail)
    with pytest.raises(ZeroDivisionError, match="a bug"):
        main("config")


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_stops_any_command(
    main: Callable, monkeypatch: pytest.MonkeyPatch, number: int, code: int
) -> None:
    def stop() -> str:
        os.kill(os.getpid(), number)
        return "never shown"

    fail_with(monkeypatch, stop)
    assert main("config") == (code, "", "stopped\n")


def test_a_reader_that_has_enough() -> None:
    done = subprocess.run(
        f"{sys.executable} -m bilstm_crf config | head -1; exit ${{PIPESTATUS[0]}}",
        shell=True,
        executable="/bin/bash",
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.startswith("# ")
    assert done.stderr == ""


def test_a_locale_without_letters_still_opens_files_by_any_name(tmp_path: Path) -> None:
    file = tmp_path / "größe-大.yaml"
    file.write_text("data: {train: größe-大.conll}\n", encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "bilstm_crf", "train", str(file)],
        capture_output=True,
        check=False,
        env={**os.environ, "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
    )
    assert done.returncode == 1
    assert "größe-大.conll: no such file" in done.stderr.decode("utf-8")


# What the console shows


@pytest.mark.parametrize(
    ("arguments", "shown"),
    [([], ["told", "warning: careful"]), (["-q"], ["warning: careful"]),
     (["-v"], ["detail", "told", "warning: careful"])],
)  # fmt: skip
def test_how_much_is_told(
    main: Callable, monkeypatch: pytest.MonkeyPatch, arguments: list[str], shown: list[str]
) -> None:
    def log() -> str:
        logger = logging.getLogger("bilstm_crf.somewhere")
        logger.debug("detail")
        logger.info("told")
        logger.warning("careful")
        return "result\n"

    fail_with(monkeypatch, log)
    code, out, err = main(*arguments, "config")
    assert (code, out) == (0, "result\n")
    assert err.splitlines() == shown


def test_of_several_processes_only_the_first_speaks(
    main: Callable, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RANK", "1")
    fail_with(monkeypatch, lambda: logging.getLogger("bilstm_crf").warning("twice") or "x")
    assert main("config")[2] == ""


def test_no_bar_without_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    bar = console.EpochBar()
    bar.show(1, 5, 10, 0.5, 1000.0)
    bar.close()
    assert capsys.readouterr() == ("", "")


DECORATION = [("NO_COLOR", "1", False), ("TERM", "dumb", False), ("TERM", "xterm", True)]


@pytest.mark.parametrize(("name", "value", "is_drawn"), DECORATION)
def test_a_bar_on_a_terminal(
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    value: str,
    is_drawn: bool,
) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv(name, value)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    bar = console.EpochBar()
    bar.show(1, 5, 10, 0.5, 1000.0)
    bar.show(1, 10, 10, 0.25, 2000.0)
    bar.close()
    assert ("epoch 1" in capsys.readouterr().err) == is_drawn


@pytest.mark.parametrize(("name", "value", "is_ruled"), DECORATION)
def test_a_table_on_a_terminal(
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    value: str,
    is_ruled: bool,
) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv(name, value)
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    console.print_table(["type", "F1"], [["PER", "1.00"]])
    out = capsys.readouterr().out
    assert "PER" in out
    assert ("\x1b" in out or "│" in out) == is_ruled


@pytest.mark.parametrize(("columns", "is_ruled"), [("20", False), ("80", True)])
def test_a_narrow_terminal_breaks_no_number(
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    columns: str,
    is_ruled: bool,
) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", columns)
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    names = ["type", "precision", "recall"]
    console.print_table(names, [["PER", "12.34", "100.00"]])
    out = capsys.readouterr().out
    assert all(word in out for word in [*names, "PER", "12.34", "100.00"])
    assert ("│" in out) == is_ruled


def test_a_piped_table_is_whole_however_wide(capsys: pytest.CaptureFixture[str]) -> None:
    name = "a-very-long-entity-type-" * 5
    console.print_table(["type", "F1"], [[name, "1.00"], ["X", "100.00"]], title="Scores")
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "Scores"
    assert lines[2] == f"{name}    1.00"
    assert lines[3] == "X".ljust(len(name)) + "  100.00"
