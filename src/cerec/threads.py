"""How many threads the kernels use: one place, overridable by `CEREC_THREADS`.

Many small torch calls on two OpenMP threads of a busy machine can cost a hundred times more
than on one, so torch runs on one thread unless a caller asks for more; the numba kernels,
which are few and large, use all cores. BLAS, which makes the products of NumPy and SciPy, runs on
one thread too: how it shares a product shows in the last bits. Large products are shared here, in
blocks that are the same for any number of threads (`recommend.topk.over_blocks`).
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any, TypeVar

from cerec.errors import ConfigError

if TYPE_CHECKING:
    from threadpoolctl import ThreadpoolController


T = TypeVar("T")
R = TypeVar("R")


def cores() -> int:
    """Cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def kernel_threads() -> int:
    """Threads for the numba kernels: `CEREC_THREADS`, or every core this process may use."""
    import numba

    text = os.environ.get("CEREC_THREADS", "")
    most = int(numba.config.NUMBA_NUM_THREADS)
    if not text:
        return min(cores(), most)
    if not (text.isascii() and text.isdigit()) or int(text) < 1:
        raise ConfigError(f"CEREC_THREADS must be a whole number of at least 1, got {text!r}")
    return min(int(text), most)


def set_threads() -> None:
    """Apply the thread counts to numba, torch and BLAS in this process."""
    import numba

    numba.set_num_threads(kernel_threads())
    if torch := _torch():
        torch.set_num_threads(1)
    _blas().limit(limits=1, user_api="blas")


def load_torch(extra: str = "agent") -> Any:
    """The module torch; where it is missing, a line that says which extra brings it."""
    try:
        import torch
    except ImportError:
        raise ConfigError(f"this needs torch: pip install 'cerec[{extra}]'") from None
    return torch


@contextmanager
def training_threads(*, learning: bool = True) -> Iterator[None]:
    """Run a block with the thread counts of `set_threads`, then with those from before.

    `learning`: whether the block needs torch.
    """
    import numba

    torch = load_torch() if learning else _torch()
    numbas, torchs = numba.get_num_threads(), torch.get_num_threads() if torch else 1
    with blas_threads(1):
        set_threads()
        try:
            yield
        finally:
            numba.set_num_threads(numbas)
            if torch:
                torch.set_num_threads(torchs)


@contextmanager
def blas_threads(n: int) -> Iterator[None]:
    """Run a block with products of NumPy and SciPy on `n` threads each."""
    with _blas().limit(limits=n, user_api="blas"):
        yield


def _torch() -> Any:
    """The module torch where something has imported it, else None."""
    return sys.modules.get("torch")


def _blas() -> ThreadpoolController:
    """The libraries loaded by now: that of NumPy, and SciPy's own once `scipy.linalg` is there."""
    return _found("scipy.linalg" in sys.modules)


@cache  # looking for them takes longer than a small product
def _found(scipy: bool) -> ThreadpoolController:  # noqa: ARG001
    import numpy  # noqa: F401
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


def in_chunks(n: int, work: Callable[[int, int], object], *, chunk: int = 0) -> None:
    """Call `work(start, stop)` for consecutive parts of `range(n)`, on all threads.

    `work` must let go of the interpreter (a kernel compiled with `nogil`) and write to its own
    part alone; then the result is the same for any number of threads.
    """
    workers = kernel_threads()
    step = chunk or max(1, -(-n // (8 * workers)))
    starts = range(0, n, step)
    if workers == 1 or len(starts) <= 1:
        for start in starts:
            work(start, min(start + step, n))
        return
    with ThreadPoolExecutor(workers) as pool:
        for done in [pool.submit(work, start, min(start + step, n)) for start in starts]:
            done.result()


def in_order(work: Callable[[T], R], tasks: Iterable[T]) -> Iterator[R]:
    """What `work` makes of each task, in order, on all threads; few results are held at once."""
    workers = kernel_threads()
    with blas_threads(1), ThreadPoolExecutor(workers) as pool:
        waiting: deque[Future[R]] = deque()
        for task in tasks:
            waiting.append(pool.submit(work, task))
            if len(waiting) > workers:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()


@contextmanager
def torch_threads(n: int) -> Iterator[None]:
    """Run a block of few, large torch calls on `n` threads."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(n)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def give_back() -> None:
    """Hand freed memory back to the system; does nothing where the C library cannot.

    After some hundred large arrays of changing sizes, glibc holds on to a tenth of a large
    training's memory.
    """
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL("libc.so.6").malloc_trim(0)


@contextmanager
def one_thread() -> Iterator[None]:
    """Run a block of somebody's code with every pool of threads it may use kept to one."""
    with _pools(len(sys.modules)).limit(limits=1):
        yield


@lru_cache(maxsize=1)
def _pools(modules: int) -> ThreadpoolController:  # noqa: ARG001
    """The libraries loaded by now; looked for again when something was imported."""
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()
