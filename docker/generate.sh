#!/usr/bin/env bash
# Writes the Dockerfiles and compose.yaml of this folder from matrix/stacks/*.yaml: one image for the coordinator and its reports, one
# GPU runner a wheel stack. With --check it writes nothing, shows what differs and fails if anything does.
#
#   docker/generate.sh [--check]
set -euo pipefail
cd "$(dirname "$0")/.."

case "${1:-}" in
  "") target=docker ;;
  --check) target=$(mktemp -d) && trap 'rm -rf "$target"' EXIT ;;
  *) echo "usage: docker/generate.sh [--check]" >&2; exit 2 ;;
esac

value() { sed -n "s/^$2: *//p" "$1" | head -n 1; }                                      # FILE KEY
component() { sed -n "s/^components:.*[{ ]$2: \"\([^\"]*\)\".*/\1/p" "$1" | head -n 1; } # FILE COMPONENT

# image FILE SUMMARY PACKAGES EXTRA-INSTRUCTIONS COMMAND
image() {
  cat >"$target/$1" <<DOCKER
# Written by docker/generate.sh. $2
# Built in this folder, where \`ci/bundle.sh --out docker/reprobench.tar.gz\` has put the program:
#   docker build -f $1 .
ARG BASE=debian:12-slim
FROM \${BASE}
RUN apt-get update -q \\
 && DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends \\
      ca-certificates $3 \\
 && rm -rf /var/lib/apt/lists/* \\
 && useradd --system --uid 10001 --user-group --no-create-home --shell /usr/sbin/nologin reprobench \\
 && mkdir -p /store /stacks \\
 && chown reprobench:reprobench /store /stacks
ADD reprobench.tar.gz /opt/
$4ENV PATH=/opt/reprobench/bin:\$PATH HOME=/store REPROBENCH_STACKS=/stacks
USER 10001:10001
WORKDIR /opt/reprobench
VOLUME ["/store", "/stacks"]
HEALTHCHECK --interval=60s --timeout=10s CMD ["reprobench", "version"]
ENTRYPOINT [$5]
DOCKER
}

image coordinator.Dockerfile "Plans, judges and reports; trains nothing." "python3 python3-jinja2" \
  'LABEL org.opencontainers.image.title="reprobench coordinator"
' '"reprobench", "--store", "/store"'

services=
for file in matrix/stacks/*.yaml; do
  [ "$(value "$file" source)" = wheel ] || continue
  name=$(value "$file" name)
  labels="LABEL org.opencontainers.image.title=\"reprobench runner\" io.reprobench.stack=\"$name\""
  for part in torch cuda cudnn nccl; do
    version=$(component "$file" "$part")
    [ -z "$version" ] || labels="$labels \\
      io.reprobench.stack.$part=\"$version\""
  done
  image "runner-$name.Dockerfile" "Trains on $name, which its first start installs into the volume /stacks." \
    "g++ cmake ninja-build python3 python3-pip python3-jinja2" \
    "$labels
ENV NVIDIA_VISIBLE_DEVICES=all NVIDIA_DRIVER_CAPABILITIES=compute,utility REPROBENCH_STACK=$name
" '"/opt/reprobench/docker/start_runner.sh"'
  services+="  $name:
    build: {context: ., dockerfile: runner-$name.Dockerfile}
    image: reprobench-runner:$name
    init: true
    shm_size: 8gb
    cap_drop: [ALL]
    security_opt: [\"no-new-privileges:true\"]
    volumes: [\"store:/store\", \"stacks:/stacks\"]
    deploy: {resources: {reservations: {devices: [{driver: nvidia, count: all, capabilities: [gpu]}]}}}
"
done

cat >"$target/compose.yaml" <<YAML
# Written by docker/generate.sh. \`docker compose run --rm coordinator report RUN\`, \`docker compose run --rm torch-2.11.0-cu130\`.
services:
  coordinator:
    build: {context: ., dockerfile: coordinator.Dockerfile}
    image: reprobench-coordinator
    init: true
    cap_drop: [ALL]
    security_opt: ["no-new-privileges:true"]
    volumes: ["store:/store", "stacks:/stacks"]
$services
volumes: {store: {}, stacks: {}}
YAML

[ "$target" = docker ] && exit 0
here=$(mktemp -d)
trap 'rm -rf "$target" "$here"' EXIT
find docker -maxdepth 1 \( -name '*.Dockerfile' -o -name compose.yaml \) -exec cp {} "$here" \;
diff -ru "$here" "$target" || { echo "docker: not what matrix/stacks says; run docker/generate.sh" >&2; exit 1; }
