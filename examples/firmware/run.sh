#!/usr/bin/env bash
# Builds the firmware for a Cortex-M0 and a Cortex-M4, runs it under QEMU and checks its sizes.
#
# The compiler is one that carries the sources of core, since these targets' own may not be installed: Debian's by
# default, another by FIRMWARE_CARGO and FIRMWARE_RUSTC. The linker is that of the usual toolchain.
set -euo pipefail
cd "$(dirname "$0")"

m0=thumbv6m-none-eabi
m4=thumbv7em-none-eabihf
cargo=${FIRMWARE_CARGO:-/usr/bin/cargo}
export RUSTC=${FIRMWARE_RUSTC:-/usr/bin/rustc}
# The sources of core are built with it (-Zbuild-std).
export RUSTC_BOOTSTRAP=1
host=$(env -u RUSTC rustc --version --verbose | sed -n 's/^host: //p')
linker=$(env -u RUSTC rustc --print sysroot)/lib/rustlib/$host/bin/rust-lld
export CARGO_TARGET_THUMBV6M_NONE_EABI_LINKER=$linker CARGO_TARGET_THUMBV7EM_NONE_EABIHF_LINKER=$linker
CARGO_TARGET_DIR=$(cd ../.. && pwd)/target/firmware
export CARGO_TARGET_DIR
mkdir -p "$CARGO_TARGET_DIR"
# Whatever the host's builds are told is not for these. An empty value would still hide the flags of .cargo/config.toml.
unset RUSTFLAGS CARGO_ENCODED_RUSTFLAGS

# Bytes on a Cortex-M0: the limiter's code, and the memory of the microbit.
text_budget=6144
ram_budget=16384

for needed in "$cargo" "$RUSTC" "$linker" qemu-system-arm readelf; do
    command -v "$needed" >/dev/null || { echo "firmware: $needed is missing: see ci/install" >&2; exit 1; }
done

options=(--quiet --locked --release -Zbuild-std=core)

# build TARGET BINARY [OPTION...]
build() {
    timeout 600 "$cargo" build "${options[@]}" --target "$1" --bin "$2" "${@:3}"
}

# run TARGET BINARY [OPTION...]: builds first, so that the limit of time is the program's.
run() {
    build "$@"
    timeout 120 "$cargo" run "${options[@]}" --target "$1" --bin "$2" "${@:3}" </dev/null
}

# bytes FILE SECTION: a section's size, 0 if there is none.
bytes() {
    local size
    size=$(readelf --sections --wide "$1" | sed -E 's/^ *\[ *[0-9]+\] +//' | awk -v name="$2" '$1 == name { print $5 }')
    echo $((16#${size:-0}))
}

echo "== Cortex-M0: a link"
run $m0 link | tee "$CARGO_TARGET_DIR/$m0.log"
echo "== Cortex-M0: interrupted after each atomic operation"
run $m0 interrupted --no-default-features --features counted
echo "== Cortex-M0: interrupted after each cycle"
run $m0 interrupted
echo "== Cortex-M4: a link"
run $m4 link | tee "$CARGO_TARGET_DIR/$m4.log"
echo "== Cortex-M4: interrupted after each cycle"
run $m4 interrupted

echo "== A limiter that inserts callers without claims must be caught"
naive=(--no-default-features --features counted -Zprofile-rustflags
    --config 'profile.release.package.tollgate.rustflags=["--cfg", "tollgate_flaw=\"naive_insert\""]')
build $m0 interrupted "${naive[@]}"
if output=$(run $m0 interrupted "${naive[@]}" 2>&1) || ! grep -q "admitted in all" <<<"$output"; then
    echo "$output"
    echo "firmware: a naive insertion was not caught, so the interrupts prove nothing" >&2
    exit 1
fi
grep -A2 "admitted in all" <<<"$output"

# sizes TARGET: of `link`, and how much of it is the limiter; sets `limiter` and `ram`.
sizes() {
    local program=$CARGO_TARGET_DIR/$1/release/link without without_constants with constants static stack
    build "$1" link --features unlimited,deciding
    without=$(bytes "$program" .text)
    without_constants=$(bytes "$program" .rodata)
    build "$1" link --features deciding
    with=$(bytes "$program" .text)
    constants=$(($(bytes "$program" .rodata) - without_constants))
    limiter=$((with - without))
    static=$(($(bytes "$program" .data) + $(bytes "$program" .bss) + $(bytes "$program" .uninit)))
    stack=$(sed -n 's/^link: \([0-9]*\) bytes of the stack.*/\1/p' "$CARGO_TARGET_DIR/$1.log")
    ram=$((static + stack))
    echo "text of the program $with B, without its limiter $without B: the limiter takes $limiter B, and $constants B of constants"
    echo "RAM: $static B of statics ($(bytes "$program" .data) B of them copied from flash) and $stack B of stack: $ram B"
}

echo "== Cortex-M4: sizes"
sizes $m4
echo "== Cortex-M0: sizes"
sizes $m0
status=0
if [ "$limiter" -gt "$text_budget" ]; then
    echo "firmware: the limiter's text exceeds its budget of $text_budget B" >&2
    status=1
fi
if [ "$ram" -gt "$ram_budget" ]; then
    echo "firmware: the RAM exceeds its budget of $ram_budget B" >&2
    status=1
fi
exit $status
