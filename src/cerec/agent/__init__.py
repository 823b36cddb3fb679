"""CERec's agent: what it walks by, what it is paid for, how it learns. Needs torch."""

from typing import TYPE_CHECKING

from cerec.lazy import exports

if TYPE_CHECKING:
    from cerec.agent.agent import WalkAgent

__all__ = ["WalkAgent"]

__getattr__, __dir__ = exports(__name__, __file__)
