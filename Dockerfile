# A service around one run: no torch, no root, a file system that may be read-only.
#   docker build -t cerec . && docker run --read-only --tmpfs /tmp -v "$PWD/runs/demo:/run/cerec:ro" \
#     -e CEREC_TOKEN=... -p 8000:8000 -p 8001:8001 cerec
FROM python:3.12-slim AS build
WORKDIR /src
COPY pyproject.toml README.md LICENSE constraints.txt ./
COPY src ./src
RUN python -m venv /opt/cerec && /opt/cerec/bin/pip install --no-cache-dir ".[serve]"

FROM python:3.12-slim
RUN useradd --system --uid 10001 --home-dir /nonexistent cerec
COPY --from=build /opt/cerec /opt/cerec
ENV PATH=/opt/cerec/bin:$PATH NUMBA_CACHE_DIR=/opt/cerec/kernels CEREC_CACHE=/tmp/cerec
# Kernels are compiled for the processor of the build. Where another one runs them, they are
# compiled again into memory at every start; give NUMBA_CACHE_DIR a volume there.
RUN mkdir -p /opt/cerec/kernels && cerec doctor --warm && rm -rf /tmp/cerec && chmod -R a+rX /opt/cerec
USER 10001
EXPOSE 8000 8001
HEALTHCHECK --interval=10s --timeout=3s --start-period=60s CMD ["python", "-c", \
  "import urllib.request as u; u.urlopen('http://127.0.0.1:8001/health', timeout=2)"]
ENTRYPOINT ["cerec", "serve", "/run/cerec", "--host", "0.0.0.0", "--port", "8000", "--health-port", "8001"]
