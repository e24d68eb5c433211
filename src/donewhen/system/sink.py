"""What the shim does with a stream: secrets out of it, then bounded files. Also read by output.py.

Loaded by the shim at every start of an agent or gate: no imports but posix, nothing of ours.
"""

# No pathlib and no contextlib in a process that starts so often.
# ruff: noqa: SIM105
TYPE_CHECKING = False
if TYPE_CHECKING:
    import os
else:
    import posix as os

HEAD = 32 << 20
SEGMENT = 8 << 20
SEGMENTS = 4
MARK = b"[redacted]"
SHORTEST = 8  # shorter values would blank out ordinary words
JSON = ((b"\\", b"\\\\"), (b'"', b'\\"'), (b"\n", b"\\n"), (b"\r", b"\\r"), (b"\t", b"\\t"))


def forms(value: bytes) -> set[bytes]:
    """How a secret may stand in an output: as it is, without outer space, as JSON writes it."""
    found = {value, value.strip()}
    for form in tuple(found):
        for raw, written in JSON:
            form = form.replace(raw, written)
        found.add(form)
    return {form for form in found if len(form) >= SHORTEST}


def redact(data: bytes, secrets: tuple[bytes, ...]) -> bytes:
    """`data` with every secret replaced, also where two of them overlap."""
    spans = []
    for secret in secrets:
        at = data.find(secret)
        while at >= 0:
            spans.append((at, at + len(secret)))
            at = data.find(secret, at + 1)
    if not spans:
        return data
    spans.sort()
    parts, done = [], 0
    for begin, end in spans:
        if begin >= done:
            parts += [data[done:begin], MARK]
        done = max(done, end)
    return b"".join((*parts, data[done:]))


class Redactor:
    """Redacts a stream in pieces: what may be the beginning of a secret waits for the next piece."""

    def __init__(self, secrets: tuple[bytes, ...]) -> None:
        self.secrets = secrets
        self.carry = b""

    def feed(self, data: bytes) -> bytes:
        if not self.secrets:
            return data
        data = self.carry + data if self.carry else data
        cut = self._cut(data)
        self.carry = data[cut:]
        return redact(data[:cut], self.secrets)

    def flush(self) -> bytes:
        data, self.carry = self.carry, b""
        return redact(data, self.secrets)

    def _cut(self, data: bytes) -> int:
        """Up to where nothing that comes later can matter; cuts no whole secret in two."""
        cut = min(begun(data, secret) for secret in self.secrets)
        moved = True
        while moved:
            moved = False
            for secret in self.secrets:
                low, high = max(0, cut - len(secret) + 1), cut + len(secret) - 1
                at = data.find(secret, low, high)
                if at >= 0:
                    cut, moved = at, True
        return cut


def begun(data: bytes, secret: bytes) -> int:
    """The first index from which all of `data` is a beginning of the secret; its length if none."""
    begin = max(0, len(data) - len(secret) + 1)
    first = secret[:SHORTEST]  # looked for as a whole, since a key can be thousands of bytes long
    at = data.find(first, begin)
    while at >= 0:
        if secret.startswith(data[at:]):
            return at
        at = data.find(first, at + 1)
    for at in range(max(begin, len(data) - SHORTEST + 1), len(data)):
        if secret.startswith(data[at:]):
            return at
    return len(data)


class Sink:
    """One output stream on disk: a head, then segments of which the oldest go."""

    def __init__(self, base: str, secrets: tuple[bytes, ...]) -> None:
        self.base = base
        self.redactor = Redactor(secrets)
        self.size = 0
        self.number = 0
        self.room = HEAD
        self.out = self._open()

    def _open(self) -> int:
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC
        try:
            return os.open(f"{self.base}.{self.number}", flags, 0o600)
        except OSError:  # a full disk or a removed folder loses output, never the command
            return -1

    def write(self, data: bytes) -> None:
        self._put(self.redactor.feed(data))

    def _put(self, data: bytes) -> None:
        while data:
            if not self.room:
                self._next()
            piece, data = data[: self.room], data[self.room :]
            self.size += len(piece)
            self.room -= len(piece)
            self._keep(piece)

    def _next(self) -> None:
        self._shut()
        self.number += 1
        self.room = SEGMENT
        self.out = self._open()
        if self.number > SEGMENTS:
            try:
                os.unlink(f"{self.base}.{self.number - SEGMENTS}")
            except OSError:
                pass

    def _keep(self, piece: bytes) -> None:
        try:
            while piece:
                piece = piece[os.write(self.out, piece) :]
        except OSError:
            pass

    def _shut(self) -> None:
        if self.out >= 0:
            os.close(self.out)
        self.out = -1

    def close(self) -> None:
        self._put(self.redactor.flush())
        self._shut()
