# syntax=docker/dockerfile:1
#
#   docker build -t signoff:dev .                               the service; --build-arg VERSION=v1.2.3 for a release
#   docker build -t signoff:dev-node --target runtime-node .    the same with Node.js, for agents that need it
#
# For production, pin the base images by digest.

FROM golang:1.26-trixie AS build
WORKDIR /src
# Modules first: they change less often than the code.
COPY go.mod go.sum ./
RUN --mount=type=cache,target=/go/pkg/mod go mod download
COPY . .
ARG VERSION=dev
# Without cgo: the binary then depends on nothing in the image below.
RUN --mount=type=cache,target=/go/pkg/mod --mount=type=cache,target=/root/.cache/go-build \
    CGO_ENABLED=0 go build -trimpath -ldflags "-s -w -X main.version=${VERSION}" -o /out/signoff ./cmd/server

FROM debian:trixie-slim AS base
# Agents and the tool bash need bash and git. Requests to models need ca-certificates. bubblewrap is the sandbox of commands.
RUN apt-get update \
    && apt-get install -y --no-install-recommends bash bubblewrap ca-certificates git \
    && rm -rf /var/lib/apt/lists/*
# The user is a number, so that Kubernetes can see that it is not root. It owns /data and /workspace; a volume that is
# mounted there for the first time inherits that.
RUN groupadd --gid 10001 signoff \
    && useradd --uid 10001 --gid 10001 --home-dir /data --no-create-home --shell /usr/sbin/nologin signoff \
    && install -d -o 10001 -g 10001 -m 0700 /data \
    && install -d -o 10001 -g 10001 -m 0750 /workspace \
    && install -d -m 0755 /etc/signoff
COPY --from=build /out/signoff /usr/local/bin/signoff
ENV SIGNOFF_DATA_DIR=/data \
    SIGNOFF_WORKSPACE_ROOT=/workspace
# SIGNOFF_ADDR stays at 127.0.0.1:8080. To make the service reachable, set it, and create a key first.
USER 10001:10001
# The server looks for ./signoff.yaml here. The file names the programs that may be started, so the folder belongs to root:
# in the workspace an agent could write one. Without the file there is only the demo model.
WORKDIR /etc/signoff
VOLUME ["/data", "/workspace"]
EXPOSE 8080
# The server drains for SIGNOFF_DRAIN_SECONDS, then ends; wait longer than that before a kill.
STOPSIGNAL SIGTERM
# No HEALTHCHECK: Compose and Kubernetes each bring their own.
ENTRYPOINT ["signoff"]
CMD ["serve"]

FROM node:24-trixie-slim AS node

FROM base AS runtime-node
COPY --from=node /usr/local/bin/node /usr/local/bin/node
COPY --from=node /usr/local/lib/node_modules /usr/local/lib/node_modules
USER root
RUN ln -s ../lib/node_modules/npm/bin/npm-cli.js /usr/local/bin/npm \
    && ln -s ../lib/node_modules/npm/bin/npx-cli.js /usr/local/bin/npx
USER 10001:10001

# A build without --target makes the last stage.
FROM base AS runtime
