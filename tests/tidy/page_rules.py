"""Rules about the pages: what they say of the tree is so."""
import re

from tree import Finding, line_of

WHERE_ROWS_MIN = 20


def architecture(tree, table):
    """ARCHITECTURE.md has each folder of src/ once, and nobody sees what stands below it."""
    page = "ARCHITECTURE.md"
    text = tree.texts[page]
    rows = [(match[1], line_of(text, match.start()))
            for match in re.finditer(r"^\| `src/(\w+)` \|", text, re.MULTILINE)]
    names = [name for name, _ in rows]
    folders = {path.split("/")[1] for path in tree.paths(r"^src/\w+/.*\.(cc|h)$")}
    found = [Finding(page, 1, f"src/{folder} is not in the table of layers: say what it is")
             for folder in sorted(folders - set(names))]
    above = set()
    for name, line in rows:
        if name in above:
            found.append(Finding(page, line, f"src/{name} stands here twice"))
        above.add(name)
        if name not in folders:
            found.append(Finding(page, line, f"there is no src/{name}: take the line out"))
        seen = {room.split("/")[0] for folder, rooms in table.items() if folder.split("/")[0] == name for room in rooms}
        for room in sorted(seen - above):
            found.append(Finding(page, line, f"src/{name} sees src/{room} (tests/tidy/layers.txt), which stands below "
                                 "it: put it further down"))
    return found


def where(tree):
    """docs/where.md: each file is there, and each symbol in it."""
    page = "docs/where.md"
    text = tree.texts.get(page, "")
    rows = [(match, line_of(text, match.start())) for match in re.finditer(
        r"^\| ([^|]+) \| \[[^\]]+\]\(\.\./([^)]+)\) \| ([^|]*) \|", text, re.MULTILINE)]
    found = []
    if len(rows) < WHERE_ROWS_MIN:
        found.append(Finding(page, 1, f"{len(rows)} rows like | rule | [file](../file) | `Symbol` |; at least "
                             f"{WHERE_ROWS_MIN}"))
    for match, line in rows:
        path = match[2]
        if path not in tree.texts:
            found.append(Finding(page, line, f"{path} is gone: where is the rule for '{match[1]}' now?"))
            continue
        for symbol in re.findall(r"`([^`]+)`", match[3]):
            last = symbol.split("::")[-1].rstrip("()")
            if not re.search(rf"\b{re.escape(last)}\b", tree.texts[path]):
                found.append(Finding(page, line, f"{path} has no {symbol}: where is the rule for '{match[1]}' now?"))
    return found


def named_sections(tree):
    """A section that the text of a program sends people to, `docs/x.md, "Title"`, is there."""
    found = []
    for path in tree.paths(r"^(src|sdk|web/src)/.*\.(cc|h|ts|tsx|py|go|js)$"):
        text = tree.texts[path]
        for match in re.finditer(r'(docs/[\w/]+\.md), \\?"([A-Z][^"\\]+)', text):
            page, title = match[1], match[2]
            if not re.search(rf"^#+ {re.escape(title)}\s*$", tree.texts.get(page, ""), re.MULTILINE):
                found.append(Finding(path, line_of(text, match.start()), f"{page} has no section '{title}'"))
    return found


def pictured_results(tree):
    """bench/results holds what a page quotes, and nothing else."""
    quoted = "\n".join(tree.texts[path] for path in tree.paths(r"\.(md|py)$")) + tree.texts.get("bench/run", "")
    return [Finding(path, 1, "no page quotes it: delete it") for path in sorted(tree.names)
            if path.startswith("bench/results/") and path.split("/")[-1] not in ("README.md", ".gitignore")
            and path[len("bench/results/"):] not in quoted]
