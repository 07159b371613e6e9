#!/usr/bin/env bash
# What a runner's container does: it brings the stack of its image, once a volume, then runs the verb it was given; without one,
# the job of a GPU runner.
set -euo pipefail
cd /opt/reprobench

if [ $# -eq 0 ]; then exec ci/gpu.sh --stack "$REPROBENCH_STACK" --out "/store/gpu-run-$(date +%Y%m%d-%H%M%S)"; fi
case $1 in
  run | plan | compare | explain | calibrate | selftest)
    gpu=()
    [ -e /dev/nvidiactl ] && gpu=(--with-gpu)
    reprobench --store /store stack install "$REPROBENCH_STACK" "${gpu[@]}" >&2
    ;;
esac
exec reprobench --store /store "$@"
