"""The console's shapes of the API are those that the program says of itself."""
import os
import pathlib
import subprocess
import unittest

SOURCE = pathlib.Path(__file__).resolve().parents[2]


class TypesTest(unittest.TestCase):
    def test_the_shapes_are_made_from_the_description(self):
        # Somebody adds a field to an answer, and the console reads it under another name.
        description = subprocess.run([os.environ["TAKT_BINARY"], "openapi"], check=True,
                                     capture_output=True).stdout
        made = subprocess.run([os.environ["TAKT_NODE"], SOURCE / "web/types.mjs"], check=True,
                              input=description, capture_output=True).stdout.decode()
        self.assertEqual((SOURCE / "web/src/api/schema.ts").read_text(encoding="utf-8"), made,
                         "write it anew: takt openapi | node web/types.mjs >web/src/api/schema.ts")


if __name__ == "__main__":
    unittest.main()
