"""The runs of a repository: ids, contracts, requests to cancel, and what a mirror still has."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from typing import Any

from donewhen.errors import Conflict, Corrupt, NotFound, StoreError, UsageError
from donewhen.store.journal import Journal
from donewhen.store.layout import RUN_ID, Layout
from donewhen.system import clock, fs


class RunStore:
    def __init__(self, layout: Layout) -> None:
        self.layout = layout

    def new_id(self, at: float) -> str:
        """`r<YYYYMMDD>-<HHMMSS>-<4 hex>`, UTC."""
        return f"r{clock.compact(at)}-{os.urandom(2).hex()}"

    def create(self, run: str, contract: dict[str, Any]) -> None:
        """The run's folder with its contract, here and in the mirror; whole or not at all.

        Raises Conflict if there is a run of this id: a contract is written once.
        """
        self.layout.prepare()
        data = json.dumps(contract, indent=2, ensure_ascii=True).encode() + b"\n"
        mirror = self.layout.mirror_contract(run)
        final = self.layout.run(run)
        fs.make_private_dir(final.parent)
        if final.exists() or mirror.exists():
            raise Conflict(f"there is a run {run} already", hint="Type the command again.")
        fresh = final.with_name(f".{run}.{os.getpid()}")
        fs.make_private_dir(fresh)
        fs.write_atomic(fresh / "contract.json", data)
        fs.write_atomic(fresh / "goal.md", contract["goal"].encode("utf-8", "surrogateescape"))
        try:
            fresh.rename(final)
            fs.sync_dir(final.parent)
        except OSError as error:
            shutil.rmtree(fresh, ignore_errors=True)
            raise StoreError(f"cannot make the folder {final}: {error.strerror}") from error
        fs.make_private_dir(mirror.parent)
        fs.write_atomic(mirror, data)

    def list(self) -> list[str]:
        """Ids, newest first."""
        found = set()
        for place in self.layout.places:
            if (place / "runs").is_dir():
                found |= {p.name for p in (place / "runs").iterdir() if RUN_ID.fullmatch(p.name)}
        return sorted(found, reverse=True)

    def find(self, prefix: str) -> str:
        """The full id for a unique prefix. Raises NotFound with the nearest, UsageError if several."""
        runs = self.list()
        found = [r for r in runs if prefix and r.startswith(prefix)]
        if len(found) == 1:
            return found[0]
        if found:
            raise UsageError(
                f"{prefix!r} fits {len(found)} runs: {', '.join(found)}", hint="Type more of it."
            )
        from difflib import get_close_matches  # for this error alone

        near = get_close_matches(prefix, runs, n=3) or runs[:3]
        known = f" (there are: {', '.join(near)})" if near else " (there are no runs here)"
        raise NotFound(f"no run {prefix!r}{known}", hint="Type: donewhen status")

    def contract(self, run: str) -> dict[str, Any]:
        """contract.json. Raises Corrupt if it is unreadable or differs from its mirror."""
        path = self.layout.contract(run)
        data = self._contract_bytes(run)
        try:
            found = json.loads(data)
        except (ValueError, RecursionError) as error:
            raise self._corrupt(run, f"cannot read {path}: {error}") from error
        if not isinstance(found, dict):
            raise self._corrupt(run, f"{path} is no contract")
        return found

    def contract_hash(self, run: str) -> str:
        """The sha256 of contract.json, under the same conditions."""
        return hashlib.sha256(self._contract_bytes(run)).hexdigest()

    def _contract_bytes(self, run: str) -> bytes:
        path = self.layout.contract(run)
        data = fs.read_bytes(path)
        if data is None:
            raise self._corrupt(run, f"cannot read {path}: it is gone")
        mirrored = fs.read_bytes(self.layout.mirror_contract(run))
        if mirrored is not None and mirrored != data:
            raise self._corrupt(run, f"{path} was changed since the run started")
        return data

    def _corrupt(self, run: str, what: str) -> Corrupt:
        return Corrupt(what, hint=f"The mirror is {self.layout.mirror_contract(run)}")

    # -- what was lost, and is still in the mirror -------------------------------------------------

    def lost(self) -> tuple[str, ...]:
        """Runs whose mirror has a contract, or records, while their own folder has not."""
        root = self.layout.state / "mirror" / self.layout.repo
        if not root.is_dir():
            return ()
        names = sorted((p.name for p in root.iterdir() if RUN_ID.fullmatch(p.name)), reverse=True)
        return tuple(run for run in names if self._lacks(run))

    def _lacks(self, run: str) -> bool:
        pairs = (
            (self.layout.contract(run), self.layout.mirror_contract(run)),
            (self.layout.journal(run), self.layout.mirror_journal(run)),
        )
        return any(mirror.is_file() and not own.is_file() for own, mirror in pairs)

    def restore(self, run: str) -> None:
        """Put back what a run lost: its contract and journal from the mirror, or the mirror itself.

        What was in their place is kept beside it. Raises NotFound if neither place knows the run,
        Corrupt if the journal is broken in both.
        """
        own, mirror = self.layout.contract(run), self.layout.mirror_contract(run)
        mirrored, now = fs.read_bytes(mirror), fs.read_bytes(own)
        data = now if mirrored is None else mirrored
        if data is None:
            raise NotFound(f"no run {run} here, nor in the mirror", hint="Type: donewhen status")
        self.layout.prepare()
        for path, found in ((own, now), (mirror, mirrored)):
            if found != data:
                fs.make_private_dir(path.parent)
                if found is not None:
                    fs.write_atomic(path.with_name("contract.broken"), found)
                fs.write_atomic(path, data)
        journal = Journal.open_or_restore(self.layout.journal(run), self.layout.mirror_journal(run))
        journal.refresh_mirror()

    # -- cancel ------------------------------------------------------------------------------------

    def request_cancel(self, run: str) -> None:
        """Ask the runner, if there is one, to end; the request is final and stays."""
        if not self.layout.run(run).is_dir():
            raise NotFound(f"no run {run}", hint="Type: donewhen status")
        fs.write_atomic(self.layout.cancel(run), b"cancel\n")

    def cancel_requested(self, run: str) -> bool:
        return self.layout.cancel(run).exists()
