"""Requests made from the OpenAPI description: no 5xx, and answers as described."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings

from cerec.runs.run import Run
from cerec.serve.app import create_app
from cerec.serve.service import Service

schemathesis = pytest.importorskip("schemathesis")
pytestmark = pytest.mark.slow
EXAMPLES = 40


def test_no_request_from_the_description_breaks_it(small_run: Run) -> None:
    from schemathesis.checks import not_a_server_error
    from schemathesis.specs.openapi.checks import (
        content_type_conformance,
        response_schema_conformance,
        status_code_conformance,
    )

    checks = [
        not_a_server_error,
        status_code_conformance,
        content_type_conformance,
        response_schema_conformance,
    ]
    user = small_run.data.users[0]
    known = {"user": user, "item": small_run.recommend(user, 1)[0].item}
    app = create_app(Service(small_run))
    schema = schemathesis.openapi.from_asgi("/openapi.json", app, headers={"Host": "localhost"})
    seen: dict[str, set[int]] = {}
    asked: list[Any] = []
    for found in schema.get_all_operations():
        operation = found.ok()

        @settings(
            max_examples=EXAMPLES,
            deadline=None,
            derandomize=True,
            database=None,
            phases=[Phase.explicit, Phase.generate],
            suppress_health_check=list(HealthCheck),
        )
        @given(case=operation.as_strategy())
        def ask(case: Any) -> None:
            for part in (case.query, case.body):
                if isinstance(part, dict):  # half of the ids known: else only 404s are reached
                    for name, value in known.items():
                        if isinstance(part.get(name), str) and len(part[name]) % 2:
                            part[name] = value
            if case.operation.path == "/v1/explanation" and isinstance(case.body, dict):
                asked.append(case)
                if len(asked) % 4 == 0:  # a plain question, so that answers are checked too
                    case.body = dict(known)
            answer = case.call_and_validate(headers={"Host": "localhost"}, checks=checks)
            seen.setdefault(case.operation.path, set()).add(answer.status_code)

        ask()
    assert len(seen) >= 12
    for path in ("/v1/recommendations", "/v1/explanation", "/v1/attributes"):
        assert 200 in seen[path], (path, seen)
