"""The pieces of a release: the bill of materials against the binary, checksums, the changelog's section."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

from support import SOURCE

sys.path.insert(0, str(SOURCE / "deploy"))

import release  # noqa: E402  (a file of the neighbour's folder)

BINARY = pathlib.Path(os.environ.get("TAKT_BINARY", "build/takt"))


class Release(unittest.TestCase):
    def test_the_bill_has_every_library_and_every_npm_package_that_runs(self):
        # Somebody asks whether a release has the OpenSSL of last week's advisory.
        bill = release.bill(BINARY, "0.1.0")
        by_name = {one["name"]: one for one in bill["components"]}
        for name in ("libssl3", "libsqlite3-0", "libc6", "react", "echarts", "ws"):
            self.assertIn(name, by_name)
        self.assertNotIn("typescript", by_name, "only builds need it")
        self.assertRegex(by_name["libssl3"]["purl"], r"^pkg:deb/debian/libssl3@3\.\S+\?arch=\w+&distro=debian-12$")
        installed = subprocess.run(["dpkg-query", "-W", "-f", "${Version}", "libssl3"], capture_output=True,
                                   text=True, check=True).stdout
        self.assertEqual(by_name["libssl3"]["version"], installed)
        self.assertEqual(len(by_name["react"]["hashes"][0]["content"]), 128)
        refs = [one["bom-ref"] for one in bill["components"]]
        self.assertEqual(len(refs), len(set(refs)), "CycloneDX wants each reference once")
        self.assertEqual(bill["dependencies"][0]["dependsOn"], refs)
        self.assertEqual(bill, release.bill(BINARY, "0.1.0"), "the same tree gives the same bill")

    def test_a_library_of_no_package_is_refused(self):
        with tempfile.NamedTemporaryFile() as file, self.assertRaisesRegex(SystemExit, "of no Debian package"):
            release.debian_packages([file.name])

    def test_the_section_of_a_version_ends_where_the_next_begins(self):
        text = "# Changelog\n\n## 1.10.0 (2027-01-01)\n\nnew\n\n## 1.1.0\n\n- old\n  more\n\n## 1.0.0\n\nfirst\n"
        self.assertEqual(release.section(text, "1.1.0"), ("1.1.0", "- old\n  more\n"))
        self.assertEqual(release.section(text, "1.0.0"), ("1.0.0", "first\n"))
        with self.assertRaisesRegex(SystemExit, "no section"):
            release.section(text, "2.0.0")

    def test_a_release_is_whole_and_its_checksums_hold(self):
        number = release.version()
        with tempfile.TemporaryDirectory() as folder:
            packages, target = pathlib.Path(folder) / "packages", pathlib.Path(folder) / "target"
            packages.mkdir()
            (packages / f"takt_{number}_amd64.deb").write_bytes(b"deb")
            (packages / "takt_9.9.9_amd64.deb").write_bytes(b"of another version")
            release.release(packages, BINARY, target, draft=True)
            self.assertEqual(sorted(path.name for path in target.iterdir()),
                             ["CHANGES.md", "SHA256SUMS", f"takt-{number}.cdx.json", f"takt_{number}_amd64.deb"])
            json.loads((target / f"takt-{number}.cdx.json").read_text())
            subprocess.run(["sha256sum", "--quiet", "-c", "SHA256SUMS"], cwd=target, check=True)
            (target / f"takt_{number}_amd64.deb").write_bytes(b"changed")
            checked = subprocess.run(["sha256sum", "--quiet", "-c", "SHA256SUMS"], cwd=target, check=False,
                                     capture_output=True)
            self.assertNotEqual(checked.returncode, 0)

    def test_what_is_not_ready_is_refused(self):
        with self.assertRaisesRegex(SystemExit, "give it a date first"):
            release.refuse_unfinished("0.1.0 (not released)")
        with tempfile.TemporaryDirectory() as folder, self.assertRaisesRegex(SystemExit, "no package"):
            release.release(pathlib.Path(folder), BINARY, pathlib.Path(folder) / "target", draft=True)


if __name__ == "__main__":
    unittest.main()
