"""Token, host, size, headers, CORS, metrics, the page's files."""

from __future__ import annotations

import logging

import pytest
from starlette.testclient import TestClient

from cerec.errors import ConfigError
from cerec.serve.app import create_app
from cerec.serve.guard import Access, is_loopback
from cerec.serve.limits import Limits
from cerec.serve.page import load_files
from cerec.serve.server import Address, listen, url_of
from cerec.serve.service import Service

TOKEN = "a-token-of-some-length"


def app_client(service: Service, **access: object) -> TestClient:
    app = create_app(service, access=Access(**access), limits=Limits(body=1000))  # type: ignore[arg-type]
    return TestClient(app, base_url="http://localhost")


@pytest.mark.parametrize(
    ("header", "status"),
    [
        (None, 401),
        (f"Bearer {TOKEN}", 200),
        (f"bearer {TOKEN}", 200),
        (f"Basic {TOKEN}", 401),
        (f"Bearer {TOKEN}x", 401),
        ("Bearer", 401),
        ("Bearer ümlaut", 401),
    ],
)
def test_token(service: Service, header: str | None, status: int) -> None:
    headers = (
        {} if header is None else {"Authorization": header.encode("latin-1").decode("latin-1")}
    )
    with app_client(service, token=TOKEN) as client:
        answer = client.get("/v1/run", headers={k: v.encode("latin-1") for k, v in headers.items()})
        assert answer.status_code == status
        if status == 401:
            assert answer.headers["www-authenticate"] == "Bearer"
            assert answer.json()["status"] == 401


def test_the_page_and_health_need_no_token_but_the_rest_does(service: Service) -> None:
    with app_client(service, token=TOKEN) as client:
        for path in ("/", "/static/app.js", "/health", "/ready"):
            assert client.get(path).status_code == 200
        for path in ("/metrics", "/openapi.json", "/v1/users", "/nothing"):
            assert client.get(path).status_code == 401


@pytest.mark.parametrize("host", ["evil.example", "localhost.evil.example", "", "10.0.0.1"])
def test_other_host_names_are_refused(client: TestClient, host: str) -> None:
    assert client.get("/v1/run", headers={"Host": host}).status_code == 421


@pytest.mark.parametrize("host", ["127.0.0.1:8000", "localhost", "[::1]:8000", "127.0.0.2"])
def test_own_names_are_answered(client: TestClient, host: str) -> None:
    assert client.get("/health", headers={"Host": host}).status_code == 200


def test_large_bodies_are_refused(service: Service) -> None:
    with app_client(service) as client:
        assert client.post("/v1/what-if", content=b"x" * 1001).status_code == 413

        def parts() -> object:  # without a length, as chunks
            yield from (b"y" * 400 for _ in range(4))

        assert client.post("/v1/what-if", content=parts()).status_code == 413  # type: ignore[arg-type]


def test_security_headers_on_everything(client: TestClient) -> None:
    for path in ("/", "/static/app.js", "/v1/run", "/nothing", "/v1/users?limit=0"):
        headers = client.get(path).headers
        policy = headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["x-frame-options"] == "DENY"
        assert "access-control-allow-origin" not in headers


def test_cors_only_when_given(service: Service) -> None:
    origin = "https://shop.example"
    with app_client(service, origins=(origin,)) as client:
        answer = client.get("/v1/run", headers={"Origin": origin})
        assert answer.headers["access-control-allow-origin"] == origin
        other = client.get("/v1/run", headers={"Origin": "https://other.example"})
        assert "access-control-allow-origin" not in other.headers
        asked = {"Origin": origin, "Access-Control-Request-Method": "POST"}
        assert client.options("/v1/explanation", headers=asked).status_code == 200


@pytest.mark.parametrize(
    "path", ["/static/../app.py", "/static/%2e%2e/app.py", "/static/..%2fapp.py", "/static/x.js"]
)
def test_only_the_pages_own_files_are_served(client: TestClient, path: str) -> None:
    answer = client.get(path)
    assert answer.status_code == 404
    assert answer.headers["content-type"] == "application/problem+json"


def test_files_are_not_sent_twice(client: TestClient) -> None:
    for name in load_files():
        first = client.get(f"/static/{name}")
        again = client.get(f"/static/{name}", headers={"If-None-Match": first.headers["etag"]})
        assert (first.status_code, again.status_code, again.content) == (200, 304, b"")


def test_the_page_asks_nobody_else() -> None:
    for name, file in load_files().items():
        text = file.body.decode().replace("http://www.w3.org/2000/svg", "")
        assert "http://" not in text, name
        assert "https://" not in text, name
        assert "innerHTML" not in text, name


def test_metrics_count_by_route(service: Service) -> None:
    with app_client(service) as client:
        for _ in range(3):
            client.get("/v1/users?limit=1")
        client.get("/v1/users?limit=0")
        client.get("/whatever/1")
        client.get("/whatever/2")
        text = client.get("/metrics").text
    assert 'cerec_requests_total{method="GET",route="/v1/users",status="200"} 3' in text
    assert 'cerec_requests_total{method="GET",route="/v1/users",status="422"} 1' in text
    assert 'cerec_requests_total{method="GET",route="other",status="404"} 2' in text
    assert 'cerec_request_seconds_bucket{le="+Inf",route="/v1/users"} 4' in text
    assert "cerec_questions_inside 0" in text


def test_access_log_leaves_people_out(service: Service, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "cerec.access"), app_client(service) as client:
        client.get("/v1/recommendations?user=secret-person")
    assert "GET /v1/recommendations 404" in caplog.text
    assert "secret-person" not in caplog.text


def test_a_bug_is_a_problem_without_a_trace(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(service, "facts", lambda: 1 // 0)
    app = create_app(service)
    with TestClient(app, base_url="http://localhost", raise_server_exceptions=False) as client:
        answer = client.get("/v1/run")
    assert answer.status_code == 500
    assert answer.headers["content-type"] == "application/problem+json"
    assert "ZeroDivision" not in answer.text
    assert answer.headers["x-frame-options"] == "DENY"


def test_ready_only_while_running(service: Service) -> None:
    app = create_app(service)
    bare = TestClient(app, base_url="http://localhost")  # not started
    assert bare.get("/ready").status_code == 503
    with TestClient(app, base_url="http://localhost") as client:
        assert client.get("/ready").json() == {"status": "ready"}


@pytest.mark.parametrize(
    ("host", "own"),
    [("127.0.0.1", True), ("::1", True), ("localhost", True), ("0.0.0.0", False), ("x", False)],
)
def test_is_loopback(host: str, own: bool) -> None:
    assert is_loopback(host) is own


def test_beyond_loopback_needs_a_token() -> None:
    with pytest.raises(ConfigError, match="token is required"):
        Address(host="0.0.0.0")
    assert Address(host="0.0.0.0", token=TOKEN).token == TOKEN
    with pytest.raises(ConfigError, match="16 characters"):
        Address(token="short")
    with pytest.raises(ConfigError, match="port"):
        Address(port=70_000)


def test_an_address_in_use_is_told_in_one_line() -> None:
    with listen(Address(port=0)) as taken:
        taken.listen()
        port = int(url_of(taken).rstrip("/").rpartition(":")[2])
        with pytest.raises(ConfigError, match=f"cannot listen on 127.0.0.1:{port}"):
            listen(Address(port=port))
