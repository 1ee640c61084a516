"""The house in order: what review should not have to say. Each failure names the file, the line and what
to do. rules_test.py proves that each rule can fail."""
import concurrent.futures
import os
import re
import unittest

import code_rules
import page_rules
import tool_rules
from tree import read_list, read_tree

TREE = read_tree()
LAYERS = {words[0]: words[1:] for words in read_list("layers.txt")}
WEB = os.environ.get("TAKT_WEB")


# Other programs take their time; they run while the rules of our own do.
TOOLS = concurrent.futures.ThreadPoolExecutor(2)
FORMATTED = TOOLS.submit(tool_rules.clang_format, TREE.paths(code_rules.SOURCES))
LINTED = TOOLS.submit(tool_rules.eslint, WEB, ["web/src", "tests/console", "web/screenshots.mjs"])
PRETTY = TOOLS.submit(tool_rules.prettier, WEB, ["web/src", "web/*.mjs", "web/package.json", "tests/console"])


def excepted(kind):
    return [words[1] for words in read_list("exceptions.txt") if words[0] == kind]


class Tidy(unittest.TestCase):
    maxDiff = None

    def expect_none(self, found):
        if found:
            self.fail("\n\n" + "\n".join(str(finding) for finding in found) + "\n")

    def test_sources_are_formatted(self):
        self.expect_none(FORMATTED.result())

    def test_console_is_formatted(self):
        self.expect_none(PRETTY.result())

    def test_console_has_no_mistake_that_eslint_knows(self):
        self.expect_none(LINTED.result())

    def test_scripts_can_be_read(self):
        self.expect_none(tool_rules.python(TREE) + tool_rules.shell(TREE))

    def test_files_are_short(self):
        self.expect_none(code_rules.file_sizes(TREE, excepted("file")))

    def test_functions_are_short(self):
        self.expect_none(code_rules.function_sizes(TREE, excepted("function")))

    def test_headers_begin_with_what_they_are_for(self):
        self.expect_none(code_rules.first_comments(TREE))

    def test_examples_in_comments_are_whole(self):
        self.expect_none(code_rules.mangled_examples(TREE))

    def test_comments_are_narrow(self):
        self.expect_none(code_rules.wide_comments(TREE))

    def test_comments_have_a_subject(self):
        most, = excepted("comments_without_subject")
        found = code_rules.comments_without_subject(TREE, int(most))
        self.expect_none(found[:20] and [*found[:20], f"… {len(found)} in all, at most {most}"])

    def test_words_mean_something_to_a_reader(self):
        self.expect_none(code_rules.foreign_words(TREE))

    def test_layers_look_down_only(self):
        self.expect_none(code_rules.layers(TREE, LAYERS))

    def test_headers_are_included(self):
        self.expect_none(code_rules.dead_headers(TREE, excepted("tests_only")))

    def test_sources_are_compiled_and_tests_run(self):
        built = "\n".join(TREE.texts[path] for path in TREE.paths(r"(^|/)CMakeLists\.txt$|\.cmake$"))
        self.expect_none(code_rules.dead_sources(TREE, built))

    def test_functions_are_called(self):
        self.expect_none(code_rules.unused_declarations(TREE, excepted("for_tests"), excepted("tests_only"),
                                                        excepted("to_come")))

    def test_architecture_lists_every_folder(self):
        self.expect_none(page_rules.architecture(TREE, LAYERS))

    def test_the_rules_are_where_the_page_says(self):
        self.expect_none(page_rules.where(TREE))

    def test_results_are_quoted(self):
        self.expect_none(page_rules.pictured_results(TREE))

    def test_sections_that_programs_name_are_there(self):
        self.expect_none(page_rules.named_sections(TREE))

    def test_lists_beside_the_rules_are_in_order(self):
        """A list that two people change at once merges best if it is sorted and has nothing twice."""
        for kind in ("file", "function", "tests_only", "for_tests", "to_come"):
            names = excepted(kind)
            self.assertEqual(names, sorted(set(names)), f"tests/tidy/exceptions.txt, {kind}: sort it")
        kinds = {words[0] for words in read_list("exceptions.txt")}
        self.assertLessEqual(kinds, {"file", "function", "tests_only", "for_tests", "to_come", "comments_without_subject"})
        for room, seen in LAYERS.items():
            unknown = [name for name in seen if name not in LAYERS]
            self.assertFalse(unknown, f"tests/tidy/layers.txt: {room} sees {unknown}, which have no line")
        self.assertFalse([path for path in TREE.names if re.search(r"\.(orig|rej)$", path)], "left by a merge")


if __name__ == "__main__":
    unittest.main()
