# The server with the bundled model, as an unprivileged user. docs/operations.md says how to run it.
# A tag, not a digest, so that `--pull` brings the security updates of Python and Debian. Data are in /data: name a volume for it.
FROM node:24-trixie-slim AS page
WORKDIR /build/web
COPY web/package.json web/package-lock.json web/.npmrc ./
RUN npm ci --no-audit --no-fund
COPY web ./
RUN npm run build

FROM python:3.12-slim-trixie AS build
RUN pip install --no-cache-dir uv==0.13.9
ENV UV_LINK_MODE=copy UV_COMPILE_BYTECODE=1 UV_PYTHON_DOWNLOADS=never
WORKDIR /build
COPY pyproject.toml uv.lock hatch_build.py README.md LICENSE ./
RUN uv venv /opt/lightwell \
 && VIRTUAL_ENV=/opt/lightwell uv sync --active --frozen --no-dev --no-install-project
COPY src ./src
COPY --from=page /build/src/lightwell/entrypoints/web ./src/lightwell/entrypoints/web
RUN VIRTUAL_ENV=/opt/lightwell uv sync --active --frozen --no-dev --no-editable

FROM python:3.12-slim-trixie
RUN useradd --uid 10001 --create-home --shell /usr/sbin/nologin lightwell \
 && install -d -o lightwell -g lightwell -m 700 /data
COPY --from=build /opt/lightwell /opt/lightwell
ENV PATH=/opt/lightwell/bin:$PATH \
    LIGHTWELL_DATA=/data \
    LIGHTWELL_HTTP_HOST=0.0.0.0
USER lightwell
WORKDIR /home/lightwell
EXPOSE 8000
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=30s --timeout=5s --start-period=60s \
  CMD ["python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:8000/health/ready', timeout=4)"]
ENTRYPOINT ["lightwell"]
CMD ["serve"]
