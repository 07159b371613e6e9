# Written by docker/generate.sh. Plans, judges and reports; trains nothing.
# Built in this folder, where `ci/bundle.sh --out docker/reprobench.tar.gz` has put the program:
#   docker build -f coordinator.Dockerfile .
ARG BASE=debian:12-slim
FROM ${BASE}
RUN apt-get update -q \
 && DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends \
      ca-certificates python3 python3-jinja2 \
 && rm -rf /var/lib/apt/lists/* \
 && useradd --system --uid 10001 --user-group --no-create-home --shell /usr/sbin/nologin reprobench \
 && mkdir -p /store /stacks \
 && chown reprobench:reprobench /store /stacks
ADD reprobench.tar.gz /opt/
LABEL org.opencontainers.image.title="reprobench coordinator"
ENV PATH=/opt/reprobench/bin:$PATH HOME=/store REPROBENCH_STACKS=/stacks
USER 10001:10001
WORKDIR /opt/reprobench
VOLUME ["/store", "/stacks"]
HEALTHCHECK --interval=60s --timeout=10s CMD ["reprobench", "version"]
ENTRYPOINT ["reprobench", "--store", "/store"]
