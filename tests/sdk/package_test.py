"""The Debian packages: what is in them and what they need. They are made, not installed."""
import os
import pathlib
import tempfile
import unittest

from support import BUILD, run


class PackageTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        temporary = tempfile.TemporaryDirectory(prefix="takt-package-")
        cls.addClassCleanup(temporary.cleanup)
        run("cpack", "--config", BUILD / "CPackConfig.cmake", "-B", temporary.name)
        cls.packages = {path.name.split("_")[0]: path
                        for path in pathlib.Path(temporary.name).glob("*.deb")}

    def files(self, name):
        """Paths of the files in a package."""
        lines = run("dpkg-deb", "-c", self.packages[name]).splitlines()
        return [line.split()[5].removeprefix(".") for line in lines
                if not line.split()[5].endswith("/")]

    def field(self, name, field):
        return run("dpkg-deb", "-f", self.packages[name], field).strip()

    def test_five_packages_are_made(self):
        self.assertEqual(sorted(self.packages),
                         ["libtakt-client-dev", "libtakt-client0.1", "libtakt-dev", "libtakt0.1", "takt"])
        for name in self.packages:
            self.assertEqual(self.field(name, "Package"), name)
            self.assertEqual(self.field(name, "Version"), "0.1.0")
            self.assertIn("Distributed task scheduler", self.field(name, "Description"))
            self.assertIn(f"/usr/share/doc/{name}/copyright", self.files(name))

    def test_command_line_comes_with_completion_and_what_it_is_linked_with(self):
        files = self.files("takt")
        self.assertIn("/usr/bin/takt", files)
        self.assertIn("/usr/share/bash-completion/completions/takt", files)
        self.assertEqual([file for file in files if "libtakt" in file], [])
        needs = self.field("takt", "Depends")
        for package in ("libc6", "libssl3", "libsqlite3-0", "libgrpc++", "tzdata"):
            self.assertIn(package, needs)

    def test_library_and_headers_are_apart(self):
        library = self.files("libtakt0.1")
        self.assertTrue(any(file.endswith("/libtakt.so.0.1") for file in library), library)
        self.assertEqual([file for file in library if file.endswith(".so")], [])
        self.assertIn("libstdc++6", self.field("libtakt0.1", "Depends"))
        development = self.files("libtakt-dev")
        self.assertTrue(any(file.endswith("/libtakt.so") for file in development))
        self.assertTrue(any(file.endswith("/pkgconfig/takt.pc") for file in development))
        self.assertTrue(any(file.endswith("/takt/taktConfig.cmake") for file in development))
        self.assertEqual([file for file in development if "internal" in file], [])
        self.assertEqual(self.field("libtakt-dev", "Depends"), "libtakt0.1 (= 0.1.0), libtakt-client-dev (= 0.1.0)")

    def test_the_small_library_comes_without_the_whole_one(self):
        library = self.files("libtakt-client0.1")
        self.assertTrue(any(file.endswith("/libtakt-client.so.0.1") for file in library), library)
        needs = self.field("libtakt-client0.1", "Depends")
        for package in ("sqlite", "grpc", "hiredis", "mariadb", "libtakt0"):
            self.assertNotIn(package, needs)
        development = self.files("libtakt-client-dev")
        self.assertIn("/usr/include/takt/client.h", development)
        for name in ("/libtakt-client.so", "/libtakt-client.a", "/pkgconfig/takt-client.pc",
                     "/takt-client/takt-clientConfig.cmake"):
            self.assertTrue(any(file.endswith(name) for file in development), name)
        self.assertEqual(self.field("libtakt-client-dev", "Depends"), "libtakt-client0.1 (= 0.1.0)")


if __name__ == "__main__":
    unittest.main()
