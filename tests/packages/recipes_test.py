"""Every code of the packages' pages runs, one block after the other, against a scheduler."""
import os
import re
import subprocess
import sys
import tempfile
import unittest

from cluster import SOURCE, ClusterTest


def blocks(page, language):
    """The blocks of a page as one program; workers are started rather than run to their end."""
    text = (SOURCE / "docs" / page).read_text()
    code = "\n".join(re.findall(rf"^```{language}\n(.*?)^```$", text, re.M | re.S))
    if not code:
        raise AssertionError(f"{page} has no code")
    return code


class RecipesTest(ClusterTest):
    def follow(self, command, program, suffix):
        self.serve()
        program = program.replace("http://127.0.0.1:8080", self.url)
        with tempfile.NamedTemporaryFile("w", suffix=suffix) as file:
            file.write(program)
            file.flush()
            ended = subprocess.run([*command, file.name], capture_output=True, text=True, check=False, timeout=120,
                                   env={**os.environ, "PYTHONPATH": str(SOURCE / "sdk/python/src")})
        self.assertEqual((ended.returncode, ended.stderr), (0, ""), ended.stdout)

    def test_python(self):
        self.follow([sys.executable], blocks("python.md", "python").replace(".run()\n", ".start()\n"), ".py")

    def test_python_for_those_who_come_from_other_queues(self):
        program = blocks("coming_from_queues.md", "python").replace(".run()\n", ".start()\n")
        self.follow([sys.executable], program, ".py")

    def test_both_pages_have_the_same_ten_recipes(self):
        titles = [re.findall(r"^## (\d+\. .*)$", (SOURCE / "docs" / page).read_text(), re.M)
                  for page in ("python.md", "node.md")]
        self.assertEqual(len(titles[0]), 10)
        self.assertEqual(titles[0], titles[1])

    def test_node(self):
        program = blocks("node.md", "ts").replace('from "takt"', f'from "{os.environ["TAKT_NODE_PACKAGE"]}/dist/index.js"')
        program = re.sub(r"await (\w+)\.run\(\);", r"\1.start();", program)
        # Its workers would go on.
        self.follow(["node"], program + "\nprocess.exit(0);\n", ".mjs")


if __name__ == "__main__":
    unittest.main()
