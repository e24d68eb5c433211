"""git, always by argv, never through a shell, never asking anything, never running hooks.

Paths may be any bytes: they come and go with surrogateescape. Raises GitError with the command
and what git said.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from pathlib import Path

from donewhen.errors import GitError
from donewhen.system import clock, fs

TIMEOUT_S = 300.0
SAFE = (
    "-c", "core.hooksPath=/dev/null",
    "-c", "core.fsmonitor=false",
    "-c", "core.quotePath=false",
    "-c", "core.safecrlf=false",
    "-c", "gc.auto=0",
    "-c", "maintenance.auto=false",
    "-c", "commit.gpgSign=false",
    "-c", "merge.verifySignatures=false",
    "-c", "advice.detachedHead=false",
)  # fmt: skip
OURS = {
    "GIT_AUTHOR_NAME": "donewhen",
    "GIT_AUTHOR_EMAIL": "donewhen@localhost",
    "GIT_COMMITTER_NAME": "donewhen",
    "GIT_COMMITTER_EMAIL": "donewhen@localhost",
}
RACES = (
    "index.lock", "config.lock", "File exists", "cannot lock ref", "Unable to create",
    ".git/worktrees/",  # removed by another git's prune while this one made it
)  # fmt: skip

PATCH = (
    "diff-tree", "-p", "--binary", "--full-index", "--no-renames", "--no-ext-diff", "--no-textconv",
)  # fmt: skip


class Git:
    """git in one working tree. `environ` is the user's; GIT_* of it never reaches our calls."""

    def __init__(self, root: Path, environ: Mapping[str, str] | None = None) -> None:
        self.root = root
        environ = os.environ if environ is None else environ
        self.env = {k: v for k, v in environ.items() if not k.startswith("GIT_")}
        for name in (
            "GIT_CONFIG_GLOBAL",
            "GIT_CONFIG_SYSTEM",
            "GIT_CONFIG_NOSYSTEM",
            "GIT_SSH_COMMAND",
        ):
            if name in environ:
                self.env[name] = environ[name]
        self.env.update(
            GIT_OPTIONAL_LOCKS="0",
            GIT_NO_REPLACE_OBJECTS="1",
            GIT_TERMINAL_PROMPT="0",
            GIT_ASKPASS="",  # set and empty: no other program is asked either
            LC_ALL="C",
            GIT_PAGER="cat",
        )

    def at(self, root: Path) -> Git:
        """The same git in another working tree."""
        return Git(root, self.env)

    def run(
        self,
        *args: str,
        input: bytes = b"",
        env: Mapping[str, str] | None = None,
        check: bool = True,
    ) -> bytes:
        """Standard output of `git ARGS`. Raises GitError unless it exits 0 (or `check` is off)."""
        try:
            done = subprocess.run(
                ["git", *SAFE, *args],
                cwd=self.root,
                env={**self.env, **(env or {})},
                input=input,
                capture_output=True,
                timeout=TIMEOUT_S,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired, ValueError) as error:
            raise GitError(f"git {args[0]} in {self.root}: {error}") from error
        if check and done.returncode != 0:
            said = done.stderr.decode("utf-8", "replace").strip()[-2000:]
            raise GitError(f"git {' '.join(args)[:300]} failed in {self.root}: {said}")
        return done.stdout

    def text(self, *args: str, check: bool = True) -> str:
        """`run` as text, without the newline at its end; other white space may be part of a path."""
        return self.run(*args, check=check).decode("utf-8", "surrogateescape").removesuffix("\n")

    def patiently(self, *args: str) -> bytes:
        """`run`, tried again while another git holds a lock."""
        for pause in (0.05, 0.1, 0.2, 0.4, 0.8, 1.6):
            try:
                return self.run(*args)
            except GitError as error:
                if not any(race in error.message for race in RACES):
                    raise
            clock.sleep(pause)
        return self.run(*args)

    @staticmethod
    def toplevel(path: Path) -> Path | None:
        """The working tree around `path`, None outside of one (a bare repository has none).

        Raises GitError where there is one that git will not touch, since another user owns it.
        """
        try:
            found = Git(path).text("rev-parse", "--show-toplevel")
        except GitError as error:
            if "dubious ownership" in error.message:
                error.hint = f"Type: git config --global --add safe.directory {path}"
                raise
            return None
        return Path(found) if found else None

    @staticmethod
    def repository(path: Path) -> Path | None:
        """The repository whose own folder `path` is in, bare or not; None where it is in none."""
        try:
            found = Git(path).text("rev-parse", "--absolute-git-dir")
        except GitError:
            return None
        return Path(found)

    @cached_property
    def common_dir(self) -> Path:
        return (self.root / self.text("rev-parse", "--git-common-dir")).resolve()

    def head(self) -> str | None:
        """The commit checked out; None on an unborn branch."""
        return self.text("rev-parse", "--verify", "--quiet", "HEAD^{commit}", check=False) or None

    def branch(self) -> str | None:
        """The branch checked out; None for a detached HEAD."""
        return self.text("symbolic-ref", "--quiet", "--short", "HEAD", check=False) or None

    def standing(self) -> tuple[str, str, str]:
        """(commit, its tree, full branch name or "HEAD") checked out, in one call."""
        out = self.text("rev-parse", "HEAD", "HEAD^{tree}", "--symbolic-full-name", "HEAD")
        commit, tree, branch = out.split("\n", 2)
        return commit, tree, branch

    def rev_tree(self, rev: str) -> str:
        return self.text("rev-parse", "--verify", f"{rev}^{{tree}}")

    def commit_tree(
        self,
        tree: str,
        parents: list[str],
        message: bytes,
        at: float | None = None,
        person: bool = False,
    ) -> str:
        """Commit a tree; as donewhen, or with `person` as the user (their git identity)."""
        env = dict(OURS)
        if person and self.text("config", "user.email", check=False):
            env = {}
        if at is not None:
            env |= {
                "GIT_AUTHOR_DATE": f"@{int(at)} +0000",
                "GIT_COMMITTER_DATE": f"@{int(at)} +0000",
            }
        above = [word for parent in parents for word in ("-p", parent)]
        return self.run("commit-tree", tree, *above, input=message, env=env).decode().strip()

    def update_ref(self, ref: str, new: str, old: str | None = None) -> None:
        """Move a ref; with `old` only if it stands there."""
        self.patiently("update-ref", ref, new, *([old] if old is not None else []))

    def delete_ref(self, ref: str) -> None:
        self.patiently("update-ref", "-d", ref)

    def refs(self, prefix: str = "") -> dict[str, str]:
        """Name to object id of all refs below `prefix`, the stash included."""
        form = "--format=%(objectname) %(refname)"
        out = self.text("for-each-ref", form, *([prefix] if prefix else []))
        pairs = (line.split(" ", 1) for line in out.split("\n") if line)
        return {name: sha for sha, name in pairs}

    def remotes(self) -> dict[str, str]:
        """Name to URL of every remote."""
        return {name: urls[0] for name, urls in self.remote_urls("url").items()}

    def remote_urls(self, which: str) -> dict[str, list[str]]:
        """Name to every `url` or `pushurl` of every remote that has one."""
        out = self.run("config", "-z", "--get-regexp", rf"^remote\..*\.{which}$", check=False)
        found: dict[str, list[str]] = {}
        for row in out.decode("utf-8", "surrogateescape").split("\0")[:-1]:
            key, _, url = row.partition("\n")
            found.setdefault(key[len("remote.") : -len(f".{which}")], []).append(url)
        return found

    def is_ancestor(self, old: str, new: str) -> bool:
        """Is commit `old` in the history of `new`? False for objects that are no commits."""
        try:
            self.run("merge-base", "--is-ancestor", old, new)
        except GitError:
            return False
        return True

    def diff(self, old: str, new: str) -> bytes:
        """A patch that `git apply` takes, binary files included."""
        return self.run(*PATCH, old, new)

    def diff_head(self, old: str, new: str, most: int) -> bytes:
        """The patch if it has at most `most` bytes, else its beginning and where the whole is."""
        with subprocess.Popen(
            ["git", *SAFE, *PATCH, old, new],
            cwd=self.root,
            env=self.env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        ) as patch:
            assert patch.stdout is not None
            data = patch.stdout.read(most + 1)
            if len(data) > most:
                patch.kill()
        if len(data) > most:
            whole = f"git diff --binary {old} {new}"
            return data[:most] + f"\n[... left out from here on; the whole: {whole} ...]\n".encode()
        if patch.returncode != 0:
            raise GitError(f"git diff-tree {old} {new} failed in {self.root}")
        return data

    def diffstat(self, old: str, new: str) -> str:
        return self.run("diff-tree", "--stat=100", "--no-ext-diff", old, new).decode(
            "utf-8", "replace"
        )

    def changed_paths(self, old: str, new: str) -> list[tuple[str, bytes]]:
        """(status letter, path) of what differs between two trees or commits, renames as D and A."""
        out = self.run("diff-tree", "-r", "-z", "--no-renames", "--name-status", old, new)
        words = out.split(b"\0")[:-1]
        return [(words[i].decode(), words[i + 1]) for i in range(0, len(words), 2)]

    def changed_blobs(self, old: str, new: str) -> list[tuple[bytes, str]]:
        """(path, object id in `new`, "" if it is gone) of what differs, renames as gone and new."""
        pairs = self.changed_pairs(old, new)
        return [(path, after) for path, _before, after in pairs]

    def changed_links(self, old: str, new: str) -> list[bytes]:
        """The paths of symbolic links that are new or other in `new`."""
        return [path for path, _was, mode, *_ids in self._raw(old, new) if mode == "120000"]

    def changed_pairs(self, old: str, new: str) -> list[tuple[bytes, str, str]]:
        """(path, object id before and after, "" for none) of what differs between two trees."""
        rows, gone = self._raw(old, new), "000000"
        return [
            (path, "" if was == gone else before, "" if mode == gone else after)
            for path, was, mode, before, after in rows
        ]

    def _raw(self, old: str, new: str) -> Iterator[tuple[bytes, str, str, str, str]]:
        """(path, mode before and after, object id before and after) of what differs."""
        out = self.run("diff-tree", "-r", "-z", "--no-renames", "--no-abbrev", "--raw", old, new)
        words = out.split(b"\0")[:-1]
        for row, path in zip(words[::2], words[1::2], strict=True):
            was, mode, before, after, _status = row.decode().lstrip(":").split(" ")
            yield path, was, mode, before, after

    def blobs(self, ids: Iterable[str], most: int) -> dict[str, bytes]:
        """The contents of those of these objects that are blobs of at most `most` bytes."""
        wanted = sorted(set(ids))
        asked = "\n".join(wanted).encode()
        sizes = self.run("cat-file", "--batch-check", input=asked).decode().splitlines()
        rows = (line.split() for line in sizes)
        small = [r[0] for r in rows if len(r) == 3 and r[1] == "blob" and int(r[2]) <= most]
        if not small:
            return {}
        out, at, found = self.run("cat-file", "--batch", input="\n".join(small).encode()), 0, {}
        for name in small:
            begin = out.index(b"\n", at) + 1
            size = int(out[at : begin - 1].split()[2])
            found[name] = out[begin : begin + size]
            at = begin + size + 1
        return found

    def merge_tree(self, mine: str, theirs: str) -> tuple[str, list[str]]:
        """Merge two commits in memory: (tree, conflicting paths)."""
        out = self.run(
            "merge-tree",
            "--write-tree",
            "--name-only",
            "-z",
            "--no-messages",
            mine,
            theirs,
            check=False,
        )
        words = out.decode("utf-8", "surrogateescape").split("\0")
        if not words[0]:
            raise GitError(f"git merge-tree {mine[:12]} {theirs[:12]} gave nothing")
        return words[0].strip(), sorted({w for w in words[1:] if w})

    def worktree_add(self, path: Path, commit: str, branch: str = "") -> None:
        """A linked worktree at `commit`, on a (re)set branch or detached.

        Nothing is pruned: that could hit another that is being made.
        """
        if not path.exists():
            self.worktree_remove(path)  # one that vanished still holds its branch
        how = ["-B", branch] if branch else ["--detach"]
        self.patiently("worktree", "add", "--force", "--quiet", *how, str(path), commit)

    def worktree_remove(self, path: Path) -> None:
        """Remove a linked worktree, whatever is in it; one that is gone already is pruned.

        What a crash left half made is no worktree to git, so it is removed as a plain folder;
        a folder that is a repository itself never is.
        """
        try:
            self.patiently("worktree", "remove", "--force", "--force", str(path))
        except GitError as error:
            if not path.exists() and "is not a working tree" in error.message:
                return
            if (path / ".git").is_dir():
                raise
            _remove_folder(path)
            self.patiently("worktree", "prune")

    def worktrees(self) -> list[Path]:
        out = self.text("worktree", "list", "--porcelain")
        return [Path(line[9:]) for line in out.splitlines() if line.startswith("worktree ")]


def _remove_folder(path: Path) -> None:
    """Remove it all, folders that were made read-only included."""
    for folder, _dirs, _files in os.walk(path):
        Path(folder).chmod(0o700)
    shutil.rmtree(path, ignore_errors=True)


def version() -> tuple[int, ...] | None:
    """git's version, None where there is no git."""
    try:
        done = subprocess.run(["git", "--version"], capture_output=True, check=True, timeout=30)
    except (OSError, subprocess.SubprocessError):
        return None
    words = done.stdout.decode().split()[2].split(".")
    return tuple(int(w) for w in words[:3] if w.isdigit())


def push_refusal_env(git: Git, system: Path) -> dict[str, str]:
    """Environment under which pushes fail, by name and by explicit path, and fetch works.

    An empty pushInsteadOf prefix rewrites any URL, and each remote's own URL is named too, since
    a longer prefix of the user's would win. A remote gets a pushurl and a receive-pack that do not
    exist; git pushes to *every* pushurl, so the user's are rewritten as well, unless that would
    hit a URL that is fetched from. No credential helper answers.

    `git send-pack` heeds none of these. `system` becomes the system's configuration, by which
    repositories on this disk take nothing in, and ssh does not start a receiving git.
    """
    refused, fetched = "donewhen-refused:", git.remote_urls("url")
    pushed = git.remote_urls("pushurl")
    urls = sorted({url for several in fetched.values() for url in several})
    settings = [(f"url.{refused}.pushInsteadOf", url) for url in ("", *urls)]
    settings.append(("credential.helper", ""))
    for name in sorted(fetched.keys() | pushed.keys()):
        settings.append((f"remote.{name}.pushurl", refused))
        settings.append((f"remote.{name}.receivepack", "donewhen-refused"))
    for url in sorted({url for several in pushed.values() for url in several}):
        if url and not any(known.startswith(url) for known in urls):
            settings.append((f"url.{refused}.insteadOf", url))
    env = {"GIT_CONFIG_COUNT": str(len(settings)), "GIT_TERMINAL_PROMPT": "0", "GIT_ASKPASS": ""}
    for index, (key, value) in enumerate(settings):
        env[f"GIT_CONFIG_KEY_{index}"] = key
        env[f"GIT_CONFIG_VALUE_{index}"] = value
    fs.write_atomic(system, _closed(git).encode("utf-8", "surrogateescape"), durable=False)
    env |= {"GIT_CONFIG_SYSTEM": str(system), "GIT_CONFIG_NOSYSTEM": "0"}
    return env | {"GIT_SSH_COMMAND": _fetching_ssh(git)}


def _closed(git: Git) -> str:
    """The system's own configuration, if there is one, and that no ref may be pushed to."""
    out = git.run("config", "--system", "--list", "--show-origin", "-z", check=False)
    origin = out.decode("utf-8", "surrogateescape").split("\0")[0].removeprefix("file:")
    quoted = origin.replace("\\", "\\\\").replace('"', '\\"')
    return (
        f'[include]\n\tpath = "{quoted}"\n' if origin else ""
    ) + "[receive]\n\thideRefs = refs\n"


def _fetching_ssh(git: Git) -> str:
    """The user's ssh command, unless it is to start what takes a push in."""
    program = git.env.get("GIT_SSH_COMMAND") or git.text("config", "core.sshCommand", check=False)
    script = (
        'case "$*" in *receive-pack*) echo "donewhen: a push is refused" >&2; exit 1;; esac; '
        f'exec {program or "ssh"} "$@"'
    )
    return f"sh -c {shlex.quote(script)} ssh"
