"""donewhen runs coding agents until gates that it runs itself say the work is done.

The public names are resolved on demand, so that importing the package does no work.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from donewhen.api import Gate, Limits, Loop, Result, judge

__version__ = "0.1.0"
__all__ = ["Gate", "Limits", "Loop", "Result", "judge"]


def __getattr__(name: str) -> object:
    if name in __all__:
        from donewhen import api

        return getattr(api, name)
    raise AttributeError(f"module 'donewhen' has no attribute {name!r}")
