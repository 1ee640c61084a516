#!/usr/bin/env python3
"""Writes a C++ source that holds the files of a folder: embed.py FOLDER OUTPUT.cc

The bytes go to OUTPUT.blob, which the assembler includes: a compiler would take minutes for them as
text. Each file is there as it is and, where that is smaller, compressed, so that the server sends
either without work. Equal folders give equal output.
"""

import gzip
import hashlib
import pathlib
import sys

TYPES = {
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".json": "application/json",
    ".png": "image/png",
    ".svg": "image/svg+xml",
    ".woff2": "font/woff2",
}

SOURCE = """// Made by src/console/embed.py.
#include "console/files.h"

asm(".pushsection .rodata\\n"
    ".balign 16\\n"
    ".hidden takt_console_blob\\n"
    ".global takt_console_blob\\n"
    "takt_console_blob:\\n"
    ".incbin \\"{blob}\\"\\n"
    ".popsection\\n");

extern "C" __attribute__((visibility("hidden"))) const char takt_console_blob[];

namespace takt::internal {{
namespace {{

const ConsoleFile kFiles[] = {{
{entries}}};

}}  // namespace

std::span<const ConsoleFile> ConsoleFiles() {{
    return kFiles;
}}

}}  // namespace takt::internal
"""

ENTRY = """    {{"{path}", "{type}", {{takt_console_blob + {at}, {size}}},
     {{takt_console_blob + {gzip_at}, {gzip_size}}}, "\\"{etag}\\"", {immutable}}},
"""


def main(folder: pathlib.Path, output: pathlib.Path) -> None:
    blob = bytearray()
    entries = []
    files = sorted((f for f in folder.rglob("*") if f.is_file()),
                   key=lambda f: f.relative_to(folder).as_posix().encode())
    for file in files:
        path = "/" + file.relative_to(folder).as_posix()
        if file.suffix not in TYPES:
            sys.exit(f"embed.py: {path}: what is {file.suffix}? Add its type to TYPES.")
        plain = file.read_bytes()
        # No time stamp: the same files must give the same program.
        small = gzip.compress(plain, 9, mtime=0)
        if len(small) > 0.9 * len(plain):
            small = b""
        entries.append(ENTRY.format(
            path=path, type=TYPES[file.suffix], at=len(blob), size=len(plain),
            gzip_at=len(blob) + len(plain), gzip_size=len(small),
            etag=hashlib.sha256(plain).hexdigest()[:20],
            immutable="true" if path.startswith("/assets/") else "false"))
        blob += plain + small
    if not any(f.name == "index.html" for f in files):
        sys.exit(f"embed.py: {folder} has no index.html: has the console been built?")
    blob_path = output.with_suffix(".blob")
    blob_path.write_bytes(blob)
    output.write_text(SOURCE.format(blob=blob_path.as_posix(), entries="".join(entries)))


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]))
