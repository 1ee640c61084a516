"""Installs Takt somewhere else and builds a program of another project with it, as a user would:
with g++, by CMake's find_package and by pkg-config. The program brings an SQLite of its own."""
import os
import pathlib
import tempfile
import unittest

from support import BUILD, SANITIZED, UNLINKABLE, run

OUTSIDE = pathlib.Path(__file__).resolve().parent / "outside"


class InstallTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.temporary = tempfile.TemporaryDirectory(prefix="takt-install-")
        cls.addClassCleanup(cls.temporary.cleanup)
        cls.prefix = pathlib.Path(cls.temporary.name) / "prefix"
        run("cmake", "--install", BUILD, "--prefix", cls.prefix, "--strip")
        cls.library = next(cls.prefix.glob("lib/**/libtakt.so.0.1")).parent

    def folder(self, name):
        folder = pathlib.Path(self.temporary.name) / name
        folder.mkdir()
        return folder

    def run_program(self, program):
        """Schedules, runs and looks at a task, all inside the program."""
        env = dict(os.environ, LD_LIBRARY_PATH=str(self.library))
        store = f"file:{tempfile.mkdtemp(dir=self.temporary.name)}"
        self.assertEqual(run(program, store, env=env).strip(), 'success "hello"')

    @unittest.skipIf(SANITIZED, UNLINKABLE)
    def test_program_finds_takt_by_cmake(self):
        build = self.folder("by-cmake")
        run("cmake", "-S", OUTSIDE, "-B", build, "-DCMAKE_CXX_COMPILER=g++",
            f"-DCMAKE_PREFIX_PATH={self.prefix}")
        run("cmake", "--build", build)
        self.run_program(build / "outside")

    @unittest.skipIf(SANITIZED, UNLINKABLE)
    def test_program_finds_takt_by_pkg_config(self):
        build = self.folder("by-pkg-config")
        env = dict(os.environ, PKG_CONFIG_PATH=str(self.library / "pkgconfig"))
        flags = run("pkg-config", "--cflags", "--libs", "takt", env=env).split()
        run("g++", "-std=c++20", "-Wall", "-Wextra", "-Werror", OUTSIDE / "main.cc",
            "-o", build / "outside", *flags)
        self.run_program(build / "outside")
        self.assertEqual(run("pkg-config", "--modversion", "takt", env=env).strip(), "0.1.0")

    def test_library_offers_its_public_names_only(self):
        # Another version of fmt or protobuf in the same program must not meet ours.
        symbols = run("nm", "-DC", "--defined-only", self.library / "libtakt.so.0.1").splitlines()
        names = [line.split(" ", 2)[2] for line in symbols]
        self.assertTrue(any(name.startswith("takt::Scheduler::Start") for name in names))
        self.assertIn("takt::kVersion", names)
        foreign = [name for name in names if "takt::internal" in name or "takt::" not in name]
        self.assertEqual(foreign, [])

    def test_binary_runs_from_where_it_is_installed(self):
        self.assertIn("0.1.0", run(self.prefix / "bin" / "takt", "--version"))
        completion = self.prefix / "share/bash-completion/completions/takt"
        self.assertIn("complete -o default -F _takt takt", completion.read_text())


if __name__ == "__main__":
    unittest.main()
