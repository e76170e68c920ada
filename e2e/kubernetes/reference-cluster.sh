#!/usr/bin/env bash
# What the provider of a cluster does for the suite, where that is the reference cluster: its home is REFCLUSTER_HOME.
set -euo pipefail
home="${REFCLUSTER_HOME:-${XDG_CACHE_HOME:-$HOME/.cache}/reference-cluster}"
network="$home/conf/cni/10-bridge.conflist"
answers() { curl --silent --insecure --fail --max-time 2 https://10.240.0.1:6443/readyz >/dev/null; }

# again PROGRAM COMMAND…: ends the program, and starts it by this command.
again() {
  local program=$1 pid; shift
  pid="$(cat "$home/run/$program.pid")"
  kill "$pid"
  for _ in $(seq 300); do [ -s "/proc/$pid/cmdline" ] || break; sleep 0.1; done
  setsid "$@" >>"$home/run/log/$program.log" 2>&1 </dev/null &
  echo $! >"$home/run/$program.pid"
}

case "${1:?usage: reference-cluster.sh restart-api|break-network|mend-network|gateway}" in
  restart-api)
    mapfile -d '' command <"/proc/$(cat "$home/run/apiserver.pid")/cmdline"
    again apiserver "${command[@]}"
    for _ in $(seq 300); do answers && exit; sleep 0.1; done
    echo "the API server does not come back"; exit 1
    ;;
  # The plugin that sets up the network of what is started: without it nothing new gets one, and what runs goes on.
  break-network) cp "$network" "$home/run/network.saved"; sed -i 's/"type": *"bridge"/"type": "no-such-plugin"/' "$network" ;;
  mend-network) cp "$home/run/network.saved" "$network" ;;
  # The ingress controller knows gateways too, once the cluster has their kinds: of the version that it is built with.
  gateway)
    mkdir -p "$home/build/gateway-api"; cd "$home/build/gateway-api"
    [ -f go.mod ] || go mod init gateway-api 2>/dev/null
    kinds="$(go mod download -json sigs.k8s.io/gateway-api@v1.4.0 | sed -n 's/.*"Dir": "\(.*\)".*/\1/p')/config/crd/standard"
    kubectl apply --server-side -f "$kinds"
    kubectl wait --for=condition=Established --timeout=30s -f "$kinds"
    { cat "$home/conf/traefik.yaml"; echo '  kubernetesGateway: {statusAddress: {ip: 10.240.0.1}}'; } >"$home/run/gateway.yaml"
    again traefik env KUBECONFIG="$home/pki/admin.kubeconfig" "$home/bin/traefik" --configFile="$home/run/gateway.yaml"
    kubectl apply -f - <<<'{apiVersion: gateway.networking.k8s.io/v1, kind: GatewayClass, metadata: {name: traefik}, spec: {controllerName: traefik.io/gateway-controller}}'
    kubectl wait --for=condition=Accepted --timeout=30s gatewayclass/traefik
    ;;
  *) echo "unknown: $1"; exit 2 ;;
esac
