"""The tree of errors. Every error says what, where, and the next command to type.

DonewhenError                 exit 1   refused for a stated reason
├── UsageError                exit 2   the command line, a goal or a file of the user's is wrong
│   ├── ConfigError           exit 2   donewhen.toml or [tool.donewhen]
│   ├── UnknownName           exit 2   an agent, gate or command nobody knows; lists the known ones
│   └── NotFound              exit 2   no such run, inbox item or file
├── Refused                   exit 1   possible, but not now or not by you
├── StoreError                exit 3   our own state cannot be read or written
│   ├── Conflict              exit 3   compare-and-append lost the race
│   ├── Corrupt               exit 3   the hash chain or a record is broken
│   └── Locked                exit 1   another living process holds it
├── GitError                  exit 3   git itself failed
└── SpawnError                exit 3   a program could not be started

Imports nothing of ours. "Stuck", "out of budget" and "gate failed" are values, never errors.
"""

from __future__ import annotations


class DonewhenError(Exception):
    """Anything donewhen raises on purpose. `hint` is the next command to type."""

    exit_code = 1

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.message}\n  {self.hint}" if self.hint else self.message


class UsageError(DonewhenError):
    """The command line or an input of the user's is wrong; nothing was started."""

    exit_code = 2


class ConfigError(UsageError):
    """donewhen.toml or [tool.donewhen] is wrong; the message names file, key and line."""


class UnknownName(UsageError):
    """A name that is in no table; the message lists the known ones."""


class NotFound(UsageError):
    """No such run, inbox item or file."""


class Refused(DonewhenError):
    """Refused for a stated reason; nothing was changed."""


class StoreError(DonewhenError):
    """Our own state on disk cannot be read or written."""

    exit_code = 3


class Conflict(StoreError):
    """Somebody else appended first: the expected sequence number is not the journal's."""


class Corrupt(StoreError):
    """A record or the hash chain is broken."""


class Locked(StoreError):
    """Another living process holds the lock."""

    exit_code = 1


class GitError(DonewhenError):
    """git failed; the message carries its command and standard error."""

    exit_code = 3


class SpawnError(DonewhenError):
    """A program could not be started; the message says why."""

    exit_code = 3
