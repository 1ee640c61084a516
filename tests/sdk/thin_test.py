"""libtakt-client: what it needs, what it offers, and a program of another project that uses it, as a
shared library and linked in, against a scheduler of its own."""
import os
import pathlib
import re
import signal
import subprocess
import tempfile
import time
import unittest

from support import BUILD, SANITIZED, UNLINKABLE, run

OUTSIDE = pathlib.Path(__file__).resolve().parent / "outside_client"
# The loader and what every C++ program has count, too.
LIBRARIES_MAX = 9
BYTES_MAX = 5_000_000
WORKS = ["success 100002",
         "store_url: store_url needs the stores, which libtakt-client does not have: name the schedulers in "
         "servers, or link with libtakt",
         "a gRPC executor needs gRPC, which libtakt-client does not have: link with libtakt, or let "
         "MakeHttpExecutor call the service over HTTP"]


class ThinTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        temporary = tempfile.TemporaryDirectory(prefix="takt-thin-")
        cls.addClassCleanup(temporary.cleanup)
        cls.folder = pathlib.Path(temporary.name)
        cls.prefix = cls.folder / "prefix"
        # Without the whole library, as its packages are installed.
        for component in ("client_library", "client_development"):
            run("cmake", "--install", BUILD, "--prefix", cls.prefix, "--strip", "--component", component)
        cls.library = next(cls.prefix.glob("lib/**/libtakt-client.so.0.1"))

    def serve(self):
        """The URL of a scheduler that the test has for itself."""
        log = self.folder / "serve.log"
        env = {key: value for key, value in os.environ.items() if not key.startswith("TAKT_")}
        with open(log, "wb") as file:
            process = subprocess.Popen([BUILD / "takt", "serve", "--store", "memory:", "--listen", "127.0.0.1:0"],
                                       stdout=file, stderr=file, env=env)
        self.addCleanup(process.wait)
        self.addCleanup(process.send_signal, signal.SIGKILL)
        end = time.monotonic() + 60
        while time.monotonic() < end and process.poll() is None:
            found = re.search(r"http://127\.0\.0\.1:\d+", log.read_text())
            if found:
                return found.group()
            time.sleep(0.02)
        raise AssertionError(f"no scheduler: {log.read_text()}")

    def check(self, program):
        env = dict(os.environ, LD_LIBRARY_PATH=str(self.library.parent))
        self.assertEqual(run(program, self.serve(), env=env).splitlines(), WORKS)

    @unittest.skipIf(SANITIZED, "sanitizers bring libraries of their own, and more code")
    def test_it_is_small_and_needs_few_libraries(self):
        needed = re.findall(r"NEEDED.*\[(.*)\]", run("readelf", "-d", self.library))
        found = [line.split()[0] for line in run("ldd", self.library).splitlines() if "linux-vdso" not in line]
        self.assertLessEqual(len(found), LIBRARIES_MAX, found)
        self.assertLessEqual({name.split(".so")[0] for name in needed},
                             {"libcrypto", "libssl", "libprotobuf", "libz", "libstdc++", "libm", "libgcc_s", "libc",
                              "ld-linux-x86-64"})
        self.assertLess(self.library.stat().st_size, BYTES_MAX)

    def test_it_offers_the_public_names_of_clients_and_workers_only(self):
        symbols = run("nm", "-DC", "--defined-only", self.library).splitlines()
        names = [line.split(" ", 2)[2] for line in symbols]
        for name in ("takt::Client::Client", "takt::Worker::Start", "takt::SchedulerApi::SubmitTask", "takt::kVersion"):
            self.assertTrue(any(each.startswith(name) for each in names), name)
        foreign = [name for name in names if "takt::internal" in name or "takt::" not in name]
        self.assertEqual(foreign, [])
        self.assertEqual([name for name in names if "takt::Scheduler::" in name], [])

    def test_its_name_changes_with_each_minor_version(self):
        self.assertIn("[libtakt-client.so.0.1]", run("readelf", "-d", self.library))

    @unittest.skipIf(SANITIZED, UNLINKABLE)
    def test_a_program_uses_it_by_cmake(self):
        build = self.folder / "by-cmake"
        run("cmake", "-S", OUTSIDE, "-B", build, "-DCMAKE_CXX_COMPILER=g++", f"-DCMAKE_PREFIX_PATH={self.prefix}")
        run("cmake", "--build", build)
        # It brings an SQLite and a zstd of its own.
        self.check(build / "outside_client")
        self.check(build / "outside_static")

    @unittest.skipIf(SANITIZED, UNLINKABLE)
    def test_a_program_uses_it_by_pkg_config(self):
        env = dict(os.environ, PKG_CONFIG_PATH=str(self.library.parent / "pkgconfig"))
        flags = run("pkg-config", "--cflags", "--libs", "takt-client", env=env).split()
        program = self.folder / "by-pkg-config"
        run("g++", "-std=c++20", "-Wall", "-Wextra", "-Werror", OUTSIDE / "main.cc", "-o", program, *flags)
        self.check(program)
        self.assertIn("-lprotobuf", run("pkg-config", "--static", "--libs", "takt-client", env=env))


if __name__ == "__main__":
    unittest.main()
