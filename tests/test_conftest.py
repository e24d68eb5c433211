"""The suite cannot hurt the machine: its own guards are tested."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from tests.conftest import REAL_HOME

pytest_plugins = ["pytester"]


def test_the_network_is_out_of_reach() -> None:
    with socket.socket() as sock, pytest.raises(AssertionError, match="reached for the network"):
        sock.connect(("192.0.2.1", 80))
    with socket.socket() as sock, pytest.raises(AssertionError, match="reached for the network"):
        sock.connect_ex(("192.0.2.1", 80))
    with pytest.raises(AssertionError, match="reached for the network"):
        socket.getaddrinfo("example.org", 80)


def test_loopback_is_allowed() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        socket.create_connection(server.getsockname()).close()


def test_the_real_home_is_out_of_reach() -> None:
    path = REAL_HOME / "donewhen-was-here"
    with pytest.raises(AssertionError, match="changed the real home"):
        path.write_text("no")
    with pytest.raises(AssertionError, match="changed the real home"):
        path.mkdir()
    assert not path.exists()


def test_home_state_and_git_are_the_tests_own(tmp_path_factory: pytest.TempPathFactory) -> None:
    base = tmp_path_factory.getbasetemp()
    for name in (
        "HOME",
        "DONEWHEN_STATE",
        "GIT_CONFIG_GLOBAL",
        "XDG_STATE_HOME",
        "XDG_CONFIG_HOME",
    ):
        assert Path(os.environ[name]).is_relative_to(base)
    assert not [n for n in os.environ if n.startswith(("CLAUDE", "ANTHROPIC"))]


def test_a_changed_environment_is_a_failure_and_is_undone(pytester: pytest.Pytester) -> None:
    pytester.makeconftest("from tests.conftest import _environment_is_left_as_it_was\n")
    pytester.makepyfile("import os\ndef test_it():\n    os.environ['LEFT_BEHIND'] = '1'\n")
    pytester.inline_run().assertoutcome(passed=1, failed=1)
    assert "LEFT_BEHIND" not in os.environ
