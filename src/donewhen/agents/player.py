"""The process of the scripted agent: plays one turn in the current folder. Imports nothing of ours.

    python -I -S player.py SCRIPT TURN < prompt

Says what it does as JSON lines. It starts once an iteration, so rare needs are imported on use.
"""

import json
import os
import sys
import time


def tell(**what: object) -> None:
    sys.stdout.write(json.dumps(what) + "\n")
    sys.stdout.flush()


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


def command(argv: list[str], text: str, given: str = "") -> int:
    import subprocess

    tell(type="tool", text=text, paths=[])
    done = subprocess.run(
        argv, input=given.encode(), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False
    )
    tell(type="say", text=done.stdout.decode("utf-8", "replace")[-20000:])
    return done.returncode


def moment(text: str) -> float:
    """`+5s` from now, or an ISO time; epoch seconds."""
    if text.startswith("+"):
        return time.time() + float(text[1:].rstrip("s"))
    from datetime import datetime

    return datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()


def play(turn: dict[str, object]) -> str:
    """Do the turn; returns how it ended."""
    if "sleep" in turn:
        time.sleep(float(str(turn["sleep"])))
    if "say" in turn:
        tell(type="say", text=turn["say"])
    write(dict(turn.get("write", {})))  # type: ignore[call-overload]  # checked by scripted.check
    delete(list(turn.get("delete", [])))  # type: ignore[call-overload]  # checked by scripted.check
    if "patch" in turn and command(["git", "apply", "-"], "git apply", str(turn["patch"])):
        return "protocol"
    if "run" in turn:
        command(["sh", "-c", str(turn["run"])], str(turn["run"]))
    return str(turn.get("end", "worked"))


def main() -> int:
    with open(sys.argv[1], encoding="utf-8") as source:
        script = json.load(source)
    turns, number = script["turns"], int(sys.argv[2])
    sys.stdin.buffer.read()
    if number >= len(turns) and (script.get("after", "idle") == "idle" or not turns):
        tell(type="say", text="nothing left to do")
        tell(type="end", end="worked")
        return 0
    turn = turns[min(number, len(turns) - 1)]
    end = play(turn)
    until = moment(turn["until"]) if "until" in turn else 0
    tell(type="end", end=end, usage=turn.get("usage"), until=until)
    return int(end != "worked")


if __name__ == "__main__":
    sys.exit(main())
