"""The documentation as a small static site: docs/site/build.py FOLDER.

Pages are made from the Markdown of this tree, with navigation, a search box and a dark theme. Nothing is fetched
when they are read: they work from a disk as well as from a server. A link that leads nowhere fails the build.
"""
import html
import html.parser
import json
import os
import pathlib
import posixpath
import re
import shutil
import sys

import markdown

SITE = pathlib.Path(__file__).resolve().parent
SOURCE = SITE.parents[1]

# The order in which people need them; the console's pages of help have it too. A page that is in no group fails the build.
GROUPS = {
    "en": [(group["en"], group["pages"]) for group in json.loads((SITE / "pages.json").read_text())],
    "zh": [("中文", ["README.zh-CN.md", "docs/zh/*.md"])],
}
WORDS = {
    "en": {"search": "Search", "none": "Nothing found", "other": "中文", "theme": "Dark or light"},
    "zh": {"search": "搜索", "none": "没有结果", "other": "English", "theme": "深色或浅色"},
}


def anchor(title):
    """The name that GitHub gives to a heading, so that links work in both places."""
    return re.sub(r"[^\w\- ]", "", title.lower()).strip().replace(" ", "-")


def language(name):
    return "zh" if name.startswith("docs/zh/") or name.endswith(".zh-CN.md") else "en"


def translation(name, names):
    """The same page in the other language, or None."""
    if name == "README.md":
        other = "README.zh-CN.md"
    elif name == "README.zh-CN.md":
        other = "README.md"
    elif name.startswith("docs/zh/"):
        other = "docs/" + name[len("docs/zh/"):]
    else:
        other = re.sub(r"^docs/", "docs/zh/", name)
    return other if other in names else None


def address(name):
    """Where a page is in the site."""
    if name == "README.md":
        return "index.html"
    return re.sub(r"\.md$", ".html", name)


def page_names():
    names = [name for name in ("README.md", "README.zh-CN.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md")
             if (SOURCE / name).exists()]
    names += sorted(str(path.relative_to(SOURCE)) for path in (SOURCE / "docs").rglob("*.md"))
    return names


def navigation(names):
    """{language: [(group, [page])]}; every page once."""
    left = list(names)
    groups = {}
    for tongue, wanted in GROUPS.items():
        groups[tongue] = []
        for title, patterns in wanted:
            members = []
            for pattern in patterns:
                found = [name for name in left if pathlib.PurePath(name).match(pattern)
                         and language(name) == tongue and pattern.count("/") == name.count("/")]
                members += found
                left = [name for name in left if name not in found]
            groups[tongue].append((title, members))
    if left:
        raise SystemExit(f"docs: in no group of docs/site/pages.json: {', '.join(left)}")
    return groups


class Page:
    def __init__(self, name, text):
        self.name = name
        title = re.search(r"(?m)^# (.+)$", text)
        self.title = re.sub(r"[`*]", "", title[1]) if title else name
        # A list may follow its sentence without an empty line, as GitHub has it.
        text = re.sub(r"(?m)^((?!\s*([-*]|\d+\.) |\||#|$).*\n)(?=([-*]|1\.) )", r"\1\n", text)
        maker = markdown.Markdown(extensions=["tables", "fenced_code", "toc", "sane_lists"], extension_configs={
            "toc": {"slugify": lambda value, separator: anchor(value), "toc_depth": "2-3"}}, tab_length=2)
        self.body = maker.convert(text)
        self.contents = maker.toc
        self.links = []  # (address, heading) in the site, for the check.

    def rewrite(self, names):
        """Links to other pages lead to their places in the site; to sources, nowhere: they are not in it."""
        here = posixpath.dirname(self.name)

        def replace(match):
            target, _, heading = html.unescape(match[1]).partition("#")
            if re.match(r"[a-z]+:", target):
                return match[0]
            name = posixpath.normpath(posixpath.join(here, target)) if target else self.name
            if name in names:
                self.links.append((address(name), heading))
                to = posixpath.relpath(address(name), posixpath.dirname(address(self.name)) or ".")
                return f'<a href="{html.escape(to + ("#" + heading if heading else ""))}">{match[2]}</a>'
            if not (SOURCE / name).exists():
                raise SystemExit(f"docs: {self.name}: {target} does not exist")
            return f'<span class="source" title="{html.escape(name)}">{match[2]}</span>'

        self.body = re.sub(r'<a href="([^"]*)">(.*?)</a>', replace, self.body, flags=re.S)
        # Wide tables scroll by themselves, not the page.
        self.body = self.body.replace("<table>", '<div class="table"><table>').replace("</table>", "</table></div>")


class Reader(html.parser.HTMLParser):
    """Headings with their text, for the search, and every name that a link may lead to."""

    def __init__(self):
        super().__init__()
        self.sections = [["", "", ""]]  # anchor, title, text
        self.names, self.pictures, self.in_heading = set(), [], False

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        if attrs.get("id"):
            self.names.add(attrs["id"])
        if tag == "img":
            self.pictures.append(attrs["src"])
        if tag in ("h1", "h2", "h3", "h4"):
            self.in_heading = True
            self.sections.append([attrs.get("id", ""), "", ""])

    def handle_endtag(self, tag):
        if tag in ("h1", "h2", "h3", "h4"):
            self.in_heading = False

    def handle_data(self, data):
        self.sections[-1][1 if self.in_heading else 2] += data


def read(page):
    reader = Reader()
    reader.feed(page.body)
    return reader


def copy_pictures(readers, folder):
    for name, reader in readers.items():
        for picture in reader.pictures:
            path = posixpath.normpath(posixpath.join(posixpath.dirname(name), picture))
            if (SOURCE / path).is_file() and not path.startswith(".."):
                (folder / path).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(SOURCE / path, folder / path)


def check(pages, readers, folder):
    """Links that lead nowhere."""
    by_address = {address(name): name for name in pages}
    broken = []
    for name, page in pages.items():
        for to, heading in page.links:
            if heading and heading not in readers[by_address[to]].names:
                broken.append(f"{name}: no heading '{heading}' in {by_address[to]}")
        for picture in readers[name].pictures:
            path = posixpath.normpath(posixpath.join(posixpath.dirname(address(name)), picture))
            if not (folder / path).exists():
                broken.append(f"{name}: no picture {picture}")
    return broken


def side(groups, page, pages):
    """The navigation as this page shows it."""
    here = posixpath.dirname(address(page.name)) or "."
    parts = []
    for title, members in groups[language(page.name)]:
        if not members:
            continue
        parts.append(f"<h2>{html.escape(title)}</h2><ul>")
        for name in members:
            current = ' aria-current="page"' if name == page.name else ""
            parts.append(f'<li><a href="{posixpath.relpath(address(name), here)}"{current}>'
                         f"{html.escape(pages[name].title)}</a></li>")
        parts.append("</ul>")
    return "".join(parts)


def build(folder):
    names = page_names()
    groups = navigation(names)
    pages = {name: Page(name, (SOURCE / name).read_text()) for name in names}
    for page in pages.values():
        page.rewrite(set(names))
    if folder.exists():
        shutil.rmtree(folder)
    folder.mkdir(parents=True)
    for name in ("style.css", "search.js"):
        shutil.copy(SITE / name, folder / name)
    readers = {name: read(page) for name, page in pages.items()}
    copy_pictures(readers, folder)
    if broken := check(pages, readers, folder):
        raise SystemExit("docs: links that lead nowhere:\n  " + "\n  ".join(broken))
    frame = (SITE / "page.html").read_text()
    index = []
    for name in (name for parts in groups.values() for _, members in parts for name in members):
        page = pages[name]
        tongue, here = language(name), posixpath.dirname(address(name)) or "."
        other = translation(name, names) or ("README.zh-CN.md" if tongue == "en" else "README.md")
        values = {"language": "zh-CN" if tongue == "zh" else "en", "title": html.escape(page.title),
                  "root": posixpath.relpath(".", here), "side": side(groups, page, pages), "body": page.body,
                  "contents": page.contents if page.contents.count("<li>") > 2 else "", "tongue": tongue,
                  "other_address": posixpath.relpath(address(other), here)}
        values.update({f"word_{key}": word for key, word in WORDS[tongue].items()})
        text = re.sub(r"\{\{(\w+)\}\}", lambda match, values=values: values[match[1]], frame)
        target = folder / address(name)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)
        for heading, title, section in readers[name].sections:
            words = " ".join(section.split())
            if title or words:
                index.append([address(name) + ("#" + heading if heading else ""), tongue, page.title,
                              title.strip(), words])
    # A script, not a file of JSON: a browser fetches none from a disk.
    (folder / "index.js").write_text("window.TAKT_PAGES = " +
                                     json.dumps(index, ensure_ascii=False, separators=(",", ":")) + ";\n")
    size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    print(f"{len(pages)} pages, {len(index)} sections, {size / 1e6:.1f} MB in {os.path.relpath(folder)}")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        raise SystemExit("usage: docs/site/build.py FOLDER")
    build(pathlib.Path(sys.argv[1]).resolve())
