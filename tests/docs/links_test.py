"""Links between pages lead somewhere, and commands in pages are commands that there are."""
import functools
import os
import re
import subprocess
import unittest

from pages import SOURCE, anchor, pages, sections

TAKT = os.environ.get("TAKT_BINARY", "build/takt")
# Where a shell expects a command: at the start, after an operator, in a substitution, after `--`.
COMMAND = re.compile(r"(?:^|[|;&(`'$]\s*|\s-- )(?:build/|\./build/)?takt ((?:[a-z]+(?:-[a-z]+)*\b ?)+)([^|;&\n`)]*)")


def code_of(path):
    """Each line of code of a page: blocks with their continuation lines joined, and backticks."""
    for section in sections(path):
        for block in section.blocks:
            text = re.sub(r"\\\n\s*", "", "\n".join(block[1:]))
            yield from text.splitlines()
        yield from section.code()


@functools.cache
def help_of(*words):
    """The help of a command, or None if there is none such."""
    ended = subprocess.run([TAKT, *words, "--help"], capture_output=True, text=True, check=False,
                           timeout=60, env={**os.environ, "NO_COLOR": "1"})
    # For a word that is no command the help is that of what stands before it.
    usage = f"Usage: takt {' '.join(words)} ["
    return ended.stdout if ended.returncode == 0 and usage in ended.stdout else None


class Links(unittest.TestCase):
    def test_every_link_leads_to_a_file_and_heading_that_exist(self):
        # A page moves; its neighbours still point to where it was.
        broken = []
        for page in pages():
            for section in sections(page):
                for link in section.links():
                    name, _, heading = link.partition("#")
                    target = (page.parent / name).resolve() if name else page
                    where = f"{page.relative_to(SOURCE)}: '{section.title}': {link}"
                    if not target.exists():
                        broken.append(f"{where}: no such file")
                    elif heading and target.suffix == ".md":
                        anchors = {anchor(one.title) for one in sections(target)}
                        if heading not in anchors:
                            broken.append(f"{where}: no such heading; there are {sorted(anchors)}")
        self.assertEqual(broken, [], "\n".join(broken))


    def test_every_file_of_deploy_in_the_pages_exists(self):
        # Steps of an installation that name a file which was renamed. Secrets are made by a step.
        missing = [f"{page.relative_to(SOURCE)}: {name}" for page in pages() for line in code_of(page)
                   for name in re.findall(r"(?:^|[\s`])(deploy/[\w./@-]+)", line)
                   if not name.startswith("deploy/compose/secrets") and not (SOURCE / name).exists()]
        self.assertEqual(missing, [], "\n".join(missing))


class Commands(unittest.TestCase):
    def test_every_takt_command_and_flag_in_the_pages_exists(self):
        # Somebody copies a line from a page into a terminal.
        wrong, seen = [], 0
        for page in pages():
            for line in code_of(page):
                # A comment is no part of the command; what `docker compose` and others pass on is not ours.
                line = re.split(r"\s#\s", line)[0]
                for match in COMMAND.finditer(line):
                    seen += 1
                    if problem := self.problem_of(match[1].split(), match[2]):
                        wrong.append(f"{page.relative_to(SOURCE)}: {line.strip()}: {problem}")
        self.assertEqual(wrong, [], "\n".join(wrong))
        self.assertGreater(seen, 50, "the pages are full of commands; they are no longer found")

    def problem_of(self, words, rest):
        """Why a command line is wrong, or None."""
        command = [words[0]]
        text = help_of(*command)
        if text is None:
            return f"there is no command 'takt {words[0]}'"
        if "\nSubcommands:" in text and len(words) > 1:
            command.append(words[1])
            more = help_of(*command)
            if more is None:
                return f"there is no command 'takt {' '.join(command)}'"
            text += more
        for flag in re.findall(r"(?:^|\s)(--[a-z][a-z-]+)", rest):
            if not re.search(rf"{flag}\b(?!-)", text):
                return f"takt {' '.join(command)} has no {flag}"
        return None

    def test_every_dev_command_in_the_pages_exists(self):
        # The same for the only door.
        usage = subprocess.run([str(SOURCE / "dev")], capture_output=True, text=True, check=True,
                               timeout=60).stdout
        known = set(re.findall(r"(?m)^  ([a-z]+)\b", usage))
        self.assertIn("build", known)
        wrong = [f"{page.relative_to(SOURCE)}: ./dev {word}" for page in pages()
                 for line in code_of(page) for word in re.findall(r"(?:^|\s)\./dev ([a-z]+)", line)
                 if word not in known]
        self.assertEqual(wrong, [], "\n".join(wrong))

    def test_a_wrong_command_is_noticed(self):
        # The check itself must be able to fail.
        self.assertIn("no command", self.problem_of(["nonsense"], ""))
        self.assertIn("no command", self.problem_of(["token", "nonsense"], ""))
        self.assertIn("--nonsense", self.problem_of(["list"], " --nonsense 5"))
        self.assertIsNone(self.problem_of(["list"], " --limit 5"))


if __name__ == "__main__":
    unittest.main()
