# torchlint in a container: `docker build -t torchlint . && docker run --rm -v "$PWD:/code" torchlint check`.
# For images that do not change under you, build with --build-arg PYTHON=python:3.12-slim@sha256:...
ARG PYTHON=python:3.12-slim
FROM ${PYTHON} AS build
WORKDIR /source
COPY pyproject.toml README.md LICENSE ./
COPY torchlint torchlint
COPY rules rules
COPY fixers fixers
RUN python -m venv /opt/torchlint && /opt/torchlint/bin/pip install --no-cache-dir '.[review]'

FROM ${PYTHON}
RUN apt-get update \
    && apt-get install --yes --no-install-recommends git \
    && rm -rf /var/lib/apt/lists/* \
    && useradd --create-home --uid 1000 torchlint
COPY --from=build /opt/torchlint /opt/torchlint
USER torchlint
WORKDIR /code
ENTRYPOINT ["/opt/torchlint/bin/torchlint"]
CMD ["check"]
