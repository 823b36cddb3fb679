"""Request heads are bounded: a client cannot fill the memory before its request is complete."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest
from test_serve_live import ask

from cerec.serve.limits import Limits
from cerec.serve.service import Service
from live_server import listening

LIMIT = Limits().head
CHUNK = b"x" * 8192


@pytest.fixture(scope="module")
def url(service: Service) -> Iterator[str]:
    with listening(service) as (found, _):
        assert ask(found, "/health")[0] == 200
        yield found


def connect(url: str) -> socket.socket:
    to = urlsplit(url)
    return socket.create_connection((str(to.hostname), int(to.port or 0)), timeout=30)


def send_much(url: str, start: bytes, chunk: bytes = CHUNK) -> tuple[int, bytes]:
    """Bytes, of 16 MB, that were taken until the server closed or answered, and its answer."""
    sent, answer = 0, b""
    with connect(url) as client:
        try:
            client.sendall(start)
            while sent < 16 * 2**20:
                client.sendall(chunk)
                sent += len(chunk)
                client.setblocking(False)
                try:
                    answer = client.recv(4096)
                    break
                except BlockingIOError:
                    pass
                finally:
                    client.settimeout(30)
        except ConnectionError:
            pass
    return sent, answer


STARTS = {
    "value": b"GET /health HTTP/1.1\r\nHost: localhost\r\nX-Long: ",
    "name": b"GET /health HTTP/1.1\r\nHost: localhost\r\nX",
    "path": b"GET /",
    "trailer": b"POST /v1/what-if HTTP/1.1\r\nHost: localhost\r\n"
    b"Transfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\nX-Long: ",
}


@pytest.mark.parametrize("place", STARTS)
def test_a_head_without_end_is_cut_off(url: str, place: str) -> None:
    sent, answer = send_much(url, STARTS[place])
    assert sent < 8 * 2**20  # what the socket's buffers hold, far from all
    assert answer == b"" or answer.startswith(b"HTTP/1.1 4")
    assert ask(url, "/health")[0] == 200


def test_many_short_headers_are_cut_off(url: str) -> None:
    sent, answer = send_much(url, STARTS["value"] + b"\r\n", b"a: b\r\n" * 1000)
    assert sent < 8 * 2**20
    assert answer == b"" or answer.startswith(b"HTTP/1.1 4")
    assert ask(url, "/health")[0] == 200


def test_others_are_answered_meanwhile(url: str) -> None:
    clients = [connect(url) for _ in range(5)]
    for client in clients:
        client.sendall(STARTS["value"] + CHUNK)
    assert ask(url, "/health")[0] == 200
    for client in clients:
        client.sendall(b"\r\n\r\n")  # short enough after all
        assert client.recv(100).startswith(b"HTTP/1.1 200")
        client.close()


def head(size: int) -> bytes:
    start = STARTS["value"]
    return start + b"x" * (size - len(start) - 4) + b"\r\n\r\n"


def first_line(client: socket.socket) -> bytes:
    with client.makefile("rb") as answer:
        return answer.readline()


def test_the_bound_is_where_it_is_said(service: Service) -> None:
    with listening(service) as (url, _):
        for size, status in ((LIMIT - 100, 200), (LIMIT + 4096 + 100, 431)):
            with connect(url) as client:
                client.sendall(head(size))
                assert first_line(client).split()[1] == str(status).encode()
    with listening(service, limits=Limits(head=2000)) as (url, _), connect(url) as client:
        client.sendall(head(9000))
        assert first_line(client).split()[1] == b"431"


def test_a_refusal_says_why(service: Service) -> None:
    with listening(service) as (url, _), connect(url) as client:
        client.sendall(head(LIMIT + 4200)[:-4])
        with client.makefile("rb") as answer:
            text = answer.read()  # to its end: the connection is closed
    assert text.startswith(b"HTTP/1.1 431 Request Header Fields Too Large\r\n")
    assert text.endswith(b"the first line and the headers may hold 32768 bytes")


def test_long_bodies_and_many_requests_of_one_connection_are_no_heads(url: str) -> None:
    body = json.dumps({"user": "u", "item": "i", "attributes": [], "note": "x" * 200_000}).encode()
    request = b"POST /v1/what-if HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    with connect(url) as client:
        for _ in range(3):
            client.sendall(request + b"Content-Length: %d\r\n\r\n" % len(body) + body)
            with client.makefile("rb") as answer:
                assert answer.readline().split()[1] in (b"404", b"422")
                length = 0
                while (line := answer.readline()) != b"\r\n":
                    if line.lower().startswith(b"content-length:"):
                        length = int(line.split(b":")[1])
                answer.read(length)
    chunks = b"".join(b"1\r\nx\r\n" for _ in range(20_000))  # five bytes beside every one
    with connect(url) as client:
        client.sendall(request + b"Transfer-Encoding: chunked\r\n\r\n" + chunks + b"0\r\n\r\n")
        assert first_line(client).split()[1] == b"422"


def test_more_headers_than_allowed_are_refused(url: str) -> None:
    for n, status in ((90, 200), (101, 431)):
        lines = b"".join(b"X-%d: 1\r\n" % i for i in range(n))
        with connect(url) as client:
            client.sendall(b"GET /health HTTP/1.1\r\nHost: localhost\r\n" + lines + b"\r\n")
            assert first_line(client).split()[1] == str(status).encode()
