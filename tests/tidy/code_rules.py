"""Rules about the C++ sources: how long, how begun, who sees whom, what nobody needs."""
import collections
import re

from tree import Finding, is_test, line_of

COLUMNS_MAX = 104  # Of comments: 100, and a little for a word that would stand alone on the next line.
LINES_MAX = 400
EXCEPTED_LINES_MAX = 450
FUNCTION_LINES_MAX = 70
TEST_LINES_MAX = 110  # A test may hold a table of cases.

SOURCES = r"^(src|include|tests|bench|examples)/.*\.(cc|h)$"


# --- Sizes --------------------------------------------------------------------------------------

def file_sizes(tree, excepted=()):
    """No file is longer than one sitting; the last few may be named in exceptions.txt, and leave it."""
    found = []
    for path in tree.paths(SOURCES + r"|\.py$|^web/src/.*\.tsx?$"):
        lines = tree.texts[path].count("\n")
        if re.match(r"\W+.*\bMade from the program\b", tree.texts[path]):
            continue  # Nobody reads or writes it by hand.
        bound = EXCEPTED_LINES_MAX if path in excepted else LINES_MAX
        if lines > bound:
            found.append(Finding(path, bound, f"{lines} lines, at most {bound}: it is two things; "
                                 "give the second a file and a name"))
        elif path in excepted and lines <= LINES_MAX:
            found.append(Finding(path, 1, "is short enough now: take it out of tests/tidy/exceptions.txt"))
    for path in excepted:
        if path not in tree.texts:
            found.append(Finding(path, 1, "is gone: take it out of tests/tidy/exceptions.txt"))
    return found


_NO_FUNCTION = re.compile(r"^\s*(if|for|while|switch|else|do|try|catch|namespace|class|struct|enum|union|return"
                          r"|extern|case|default|co_return|template)\b|^\s*[#}\])]")

_LAMBDA = re.compile(r"\[[^\[\]]*\]\s*(\(|\{|mutable|<)")


def functions(code):
    """(name, first line, lines) of each function, told by how clang-format lays them out."""
    lines = code.split("\n")
    for at, line in enumerate(lines):
        if not re.search(r"[^(\[{,=]\s*\{$", line.rstrip()):
            continue
        begin = at
        while begin > 0 and lines[begin - 1].strip() and not re.search(r"[;{}:]\s*$|^\s*#", lines[begin - 1]):
            begin -= 1
        head = " ".join(part.strip() for part in lines[begin:at + 1])
        head = re.sub(r"^template\s*<.*?>\s+(?=\S)|^requires .*?\)\s+", "", head)
        name = re.search(r"([~\w:]+)\s*\(", head)
        if not name or _NO_FUNCTION.match(head) or "=" in head[:name.start()] or _LAMBDA.search(head):
            continue
        indent = re.match(r"\s*", lines[begin])[0]
        end = next((later for later in range(at + 1, len(lines)) if lines[later].startswith(indent + "}")), at)
        yield name[1], begin + 1, end - begin + 1


def function_sizes(tree, excepted=()):
    found, seen = [], set()
    for path in tree.paths(SOURCES):
        for name, line, lines in functions(tree.code(path)):
            key = f"{path}:{name}"
            bound = TEST_LINES_MAX if re.match(r"(TYPED_)?TEST(_F|_P)?$", name) else FUNCTION_LINES_MAX
            if lines <= bound:
                continue
            seen.add(key)
            if key not in excepted:
                found.append(Finding(path, line, f"{name} has {lines} lines, at most {bound}: name its parts"))
    for key in set(excepted) - seen:
        found.append(Finding(key.split(":")[0], 1, f"'{key}' is short enough or gone: take it out of "
                             "tests/tidy/exceptions.txt"))
    return found


# --- Comments -----------------------------------------------------------------------------------

def first_comments(tree):
    """A header begins by saying what it is for."""
    return [Finding(path, 1, "the first line of a header is a comment that says what it is for")
            for path in tree.paths(SOURCES)
            if path.endswith(".h") and not re.match(r"// \S.{10,}", tree.texts[path])]


def mangled_examples(tree):
    """Examples in comments can be copied: no line was joined to the one before it."""
    found = []
    for path in tree.paths(SOURCES):
        for number, line in enumerate(tree.texts[path].split("\n"), 1):
            example = re.match(r"\s*//   +(.*)", line)
            if not example:
                continue
            code = re.sub(r'R"\(.*?\)"', "", example[1])
            joined = re.search(r"\}\)?; +\w", code)
            # Prose that goes on indented has no code in it.
            odd = code.count('"') % 2 and re.search(r"[;{}()=]", code)
            if joined or odd:
                found.append(Finding(path, number, "an example in a comment is broken here: write one statement "
                                     "per line, as it would be compiled"))
    return found


def wide_comments(tree):
    """clang-format leaves comments as they were written; so they are kept narrow here."""
    return [Finding(path, number, f"a comment of {len(line)} columns, at most {COLUMNS_MAX}: break the line")
            for path in tree.paths(SOURCES) for number, line in enumerate(tree.texts[path].split("\n"), 1)
            if len(line) > COLUMNS_MAX and re.match(r"\s*//", line)]


def comments_without_subject(tree, most):
    """A comment names the thing that it is about: "An execution that …", not "What …". Those that there
    are must become fewer; a folder at a time is told."""
    found = []
    for path in tree.paths(SOURCES):
        before = ""
        for number, line in enumerate(tree.texts[path].split("\n"), 1):
            begins = re.match(r"\s*// (What|Who|Whoever|Whatever|Whose|Those)\b", line)
            if begins and not re.match(r"\s*//", before):
                found.append(Finding(path, number, f"begins with '{begins[1]}': name the thing that is meant"))
            before = line
    return found if len(found) > most else []


_FOREIGN_WORDS = re.compile(r"\b[Ii]ssue #?\d+|[ \"'`(]/(home|root)/|\bTODO\b|\bFIXME\b|\bXXX\b")


def foreign_words(tree):
    """Nothing that only its authors understand."""
    found = []
    for path in tree.paths(SOURCES + r"|\.(py|md|cmake|mjs|ts|tsx|proto)$"):
        if path.startswith("tests/tidy/"):
            continue
        for match in _FOREIGN_WORDS.finditer(tree.texts[path]):
            found.append(Finding(path, line_of(tree.texts[path], match.start()),
                                 f"'{match[0]}' means nothing to a reader of the sources: say what it is, or do it"))
    return found


# --- Layers -------------------------------------------------------------------------------------

def room_of(path, rooms):
    """The longest listed folder that holds the path under src/."""
    parts = path.split("/")[:-1]
    while parts and "/".join(parts) not in rooms:
        parts.pop()
    return "/".join(parts)


def layers(tree, table):
    """`table`: room to the rooms it may include from. Tests may look anywhere."""
    found = []
    for path in tree.paths(r"^src/.*\.(cc|h)$"):
        room = room_of(path[len("src/"):], table)
        if not room:
            found.append(Finding(path, 1, "its folder is not in tests/tidy/layers.txt: add it, and to ARCHITECTURE.md"))
            continue
        if is_test(path):
            continue
        for match in re.finditer(r'^#include "([^"]+/[^"]+)"', tree.texts[path], re.MULTILINE):
            seen = room_of(match[1], table)
            if seen and seen != room and seen not in table[room]:
                found.append(Finding(path, line_of(tree.texts[path], match.start()),
                                     f"{room} does not see {seen} (tests/tidy/layers.txt): take what is asked as a "
                                     "parameter, or move it down"))
    for room in table:
        if not tree.paths(f"^src/{room}/"):
            found.append(Finding("tests/tidy/layers.txt", 1, f"there is no src/{room}: take its line out"))
    return found


# --- What nobody needs --------------------------------------------------------------------------

def dead_headers(tree, tests_only=()):
    """Each header is included by somebody; by the program, unless its name says that it is for tests."""
    includes = collections.defaultdict(set)
    for path in tree.paths(r"\.(cc|h)$"):
        for name in re.findall(r'^#include "([^"]+)"', tree.texts[path], re.MULTILINE):
            includes[name.split("/")[-1]].add((name, path))
    found = []
    for path in tree.paths(r"^(src|tests|bench)/.*\.h$"):
        users = {user for name, user in includes[path.split("/")[-1]] if ("/" + path).endswith("/" + name)}
        users -= {path}
        own = {re.sub(r"\.h$", ".cc", path)}
        if not users - own:
            found.append(Finding(path, 1, "nobody includes it: delete it, with its source"))
        elif path in tests_only:
            if not all(is_test(user) for user in users - own):
                found.append(Finding(path, 1, "is for more than tests now: take it out of tests/tidy/exceptions.txt"))
        elif not is_test(path) and all(is_test(user) for user in users - own):
            found.append(Finding(path, 1, "only tests include it: call it x_testing.h, or delete it with its tests"))
    for path in tests_only:
        if path not in tree.texts:
            found.append(Finding(path, 1, "is gone: take it out of tests/tidy/exceptions.txt"))
    return found


def dead_sources(tree, built):
    """`built`: the text of all CMake files. Each source is compiled, each test is run."""
    found = []
    libraries = set(re.findall(r"(?:takt_library\(|takt_objects\(\w+ )([^\s)]+)", built))
    libraries |= set(re.findall(r"src/(\S+)/\*\.cc", built))
    for path in tree.paths(r"^(src|tests|bench|examples)/.*\.cc$"):
        folder, name = path.rsplit("/", 1)
        if folder.startswith("src/") and folder[len("src/"):] in libraries:
            continue
        # Tests and benchmarks are often listed by the part of their name that tells them apart.
        short = re.sub(r"(_fuzz|_bench|_test)?\.cc$", "", name)
        listed = f"{folder}/*" in built or re.search(rf"\b{re.escape(short)}(_bench|_fuzz|_test)?\b", built)
        if path in built or (listed and not folder.startswith("src/")):
            continue
        found.append(Finding(path, 1, "no CMake target compiles it: name it in a CMakeLists.txt, or delete it"))
    for path in tree.paths(r"^tests/.*_test\.(py|mjs)$"):
        name = re.sub(r"_test\.(py|mjs)$", "", path.split("/")[-1])
        if path not in built and not re.search(rf"\b{name}\b", built):
            found.append(Finding(path, 1, "no test of ctest's runs it: name it in CMakeLists.txt"))
    for path in tree.paths(r"_test\.cc$"):
        if not re.search(r"\b(TEST|TEST_F|TEST_P|TYPED_TEST\w*|INSTANTIATE_TEST_SUITE_P)\(", tree.texts[path]):
            found.append(Finding(path, 1, "holds no test: call it x_testing.cc"))
    return found


_KEYWORDS = {"return", "co_return", "co_await", "co_yield", "throw", "else", "new", "case", "not", "and", "or", "if",
             "while", "sizeof", "goto", "delete", "typedef", "in", "do"}
_NAME = re.compile(r"\b([A-Za-z_]\w+)\b")


def _declares(code, start):
    """Whether the name that begins at `start` stands where a declaration or definition has it."""
    before = re.sub(r"(?:\b\w+(?:<[^<>]*>)?::)+$", "", code[:start][-200:])
    match = re.search(r"([\w>][*&]*|\.\.\.)\s+$", before)
    if not match:
        return False
    word = re.search(r"(\w+)[*&]*\s+$", before)
    return not (word and word[1] in _KEYWORDS)


# Called by the language or a library, by name.
_IMPLICIT = re.compile(r"await_(ready|suspend|resume|transform)|get_return_object|(initial|final)_suspend|return_(value|void)"
                       r"|unhandled_exception|yield_value|on_\w+_impl|(SetUp|TearDown)(TestSuite)?|PrintTo|TestBody|begin|end"
                       r"|main|LLVMFuzzerTestOneInput")


def _declared_functions(tree):
    """Name to the places where headers declare it, and whether one of them is the program's."""
    declared = collections.defaultdict(list)
    for path in tree.paths(r"^(src|tests|bench)/.*\.h$"):
        code = tree.code(path)
        for match in re.finditer(r"\b([A-Za-z_]\w+)\(", code):
            line = code[code.rfind("\n", 0, match.start()) + 1:code.find("\n", match.start())]
            if not line.startswith("#") and not _IMPLICIT.fullmatch(match[1]) and _declares(code, match.start()):
                declared[match[1]].append((path, line_of(code, match.start())))
    return declared


def unused_declarations(tree, for_tests=(), tests_only=(), to_come=()):
    """A function that a header declares is called by somebody, and not by tests alone. `for_tests` names
    functions that are there for tests, `tests_only` headers, `to_come` functions whose callers are still to
    be written."""
    declared = _declared_functions(tree)
    by_program, by_tests = collections.Counter(), collections.Counter()
    for path in tree.paths(SOURCES):
        code = tree.code(path)
        uses = by_tests if is_test(path) or path in tests_only or path.startswith("bench/") else by_program
        for match in _NAME.finditer(code):
            if match[1] in declared and not (code[match.end():match.end() + 1] == "(" and _declares(code, match.start())):
                uses[match[1]] += 1
    found = []
    for name, places in declared.items():
        path, line = places[0]
        of_program = any(at.startswith("src/") and not is_test(at) and at not in tests_only for at, _ in places)
        if by_program[name] + by_tests[name] == 0 and name not in to_come:
            found.append(Finding(path, line, f"nobody calls {name}: delete it"))
        elif of_program and by_program[name] == 0 and name not in for_tests and name not in to_come:
            found.append(Finding(path, line, f"only tests call {name}: delete it, or move it to a x_testing.h"))
    for name in [*for_tests, *to_come]:
        if by_program[name] or name not in declared:
            found.append(Finding("tests/tidy/exceptions.txt", 1, f"'{name}' is gone or no longer only for tests: "
                                 "take it out"))
    return found
