"""The processes below this one, from the kernel's own lists. Linux; elsewhere there are none.

Loaded by the shim at every start of an agent or gate: no imports but posix (os without its helpers,
which cost more than all of ours) and sys, nothing of ours.
"""

# No pathlib and no contextlib in a process that starts so often.
# ruff: noqa: PTH123
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    import os
    from collections.abc import Callable
else:
    import posix as os

LINUX = sys.platform.startswith("linux")
PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36


def prctl(option: int, value: int) -> bool:
    """Did the kernel do it? By _ctypes, since ctypes costs more than all else the shim imports."""
    if not LINUX:
        return False
    try:
        import _ctypes

        itself = _ctypes.dlopen(None, 0)  # type: ignore[arg-type]  # as ctypes.CDLL(None) does
        call = _ctypes.dlsym(itself, "prctl")
        return bool(_ctypes.call_function(call, (option, value, 0, 0, 0)) == 0)
    except (ImportError, OSError, AttributeError):
        return False


def stat(pid: int) -> list[bytes]:
    """The fields of /proc/PID/stat from `state` on (a name may hold spaces and brackets)."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as source:
            return source.read().rpartition(b")")[2].split()
    except OSError:
        return []


def start_ticks(pid: int) -> str:
    words = stat(pid)
    return words[19].decode() if len(words) > 19 else ""


def boot_id() -> str:
    try:
        with open("/proc/sys/kernel/random/boot_id") as source:
            return source.read().strip()
    except OSError:
        return "-"


def exists(path: "str | bytes") -> bool:
    try:
        os.stat(path)
    except OSError:
        return False
    return True


def children(pid: int) -> list[int]:
    """Direct children. Raises FileNotFoundError where the kernel keeps no such list."""
    found: list[int] = []
    try:
        tasks = os.listdir(f"/proc/{pid}/task")
    except OSError:
        return found
    for task in tasks:
        try:
            with open(f"/proc/{pid}/task/{task}/children", "rb") as listed:
                found += [int(word) for word in listed.read().split()]
        except FileNotFoundError:
            if exists(f"/proc/{pid}/task/{task}"):
                raise
        except OSError:
            pass
    return found


def family() -> dict[int, list[int]]:
    """Parent and children of every process, for kernels without the list of children."""
    found: dict[int, list[int]] = {}
    for entry in os.listdir("/proc"):
        words = stat(int(entry)) if entry.isdigit() else []
        if len(words) > 1:
            found.setdefault(int(words[1]), []).append(int(entry))
    return found


def descendants(pid: int) -> list[int]:
    """All of them at one instant; one that forks meanwhile may have a child that is missing here."""
    if not LINUX:
        return []
    try:
        return walk(pid, children)
    except FileNotFoundError:
        known = family()
        return walk(pid, lambda one: known.get(one, []))


def walk(pid: int, below: "Callable[[int], list[int]]") -> list[int]:
    found: list[int] = []
    queue = below(pid)
    while queue:
        one = queue.pop()
        found.append(one)
        queue += below(one)
    return found


def cpu_ticks(pids: list[int]) -> int:
    """Clock ticks used by these processes and the children they have collected."""
    total = 0
    for one in pids:
        words = stat(one)
        if len(words) > 14:
            total += sum(int(word) for word in words[11:15])
    return total


def changed(folder: bytes, since: float) -> float:
    """When a file below `folder` was written after `since`; 0.0 if none was. Epoch seconds.

    The first one found, by the kernel's own time of change, which nobody can set. Links are not
    followed, and git's own folder is none of the tree.
    """
    now = time.time()
    queue = [folder]
    while queue:
        try:
            entries = list(os.scandir(queue.pop()))
        except OSError:
            continue
        for entry in entries:
            try:
                if since < (at := entry.stat(follow_symlinks=False).st_ctime) <= now:
                    return at
                if entry.name != b".git" and entry.is_dir(follow_symlinks=False):
                    queue.append(entry.path)
            except OSError:
                pass
    return 0.0


def top(folder: bytes) -> bytes:
    """The checkout that a folder is in; itself outside of git."""
    place = folder
    while place and not exists(place + b"/.git"):
        place = place.rpartition(b"/")[0]
    return place or folder
