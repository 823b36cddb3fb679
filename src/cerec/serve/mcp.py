"""The run's answers as tools for assistants (Model Context Protocol).

Every answer is a checked fact with its status and certificate, and a sentence that may be quoted.
"""

# The tools' annotations are read when they are registered, so they stand as they are:
# no `from __future__ import annotations` in this file.
from collections.abc import Callable
from typing import Annotated, Any, Literal, TypeVar

from mcp.server import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from pydantic import BaseModel, ConfigDict, Field
from starlette.types import ASGIApp, Receive, Scope, Send

from cerec import __version__
from cerec.errors import CerecError
from cerec.runs.run import Run
from cerec.serve.gate import BusyError, Gate, TooSlowError
from cerec.serve.guard import Access, Guard
from cerec.serve.limits import Limits

T = TypeVar("T")
Id = Annotated[str, Field(min_length=1, max_length=512, description="An id of the data, or a name")]
_ABOUT = (
    "Answers of one recommender, each checked by scoring again. Quote `text`; do not add reasons "
    "of your own. Status `verified` means that the recommender itself scored the changed item; "
    "`canonical` and `fitted` are patterns in its scores. Say so when the status is not `verified`."
)


class ListedItem(BaseModel):
    """One line of a list."""

    item: str
    name: str
    rank: int
    score: float


class List(BaseModel):
    """A user's list, best first."""

    user: str
    results: list[ListedItem]


class Answer(BaseModel):
    """An explanation."""

    model_config = ConfigDict(extra="allow")
    status: str
    certificate: str | None
    text: str


class Imagined(BaseModel):
    """Where an item would stand with other attributes."""

    rank_before: int
    rank_after: int
    score_before: float
    score_after: float
    text: str


class RunSummary(BaseModel):
    """What the order of all lists depends on."""

    text: str
    parameters: list[dict[str, Any]]


def build(run: Run, limits: Limits, gate: Gate) -> MCPServer:
    """The tools over one run; `gate` bounds how many answers are worked out at once."""
    server = MCPServer("cerec", version=__version__, instructions=_ABOUT, log_level="WARNING")
    length = Annotated[int, Field(ge=1, le=limits.k, description="Length of the list")]
    pairs = Annotated[
        list[tuple[str, str]],
        Field(max_length=limits.attributes, description="All (relation, attribute) pairs"),
    ]
    ways = Literal["attributes", "history", "both", "agent"] | None

    async def ask(question: Callable[[], T]) -> T:
        try:
            return await gate.run(question)
        except CerecError as error:
            raise ToolError(str(error)) from None
        except BusyError:
            raise ToolError("too many questions wait already; try again later") from None
        except TooSlowError:
            raise ToolError(f"no answer within {limits.seconds:g} s") from None

    @server.tool()
    async def recommend(user: Id, k: length = 10) -> List:
        """A user's list: the best items that the user does not have."""
        found = await ask(lambda: run.recommend(user, k))
        lines = [ListedItem(item=r.item, name=r.name, rank=r.rank, score=r.score) for r in found]
        return List(user=user, results=lines)

    @server.tool()
    async def explain(user: Id, item: Id, k: length = 20, by: ways = None) -> Answer:
        """Why an item is in the user's list, and which smallest change would take it out."""
        found = await ask(lambda: run.explain(user, item, k, by=by, budget=limits.budget))
        return Answer(**_plain(found))

    @server.tool()
    async def why_not(user: Id, item: Id, k: length = 20, by: ways = None) -> Answer:
        """Why an item is not in the user's list, and which smallest change would bring it in."""
        found = await ask(lambda: run.explain(user, why_not=item, k=k, by=by, budget=limits.budget))
        return Answer(**_plain(found))

    @server.tool()
    async def what_if(user: Id, item: Id, attributes: pairs, k: length = 20) -> Imagined:
        """Score and rank of an item, had it exactly these attributes."""
        w = await ask(lambda: run.what_if(user, item, attributes, k))
        name = run.data.items.name(run.data.items.row(w.item))
        return Imagined(
            rank_before=w.rank_before,
            rank_after=w.rank_after,
            score_before=w.score_before,
            score_after=w.score,
            text=f"{name} would be at rank {w.rank_after} instead of {w.rank_before}.",
        )

    @server.tool()
    async def audit_summary(k: length = 20) -> RunSummary:
        """What the order of all lists depends on, over a sample of users."""
        from cerec.audit import disclosure

        found = await ask(lambda: run.audit(k, sample=500))
        rows = found.to_dict()["parameters"]
        kept = ("kind", "id", "name", "share", "needed")
        parameters = [{key: row[key] for key in kept} for row in rows]
        return RunSummary(text=disclosure(found), parameters=parameters)

    return server


def _warm(run: Run) -> None:
    """Ask once, so that kernels are compiled before anyone waits."""
    for user in run.data.users[:1]:
        for listed in run.recommend(user, 1):
            run.explain(user, listed.item, 1)


def _plain(found: Any) -> dict[str, Any]:
    value: dict[str, Any] = found.to_dict()
    value.pop("seconds", None)
    return value


def serve_stdio(run: Run, limits: Limits) -> None:
    """Answer over standard input and output until the other side closes them."""
    gate = Gate(limits)
    _warm(run)
    try:
        build(run, limits, gate).run("stdio")
    finally:
        gate.close()


def http_app(run: Run, limits: Limits, access: Access) -> ASGIApp:
    """Answer over streamable HTTP at `/mcp`, with the host, token and size checks of `serve`."""
    gate = Gate(limits)
    _warm(run)
    inner = build(run, limits, gate).streamable_http_app(
        json_response=True, stateless_http=True, max_request_body_size=limits.body
    )
    guarded = Guard(inner, access, limits.body, limits.headers)

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await guarded(scope, receive, send)
        if scope["type"] == "lifespan":
            gate.close()

    return app
