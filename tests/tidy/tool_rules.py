"""Rules that other programs know: clang-format, prettier, eslint, Python's own compiler."""
import concurrent.futures
import pathlib
import re
import shutil
import subprocess

from tree import SOURCE, Finding


def _run(command, cwd):
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False, timeout=240)


def clang_format(paths, cwd=SOURCE, program="clang-format-19"):
    """Two at a time: that is how many cores the tests have."""
    paths = list(paths)
    # Without its style file a folder outside of the tree would get clang-format's own.
    style = f"--style=file:{SOURCE / '.clang-format'}"
    parts = [paths[at:at + 100] for at in range(0, len(paths), 100)]
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        runs = list(pool.map(lambda part: _run([program, style, "--dry-run", *part], cwd), parts))
    found, seen = [], set()
    for run in runs:
        for match in re.finditer(r"^(\S+?):(\d+):\d+: (?:warning|error): code should be clang-formatted", run.stderr,
                                 re.MULTILINE):
            if match[1] not in seen:
                found.append(Finding(match[1], int(match[2]), "not formatted: run ./dev format"))
            seen.add(match[1])
        if run.returncode != 0 and not seen:
            found.append(Finding(program, 1, "does not run: " + run.stderr[-300:]))
    return found


def _package(web, name):
    program = pathlib.Path(web) / "node_modules/.bin" / name
    return [shutil.which("node") or shutil.which("nodejs") or "node", str(program.resolve())]


def prettier(web, patterns, cwd=SOURCE):
    config = str(SOURCE / "web/prettier.config.mjs")
    run = _run([*_package(web, "prettier"), "--config", config, "--list-different", *patterns], cwd)
    found = [Finding(line, 1, "not formatted: run ./dev format")
             for line in run.stdout.splitlines() if not line.startswith("npm ")]
    if run.returncode > 1:
        found.append(Finding("web", 1, "prettier: " + run.stderr[-300:]))
    return found


def eslint(web, patterns, cwd=SOURCE):
    config = str((pathlib.Path(web) / "eslint.config.mjs").resolve())
    run = _run([*_package(web, "eslint"), "--config", config, "--format", "stylish", "--no-color", *patterns], cwd)
    found, path = [], ""
    for line in run.stdout.splitlines():
        row = re.match(r"\s+(\d+):\d+\s+(?:error|warning)\s+(.*)", line)
        if row:
            found.append(Finding(path, int(row[1]), re.sub(r"\s{2,}", "; eslint's rule ", row[2])))
        elif line.startswith("/"):
            path = str(pathlib.Path(line).relative_to(cwd)) if pathlib.Path(line).is_relative_to(cwd) else line
    if run.returncode > 1 or (run.returncode and not found):
        found.append(Finding("web", 1, "eslint: " + (run.stderr or run.stdout)[-300:]))
    return found


def python(tree):
    """Each script can be read by the Python that runs it."""
    found = []
    for path in tree.paths(r"\.py$"):
        try:
            compile(tree.texts[path], path, "exec", dont_inherit=True)
        except SyntaxError as error:
            found.append(Finding(path, error.lineno or 1, f"Python cannot read it: {error.msg}"))
    return found


def shell(tree, cwd=SOURCE):
    """Each script can be read by the shell that its first line names."""
    found = []
    for path in sorted(tree.names):
        if "." in path.split("/")[-1] or not (cwd / path).is_file():
            continue
        with open(cwd / path, "rb") as file:
            first = file.readline(80).decode(errors="replace")
        name = re.match(r"#!\S*?\b(?:env )?(bash|sh)$", first.strip())
        if not name:
            continue
        run = _run([name[1], "-n", path], cwd)
        if run.returncode:
            found.append(Finding(path, 1, "the shell cannot read it: " + run.stderr.strip()[-200:]))
    return found
