"""The sources as the tidy rules see them: paths and texts, comments and strings told apart."""
import pathlib
import re
import subprocess
from typing import NamedTuple

SOURCE = pathlib.Path(__file__).resolve().parents[2]


class Finding(NamedTuple):
    """One thing to mend. `what` says what to do."""
    path: str
    line: int
    what: str

    def __str__(self):
        return f"{self.path}:{self.line}: {self.what}"


def _listed():
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=SOURCE, capture_output=True, text=True, check=False, timeout=60)
    if listed.returncode == 0:
        return listed.stdout.splitlines()
    # An unpacked archive has no git.
    left_out = ("build", "node_modules", "takt-data", ".git")
    return [str(path.relative_to(SOURCE)) for path in SOURCE.rglob("*") if path.is_file() and not any(
        part.startswith(left_out) for part in path.relative_to(SOURCE).parts)]


class Tree:
    """Texts by path. A test makes a small one of its own."""

    def __init__(self, texts, names=None):
        self.texts = texts
        self.names = set(names or texts)  # Every file, also those that are no text of ours.
        self._code = {}

    def paths(self, pattern):
        return sorted(path for path in self.texts if re.search(pattern, path))

    def code(self, path):
        """The text with comments and the insides of strings blanked; lines stay where they are."""
        if path not in self._code:
            self._code[path] = blank(self.texts[path])
        return self._code[path]


def read_tree():
    names = [name for name in _listed() if (SOURCE / name).is_file()]
    kept = re.compile(r"\.(cc|h|py|md|cmake|mjs|ts|tsx|txt|proto)$")
    texts = {name: (SOURCE / name).read_text(encoding="utf-8") for name in names if kept.search(name)}
    return Tree(texts, names)


_LEXEME = re.compile(
    r'//[^\n]*|/\*.*?\*/'  # Comments.
    r'|R"(?P<mark>[^()\s]*)\(.*?\)(?P=mark)"'  # Raw strings.
    r'|"(?:\\.|[^"\\\n])*"'
    r"|(?<![0-9A-Fa-f])'(?:\\.|[^'\\\n])+'",  # Letters; not the marks inside of numbers.
    re.DOTALL)


def _blanked(match):
    text = match[0]
    if text.startswith("/"):
        return re.sub(r"[^\n]", " ", text)
    inner = re.sub(r"[^\n]", " ", text[1:-1])
    return '"' + inner + '"'


def blank(text):
    """Includes keep their names."""
    lines = _LEXEME.sub(_blanked, text).split("\n")
    originals = text.split("\n")
    return "\n".join(originals[at] if originals[at].startswith("#include") else line
                     for at, line in enumerate(lines))


def line_of(text, position):
    return text.count("\n", 0, position) + 1


def is_test(path):
    """Tests and what only tests include."""
    return bool(re.search(r"^tests/|/(testing|conformance)/|(^|[/_])(test|testing|fixture|fake)([_.])", path))


def read_list(name):
    """A list beside the rules: words of each line; comments and empty lines left out."""
    rows = []
    for line in (pathlib.Path(__file__).parent / name).read_text(encoding="utf-8").splitlines():
        words = line.split("#")[0].split()
        if words:
            rows.append(words)
    return rows
