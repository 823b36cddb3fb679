"""The gate: a bounded number inside, the rest refused, places given back."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import Future

import pytest

from cerec.errors import ConfigError
from cerec.serve.gate import BusyError, Gate, TooSlowError
from cerec.serve.limits import Limits


def test_answers_and_gives_the_place_back() -> None:
    async def story() -> None:
        gate = Gate(Limits(threads=1, waiting=0))
        assert await gate.run(lambda: 42) == 42
        await asyncio.sleep(0)
        assert gate.inside == 0
        gate.close()

    asyncio.run(story())


def test_refuses_when_all_places_are_taken() -> None:
    async def story() -> None:
        gate = Gate(Limits(threads=1, waiting=1))
        free = threading.Event()
        first = asyncio.create_task(gate.run(free.wait))
        second = asyncio.create_task(gate.run(lambda: "second"))
        await asyncio.sleep(0)
        with pytest.raises(BusyError):
            await gate.run(lambda: "third")
        assert gate.refused == 1
        free.set()
        assert await first is True
        assert await second == "second"
        gate.close()

    asyncio.run(story())


def test_a_slow_question_is_told_so_and_keeps_its_place_until_it_ends() -> None:
    async def story() -> None:
        gate = Gate(Limits(threads=1, waiting=0, seconds=0.02))
        free = threading.Event()
        with pytest.raises(TooSlowError):
            await gate.run(free.wait)
        assert gate.inside == 1
        free.set()
        while gate.inside:  # the place comes back through the loop
            await asyncio.sleep(0)
        gate.close()

    asyncio.run(story())


def test_a_question_that_never_began_is_dropped() -> None:
    async def story() -> None:
        gate = Gate(Limits(threads=1, waiting=1, seconds=0.02))
        free, asked = threading.Event(), []
        blocker = asyncio.create_task(gate.run(free.wait))
        await asyncio.sleep(0)
        with pytest.raises(TooSlowError):
            await gate.run(lambda: asked.append(1))
        with pytest.raises(TooSlowError):
            await blocker
        free.set()
        gate.close()
        assert asked == []

    asyncio.run(story())


def test_shared_work_outlives_who_waits_for_it() -> None:
    async def story() -> None:
        gate = Gate(Limits(threads=1, waiting=0, seconds=0.02))
        work: Future[int] = Future()
        with pytest.raises(TooSlowError):
            await gate.wait(work)
        work.set_result(7)
        assert await gate.wait(work) == 7
        assert gate.inside == 0
        gate.close()

    asyncio.run(story())


def test_an_exception_of_the_question_comes_through() -> None:
    async def story() -> None:
        gate = Gate(Limits(threads=1, waiting=0))
        with pytest.raises(ZeroDivisionError):
            await gate.run(lambda: 1 // 0)
        gate.close()

    asyncio.run(story())


@pytest.mark.parametrize("bad", [{"k": 0}, {"threads": 0}, {"waiting": -1}, {"seconds": 0.0}])
def test_bad_limits_are_refused(bad: dict[str, int]) -> None:
    with pytest.raises(ConfigError, match=f"limits.{next(iter(bad))}"):
        Limits(**bad)


def test_questions_of_a_kind_that_wait_are_answered_together() -> None:
    async def story() -> None:
        gate, free, sizes = Gate(Limits(threads=1, waiting=9)), threading.Event(), []

        def answer(some: list[int]) -> list[int]:
            sizes.append(len(some))
            return [10 // n for n in some]

        first = asyncio.create_task(gate.run(free.wait))
        rest = [asyncio.create_task(gate.together("x", n, answer)) for n in (1, 2, 0, 5)]
        other = asyncio.create_task(gate.together("y", 1, answer))
        await asyncio.sleep(0)
        free.set()
        found = await asyncio.gather(first, *rest, other, return_exceptions=True)
        assert found[1:3] + found[4:] == [10, 5, 2, 10]
        assert isinstance(found[3], ZeroDivisionError)  # alone: the others got their answers
        assert sizes == [4, 1, 1, 1, 1, 1]
        await asyncio.sleep(0)
        assert gate.inside == 0
        gate.close()

    asyncio.run(story())
