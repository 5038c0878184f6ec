"""Builds the component and attaches its manifest: python3 build.py [OUT.wasm]

Installs the tool into ../.venv first, where requirements.txt asks for another one than is there.
"""

import subprocess
import sys
import venv
from pathlib import Path

HERE = Path(__file__).resolve().parent
CONTRACT = HERE.parents[2] / "wit"
VENV = HERE.parent / ".venv"


def tool() -> Path:
    """The path of `componentize-py` in the version that requirements.txt pins."""
    bin_dir = VENV / ("Scripts" if sys.platform == "win32" else "bin")
    wanted = HERE / "requirements.txt"
    installed = VENV / "requirements.txt"
    if not installed.exists() or installed.read_text() != wanted.read_text():
        venv.create(VENV, with_pip=True, clear=True)
        pip = [bin_dir / "python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*pip, "--requirement", wanted], check=True)
        installed.write_text(wanted.read_text())
    return bin_dir / "componentize-py"


def leb128(value: int) -> bytes:
    """An unsigned integer as WebAssembly writes it."""
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


def main() -> None:
    out = Path(sys.argv[1] if len(sys.argv) > 1 else "actor-two-pages-py.wasm").resolve()
    command = [tool(), "--quiet", "--wit-path", CONTRACT, "--wit-path", HERE / "wit"]
    command += ["--world", "example:two-pages-py/two-pages", "componentize"]
    # No clock, file, socket or randomness: the component asks for no WASI at all.
    command += ["--stub-wasi", "--python-path", HERE, "--output", out, "two_pages"]
    subprocess.run(command, check=True)

    # A custom section: id 0, size, and in it the name with its length, then the manifest.
    name = b"orbweaver:manifest"
    body = leb128(len(name)) + name + (HERE / "plugin.toml").read_bytes()
    with out.open("ab") as component:
        component.write(b"\0" + leb128(len(body)) + body)


if __name__ == "__main__":
    main()
