"""Real agent clients: where they are found, and the environment in which they may talk to us only."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
# Read before any test runs: tests see an environment without DONEWHEN_*.
GIVEN = os.environ.get("DONEWHEN_TEST_CLAUDE")
BUNDLED = "lib/python3*/site-packages/claude_agent_sdk/_bundled/claude"


def find_claude() -> Path | None:
    """DONEWHEN_TEST_CLAUDE, else the registry package in .venv-e2e (`make e2e`), else PATH."""
    if GIVEN:
        return Path(GIVEN)
    bundled = sorted((ROOT / ".venv-e2e").glob(BUNDLED))
    on_path = shutil.which("claude")
    places = [*bundled, *([Path(on_path)] if on_path else [])]
    return next((place for place in places if place.is_file()), None)


def require(found: Path | None, name: str) -> Path:
    """The client; skips the test where it is missing, and fails it in CI."""
    if found is not None and found.is_file():
        return found
    message = f"the real {name} client is missing ({found or 'not found'}): make e2e"
    if os.environ.get("CI", "").lower() not in ("", "0", "false"):
        pytest.fail(message, pytrace=False)
    pytest.skip(message)


def client_env(home: Path, url: str, client: Path | None = None) -> dict[str, str]:
    """A whole environment: home of its own, dummy key, no retries, nothing but `url` to talk to."""
    path = os.environ["PATH"]
    return {
        "PATH": f"{client.parent}{os.pathsep}{path}" if client else path,
        "HOME": str(home),
        "LANG": "C.UTF-8",
        "TERM": "dumb",
        "ANTHROPIC_API_KEY": "sk-test-dummy-key",
        "ANTHROPIC_BASE_URL": url,
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "CLAUDE_CODE_MAX_RETRIES": "0",
        "DISABLE_TELEMETRY": "1",
        "DISABLE_ERROR_REPORTING": "1",
        "DISABLE_AUTOUPDATER": "1",
        **({"IS_SANDBOX": "1"} if os.geteuid() == 0 else {}),
    }
