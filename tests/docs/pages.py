"""Markdown, as far as the tests of the pages need it: sections, code, tables, links."""
import pathlib
import re
import subprocess

SOURCE = pathlib.Path(__file__).resolve().parents[2]


def pages():
    """Every page of the project, built and downloaded files left out."""
    listed = subprocess.run(["git", "ls-files", "--cached", "--others", "--exclude-standard", "*.md"],
                            cwd=SOURCE, capture_output=True, text=True, check=False, timeout=60)
    if listed.returncode == 0:
        return [SOURCE / name for name in listed.stdout.splitlines() if (SOURCE / name).exists()]
    # An unpacked archive has no git.
    left_out = {"node_modules", "takt-data"}
    return [path for path in SOURCE.rglob("*.md")
            if not left_out & set(path.parts) and not path.relative_to(SOURCE).parts[0].startswith("build")]


class Section:
    """What stands below one heading, up to the next."""

    def __init__(self, level, title):
        self.level, self.title = level, title
        self.blocks = []  # Code blocks, each a list of lines, its fence first.
        self.rows = []  # Rows of tables, head and rule included.
        self.text = ""  # Everything else.

    def prose(self):
        return self.text + "\n" + "\n".join(self.rows)

    def code(self):
        """Texts in single backticks."""
        return re.findall(r"`([^`\n]+)`", self.prose())

    def links(self):
        """Targets of links and images that are no URL."""
        return [target for target in re.findall(r"\]\(([^)\s]+)\)", re.sub(r"`[^`\n]*`", "", self.prose()))
                if not re.match(r"[a-z]+:", target)]


def sections(path):
    """The sections of a page; the first has level 0 if text stands before the first heading."""
    found, block = [Section(0, "")], None
    for line in path.read_text(encoding="utf-8").splitlines():
        if re.match(r"\s*```", line):
            if block is None:
                block = [line]
            else:
                found[-1].blocks.append(block)
                block = None
        elif block is not None:
            block.append(line)
        elif match := re.match(r"(#+) (.+)", line):
            found.append(Section(len(match[1]), match[2].strip()))
        elif line.startswith("|"):
            found[-1].rows.append(line)
        else:
            found[-1].text += line + "\n"
    return found[0 if found[0].text.strip() or found[0].blocks else 1:]


def anchor(title):
    """The name that GitHub gives to a heading."""
    title = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", title)
    return re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")
