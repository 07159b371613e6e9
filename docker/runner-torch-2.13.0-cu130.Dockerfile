# Written by docker/generate.sh. Trains on torch-2.13.0-cu130, which its first start installs into the volume /stacks.
# Built in this folder, where `ci/bundle.sh --out docker/reprobench.tar.gz` has put the program:
#   docker build -f runner-torch-2.13.0-cu130.Dockerfile .
ARG BASE=debian:12-slim
FROM ${BASE}
RUN apt-get update -q \
 && DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends \
      ca-certificates g++ cmake ninja-build python3 python3-pip python3-jinja2 \
 && rm -rf /var/lib/apt/lists/* \
 && useradd --system --uid 10001 --user-group --no-create-home --shell /usr/sbin/nologin reprobench \
 && mkdir -p /store /stacks \
 && chown reprobench:reprobench /store /stacks
ADD reprobench.tar.gz /opt/
LABEL org.opencontainers.image.title="reprobench runner" io.reprobench.stack="torch-2.13.0-cu130" \
      io.reprobench.stack.torch="2.13.0+cu130" \
      io.reprobench.stack.cuda="13.0" \
      io.reprobench.stack.cudnn="9.20.0" \
      io.reprobench.stack.nccl="2.29.7"
ENV NVIDIA_VISIBLE_DEVICES=all NVIDIA_DRIVER_CAPABILITIES=compute,utility REPROBENCH_STACK=torch-2.13.0-cu130
ENV PATH=/opt/reprobench/bin:$PATH HOME=/store REPROBENCH_STACKS=/stacks
USER 10001:10001
WORKDIR /opt/reprobench
VOLUME ["/store", "/stacks"]
HEALTHCHECK --interval=60s --timeout=10s CMD ["reprobench", "version"]
ENTRYPOINT ["/opt/reprobench/docker/start_runner.sh"]
