"""The log of a service as lines of JSON."""

from __future__ import annotations

import json
import logging
import os
import sys
from datetime import UTC, datetime


class JsonLines(logging.Formatter):
    """One object for each record; what was said of a request stands in fields of its own."""

    def format(self, record: logging.LogRecord) -> str:
        """The record as JSON."""
        said = getattr(record, "said", None) or {"message": record.getMessage()}
        when = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        line = {"time": when, "level": record.levelname.lower(), "process": os.getpid(), **said}
        if record.exc_info:
            line["trace"] = self.formatException(record.exc_info)
        return json.dumps(line, ensure_ascii=False)


def log_to_stderr(requests: bool) -> None:
    """Log warnings to standard error, and with `requests` every request."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines())
    logging.basicConfig(level=logging.WARNING, handlers=[handler])
    access = logging.getLogger("cerec.access")
    access.setLevel(logging.INFO)
    access.disabled = not requests
