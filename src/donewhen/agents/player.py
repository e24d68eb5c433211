"""The process of the scripted agent: plays one turn in the current folder. Imports nothing of ours.

    python -I -S player.py SCRIPT TURN < prompt

A turn's steps are done in the order in which they are written. Each is said as a JSON line before
it is done. It starts once an iteration, so what is rarely needed is imported on use.
"""

import json
import os
import sys
import time

SAID = 20000  # bytes of a command's output that are said


class Cannot(Exception):
    """A step cannot be done: the turn ends `protocol`, with this for its detail."""


def tell(**what: object) -> None:
    sys.stdout.write(json.dumps(what) + "\n")
    sys.stdout.flush()


def say(text: str) -> None:
    tell(type="say", text=text)


def say_prompt(wanted: bool) -> None:
    if wanted:
        say(prompt().decode("utf-8", "replace"))


def prompt() -> bytes:
    sys.stdin.buffer.seek(0)
    return sys.stdin.buffer.read()


def write(files: dict[str, str]) -> None:
    for path, text in files.items():
        tell(type="tool", text=f"write {path}", paths=[path])
        folder = os.path.dirname(path)
        if folder:
            os.makedirs(folder, exist_ok=True)
        with open(path, "w", encoding="utf-8", errors="surrogateescape", newline="") as out:
            out.write(text)


def delete(paths: list[str]) -> None:
    for path in paths:
        tell(type="tool", text=f"delete {path}", paths=[path])
        os.unlink(path)


def patch(diff: str) -> None:
    heads = [line[4:].split("\t")[0] for line in diff.split("\n") if line[:4] in ("--- ", "+++ ")]
    paths = {h[2:] if h[:2] in ("a/", "b/") else h for h in heads} - {"/dev/null"}
    tell(type="tool", text="git apply", paths=sorted(paths))
    code, output = command(["git", "apply", "-"], diff.encode("utf-8", "surrogateescape"))
    if code:
        raise Cannot(f"git apply: {output.strip()}")


def use(amount: dict[str, object]) -> None:
    tell(type="usage", usage=amount)


def run(line: str) -> None:
    tell(type="tool", text=line, paths=[])
    code, output = command(["sh", "-c", line], prompt())
    if output or code:
        say(output if not code else f"{output}\n(exit {code})")


def command(argv: list[str], given: bytes) -> tuple[int, str]:
    """Run to its end; files, not pipes, so that a child it leaves behind holds up nothing."""
    import subprocess
    import tempfile

    with tempfile.TemporaryFile() as source, tempfile.TemporaryFile() as sink:
        source.write(given)
        source.seek(0)
        done = subprocess.run(argv, stdin=source, stdout=sink, stderr=sink, check=False)
        size = sink.seek(0, os.SEEK_END)
        sink.seek(max(0, size - SAID))
        return done.returncode, sink.read().decode("utf-8", "replace")


def moment(text: str) -> float:
    """`+5s` from now, or an ISO time (UTC if it names no zone); epoch seconds."""
    if text.startswith("+"):
        return time.time() + float(text[1:-1])
    from datetime import UTC, datetime

    at = datetime.fromisoformat(text.replace("Z", "+00:00"))
    return (at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp()


STEPS = {
    "say": say,
    "say_prompt": say_prompt,
    "write": write,
    "delete": delete,
    "patch": patch,
    "run": run,
    "sleep": time.sleep,
    "usage": use,
}


def play(turn: dict[str, object]) -> tuple[str, str]:
    """Do the turn; how it ended, and the detail."""
    try:
        for key, value in turn.items():
            if key in STEPS:
                STEPS[key](value)  # type: ignore[operator]  # its type was checked by script.py
    except (OSError, ValueError, Cannot) as error:
        tell(type="error", text=str(error))
        return "protocol", str(error)
    return str(turn.get("end", "worked")), ""


def pick(file: str, number: int) -> dict[str, object]:
    """The turn of that number; after the last one what `after` says."""
    with open(file, encoding="utf-8") as source:
        script = json.load(source)
    turns = script["turns"]
    if number < len(turns):
        return dict(turns[number])
    if turns and script.get("after") == "repeat":
        return dict(turns[-1])
    return {"say": "nothing left to do"}


def main() -> int:
    try:
        turn = pick(sys.argv[1], int(sys.argv[2]))
    except (OSError, ValueError, KeyError) as error:  # it was in order when the run began
        tell(type="end", end="spawn", detail=f"script {sys.argv[1]}: {error}")
        return 1
    end, detail = play(turn)
    until = moment(str(turn["until"])) if "until" in turn else 0
    tell(type="end", end=end, usage=turn.get("usage"), until=until, detail=detail)
    return int(end != "worked")


if __name__ == "__main__":
    sys.exit(main())
