"""A service that takes up new versions of its run, such as those of `cerec update`."""

from __future__ import annotations

import logging
import threading
from pathlib import Path
from typing import Any

from cerec.errors import CerecError
from cerec.runs.run import open_run
from cerec.serve.service import Service

log = logging.getLogger(__name__)
_SECONDS = 2.0  # between two looks at the folder
Stamp = tuple[int, int]


class Watched:
    """What `Service` answers, asked of the run that is in the folder now.

    A new version is opened beside the old one, which answers until the new one is ready. One that
    cannot be opened is named in the log, and the old one goes on answering.
    """

    def __init__(self, folder: Path) -> None:
        self._folder, self._asked = folder, threading.local()
        self._stamp: Stamp | None = None
        self._refused: Stamp | None = None
        self._now = self._opened()

    def __getattr__(self, name: str) -> Any:
        self._asked.service = now = self._now
        return getattr(now, name)

    @property
    def now(self) -> Service:
        """The service that answers at this moment."""
        return self._now

    @property
    def version(self) -> int:
        """Of the run that this thread asked last."""
        service: Service = getattr(self._asked, "service", self._now)
        return service.version

    def look(self) -> bool:
        """Take up what is in the folder now; whether it is new."""
        found = self._found()
        if found is None or found in (self._stamp, self._refused):
            return False
        try:
            self._now = self._opened()
        except CerecError as error:
            self._refused = found
            log.warning("version %d goes on answering: %s", self._now.version, error)
            return False
        log.warning("%s: version %d answers now", self._folder, self._now.version)
        return True

    def start(self) -> None:
        """Look again and again, on a thread of its own."""

        def work() -> None:
            pause = threading.Event()
            while not pause.wait(_SECONDS):
                self.look()

        threading.Thread(target=work, name="cerec-watch", daemon=True).start()

    def _opened(self) -> Service:
        """The run in the folder; opened again where it was replaced meanwhile."""
        while True:
            before = self._found()
            service = Service(open_run(self._folder))
            if before == self._found():
                self._stamp = before
                return service

    def _found(self) -> Stamp | None:
        try:
            facts = (self._folder / "run.json").stat()
        except OSError:  # between two versions, or gone
            return None
        return facts.st_mtime_ns, facts.st_ino
