"""Prometheus rules and the Grafana dashboard: their syntax and their behaviour over time by promtool, and
every name in them against what a real scheduler offers."""
import json
import pathlib
import re
import subprocess
import tempfile
import unittest
import urllib.error
import urllib.parse
import urllib.request

from support import DEPLOY, SOURCE, free_ports, load, load_all

from harness import TaktTest, until

FOLDER = DEPLOY / "prometheus"
RULES = FOLDER / "takt.rules.yaml"
DASHBOARD = DEPLOY / "grafana" / "takt.json"
KEYWORDS = {"and", "or", "unless", "by", "without", "on", "ignoring", "group_left", "group_right",
            "bool", "offset", "inf", "nan"}
# What Prometheus itself adds.
OF_PROMETHEUS, LABELS_OF_PROMETHEUS = {"up", "ALERTS"}, {"job", "instance", "le", "alertname",
                                                         "alertstate", "severity"}


def promtool(*arguments):
    return subprocess.run(["promtool", *[str(part) for part in arguments]], capture_output=True,
                          text=True, timeout=60, check=False)


def names_of(expression):
    """The metrics and the labels that a PromQL expression names."""
    text = re.sub(r'"[^"]*"', '""', expression)
    labels = set(re.findall(r"(\w+)\s*(?:=~|!~|!=|=)\s*\"", text))
    grouping = r"\b(?:by|without|on|ignoring|group_left|group_right)\s*\(([^)]*)\)"
    for group in re.findall(grouping, text):
        labels |= {label.strip() for label in group.split(",") if label.strip()}
    text = re.sub(grouping, " ", text)
    text = re.sub(r"\{[^}]*\}|\[[^\]]*\]", " ", text)
    words = re.findall(r"(?<![\w.$])([a-zA-Z_:][\w:]*)(?!\s*\()(?![\w:])", text)
    return {word for word in words if word.lower() not in KEYWORDS}, labels


def rules():
    return [rule for group in load(RULES)["groups"] for rule in group["rules"]]


def panels():
    board = json.loads(DASHBOARD.read_text(encoding="utf-8"))
    return [panel for panel in board["panels"] if panel["type"] != "row"]


class Rules(unittest.TestCase):
    def test_prometheus_takes_the_configuration_and_the_rules(self):
        # A Prometheus with a broken rule file does not start.
        for name in ("prometheus.yaml", "kubernetes.yaml"):
            with tempfile.TemporaryDirectory() as folder, self.subTest(name=name):
                token = pathlib.Path(folder) / "token"
                token.write_text("secret")
                text = (FOLDER / name).read_text(encoding="utf-8")
                text = text.replace("/run/takt/viewer/token", str(token)).replace(
                    "[takt.rules.yaml]", f"[{RULES}]")
                file = pathlib.Path(folder) / name
                file.write_text(text, encoding="utf-8")
                ended = promtool("check", "config", "--lint-fatal", file)
                self.assertEqual(ended.returncode, 0, ended.stdout + ended.stderr)
                self.assertIn(f"{len(rules())} rules found", ended.stdout)

    def test_what_is_scraped_is_there(self):
        # A service is renamed in the manifests or the compose files, and nothing is scraped any more.
        service = next(one for one in load_all(DEPLOY / "kubernetes" / "scheduler.yaml")
                       if one["kind"] == "Service" and one["spec"].get("clusterIP") == "None")
        namespace = load(DEPLOY / "kubernetes" / "namespace.yaml")["metadata"]["name"]
        found = load(FOLDER / "kubernetes.yaml")["scrape_configs"][0]["dns_sd_configs"][0]
        self.assertEqual(found, {"names": [f"{service['metadata']['name']}.{namespace}.svc"], "type": "A",
                                 "port": service["spec"]["ports"][0]["port"]})
        services = load(DEPLOY / "compose" / "redis.yaml")["services"]
        targets = load(FOLDER / "prometheus.yaml")["scrape_configs"][0]["static_configs"][0]["targets"]
        self.assertEqual(targets, [f"{name}:8080" for name in services if name.startswith("scheduler")])

    def test_each_alert_fires_and_holds_its_tongue_as_it_should(self):
        # Hours of metrics, in seconds: takt.rules.test.yaml.
        ended = promtool("test", "rules", FOLDER / "takt.rules.test.yaml")
        self.assertEqual(ended.returncode, 0, ended.stdout + ended.stderr)
        tests = (FOLDER / "takt.rules.test.yaml").read_text(encoding="utf-8")
        for rule in rules():
            self.assertIn(f"alertname: {rule['alert']}\n", tests)

    def test_the_page_says_what_to_do_about_each_alert(self):
        # Somebody is woken by an alert and opens the page.
        page = (SOURCE / "docs" / "operating.md").read_text(encoding="utf-8")
        named = re.findall(r"(?m)^\| `(Takt\w+)` \|", page)
        self.assertEqual(named, [rule["alert"] for rule in rules()])
        for rule in rules():
            self.assertIn(rule["labels"]["severity"], ("warning", "critical"))
            self.assertTrue(rule["annotations"]["summary"])


class Dashboard(unittest.TestCase):
    def test_panels_have_their_own_place_and_id(self):
        # Edited by hand, panels end up on top of each other.
        seen, taken = set(), set()
        for panel in json.loads(DASHBOARD.read_text(encoding="utf-8"))["panels"]:
            self.assertNotIn(panel["id"], seen)
            seen.add(panel["id"])
            place = panel["gridPos"]
            self.assertLessEqual(place["x"] + place["w"], 24)
            cells = {(x, y) for x in range(place["x"], place["x"] + place["w"])
                     for y in range(place["y"], place["y"] + place["h"])}
            self.assertFalse(cells & taken, panel["title"])
            taken |= cells

    def test_every_panel_asks_something_of_the_chosen_source_and_says_what_it_shows(self):
        # The dashboard is imported into a Grafana whose data source has another id.
        for panel in panels():
            with self.subTest(panel=panel["title"]):
                self.assertTrue(panel["description"])
                self.assertEqual(panel["datasource"]["uid"], "${datasource}")
                for target in panel["targets"]:
                    self.assertEqual(target["datasource"]["uid"], "${datasource}")
                    self.assertIn('job="$job"', target["expr"])

    def test_prometheus_understands_every_expression(self):
        # A missing parenthesis shows as an empty panel.
        groups = [{"name": "dashboard", "rules": [
            {"record": f"panel:{panel['id']}:{at}",
             "expr": target["expr"].replace("$__rate_interval", "5m").replace("$job", "takt")}
            for panel in panels() for at, target in enumerate(panel["targets"])]}]
        with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
            json.dump({"groups": groups}, file)  # JSON is YAML.
            file.flush()
            ended = promtool("check", "rules", file.name)
        self.assertEqual(ended.returncode, 0, ended.stdout + ended.stderr)


class Names(TaktTest):
    def offered(self):
        """name: labels of what a scheduler offers after a little of everything has happened.

        Labels are None for what has no value yet but is announced.
        """
        self.serve("--with-worker", "--demo")
        until(lambda: any(row["connected"] for row in self.takt_json("workers")["items"]),
              "a worker is there")
        self.takt("submit", "echo", "{}", "--wait")
        failed = self.run_takt("submit", "fail", "--wait", "--field",
                               'retry_policy={"max_retries": 1, "delay": "10ms"}')
        self.assertEqual(failed.returncode, 1, failed.stderr)
        with urllib.request.urlopen(self.url + "/metrics", timeout=10) as answer:
            text = answer.read().decode()
        offered = {name: None for name in re.findall(r"(?m)^# TYPE (\S+)", text)}
        for line in text.splitlines():
            if match := re.match(r"([a-zA-Z_:][\w:]*)(?:\{(.*)\})? ", line):
                offered[match[1]] = (offered.get(match[1]) or set()) | set(
                    re.findall(r'(\w+)="', match[2] or ""))
        return offered

    def test_every_metric_and_label_is_one_that_a_scheduler_offers(self):
        # A metric is renamed, and an alert that can never fire again looks like good health.
        offered = self.offered()
        asked = [(rule["alert"], rule["expr"]) for rule in rules()]
        asked += [(panel["title"], target["expr"]) for panel in panels() for target in panel["targets"]]
        board = json.loads(DASHBOARD.read_text(encoding="utf-8"))
        asked += [(variable["name"], re.sub(r"label_values\((\w+), *(\w+)\)", r'\1{\2="x"}',
                                            variable["query"]))
                  for variable in board["templating"]["list"] if variable["type"] == "query"]
        for where, expression in asked:
            with self.subTest(where=where, expression=expression):
                metrics, labels = names_of(expression)
                self.assertTrue(metrics)
                self.assertEqual(metrics - set(offered) - OF_PROMETHEUS, set(), "no such metric")
                known = [offered.get(name, set()) for name in metrics]
                if None not in known:
                    self.assertEqual(labels.difference(*known, LABELS_OF_PROMETHEUS), set(),
                                     "no such label")

    def test_the_page_has_what_a_worker_tells_of_itself(self):
        # Somebody scrapes a worker and looks up what a number means.
        self.serve()
        address = f"127.0.0.1:{free_ports(1)[0]}"
        self.worker("one", "--demo", "--set", f"worker.health_listen={address}")
        until(lambda: any(row["connected"] for row in self.takt_json("workers")["items"]),
              "the worker is there")
        with urllib.request.urlopen(f"http://{address}/metrics", timeout=10) as answer:
            text = answer.read().decode()
        helps, types = (dict(re.findall(rf"(?m)^# {word} (\S+) (.+)$", text)) for word in ("HELP", "TYPE"))
        told = [(name, types[name], helps[name]) for name in re.findall(r"(?m)^(\w+) ", text)]
        page = (SOURCE / "docs" / "operating.md").read_text(encoding="utf-8")
        self.assertEqual(re.findall(r"(?m)^\| `(takt_worker_\w+)` \| (\w+) \| (.+) \|$", page), told)
        self.assertTrue(told)

    def test_names_are_found_in_expressions(self):
        # The check itself must be able to fail.
        metrics, labels = names_of(
            'histogram_quantile(0.95, sum by (le, type) (rate(a_bucket{job="$job"}[$__rate_interval])))'
            " / on (job) group_left (node) b:c and d offset 5m > bool 1.5e3")
        self.assertEqual(metrics, {"a_bucket", "b:c", "d"})
        self.assertEqual(labels, {"le", "type", "job", "node"})


class Prometheus(TaktTest):
    """A real Prometheus that scrapes a real scheduler with a token."""

    def start_prometheus(self, token):
        config = load(FOLDER / "prometheus.yaml")
        config["global"] = {"scrape_interval": "250ms", "evaluation_interval": "250ms"}
        config["rule_files"] = [str(RULES)]
        job = config["scrape_configs"][0]
        job["authorization"] = {"credentials_file": f"{self.folder}/token"}
        job["static_configs"][0]["targets"] = [self.url.removeprefix("http://")]
        pathlib.Path(self.folder, "token").write_text(token)
        pathlib.Path(self.folder, "prometheus.yaml").write_text(json.dumps(config))
        address = f"127.0.0.1:{free_ports(1)[0]}"
        with open(f"{self.folder}/prometheus.out", "wb") as output:
            process = subprocess.Popen(
                ["prometheus", f"--config.file={self.folder}/prometheus.yaml",
                 f"--storage.tsdb.path={self.folder}/tsdb", f"--web.listen-address={address}",
                 "--log.level=warn"], stdout=output, stderr=output, stdin=subprocess.DEVNULL)
        self.addCleanup(process.wait, 30)
        self.addCleanup(process.kill)
        return f"http://{address}"

    def ask(self, path, **values):
        """The data of an answer of Prometheus', or None while it is not ready yet."""
        url = f"{self.prometheus}/api/v1/{path}?{urllib.parse.urlencode(values)}"
        try:
            with urllib.request.urlopen(url, timeout=10) as answer:
                return json.load(answer)["data"]
        except urllib.error.HTTPError as error:
            if error.code == 503:
                return None
            self.fail(f"{values}: {error.read().decode()}")
        except OSError:
            return None

    def test_every_panel_shows_something_and_no_alert_is_raised_for_a_healthy_scheduler(self):
        # The first look at the dashboard after an installation.
        tokens = {role: self.takt("token", "create", "--role", role, "--store", self.store_url).strip()
                  for role in ("admin", "viewer", "worker")}
        self.serve("--with-worker", "--demo", "--set", f"worker.token={tokens['worker']}")
        self.prometheus = self.start_prometheus(tokens["viewer"])
        until(lambda: (self.ask("query", query="up == 1") or {}).get("result"),
              "the scheduler is scraped with its token")
        variables = {"TAKT_TOKEN": tokens["admin"]}
        silent = {(panel["title"], target["expr"]) for panel in panels() for target in panel["targets"]}

        def all_show():
            self.takt("submit", "echo", "{}", "--wait", env=variables)
            for title, expression in sorted(silent):
                query = expression.replace("$__rate_interval", "5m").replace("$job", "takt")
                if self.ask("query", query=query)["result"]:
                    silent.discard((title, expression))
            return not silent
        try:
            until(all_show, "all panels show something")
        except AssertionError:
            self.fail(f"these panels show nothing: {sorted(silent)}")
        raised = self.ask("rules", type="alert")["groups"][0]["rules"]
        self.assertEqual(len(raised), len(rules()))
        self.assertEqual([(rule["name"], rule["health"], rule["state"]) for rule in raised],
                         [(rule["alert"], "ok", "inactive") for rule in rules()])


if __name__ == "__main__":
    unittest.main()
