"""Evidence of a run: private files below its folder, redacted, addressed by content hash."""

from __future__ import annotations

import hashlib
from pathlib import Path, PurePosixPath

from donewhen.errors import StoreError
from donewhen.store.layout import named
from donewhen.system import fs
from donewhen.system.redact import redact


class Evidence:
    """`values` are the secrets that never reach a file of ours."""

    def __init__(self, run_dir: Path, values: tuple[bytes, ...]) -> None:
        self.run_dir = run_dir
        self.values = values

    def folder(self, iteration: int) -> Path:
        """The folder of an iteration (0: the baseline), made on demand."""
        place = self.run_dir / "iterations" / str(iteration)
        fs.make_private_dir(place)
        return place

    def put(self, iteration: int, name: str, data: bytes) -> str:
        """Keep `data` as `name` ("gates/tests.log" makes the folder); returns the sha256 written.

        Raises StoreError for a name that leads out of the iteration's folder.
        """
        parts = PurePosixPath(name).parts
        if not parts:
            raise StoreError(f"{name!r} is no name for evidence")
        path = self.folder(iteration).joinpath(*map(named, parts))
        fs.make_private_dir(path.parent)
        data = redact(data, self.values)
        fs.write_atomic(path, data)
        return hashlib.sha256(data).hexdigest()
