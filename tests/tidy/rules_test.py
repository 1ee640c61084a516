"""Each rule of the tidy test fails on a sample that breaks it, and lets the mended one pass."""
import os
import pathlib
import tempfile
import unittest

import code_rules
import page_rules
import tool_rules
from tree import Tree, blank, read_list

WEB = os.environ.get("TAKT_WEB")
HEADER = "// Says what it is for, in a sentence.\n#pragma once\n"


def of(found):
    return [(finding.path, finding.line) for finding in found]


class CodeRules(unittest.TestCase):

    def test_a_long_file(self):
        long, short = "x\n" * 401, "x\n" * 400
        self.assertEqual(of(code_rules.file_sizes(Tree({"src/a/a.cc": long}))), [("src/a/a.cc", 400)])
        self.assertEqual(code_rules.file_sizes(Tree({"src/a/a.cc": short})), [])
        self.assertEqual(code_rules.file_sizes(Tree({"src/a/a.cc": long}), ["src/a/a.cc"]), [])
        self.assertTrue(code_rules.file_sizes(Tree({"src/a/a.cc": short}), ["src/a/a.cc"]), "no longer needed")
        self.assertTrue(code_rules.file_sizes(Tree({"src/a/a.cc": "x\n" * 451}), ["src/a/a.cc"]), "even so")
        self.assertTrue(code_rules.file_sizes(Tree({}), ["src/a/a.cc"]), "gone")
        made = "// Shapes. Made from the program: takt openapi\n" + long
        self.assertEqual(code_rules.file_sizes(Tree({"web/src/api/schema.ts": made})), [])

    def test_a_long_function(self):
        body = "    int x = 0;\n" * 69
        free = "Result<void> Store::Write(\n    std::string_view text) {\n" + body + "}\n"
        self.assertEqual(of(code_rules.function_sizes(Tree({"src/a/a.cc": free}))), [("src/a/a.cc", 1)])
        self.assertEqual(code_rules.function_sizes(Tree({"src/a/a.cc": free}), ["src/a/a.cc:Store::Write"]), [])
        inline = "class A {\n    A(int x) : x_(x) {\n" + "        ++x_;\n" * 70 + "    }\n};\n"
        self.assertEqual(of(code_rules.function_sizes(Tree({"src/a/a.h": inline}))), [("src/a/a.h", 2)])
        in_parts = "void F() {\n    for (;;) {\n    }\n}\n" * 40
        self.assertEqual(code_rules.function_sizes(Tree({"src/a/a.cc": in_parts})), [])
        table = "constexpr Row kTable[] = {\n" + "    {1, 2},\n" * 200 + "};\n"
        self.assertEqual(code_rules.function_sizes(Tree({"src/a/a.cc": table})), [])
        self.assertTrue(code_rules.function_sizes(Tree({"src/a/a.cc": ""}), ["src/a/a.cc:F"]), "no longer needed")

    def test_a_header_that_does_not_say_what_it_is_for(self):
        self.assertEqual(of(code_rules.first_comments(Tree({"src/a/a.h": "#pragma once\n"}))), [("src/a/a.h", 1)])
        self.assertEqual(code_rules.first_comments(Tree({"src/a/a.h": HEADER})), [])

    def test_an_example_whose_lines_were_joined(self):
        for broken in ('//     return takt::TaskResult::Failure("no\n//     image");\n',
                       "//     }); auto worker = Create(options);\n",
                       "//     [](Context& c) { return 1; }; worker.Start();\n"):
            self.assertTrue(code_rules.mangled_examples(Tree({"src/a/a.h": broken})), broken)
        whole = '//     worker.Handle("a", [](Context& c) {\n//         return R"({"x": 1})";\n//     });\n//   - prose\n'
        self.assertEqual(code_rules.mangled_examples(Tree({"src/a/a.h": whole})), [])

    def test_comments_without_a_subject(self):
        text = "// What is kept.\nint a;\n// A row that\n// Who reads it.\nint b;\n    // Those that wait.\nint c;\n"
        found = code_rules.comments_without_subject(Tree({"src/a/a.h": text}), 1)
        self.assertEqual(of(found), [("src/a/a.h", 1), ("src/a/a.h", 6)])
        self.assertEqual(code_rules.comments_without_subject(Tree({"src/a/a.h": text}), 2), [])

    def test_a_wide_comment(self):
        wide = "int a;\n// " + "x" * 102 + "\n"
        self.assertEqual(of(code_rules.wide_comments(Tree({"src/a/a.h": wide}))), [("src/a/a.h", 2)])
        self.assertEqual(code_rules.wide_comments(Tree({"src/a/a.h": "// " + "x" * 101 + "\n"})), [])

    def test_words_of_the_authors(self):
        for broken in ("// TODO: later\n", "// See issue 12.\n", '"/home/me/x"\n'):
            self.assertTrue(code_rules.foreign_words(Tree({"src/a/a.cc": broken})), broken)
        self.assertEqual(code_rules.foreign_words(Tree({"src/a/a.cc": "// Seeded; an issue with 3 of them.\n"})), [])

    def test_a_layer_that_looks_up(self):
        table = {"base": [], "engine": ["base"]}
        up = Tree({"src/base/a.cc": '#include "engine/b.h"\n', "src/engine/b.h": HEADER})
        self.assertEqual(of(code_rules.layers(up, table)), [("src/base/a.cc", 1)])
        down = Tree({"src/engine/a.cc": '#include "base/b.h"\n', "src/base/b.h": HEADER})
        self.assertEqual(code_rules.layers(down, table), [])
        test = Tree({"src/base/a_test.cc": '#include "engine/b.h"\n', "src/engine/b.h": HEADER})
        self.assertEqual(code_rules.layers(test, table), [])
        unknown = Tree({"src/new/a.cc": "", "src/base/b.h": HEADER, "src/engine/b.h": HEADER})
        self.assertEqual(of(code_rules.layers(unknown, table)), [("src/new/a.cc", 1)])
        self.assertTrue(code_rules.layers(Tree({"src/base/b.h": HEADER}), table), "engine is gone")

    def test_a_header_that_nobody_includes(self):
        alone = {"src/a/a.h": HEADER, "src/a/a.cc": '#include "a/a.h"\n'}
        self.assertEqual(of(code_rules.dead_headers(Tree(alone))), [("src/a/a.h", 1)])
        by_test = alone | {"src/a/a_test.cc": '#include "a/a.h"\n'}
        self.assertEqual(of(code_rules.dead_headers(Tree(by_test))), [("src/a/a.h", 1)])
        self.assertEqual(code_rules.dead_headers(Tree(by_test), ["src/a/a.h"]), [])
        used = alone | {"src/b/b.cc": '#include "a/a.h"\n'}
        self.assertEqual(code_rules.dead_headers(Tree(used)), [])
        self.assertTrue(code_rules.dead_headers(Tree(used), ["src/a/a.h"]), "no longer needed")

    def test_a_source_that_is_not_compiled_and_a_test_that_is_not_run(self):
        built = "takt_library(a)\nforeach(name crash)\n"
        for path in ("src/new/a.cc", "tests/lost.cc", "tests/e2e/lost_test.py"):
            self.assertEqual(of(code_rules.dead_sources(Tree({path: ""}), built)), [(path, 1)])
        self.assertTrue(code_rules.dead_sources(Tree({"src/a/a_test.cc": "int x;\n"}), built), "holds no test")
        good = Tree({"src/a/a.cc": "", "src/a/a_test.cc": "TEST(A, B) {}\n", "tests/e2e/crash_test.py": ""})
        self.assertEqual(code_rules.dead_sources(good, built), [])

    def test_a_function_that_nobody_calls(self):
        header = HEADER + "Result<bool> QueryBool(int a);\nclass R {\n    std::size_t buffered() const { return 0; }\n};\n"
        source = "Result<bool> QueryBool(int a) {\n    return true;\n}\n"
        tree = Tree({"src/a/a.h": header, "src/a/a.cc": source})
        self.assertEqual(of(code_rules.unused_declarations(tree)), [("src/a/a.h", 3), ("src/a/a.h", 5)])
        tested = Tree(tree.texts | {"src/a/a_test.cc": "EXPECT_TRUE(QueryBool(r.buffered()));\n"})
        self.assertEqual(len(code_rules.unused_declarations(tested)), 2)
        self.assertEqual(code_rules.unused_declarations(tested, ["QueryBool", "buffered"]), [])
        self.assertEqual(code_rules.unused_declarations(tree, to_come=["QueryBool", "buffered"]), [])
        for use in ("return QueryBool(r.buffered());\n", "x = a * QueryBool(r->buffered());\n"):
            called = Tree(tree.texts | {"src/b/b.cc": use})
            self.assertEqual(code_rules.unused_declarations(called), [], use)
            self.assertEqual(len(code_rules.unused_declarations(called, ["QueryBool"])), 1, "no longer needed")

    def test_comments_and_strings_are_no_code(self):
        text = 'int a; // F()\nauto b = "F()"; /* F() */ auto c = R"x(F() ")x"; char d = \'"\'; int e = 1\'000;\n'
        self.assertNotIn("F", blank(text))
        self.assertIn("int e = 1'000;", blank(text))


class PageRules(unittest.TestCase):

    def test_architecture(self):
        table = {"base": [], "node": ["base"]}
        tree = {"src/base/a.h": HEADER, "src/node/a.h": HEADER}
        good = "| `src/base` | errors |\n| `src/node` | the loop |\n"
        self.assertEqual(page_rules.architecture(Tree(tree | {"ARCHITECTURE.md": good}), table), [])
        for broken in ("| `src/base` | errors |\n", good + "| `src/gone` | what |\n", good + "| `src/base` | again |\n",
                       "| `src/node` | the loop |\n| `src/base` | errors |\n"):
            self.assertTrue(page_rules.architecture(Tree(tree | {"ARCHITECTURE.md": broken}), table), broken)

    def test_where(self):
        row = "| how a worker is chosen | [src/a/a.cc](../src/a/a.cc) | `Chooser::Choose` |\n"
        tree = {"src/a/a.cc": "Worker* Chooser::Choose() {\n"}
        self.assertEqual(page_rules.where(Tree(tree | {"docs/where.md": row * 20})), [])
        self.assertTrue(page_rules.where(Tree(tree | {"docs/where.md": row * 19})), "too few")
        gone = row.replace("(../src/a/a.cc)", "(../src/a/b.cc)")
        self.assertEqual(of(page_rules.where(Tree(tree | {"docs/where.md": row * 20 + gone}))), [("docs/where.md", 21)])
        renamed = row.replace("Choose`", "Pick`")
        self.assertEqual(of(page_rules.where(Tree(tree | {"docs/where.md": row * 20 + renamed}))), [("docs/where.md", 21)])

    def test_a_section_that_a_program_names(self):
        page = {"docs/x.md": "# X\n\n## Much to do\n"}
        good = 'Say("see docs/x.md, \\"Much to do\\"");\n'
        self.assertEqual(page_rules.named_sections(Tree(page | {"src/a/b.cc": good})), [])
        gone = good.replace("Much", "Little")
        self.assertEqual(of(page_rules.named_sections(Tree(page | {"src/a/b.cc": good + gone}))), [("src/a/b.cc", 2)])

    def test_a_result_that_no_page_quotes(self):
        tree = Tree({"docs/benchmarks.md": "![x](../bench/results/x.svg)"},
                    ["docs/benchmarks.md", "bench/results/x.svg", "bench/results/y.svg"])
        self.assertEqual(of(page_rules.pictured_results(tree)), [("bench/results/y.svg", 1)])


class ToolRules(unittest.TestCase):

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name).resolve()

    def write(self, name, text):
        (self.folder / name).write_text(text, encoding="utf-8")
        return name

    def test_clang_format(self):
        self.write("good.cc", "int F() {\n    return 1;\n}\n")
        self.write("bad.cc", "int F() {\n    return 1;\n}\nint  G( );\n")
        self.assertEqual(of(tool_rules.clang_format(["good.cc", "bad.cc"], self.folder)), [("bad.cc", 4)])

    def test_prettier(self):
        self.write("good.ts", "export const a = 'b';\n")
        self.write("bad.ts", 'export const a = "b"\n')
        self.assertEqual(of(tool_rules.prettier(WEB, ["good.ts", "bad.ts"], self.folder)), [("bad.ts", 1)])

    def test_eslint(self):
        self.write("good.ts", "export const a = (b: number) => b === 1;\n")
        self.write("bad.ts", "export const a = (b: number) => b == 1;\n")
        self.write("hooks.tsx", "import { useState } from 'react';\nexport function A({ b }: { b: boolean }) {\n"
                   "    if (b) useState(1);\n    return null;\n}\n")
        found = tool_rules.eslint(WEB, ["good.ts", "bad.ts", "hooks.tsx"], self.folder)
        self.assertEqual(of(found), [("bad.ts", 1), ("hooks.tsx", 3)])

    def test_python_and_shell(self):
        self.assertEqual(of(tool_rules.python(Tree({"a.py": "x = 1\ndef f(:\n", "b.py": "x = 1\n"}))), [("a.py", 2)])
        self.write("good", "#!/usr/bin/env bash\nif true; then echo; fi\n")
        self.write("bad", "#!/bin/sh\nif true; then\n")
        self.assertEqual(of(tool_rules.shell(Tree({}, ["good", "bad"]), self.folder)), [("bad", 1)])

    def test_lists_have_comments(self):
        self.assertIn(["model", "base"], read_list("layers.txt"))


if __name__ == "__main__":
    unittest.main()
