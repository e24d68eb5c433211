"""donewhen runs coding agents until gates that it runs itself say the work is done.

The public names are resolved on demand, so that importing the package does no work.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from donewhen.api import Gate, Limits, Loop, Result, judge

__version__ = "0.1.0"
__all__ = ["Gate", "Limits", "Loop", "Result", "judge"]


class _Package(ModuleType):
    """`donewhen.judge` is the function, also once the package of that name was imported.

    Importing a sub-package sets it as an attribute here; this property lets the function stand.
    """

    if not TYPE_CHECKING:

        @property
        def judge(self) -> Any:
            from donewhen import api

            return api.judge

        @judge.setter
        def judge(self, _package: ModuleType) -> None:
            return


sys.modules[__name__].__class__ = _Package


def __getattr__(name: str) -> object:
    if name in __all__:
        from donewhen import api

        return getattr(api, name)
    raise AttributeError(f"module 'donewhen' has no attribute {name!r}")
