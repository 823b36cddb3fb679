"""One application around the small run."""

from __future__ import annotations

import warnings
from collections.abc import Iterator

import pytest

from cerec.runs.run import Run

pytest.importorskip("fastapi")

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # starlette would rather have another package than httpx
    from starlette.testclient import TestClient

from cerec.serve.app import create_app
from cerec.serve.service import Service


@pytest.fixture(scope="session")
def service(small_run: Run) -> Service:
    return Service(small_run)


@pytest.fixture(scope="session")
def client(service: Service) -> Iterator[TestClient]:
    with TestClient(create_app(service), base_url="http://localhost") as found:
        yield found


@pytest.fixture(scope="session")
def pair(small_run: Run) -> tuple[str, str]:
    """A user and an item of their list whose explanation is verified."""
    for user in small_run.data.users:
        for listed in small_run.recommend(user, 5):
            if small_run.explain(user, listed.item, k=5).status == "verified":
                return user, listed.item
    raise AssertionError("nothing verified in the small run")
