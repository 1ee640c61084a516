"""The console's shapes of the API are those that the program says of itself."""
import os
import pathlib
import subprocess
import tempfile
import unittest

SOURCE = pathlib.Path(__file__).resolve().parents[2]


class TypesTest(unittest.TestCase):
    def test_the_shapes_are_made_from_the_description(self):
        # Somebody adds a field to an answer, and the console reads it under another name.
        description = subprocess.run([os.environ["TAKT_BINARY"], "openapi"], check=True,
                                     capture_output=True).stdout
        with tempfile.TemporaryDirectory() as folder:
            source, made = pathlib.Path(folder) / "openapi.json", pathlib.Path(folder) / "schema.ts"
            source.write_bytes(description)
            write = [os.environ["TAKT_NODE"], SOURCE / "web/types.mjs", source, made]
            subprocess.run(write, check=True)
            built = pathlib.Path(os.environ["TAKT_WEB"]) / "src/api/schema.ts"
            self.assertEqual(built.read_text(encoding="utf-8"), made.read_text(encoding="utf-8"))
            # Else every change of the program would build the console anew.
            before = made.stat().st_mtime_ns
            subprocess.run(write, check=True)
            self.assertEqual(made.stat().st_mtime_ns, before, "written without need")


if __name__ == "__main__":
    unittest.main()
