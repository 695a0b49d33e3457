"""``make amx``: llama.cpp's AMX kernels, compiled with and without our header, tried on an emulator.

A processor with AMX is not needed, one with AVX-512 and VNNI is: the rest of the library is compiled as
natively as ever. Compiles the CPU library twice, which takes minutes.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from ladder import NATIVE
from llama_wheel import ROOT, sdist
from progress import Compiling, Line, run

from connectors.machine.trial import library_folder, try_library
from operators.models.trial import LibraryTrial

FLAGS = "-mamx-tile -mamx-int8 -mamx-bf16"


def compile_cpu(source: Path, folder: Path, flags: str, line: Line) -> Path:
    """The installed libraries, but for the CPU's, which is compiled with ``flags``."""
    build, libraries = folder / "build", folder / "lib"
    options = ["-DCMAKE_BUILD_TYPE=Release", "-DBUILD_SHARED_LIBS=ON", "-DLLAMA_BUILD_COMMON=OFF"]
    options += [f"-DCMAKE_C_FLAGS={flags}", f"-DCMAKE_CXX_FLAGS={flags}", *NATIVE.options]
    for command in (
        ["cmake", "-G", "Ninja", "-S", str(source), "-B", str(build), *options],
        ["ninja", "-C", str(build), "ggml-cpu"],
    ):
        status, tail = run(command, Compiling(folder.name), line)
        if status:
            sys.exit("\n".join(tail))
    installed = library_folder()
    assert installed is not None
    shutil.copytree(installed, libraries, ignore=shutil.ignore_patterns("libggml-cpu*"))
    for library in (build / "bin").glob("libggml-cpu.so*"):
        shutil.copy(library, libraries)
    return libraries


def main() -> None:
    """Compile, try, and tell; fails unless the build with the header is right."""
    line = Line(sys.stderr)
    os.environ["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        shutil.unpack_archive(sdist(line), folder)
        source = next(folder.glob("llama_cpp_python-*")) / "vendor" / "llama.cpp"
        emulator = folder / "emulator.so"
        emulate = ["cc", "-O3", "-shared", "-fPIC", str(ROOT / "tests/amx/emulator.c"), "-o", str(emulator)]
        subprocess.run(emulate, check=True)
        made = {}
        for what, flags in (("with-header", f"{FLAGS} -include {ROOT}/.ci/amx.h"), ("without-header", FLAGS)):
            libraries = compile_cpu(source, folder / what, flags, line)
            for where, preload in (("emulated", str(emulator)), ("here", "")):
                environment = {"LLAMA_CPP_LIB_PATH": str(libraries), "LD_PRELOAD": preload}
                made[what, where] = outcome = try_library(environment=environment)
                line.end(f"{what}, AMX {where}: {outcome}")
    right = made["with-header", "emulated"]
    sys.exit(0 if isinstance(right, LibraryTrial) and right.wrong is None and right.has_amx else 1)


if __name__ == "__main__":
    main()
