"""The C++ code of the README and of docs/cpp.md is that of the examples, which are compiled and run.

A block that begins with the comment `// examples/NAME.cc` must be what stands between the `[readme]`
marks of that file, or the whole file if it has none.
"""
import pathlib
import re
import textwrap
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
MARK = "// [readme]"


def quoted(path):
    text = (ROOT / path).read_text()
    parts = re.split(rf"^ *{re.escape(MARK)}\n", text, flags=re.M)
    if len(parts) == 1:
        return text.strip()
    return "\n".join(textwrap.dedent(part).strip("\n") + "\n" for part in parts[1::2]).strip()


def blocks(page):
    """Path and code of each marked block."""
    return re.findall(r"```cpp\n// (examples/\w+\.cc)\n(.*?)```", (ROOT / page).read_text(), re.S)


class ReadmeTest(unittest.TestCase):
    def test_code_in_the_pages_is_that_of_the_examples(self):
        for page in ("README.md", "README.zh-CN.md", "docs/cpp.md"):
            found = blocks(page)
            self.assertTrue(found, f"{page} quotes no example")
            for path, code in found:
                self.assertEqual(code.strip(), quoted(path), f"{page}: {path} has changed")

    def test_examples_can_be_read_in_one_go(self):
        for path in (ROOT / "examples").glob("*.cc"):
            self.assertLess(len(path.read_text().splitlines()), 100, path.name)


if __name__ == "__main__":
    unittest.main()
