# shellcheck shell=bash
# Shared by .ci/run and .ci/soak: caches, the lock, timed steps, parallel lanes, test binaries, clusters.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
: "${HOME:=$(getent passwd "$(id -u)" | cut -d: -f6)}"; export HOME
# Settings of a user's own platform are not those of the tests.
for variable in "${!ORCHESTRA_@}"; do [[ "$variable" == ORCHESTRA_CI_LOCK ]] || unset "$variable"; done
# With these, tests write what they should compare with.
unset TRYCMD UPDATE_REFUSALS UPDATE_RENDERED

cache="${XDG_CACHE_HOME:-$HOME/.cache}/orchestra-ci"
export CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-$cache/target}" CARGO_TERM_COLOR=never
# Backtraces of expected panics are noise.
export RUST_BACKTRACE=0
# shellcheck disable=SC2034  # of those who source this
built="$CARGO_TARGET_DIR/debug"
mkdir -p "$cache" "$CARGO_TARGET_DIR"
work="$(mktemp -d)"
# Progress of lanes, whose own output is printed when they end.
exec 3>&1

# A cluster given from outside is used as it is.
given="${KUBECONFIG:-}"
refcluster="$(cd .. && pwd)/shared/reference-cluster/refcluster"
if [ -n "$given" ] || [ ! -x "$refcluster" ]; then refcluster=""; fi

# One run at a time: runs share the cache, the build folder and the reference cluster. The lock is held by a process that ends
# with this one; what a run leaves behind does not hold it. A run that is started by another one shares its lock.
lock() {
  [ -z "${ORCHESTRA_CI_LOCK:-}" ] || return 0
  export ORCHESTRA_CI_LOCK=$$
  flock --nonblock "$cache/lock" true || echo "waiting for another run to end: it holds $cache/lock"
  exec 4< <(exec 9>"$cache/lock"; flock 9; echo; exec tail --pid=$$ --follow /dev/null 2>/dev/null)
  lock_holder=$!
  read -r <&4
}

# note TEXT: something that this run could not show, printed at its end.
note() { echo "$*" | tee -a "$work/notes"; }

# descendants PID: the process and all that it has started, unless their parents have ended.
descendants() {
  local child
  echo "$1"
  for child in $(pgrep -P "$1"); do descendants "$child"; done
}

# end_tree PID
end_tree() {
  local all; mapfile -t all < <(descendants "$1")
  kill "${all[@]}" 2>/dev/null || true
}

on_exit() {
  local status=$?
  trap - EXIT
  # Only what this run has started: lanes and preparation in the background, then its clusters.
  local job; for job in $(jobs -p); do end_tree "$job"; done
  if [ -n "$refcluster" ]; then
    [ ! -f "$work/api" ] || "$refcluster" api-down >/dev/null 2>&1 || true
    [ ! -f "$work/node" ] || "$refcluster" down >/dev/null 2>&1 || true
  fi
  [ -z "${lock_holder:-}" ] || kill "$lock_holder" 2>/dev/null || true
  if [ -s "$work/steps" ]; then
    printf '\n== seconds by step\n'
    sort -rn "$work/steps"
    printf '%5d in all\n' "$SECONDS"
  fi
  if [ -s "$work/notes" ]; then
    printf '\n== NOT SHOWN by this run\n'
    sort -u "$work/notes"
  fi
  if [ "$status" != 0 ]; then
    printf '\nFAILED: %s\n' "$(cat "$work/failed" 2>/dev/null || echo "exit code $status")"
    # Once more at the very end, where a shortened log still has it.
    grep --no-filename --extended-regexp '^(FAILED |---- .* stdout ----$|error(\[|:))' --after-context 8 \
      "$work"/*.log 2>/dev/null | head -n 60 || true
    local lane; while read -r lane; do
      printf '\n== end of lane %s\n' "$lane"; tail -n 20 "$work/$lane.log"
    done < <(cat "$work/failed-lanes" 2>/dev/null)
  elif [ -s "$work/counts" ]; then
    awk '{ passed += $1 } END { printf "\n%d passed, 0 failed\n", passed }' "$work/counts"
  fi
  rm -rf "$work"
  exit "$status"
}
trap on_exit EXIT
trap 'exit 130' INT TERM

# A step that takes longer hangs: the longest one takes about ten minutes on a new machine.
step_limit=1800

# step NAME COMMAND…: runs a command or function within the limit, and notes how long it took.
step() {
  local name=$1 began=$SECONDS status=0 running; shift
  printf '\n== %s (at %ss)\n' "$name" "$began"
  [ -z "${in_lane:-}" ] || printf -- '-- %s: %s (at %ss)\n' "$in_lane" "$name" "$began" >&3
  (set -e; "$@") </dev/null & running=$!
  {
    # Ends with the step, or at the limit.
    timeout "$step_limit" tail --pid="$running" --follow /dev/null 2>/dev/null || [ $? != 124 ] ||
      { echo "$name: no end after $step_limit seconds"; end_tree "$running"; }
  } &
  wait "$running" || status=$?
  printf '%5d %s\n' $((SECONDS - began)) "$name" >>"$work/steps"
  [ "$status" = 0 ] || { echo "$name" >>"$work/failed"; return "$status"; }
}

# lane NAME FUNCTION: runs steps beside others; `join` prints their output.
lanes=()
lane() {
  (in_lane=$1; "$2") >"$work/$1.log" 2>&1 </dev/null &
  lanes+=("$1:$!")
}

# join [LANE]: waits for a lane, or for all. If any failed, its output comes last, and so does the end of the run.
join() {
  local lane left=() failed=()
  for lane in "${lanes[@]}"; do
    if [ "${lane%%:*}" != "${1:-${lane%%:*}}" ]; then left+=("$lane")
    elif wait "${lane#*:}"; then cat "$work/${lane%%:*}.log"
    else failed+=("${lane%%:*}"); fi
  done
  lanes=("${left[@]}")
  for lane in "${failed[@]}"; do
    printf '\n== lane %s failed\n' "$lane"; cat "$work/$lane.log"
    echo "$lane" >>"$work/failed-lanes"
  done
  [ ${#failed[@]} = 0 ]
}

# One build of all tests, of the binary and of the tools beside it; later steps run what it has built. Feature sets differ
# between packages, so that `cargo test -p` and `cargo run -p` would build most dependencies once more.
build_tests() {
  # Test binaries contain the path of their checkout: those of another one are built again.
  if [ "$(cat "$CARGO_TARGET_DIR/checkout" 2>/dev/null)" != "$PWD" ]; then
    cargo clean --workspace --quiet
    echo "$PWD" >"$CARGO_TARGET_DIR/checkout"
  fi
  cargo test --workspace --locked --no-run
}

# Lists the built test binaries as KIND PACKAGE-FOLDER TARGET PATH, where KIND is test, lib or bin.
list_tests() {
  cargo test --workspace --locked --no-run --message-format=json 2>/dev/null |
    sed -nE 's|.*"manifest_path":"([^"]*)/Cargo.toml","target":\{"kind":\["([^"]*)"\],"crate_types":\["[^"]*"\],"name":"([^"]*)".*"overflow_checks":[a-z]*,"test":true\}.*"executable":"([^"]+)".*|\2 \1 \3 \4|p' >"$work/tests"
}

# test_names FOLDER TARGET BINARY ARGUMENTS…: the tests that a binary would run, as FOLDER TARGET NAME.
test_names() {
  local folder=$1 target=$2 binary=$3; shift 3
  (cd "$folder" && "$binary" "$@" --list 2>/dev/null) | sed -nE "s|^(.*): test\$|$folder $target \\1|p"
}

# suite PACKAGE-FOLDER TARGET ARGUMENTS…: runs a built test binary, and fails if no test was run.
suite() {
  local folder="$PWD/$1" target=$2 binary output passed; shift 2
  output="$(mktemp -p "$work")"
  binary="$(awk -v f="$folder" -v t="$target" '$1 == "test" && $2 == f && $3 == t { print $4 }' "$work/tests")"
  [ -x "$binary" ] || { echo "no test binary $target of $folder"; return 1; }
  (cd "$folder" && CARGO_MANIFEST_DIR="$folder" RUST_TEST_THREADS="${RUST_TEST_THREADS:-4}" "$binary" "$@") 2>&1 | tee "$output"
  passed="$(sed -nE 's/^test result: ok\. ([0-9]+) passed.*/\1/p' "$output")"
  [ "${passed:-0}" -gt 0 ] || { echo "no test was run: $folder $target $*"; return 1; }
  echo "$passed" >>"$work/counts"
  # Without this option ignored tests are listed, but not run.
  [[ " $* " != *" --ignored "* ]] || test_names "$folder" "$target" "$binary" "$@" >>"$work/ran"
}

# listens PORT: whether a program of this machine listens there. Nothing is sent: the address of a cluster that is down is
# that of some other machine.
listens() { [ -n "$(ss --no-header --listening --tcp --numeric "sport = :$1")" ]; }

# Starts an API server without nodes (`api`) or a whole cluster (`node`), unless one is given.
cluster() {
  [ -z "$given" ] || { kubectl version; return; }
  [ -n "$refcluster" ] || {
    echo "no cluster to test on: set KUBECONFIG to an empty one, with its kubectl in PATH"
    return 1
  }
  # What another has started is neither used nor stopped; what is started here is stopped at the end, also if that fails halfway.
  case $1 in api) ! listens 16443 ;; node) ! listens 6443 ;; esac || {
    echo "a reference cluster is up already: stop it with $refcluster $([ "$1" = node ] || echo api-)down"
    return 1
  }
  touch "$work/$1"
  case $1 in api) "$refcluster" api-up ;; node) "$refcluster" up ;; esac >"$work/$1.env" || return
  eval "$(grep '^export ' "$work/$1.env")"
  kubectl version
}

# data VARIABLE FOLDER FILE: the folder of test data that is kept beside the checkout.
data() {
  printf -v "$1" %s "${!1:-$(cd .. && pwd)/$2}"; export "${1?}"
  [ -e "${!1}/$3" ] || { echo "no test data in ${!1}: set $1 to its folder"; return 1; }
}
