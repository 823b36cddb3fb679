"""The studio page and the REST service of one run. Needs the extra `serve`."""

from typing import TYPE_CHECKING

from cerec.lazy import exports

if TYPE_CHECKING:
    from cerec.serve.app import create_app
    from cerec.serve.report import write_report
    from cerec.serve.service import Service

__all__ = ["Service", "create_app", "write_report"]

__getattr__, __dir__ = exports(__name__, __file__)
