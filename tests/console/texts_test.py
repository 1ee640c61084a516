"""What the server says in codes has a text in each language of the console, and a text names only the values that
come with its code. Codes are found in the server's sources and pages, so that a new one is missed here first."""
import pathlib
import re
import unittest

SOURCE = pathlib.Path(__file__).resolve().parents[2]
LANGUAGES = ("en", "zh")


def read(path):
    return (SOURCE / path).read_text(encoding="utf-8")


def texts(language):
    """key: text of all areas."""
    found = {}
    for path in sorted((SOURCE / "web/src/i18n" / language).glob("*.ts")):
        found.update((key, text) for key, _, text in
                     re.findall(r"""^ {4}'([^']+)':\s*(['"])(.*)\2,$""", read(path), re.MULTILINE))
    return found


def placeholders(text):
    return set(re.findall(r"\{(\w+)\}", text))


def quoted(path, name):
    """The quoted words of the table `name` in a source."""
    table = re.search(name + r"(?:\[\])? = \{+(.*?)\};", read(path), re.DOTALL)
    return re.findall(r'"([^"]*)"', table[1])


def explanations():
    """code: names of its values."""
    sources = "".join(read(path.relative_to(SOURCE)) for path in sorted((SOURCE / "src/engine").glob("explain*.cc"))
                      if not path.name.endswith("_test.cc"))
    parts = re.split(r'Explanation\{\s*"([a-z_]+)"', sources)
    found = {code: set(re.findall(r'\{"([a-z_]+)",', body)) for code, body in zip(parts[1::2], parts[2::2])}
    names = quoted("src/model/status.cc", "kNames")
    finished = names[names.index("success"):]
    # How an execution ended may come with a message of somebody else's: a text must do without.
    return found | {status: {"status"} for status in finished}


def section(page, heading):
    return read(page).split(heading, 1)[1].split("\n## ", 1)[0]


def documented_explanations():
    """code: names of its values, as the page tells them."""
    rows = re.findall(r"^\| (`[^|]*) \| [^|]* \|([^|]*)\|$",
                      section("docs/scheduling.md", "(`explain`)"), re.MULTILINE)
    return {code: set(re.findall(r"`(\w+)`", values))
            for codes, values in rows for code in re.findall(r"`(\w+)`", codes)}


def problems():
    rows = re.findall(r"^\| [^|]* \| (`[^|]*) \|", section("docs/api.md", "\n## Errors"), re.MULTILINE)
    return {code for codes in rows for code in re.findall(r"`(\w+)`", codes)}


def metrics():
    table = re.search(r"kMetrics = \{\{(.*?)\}\};", read("src/alerts/metric.cc"), re.DOTALL)[1]
    late = re.search(r'kLatenessMetric = "(\w+)"', read("src/alerts/metric.h"))[1]
    return {name or late for name in re.findall(r'^ {4}\{(?:"(\w+)"|kLatenessMetric),', table, re.MULTILINE)}


def builtin_rules():
    """name: description."""
    return dict(re.findall(r'\.name = "(\w+)",\s*\.description = "([^"]*)"', read("src/alerts/rule.cc")))


class Texts(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        self.texts = {language: texts(language) for language in LANGUAGES}

    def lacking(self, area, codes):
        return [f"{language}: {area}.{code}" for language in LANGUAGES for code in sorted(codes)
                if f"{area}.{code}" not in self.texts[language]]

    def test_every_explanation_has_a_text(self):
        # Somebody adds a reason to wait, and half of the readers get it in a language that is not theirs.
        codes = explanations()
        self.assertGreater(len(codes), 20)
        self.assertNotIn("return {", read("src/engine/explain.cc"), "its code would not be found")
        self.assertEqual(self.lacking("explain", codes), [])

    def test_a_text_names_only_what_comes_with_its_code(self):
        # A value that is not there would be shown as its name in braces.
        told = [f"{language}: explain.{code} names {sorted(extra)}" for language in LANGUAGES
                for code, values in explanations().items()
                if (extra := placeholders(self.texts[language][f"explain.{code}"]) - values)]
        self.assertEqual(told, [])

    def test_a_text_tells_of_others_like_what_it_names(self):
        # An operator who mends what is named would find the next of them the day after.
        counted = {code for code, values in explanations().items() if "others" in values}
        self.assertIn("queue_unserved", counted)
        told = [f"{language}: explain.{code}" for language in LANGUAGES for code in sorted(counted)
                if "others" not in placeholders(self.texts[language][f"explain.{code}"])]
        self.assertEqual(told, [])

    def test_the_page_tells_every_explanation_with_its_values(self):
        documented = documented_explanations()
        for code, values in explanations().items():
            self.assertLessEqual(values, documented.get(code, set()), code)
            self.assertIn(code, documented)
        self.assertEqual(set(documented), set(explanations()))

    def test_every_problem_reason_and_metric_has_a_text(self):
        reasons = set(quoted("src/model/execution.cc", "kReasons")) - {"none"}
        # Each title has its code before it.
        titled = set(quoted("src/api/problem.cc", "kTitles")[::2])
        for area, codes in (("problem", problems() | titled), ("reason", reasons), ("metric", metrics())):
            self.assertGreater(len(codes), 9, area)
            self.assertEqual(self.lacking(area, codes), [])

    def test_the_texts_of_built_in_rules_are_those_of_the_program(self):
        # The console takes a description that differs for one of the operator's own, and leaves it as it is.
        rules = builtin_rules()
        self.assertGreater(len(rules), 2)
        self.assertEqual(self.lacking("rule", rules), [])
        self.assertEqual({name: self.texts["en"][f"rule.{name}"] for name in rules}, rules)

    def test_both_languages_name_the_same_values(self):
        english, chinese = (self.texts[language] for language in LANGUAGES)
        self.assertEqual(set(english), set(chinese))
        told = [key for key in english if placeholders(english[key]) != placeholders(chinese[key])]
        self.assertEqual(told, [])


if __name__ == "__main__":
    unittest.main()
