# The takt binary in an image of its own: docker build -t takt:0.1.0 .
#
# Nothing but the binary, its libraries and two scripts; no compiler, no package lists, no root.
# deploy/check-container runs the second stage in a plain chroot where there is no Docker.

FROM debian:12-slim AS build
WORKDIR /src
# The packages first: they change seldom, and their layer is kept while sources change.
COPY dev ./
RUN ./dev setup build
COPY . .
# Without the tests, hence without the fail points that they use.
RUN cmake --preset release -DTAKT_TESTING=OFF \
    && ./dev build release takt \
    && strip -o /takt build/takt

FROM debian:12-slim
LABEL org.opencontainers.image.title="Takt" org.opencontainers.image.licenses="Apache-2.0"
# The libraries that the binary names itself; theirs follow. tests/deploy/container_test.py compares
# this list with the binary.
RUN apt-get update -qq \
    && apt-get install -y -qq --no-install-recommends \
        ca-certificates \
        libatomic1 \
        libboost-container1.81.0 \
        libboost-json1.81.0 \
        libcurl4 \
        libdate-tz3 \
        libfmt9 \
        libgrpc++1.51 \
        libhiredis0.14 \
        libmariadb3 \
        libprometheus-cpp-core1.0 \
        libprotobuf32 \
        libspdlog1.10 \
        libsqlite3-0 \
        libssl3 \
        libtcmalloc-minimal4 \
        libyaml-cpp0.7 \
        libzstd1 \
        tzdata \
        zlib1g \
    && rm -rf /var/lib/apt/lists/*
# A number that is nobody on the host. The folders exist so that volumes mounted there are its own.
RUN groupadd --gid 10001 takt \
    && useradd --uid 10001 --gid takt --no-create-home --home-dir /var/lib/takt --shell /usr/sbin/nologin takt \
    && install -d -o takt -g takt -m 0700 /var/lib/takt \
    && install -d -o takt -g takt -m 0755 /run/takt/admin /run/takt/viewer /run/takt/worker
COPY deploy/container/takt.yaml /etc/takt/takt.yaml
COPY --chmod=0755 deploy/container/takt-healthcheck deploy/container/takt-first-tokens /usr/local/bin/
COPY --from=build --chmod=0755 /takt /usr/local/bin/takt
USER 10001:10001
WORKDIR /var/lib/takt
ENV TAKT_CONFIG=/etc/takt/takt.yaml
EXPOSE 8080
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=5s --start-period=30s --retries=3 CMD ["takt-healthcheck"]
ENTRYPOINT ["takt"]
CMD ["serve"]
