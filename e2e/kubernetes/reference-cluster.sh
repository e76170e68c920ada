#!/usr/bin/env bash
# What the provider of a cluster does for the suite, where that is the reference cluster: its home is REFCLUSTER_HOME.
set -euo pipefail
home="${REFCLUSTER_HOME:-${XDG_CACHE_HOME:-$HOME/.cache}/reference-cluster}"
network="$home/conf/cni/10-bridge.conflist"
answers() { curl --silent --insecure --fail --max-time 2 https://10.240.0.1:6443/readyz >/dev/null; }

case "${1:?usage: reference-cluster.sh restart-api|break-network|mend-network}" in
  restart-api)
    pid="$(cat "$home/run/apiserver.pid")"
    mapfile -d '' command <"/proc/$pid/cmdline"
    kill "$pid"
    for _ in $(seq 300); do [ -s "/proc/$pid/cmdline" ] || break; sleep 0.1; done
    setsid "${command[@]}" >>"$home/run/log/apiserver.log" 2>&1 </dev/null &
    echo $! >"$home/run/apiserver.pid"
    for _ in $(seq 300); do answers && exit; sleep 0.1; done
    echo "the API server does not come back"; exit 1
    ;;
  # The plugin that sets up the network of what is started: without it nothing new gets one, and what runs goes on.
  break-network) cp "$network" "$home/run/network.saved"; sed -i 's/"type": *"bridge"/"type": "no-such-plugin"/' "$network" ;;
  mend-network) cp "$home/run/network.saved" "$network" ;;
  *) echo "unknown: $1"; exit 2 ;;
esac
