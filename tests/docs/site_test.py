"""The site that ./dev docs makes: every page, links that hold, a search that works from a disk."""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

from pages import SOURCE

sys.path.insert(0, str(SOURCE / "docs" / "site"))

import build  # noqa: E402  (a file of the pages' folder)

CHROMIUM = os.environ.get("TAKT_CHROMIUM", "/usr/bin/chromium")


class Site(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="takt-site-"))
        cls.addClassCleanup(shutil.rmtree, cls.folder, True)
        build.build(cls.folder / "site")
        cls.site = cls.folder / "site"

    def test_every_page_is_there_in_the_navigation_of_its_language(self):
        for name in build.page_names():
            self.assertTrue((self.site / build.address(name)).exists(), name)
        english = (self.site / "index.html").read_text()
        chinese = (self.site / "docs" / "zh" / "locks.html").read_text()
        self.assertIn('href="docs/stores/redis.html"', english)
        self.assertNotIn('href="docs/zh/locks.html"', english.split("<main>")[0])
        self.assertIn('href="../locks.html"', chinese, "the same page in the other language")
        self.assertIn('lang="zh-CN"', chinese)

    def test_nothing_is_fetched_from_elsewhere(self):
        for path in self.site.rglob("*.html"):
            for where in re.findall(r'<(?:script|link|img)[^>]+(?:src|href)="([^"]+)"', path.read_text()):
                self.assertNotRegex(where, r"^(https?:)?//", path)

    def test_a_link_that_leads_nowhere_fails_the_build(self):
        names = {"README.md", "docs/cli.md"}
        lost = build.Page("README.md", "# A\n\n[gone](docs/gone.md)\n")
        with self.assertRaisesRegex(SystemExit, "docs/gone.md does not exist"):
            lost.rewrite(names)
        pages = {"README.md": build.Page("README.md", "# A\n\n[heading](docs/cli.md#nowhere)\n"),
                 "docs/cli.md": build.Page("docs/cli.md", "# B\n\n## Exit codes\n")}
        for page in pages.values():
            page.rewrite(names)
        readers = {name: build.read(page) for name, page in pages.items()}
        self.assertEqual(build.check(pages, readers, self.site), ["README.md: no heading 'nowhere' in docs/cli.md"])
        with self.assertRaisesRegex(SystemExit, "in no group"):
            build.navigation(["docs/deep/new/page.md"])

    def search(self, page, words):
        """What the box shows, in a browser that reads the site from a disk."""
        shown = subprocess.run(
            [CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={self.folder}/browser",
             "--virtual-time-budget=5000", "--dump-dom", f"file://{self.site}/{page}?search={words}"],
            capture_output=True, text=True, check=True, timeout=120).stdout
        found = re.search(r'<ol id="found".*?</ol>', shown, re.S)[0]
        return re.findall(r'href="([^"]+)"', found)

    def test_the_search_finds_sections_in_both_languages(self):
        self.assertIn("docs/cli.html#exit-codes", [link.removeprefix("./") for link in
                                                   self.search("index.html", "exit%20codes")])
        self.assertTrue(any("zh/locks.html" in link for link in
                            self.search("docs/zh/locks.html", "%E9%94%81")))
        self.assertEqual(self.search("index.html", "zzzzqqqq"), [])

    def test_a_word_is_not_found_first_in_the_middle_of_others(self):
        """A lease is looked for; every page speaks of releases."""
        sections = {entry[0]: " ".join(entry[2:]) for entry in json.loads(
            (self.site / "index.js").read_text().removeprefix("window.TAKT_PAGES = ").rstrip(";\n"))}
        found = [link.removeprefix("./") for link in self.search("index.html", "lease")]
        self.assertTrue(found)
        for link in found:
            self.assertRegex(sections[link].lower(), r"(?<![a-z0-9])lease", f"{link}: only of what is released")


if __name__ == "__main__":
    unittest.main()
