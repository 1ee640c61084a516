"""The Debian packages: what is in them and what they need. They are made, not installed."""
import json
import pathlib
import tempfile
import unittest

from support import BUILD, SANITIZED, run

SOURCE = pathlib.Path(__file__).resolve().parents[2]


def commands_in(folder):
    """By object, the command that compiles it, as seen from its build folder."""
    commands = [entry["command"].replace(str(folder), "BUILD")
                for entry in json.loads((folder / "compile_commands.json").read_text())]
    return {command.split(" -o ")[1].split()[0]: command for command in commands}


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

    def test_command_line_comes_with_units_users_and_a_configuration(self):
        # Who installs the package has a service to enable, and copies nothing out of a clone.
        files = self.files("takt")
        for file in ("systemd/system/takt-server.service", "systemd/system/takt-worker@.service",
                     "sysusers.d/takt.conf", "tmpfiles.d/takt.conf"):
            self.assertIn(f"/usr/lib/{file}", files)
        for file in ("server.yaml", "worker.yaml"):
            self.assertIn(f"/usr/share/takt/{file}", files)
        script = run("dpkg-deb", "-I", self.packages["takt"], "postinst")
        self.assertRegex(script, "systemd-sysusers .*takt.conf")
        self.assertNotIn("systemctl enable", script)

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
        # Of the archive alone.
        suggested = self.field("libtakt-client-dev", "Suggests").split(", ")
        manual = (SOURCE / "docs" / "cpp.md").read_text(encoding="utf-8")
        for name in ("spdlog", "fmt", "boost-json", "protobuf", "zstd", "ssl", "zlib1g"):
            found = [package for package in suggested if name in package]
            self.assertEqual(len(found), 1, name)
            self.assertIn(f"`{found[0]}`", manual)


class Objects(unittest.TestCase):
    @unittest.skipIf(SANITIZED, "no package is made of a sanitized build")
    def test_without_the_tests_they_are_compiled_by_the_same_commands(self):
        # A package is built without fail points. If that were in every command, nothing of the build that is there
        # could be used again.
        with tempfile.TemporaryDirectory(prefix="takt-package-") as folder:
            run("cmake", "--preset", "release", "-B", folder, "-DTAKT_TESTING=OFF", cwd=SOURCE)
            packaged, tested = commands_in(pathlib.Path(folder)), commands_in(BUILD)
        self.assertLess(packaged.keys(), tested.keys())
        self.assertEqual(packaged, {file: tested[file] for file in packaged})


if __name__ == "__main__":
    unittest.main()
