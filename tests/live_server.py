"""A service around a run, listening on a free port, in a thread of this process."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import uvicorn
from fastapi import FastAPI

from cerec.serve.app import create_app
from cerec.serve.limits import Limits
from cerec.serve.server import Address, http_config, listen, url_of
from cerec.serve.service import Service


@contextmanager
def listening(service: Service, **options: Any) -> Iterator[tuple[str, FastAPI]]:
    """The page's address and the application; stopped gracefully at the end."""
    listener = listen(Address(port=0))
    listener.listen()  # who asks before the thread has begun waits instead of being refused
    app = create_app(service, **options)
    server = uvicorn.Server(http_config(app, options.get("limits") or Limits()))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
    thread.start()
    try:
        yield url_of(listener), app
    finally:
        server.should_exit = True
        thread.join()
        listener.close()
