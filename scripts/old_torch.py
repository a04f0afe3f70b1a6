"""Unpack a torch that was built for CUDA so that it runs on the CPU without NVIDIA's packages, which take gigabytes.

    python scripts/old_torch.py 2.4.0 FOLDER
    PYTHONPATH=FOLDER python scripts/break_table.py
    PYTHONPATH=FOLDER python scripts/api_table.py

CUDA's runtime is the real one, and finds no driver; of the other libraries torch only asks that their functions have an
address, and gets functions that return 1. torch's device code is left out. For Linux with gcc and binutils; Python has
to be one that this torch was built for, with torch's other requirements installed (NumPy below 2 up to torch 2.2).
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

NVIDIA = re.compile(r"NEEDED.*\[(lib(?:cu|nv|nccl)[^\]]*)\]")
SYMBOL = re.compile(r"cu[A-Zsbdfr]|nccl|nvrtc|nvshmem|nvtx|nvJit|nvml")
REAL = {"libcudart": "nvidia-cuda-runtime", "libcupti": "nvidia-cuda-cupti"}
UNUSED = re.compile(r"torch/(include|test|share)/|.*\.a$")


def run(*command: str | Path) -> str:
    return subprocess.run(list(map(str, command)), check=True, capture_output=True, text=True).stdout


def wheel(requirement: str, folder: Path) -> Path:
    """Download one wheel and nothing that it requires."""
    run(sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary=:all:", "--dest", folder, requirement)
    return next(folder.glob("*.whl"))


def unpack(version: str, folder: Path) -> None:
    """Put torch's packages into the folder."""
    with (
        tempfile.TemporaryDirectory() as temporary,
        zipfile.ZipFile(wheel(f"torch=={version}", Path(temporary))) as archive,
    ):
        archive.extractall(folder, [name for name in archive.namelist() if not UNUSED.match(name)])
    (folder / "torch" / "bin").mkdir(exist_ok=True)


def needed(libraries: list[Path]) -> set[str]:
    """NVIDIA's libraries that torch's are linked with."""
    return {name for library in libraries for name in NVIDIA.findall(run("readelf", "-d", library))}


def versions(libraries: list[Path]) -> dict[str, set[str]]:
    """The versions of symbols that torch asks each other library for."""
    found: dict[str, set[str]] = {}
    for library in libraries:
        file = ""
        for line in run("readelf", "-VW", library).splitlines():
            if match := re.search(r"File: (\S+)\s+Cnt", line):
                file = match[1]
            elif file and (match := re.search(r"Name: (\S+)\s+Flags", line)):
                found.setdefault(file, set()).add(match[1])
    return found


def symbols(libraries: list[Path]) -> dict[str, set[str]]:
    """The functions that torch takes from elsewhere, by the version of the symbol; "" for those of NVIDIA without one."""
    found: dict[str, set[str]] = {"": set()}
    for library in libraries:
        for line in run("nm", "-D", "--undefined-only", library).splitlines():
            name, _, version = line.split()[-1].replace("@@", "@").partition("@")
            if version or SYMBOL.match(name):
                found.setdefault(version, set()).add(name)
    return found


def stub(path: Path, wanted: dict[str, set[str]], versions: set[str]) -> None:
    """Compile a library whose functions return 1."""
    with tempfile.TemporaryDirectory() as temporary:
        source, script = Path(temporary) / "stub.c", Path(temporary) / "stub.map"
        names = wanted[""].union(*(wanted.get(version, set()) for version in versions))
        source.write_text("".join(f"int {name}(void) {{ return 1; }}\n" for name in sorted(names)))
        nodes = (
            f"{v} {{ global: {' '.join(f'{n};' for n in sorted(wanted.get(v, ())))} }};\n" for v in sorted(versions)
        )
        script.write_text("".join(nodes))
        options = [f"-Wl,--version-script={script}"] if versions else []
        run("gcc", "-w", "-fno-builtin", "-shared", "-fPIC", source, f"-Wl,-soname,{path.name}", *options, "-o", path)


def real(path: Path) -> None:
    """Put a small library of NVIDIA where torch looks for it."""
    package, major = REAL[path.name.partition(".")[0]], int(path.name.partition(".so.")[2].partition(".")[0])
    requirement = package if major > 12 else f"{package}-cu{major}"
    with tempfile.TemporaryDirectory() as temporary, zipfile.ZipFile(wheel(requirement, Path(temporary))) as archive:
        member = next(name for name in archive.namelist() if name.endswith(f"/{path.name}"))
        with archive.open(member) as source, path.open("wb") as target:
            shutil.copyfileobj(source, target)


def without_device_code(library: Path) -> None:
    """Free the disk of the code for GPUs: a hole stays in the file."""
    if match := re.search(r"\.nv_fatbin\s+\w+\s+\w+\s+(\w+)\s+(\w+)", run("readelf", "-SW", library)):
        offset, size = (int(number, 16) for number in match.groups())
        run("fallocate", "--punch-hole", "--offset", str(offset), "--length", str(size), library)


def main(version: str, folder: Path) -> None:
    unpack(version, folder)
    home = folder / "torch" / "lib"
    libraries = [path for path in home.glob("*.so*") if path.name.startswith(("libtorch", "libc10", "libcaffe2"))]
    asked, wanted = versions(libraries), symbols(libraries)
    for name in sorted(needed(libraries)):
        if (home / name).exists():
            continue
        if name.partition(".")[0] in REAL:
            real(home / name)
        else:
            stub(home / name, wanted, asked.get(name, set()))
    for library in libraries:
        without_device_code(library)


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]).resolve())
