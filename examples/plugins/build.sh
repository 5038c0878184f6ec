#!/usr/bin/env bash
# Builds the three example actors into a folder: examples/plugins/build.sh [OUT]
#
# Needs node 20 with npm, python3 with its venv module, and cargo with the target
# wasm32-wasip2. The tools that make components of JavaScript and Python are installed
# here (actor-js/node_modules, .venv) in the versions that package-lock.json and
# requirements.txt pin. What is newer than its sources is left as it is.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
mkdir -p "${1:-$here/out}"
out=$(cd "${1:-$here/out}" && pwd)

missing=()
for tool in node npm python3 cargo rustc; do
    command -v "$tool" >/dev/null || missing+=("$tool")
done
if command -v python3 >/dev/null && ! python3 -c 'import venv, ensurepip' 2>/dev/null; then
    missing+=("python3's venv module (Debian: python3-venv)")
fi
if command -v rustc >/dev/null && [[ ! -d $(rustc --print sysroot)/lib/rustlib/wasm32-wasip2 ]]; then
    missing+=("the Rust target (rustup target add wasm32-wasip2)")
fi
if ((${#missing[@]})); then
    printf 'The example plugins need %s\n' "${missing[@]}" >&2
    exit 1
fi

# Whether a component is there and newer than all of its sources.
fresh() {
    local component=$1
    shift
    [[ -f $component && -z $(find "$@" -type f -newer "$component" \
        -not -path '*/node_modules/*' -not -path '*/deps/*' -not -path '*/__pycache__/*' -print -quit) ]]
}

# A component appears whole or not at all.
install() {
    mv -f "$1" "$out/$2"
    echo "built $out/$2" >&2
}

partial=$(mktemp -d "$out/.build.XXXXXX")
trap 'rm -rf "$partial"' EXIT

if ! fresh "$out/actor-two-pages-js.wasm" "$root/wit" "$here/actor-js"; then
    (
        cd "$here/actor-js"
        if ! cmp -s package-lock.json node_modules/.installed; then
            # Not `npm ci`: it wants every platform's binding in the lock file, and some
            # are not published in every version.
            npm install --no-save --no-audit --no-fund >&2
            cp package-lock.json node_modules/.installed
        fi
        npm run --silent build -- "$partial/js.wasm"
    )
    install "$partial/js.wasm" actor-two-pages-js.wasm
fi

if ! fresh "$out/actor-two-pages-py.wasm" "$root/wit" "$here/actor-py"; then
    python3 "$here/actor-py/build.py" "$partial/py.wasm"
    install "$partial/py.wasm" actor-two-pages-py.wasm
fi

# Cargo knows by itself what has changed.
target=${CARGO_TARGET_DIR:-$here/actor-rust/target}
(
    cd "$here/actor-rust"
    cargo build --quiet --release --target wasm32-wasip2 --target-dir "$target"
)
built=$target/wasm32-wasip2/release/two_pages_rs.wasm
if ! cmp -s "$built" "$out/actor-two-pages-rs.wasm"; then
    cp "$built" "$partial/rs.wasm"
    install "$partial/rs.wasm" actor-two-pages-rs.wasm
fi
