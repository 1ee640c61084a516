"""The Chinese pages say what the English ones say, as far as a program can tell: the same headings, code,
tables and links, in the same order. What it finds is told by page, section and line."""
import re
import unittest

from pages import SOURCE, sections

# English page: its translation.
TRANSLATED = {
    "README.md": "README.zh-CN.md",
    "docs/coming_from.md": "docs/zh/coming_from.md",
    "docs/configuration.md": "docs/zh/configuration.md",
    "docs/console.md": "docs/zh/console.md",
    "docs/definitions.md": "docs/zh/definitions.md",
    "docs/go_kits.md": "docs/zh/go_kits.md",
    "docs/locks.md": "docs/zh/locks.md",
    "docs/namespaces.md": "docs/zh/namespaces.md",
    "docs/node.md": "docs/zh/node.md",
    "docs/operating.md": "docs/zh/operating.md",
    "docs/python.md": "docs/zh/python.md",
    "docs/upgrading.md": "docs/zh/upgrading.md",
    "docs/workflows.md": "docs/zh/workflows.md",
}


def first_difference(english, chinese):
    for at, (left, right) in enumerate(zip(english, chinese)):
        if left != right:
            return f"line {at}: English {left!r}, Chinese {right!r}"
    longer, which = (english, "English") if len(english) > len(chinese) else (chinese, "Chinese")
    return f"only the {which} page has the line {longer[min(len(english), len(chinese))]!r}"


def targets(page, section):
    """Where the section's links lead; translated pages count as the page that they translate."""
    back = {SOURCE / chinese: SOURCE / english for english, chinese in TRANSLATED.items()}
    found = set()
    for link in section.links():
        path = (page.parent / link.split("#")[0]).resolve() if link.split("#")[0] else page
        # A picture of the console in Chinese counts as the one it translates, too.
        found.add(str(back.get(path, path).relative_to(SOURCE)).replace("-zh.png", ".png"))
    return found


def compare(english, chinese):
    """Sentences, one for each thing that is out of step."""
    left, right = sections(english), sections(chinese)
    names = f"{english.relative_to(SOURCE)} and {chinese.relative_to(SOURCE)}"
    told = []
    for at in range(max(len(left), len(right))):
        if at >= len(right):
            told.append(f"{names}: the section '{left[at].title}' has no translation")
            continue
        if at >= len(left):
            told.append(f"{names}: the section '{right[at].title}' has no English original")
            continue
        one, other = left[at], right[at]
        where = f"{names}: section {at + 1}, '{one.title}' and '{other.title}'"
        if one.level != other.level:
            # From here on nothing fits; what follows would only hide the place.
            told.append(f"{where}: headings of level {one.level} and {other.level}: a section is "
                        "missing or in another place")
            return told
        told += compare_sections(where, one, other)
        gone, new = (targets(english, one) - targets(chinese, other),
                     targets(chinese, other) - targets(english, one))
        # A page names its own translation at the top.
        if (gone or new) - {str(english.relative_to(SOURCE))}:
            told.append(f"{where}: links only in English: {sorted(gone)}, only in Chinese: {sorted(new)}")
    return told


def compare_sections(where, one, other):
    told = []
    if len(one.blocks) != len(other.blocks):
        told.append(f"{where}: {len(one.blocks)} and {len(other.blocks)} code blocks")
    for number, (left, right) in enumerate(zip(one.blocks, other.blocks), 1):
        if left != right:
            told.append(f"{where}: code block {number}: {first_difference(left, right)}")
    left = [re.findall(r"`[^`]+`", row) for row in one.rows]
    right = [re.findall(r"`[^`]+`", row) for row in other.rows]
    if len(left) != len(right):
        told.append(f"{where}: {len(left)} and {len(right)} rows of tables; {first_difference(left, right)}")
    spans, translated = set(one.code()), set(other.code())
    if spans != translated:
        told.append(f"{where}: code only in English: {sorted(spans - translated)}, only in Chinese: "
                    f"{sorted(translated - spans)}")
    return told


def keys(page):
    """key: default of each row of the tables of keys."""
    rows = [row for section in sections(page) for row in section.rows]
    found = {}
    for row in rows:
        if match := re.match(r"\| `([a-z_]+\.[a-z_]+)` \| [^|]+ \| ([^|]*) \| ([^|]*) \|$", row):
            found[match[1]] = match[2].strip()
    return found


class Translations(unittest.TestCase):
    maxDiff = None

    def test_headings_code_tables_and_links_are_the_same(self):
        # Somebody changes the English page and does not know that there is another one.
        told = [sentence for english, chinese in TRANSLATED.items()
                for sentence in compare(SOURCE / english, SOURCE / chinese)]
        self.assertEqual(told, [], "out of step:\n" + "\n".join(told))

    def test_the_chinese_page_has_every_key_with_its_default(self):
        # A key that half of the readers never hear of.
        english, chinese = (keys(SOURCE / page) for page in
                            ("docs/configuration.md", "docs/zh/configuration.md"))
        self.assertGreater(len(english), 60)
        told = [f"docs/zh/configuration.md lacks {key}" for key in english if key not in chinese]
        told += [f"docs/zh/configuration.md has {key}, which is no key" for key in chinese
                 if key not in english]
        told += [f"the default of {key} is {english[key] or 'empty'}, not {chinese[key] or 'empty'}"
                 for key in english if key in chinese and english[key] != chinese[key]]
        self.assertEqual(told, [], "\n".join(told))
        self.assertEqual(list(english), list(chinese), "the order of the keys")

    def test_every_chinese_page_is_a_translation(self):
        # A page that nobody compares rots.
        found = {str(path.relative_to(SOURCE)) for path in (SOURCE / "docs" / "zh").glob("*.md")}
        self.assertEqual(found | {"README.zh-CN.md"}, set(TRANSLATED.values()))

    def test_the_chinese_pages_are_in_chinese(self):
        # A section that was copied and not translated.
        for page in TRANSLATED.values():
            for section in sections(SOURCE / page):
                text = re.sub(r"`[^`]*`|\]\([^)]*\)|[^\w]", "", section.text)
                if len(text) > 40:
                    share = len(re.findall(r"[\u4e00-\u9fff]", text)) / len(text)
                    self.assertGreater(share, 0.3, f"{page}: {section.title}")

    def test_a_difference_is_noticed(self):
        # The check itself must be able to fail.
        english = sections(SOURCE / "README.md")[2]
        for change in ("blocks", "rows", "text"):
            other = sections(SOURCE / "README.zh-CN.md")[2]
            if change == "blocks":
                other.blocks[0] = other.blocks[0] + ["one more"]
            elif change == "rows":
                other.rows = other.rows + ["| `more` |"]
            else:
                other.text += "`more`"
            self.assertTrue(compare_sections("here", english, other), change)


if __name__ == "__main__":
    unittest.main()
