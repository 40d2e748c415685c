#!/usr/bin/env bash
# Builds every fuzz target and runs each for so many seconds, one on each core; fails on a crash. Needs cargo-fuzz and a nightly
# toolchain, see ci/fuzz.
set -euo pipefail
cd "$(dirname "$0")"
seconds=${1:?usage: fuzz/smoke.sh SECONDS, for each target}

cargo +nightly fuzz build --release

# smoke TARGET: a run is bounded by time; operations are short, so one input of a few seconds is a hang.
smoke() {
    local target=$1 log runs
    log=$(mktemp)
    if ! cargo +nightly fuzz run --release "$target" -- \
        -max_total_time="$seconds" -max_len=4096 -timeout=5 -print_final_stats=1 >"$log" 2>&1; then
        cat "$log"
        echo "fuzz: $target crashed" >&2
        return 1
    fi
    runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")
    rm "$log"
    echo "fuzz: $target, $runs inputs in $seconds s"
}
export -f smoke
export seconds
cargo +nightly fuzz list | xargs --max-procs "$(nproc)" -I{} bash -euo pipefail -c 'smoke {}'
