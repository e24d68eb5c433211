"""Who changed it? The agent, if its events name it or it holds what the run produced.

Where nobody can say (an adapter without tool events; what a verdict could rest on), the run ends
`integrity` and a person is asked. Everything else is the user's own business and is only reported.
What another run's `inbox accept` brought in meanwhile is nobody's fault, nor is what honest work
does on its way: a stash of its own, who commits, what a branch follows.
"""

from __future__ import annotations

import os
import posixpath
import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from donewhen.drivers import rules
from donewhen.drivers.act import EVENT
from donewhen.drivers.outside import Change
from donewhen.system.git import Git

EMPTY = {
    "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391",
    "473a0f4c3be8a93681a267e3b1e9a7dcda1185436fe141f7749120a303721813",
}
# git commands that can move a branch which is checked out elsewhere.
WRITES = (
    r"push|send-pack|update-ref|symbolic-ref|branch|tag|replace|"
    r"(?:fetch|pull)\b[^\n;|&]*:|(?:checkout|switch|worktree\s+add)\b[^\n;|&]*\s-[BCbc]"
)
MOVES = re.compile(
    r"\bgit\b[^\n;|&]*\b(commit|reset|merge|rebase|pull|checkout|switch|cherry-pick|revert|am|stash)\b"
)
STASHES = re.compile(r"\bgit\b[^\n;|&]*\bstash\b[^\n;|&]*\b(drop|clear|pop|branch)\b|refs/stash")
CUTS = re.compile(r"\bgit\b[^\n;|&]*\b(reflog|gc|prune)\b|\blogs/")
EDITS = re.compile(
    r"\bgit\b[^\n;|&]*\bconfig\b[^\n;|&]*\s(-e|--edit|--(remove|rename)-section)\b"
    r"|\bgit\b[^\n;|&]*\b(remote\s+(add|set-url|remove|rm|rename)|lfs\s+install|sparse-checkout)\b"
)


@dataclass(frozen=True)
class Charge:
    """`tampered` the agent did to branches or settings, `guilty` to files or remotes.

    `unclear` may be the agent's or the user's.
    """

    tampered: tuple[Change, ...]
    guilty: tuple[Change, ...]
    unclear: tuple[Change, ...]


BRANCH = re.compile(r"refs/(heads|tags)/(?!donewhen/)")


@dataclass(frozen=True)
class Case:
    """All that is known: `said` is what the agent's events showed (commands, paths).

    `cwd` is where it worked, `base` and `head` the commits its worktree began with and stands at,
    `made` the blobs that the run produced; `tool_events` whether its events name what it does.
    `brought` are changes that accepts of other runs explain, `own` branches that the agent began;
    `in_place`: it works in the user's checkout.
    """

    git: Git
    cwd: Path
    said: str
    tool_events: bool
    base: str
    head: str
    made: frozenset[str]
    brought: frozenset[str] = frozenset()
    own: frozenset[str] = frozenset()
    in_place: bool = False

    @cached_property
    def words(self) -> frozenset[str]:
        """Every path that the events name, made absolute and plain."""
        return frozenset(self._words(self.said))

    def _words(self, said: str) -> Iterable[str]:
        home = os.environ.get("HOME", "")
        for word in re.split(r"""[\s"'`=;|&<>(),]+""", said.replace("\\ ", "\0")):
            text = word.replace("\0", " ").replace("$HOME", home).replace("${HOME}", home)
            text = f"{home}{text[1:]}" if text.startswith("~/") else text
            if "/" in text or text in {"..", "."}:
                yield posixpath.normpath(posixpath.join(str(self.cwd), text))

    def names(self, path: str) -> bool:
        """Do the events name this file of the checkout, or a folder between it and the top?"""
        for top in self._tops:
            place = posixpath.join(top, path)
            while len(place) >= len(top):
                if place in self.words or _holds(self.said, place):
                    return True
                place = posixpath.dirname(place)
        return False

    def moves_there(self) -> bool:
        """Did a command that moves what is checked out name the checkout, or run in it?"""
        if self.in_place:
            return MOVES.search(self.said) is not None
        for event in self.said.split(EVENT):
            if MOVES.search(event) and any(_holds(event, top) for top in self._tops):
                return True
            if MOVES.search(event) and self._tops & set(self._words(event)):
                return True
        return False

    @cached_property
    def _tops(self) -> set[str]:
        return {str(self.git.root), os.path.realpath(self.git.root)}


def _holds(said: str, place: str) -> bool:
    """The path as it stands, with spaces in it perhaps, and nothing that goes on below it."""
    return re.search(rf"{re.escape(place)}/?(?![\w./-])", said) is not None


def charge(case: Case, found: Iterable[Change]) -> Charge:
    """Sort the changes by who made them; what is in no list was the user's."""
    tampered: list[Change] = []
    guilty: list[Change] = []
    unclear: list[Change] = []
    for change in found:
        if f"{change.kind}:{change.what}" in case.brought:
            continue
        if rules.harmless(change.what, change.settings) or _agents_own(case, change):
            continue
        if _named(case, change) or _made_here(case, change):
            (guilty if change.where else tampered).append(change)
        elif _nobody_can_say(case, change):
            unclear.append(change)
    return Charge(tuple(tampered), tuple(guilty), tuple(unclear))


def _named(case: Case, change: Change) -> bool:
    match change.kind:
        case "file":
            return case.names(change.what)
        case "rule":
            return _rule_named(case, change)
        case "stash":
            return STASHES.search(case.said) is not None
        case "log":
            return CUTS.search(case.said) is not None
    return _ref_named(case, change)


def _ref_named(case: Case, change: Change) -> bool:
    said = case.said
    short = re.sub(r"^refs/(heads|tags|remotes)/", "", change.what)
    name = f"(?:{re.escape(change.what)}|{re.escape(short)})"
    command = rf"\bgit\b[^\n;|&]*\b(?:{WRITES})[^\n;|&]*?(?<![\w/-]){name}(?![\w/-])"
    if f".git/{change.what}" in said or re.search(command, said) is not None:
        return True
    if change.where:
        return False
    there = case.git.text("symbolic-ref", "--quiet", "HEAD", check=False) == change.what
    return there and case.moves_there()  # moved by work done in the checkout itself


def _rule_named(case: Case, change: Change) -> bool:
    said, name = case.said, change.what
    if name == rules.HEAD:
        return ".git/HEAD" in said or case.moves_there()
    if name == rules.MARKS:
        return re.search(r"\bgit\b[^\n;|&]*\b(update-index|sparse-checkout)\b", said) is not None
    if name in said or (name.startswith("/") and f"~/{posixpath.basename(name)}" in said):
        return True
    if change.settings:
        lower = said.lower()
        return EDITS.search(said) is not None or any(s.lower() in lower for s in change.settings)
    return name.startswith(".git/") and name.removeprefix(".git/") in said


def _made_here(case: Case, change: Change) -> bool:
    """It holds what the run produced: a commit that the base has not, or a file's new content."""
    if change.kind == "file":
        return change.now in case.made and change.now not in EMPTY
    return change.kind == "ref" and _ours(case, change.now)


def _ours(case: Case, commit: str) -> bool:
    """A commit of the run's: its worktree has it, and the base has not."""
    git = case.git
    return (
        bool(commit and case.head)
        and git.is_ancestor(commit, case.head)
        and not git.is_ancestor(commit, case.base)
    )


def _agents_own(case: Case, change: Change) -> bool:
    """A branch or tag that it began itself, as many do before they work; none of the user's moved."""
    if change.kind != "ref" or change.where or not BRANCH.match(change.what):
        return False
    if case.in_place and _grew(case, change):
        return True
    return not change.was or change.what in case.own or _ours(case, change.was)


def _grew(case: Case, change: Change) -> bool:
    """In place it may commit on what is checked out; nothing that stood there is taken away."""
    git = case.git
    there = git.text("symbolic-ref", "--quiet", "HEAD", check=False) == change.what
    return there and bool(change.now) and git.is_ancestor(change.was, change.now)


def _nobody_can_say(case: Case, change: Change) -> bool:
    if change.what.startswith(
        ("refs/donewhen/", "refs/heads/donewhen/", "refs/remotes/", "refs/tags/")
    ):
        return False  # other runs at work, and what the user's editor fetches
    if not case.tool_events:
        return True
    return change.kind == "rule" and rules.judged_by(change.what, change.settings)


def produced(git: Git, base: str, trees: Iterable[str]) -> frozenset[str]:
    """The contents that these trees (or commits) have and the base had not in that place."""
    found = {blob for tree in trees for _path, blob in git.changed_blobs(base, tree) if blob}
    return frozenset(found)
