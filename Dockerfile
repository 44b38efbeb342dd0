# docker build -t mmaproof . && docker run --rm mmaproof demo
# docker run --rm -v "$PWD:/data" mmaproof rtl prove unit.toml
FROM debian:trixie-slim AS build
RUN apt-get update && apt-get install -y --no-install-recommends ca-certificates python3-venv
RUN python3 -m venv /opt/build
COPY . /source
RUN /opt/build/bin/pip wheel --no-deps --wheel-dir /wheels /source

FROM debian:trixie-slim
# Icarus Verilog runs the sources of units beside their proofs.
RUN apt-get update && apt-get install -y --no-install-recommends ca-certificates iverilog python3-venv && rm -rf /var/lib/apt/lists/*
COPY --from=build /wheels /wheels
ARG EXTRAS=native,proofs,rtl
RUN python3 -m venv /opt/mmaproof && /opt/mmaproof/bin/pip install --no-cache-dir "$(echo /wheels/mmaproof-*.whl)[$EXTRAS]" && rm -r /wheels
RUN ln -s /opt/mmaproof/bin/mmaproof /usr/local/bin/mmaproof && useradd --create-home mmaproof
USER mmaproof
WORKDIR /data
ENTRYPOINT ["mmaproof"]
CMD ["--help"]
