"""The web application: the API, the page, and what watches over both."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from fastapi import FastAPI, Request
from fastapi.openapi.utils import get_openapi
from starlette.exceptions import HTTPException
from starlette.middleware.cors import CORSMiddleware
from starlette.responses import Response

from cerec import __version__
from cerec.serve import problems, schemas
from cerec.serve.answers import AnswerCache
from cerec.serve.api import PROBLEMS, build_router
from cerec.serve.gate import Gate
from cerec.serve.guard import OPEN, Access, Guard, Observe
from cerec.serve.limits import Limits
from cerec.serve.metrics import CONTENT_TYPE, Metrics
from cerec.serve.page import File, load_files
from cerec.serve.service import Service

_DESCRIPTION = """Recommendations of one run, and for each the smallest change of its attributes
that would have taken it out of the list. Equal questions get equal answers."""


def create_app(
    service: Service, *, limits: Limits | None = None, access: Access | None = None
) -> FastAPI:
    """The application around one run. Needs the extra `serve`."""
    limits, access = limits or Limits(), access or Access()
    gate = Gate(limits)
    metrics = Metrics(gate)

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        app.state.ready = True
        yield
        app.state.ready = False
        gate.close()

    app = FastAPI(
        title="cerec",
        version=__version__,
        description=_DESCRIPTION,
        docs_url=None,  # FastAPI's pages load scripts from elsewhere; ours is in static
        redoc_url=None,
        lifespan=lifespan,
    )
    app.state.ready = False
    app.state.gate, app.state.metrics = gate, metrics
    problems.install(app)
    app.include_router(build_router(service, limits, gate))
    _add_page(app, load_files())
    _add_watching(app, gate, metrics)
    app.openapi = lambda: _described(app, access)  # type: ignore[method-assign]
    app.add_middleware(AnswerCache, gate=gate, now=lambda: service.now, most=limits.kept)
    app.add_middleware(Guard, who=access, body=limits.body, headers=limits.headers)
    if access.origins:
        app.add_middleware(
            CORSMiddleware,
            allow_origins=list(access.origins),
            allow_methods=["GET", "POST"],
            allow_headers=["Authorization", "Content-Type"],
        )
    app.add_middleware(Observe, metrics=metrics)
    return app


def _add_page(app: FastAPI, files: dict[str, File]) -> None:
    def answer(request: Request, file: File) -> Response:
        headers = {"ETag": file.etag, "Cache-Control": "no-cache"}
        if request.headers.get("if-none-match") == file.etag:
            return Response(status_code=304, headers=headers)
        return Response(file.body, headers=headers, media_type=file.media_type)

    @app.get("/", include_in_schema=False)
    async def page(request: Request) -> Response:
        return answer(request, files["index.html"])

    @app.get("/docs", include_in_schema=False)
    async def docs(request: Request) -> Response:
        return answer(request, files["docs.html"])

    @app.get("/static/{name}", include_in_schema=False)
    async def static(request: Request, name: str) -> Response:
        if name not in files:
            raise HTTPException(404, "no such file")
        return answer(request, files[name])


def _add_watching(app: FastAPI, gate: Gate, metrics: Metrics) -> None:
    @app.get("/health", summary="The process answers", response_model=dict[str, str])
    async def health() -> Response:
        return Response(problems.encode({"status": "ok"}), media_type="application/json")

    @app.get(
        "/ready",
        summary="The run is loaded and there is room for a question",
        response_model=dict[str, str],
        responses={503: PROBLEMS[503]},
    )
    async def ready() -> Response:
        if not app.state.ready or gate.full:
            return problems.problem(503, "starting, stopping or full")
        return Response(problems.encode({"status": "ready"}), media_type="application/json")

    @app.get(
        "/metrics",
        summary="Numbers for Prometheus",
        response_class=Response,
        responses={200: {"content": {"text/plain": {"schema": {"type": "string"}}}}},
    )
    async def numbers() -> Response:
        return Response(metrics.render(), headers={"Content-Type": CONTENT_TYPE})


def _described(app: FastAPI, access: Access) -> dict[str, Any]:
    """The OpenAPI description with our own problems in place of FastAPI's validation errors."""
    if app.openapi_schema is None:
        found = get_openapi(
            title=app.title, version=app.version, description=app.description, routes=app.routes
        )
        components = found["components"]["schemas"]
        for theirs in ("HTTPValidationError", "ValidationError"):
            components.pop(theirs, None)
        template = "#/components/schemas/{model}"
        problem = schemas.Problem.model_json_schema(ref_template=template)
        components.update(problem.pop("$defs", {}))
        components["Problem"] = problem
        if access.token:
            scheme = {"type": "http", "scheme": "bearer"}
            found["components"]["securitySchemes"] = {"token": scheme}
            found["security"] = [{"token": []}]
            for path in OPEN & found["paths"].keys():
                found["paths"][path]["get"]["security"] = []
        app.openapi_schema = found
    return app.openapi_schema
