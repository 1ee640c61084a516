"""The Helm chart, without Helm: its templates by a renderer of the few things that they use, the result by the
models of Kubernetes' client, the values by their own schema. Where helm is installed, it must render the same."""
import copy
import json
import re
import shutil
import subprocess
import tempfile
import unittest

import jsonschema
import kubernetes_test
import yaml
from support import DEPLOY, IMAGE, VERSION, load

CHART = DEPLOY / "helm" / "takt"
SCHEMA = json.loads((CHART / "values.schema.json").read_text(encoding="utf-8"))
MODELS = {**kubernetes_test.MODELS,
          ("autoscaling/v1", "HorizontalPodAutoscaler"): "V1HorizontalPodAutoscaler"}
STORES = ["embedded", "redis", "etcd", "mysql"]
EVERYTHING = {"worker": {"autoscaling": {"enabled": True}}, "serviceMonitor": {"enabled": True},
              "store": {"volume": {"storageClass": "fast"}}}


def merged(base, over):
    result = copy.deepcopy(base)
    for key, value in over.items():
        result[key] = merged(result[key], value) if isinstance(value, dict) and key in result else value
    return result


class Template:
    """if, else, end, or, not, eq, default, toYaml and nindent; anything else is an error."""

    def __init__(self, scope):
        self.scope = scope

    def value(self, text):
        text = text.strip()
        if text.startswith("(") and text.endswith(")"):
            return self.value(text[1:-1])
        if match := re.fullmatch(r"(.+) \| default (\S+)", text):
            return self.value(match[1]) or self.value(match[2])
        if match := re.fullmatch(r"toYaml (\S+) \| nindent (\d+)", text):
            lines = yaml.safe_dump(self.value(match[1]), sort_keys=True).rstrip("\n").split("\n")
            return "".join("\n" + " " * int(match[2]) + line for line in lines)
        if text.startswith("not "):
            return not self.value(text[4:])
        if match := re.fullmatch(r"or (\S+) (\S+)", text):
            return self.value(match[1]) or self.value(match[2])
        if match := re.fullmatch(r'eq (\S+) "(\w+)"', text):
            return self.value(match[1]) == match[2]
        if not re.fullmatch(r"(\.\w+)+", text):
            raise ValueError(f"the test's renderer does not know {{{{ {text} }}}}")
        value = self.scope
        for name in text[1:].split("."):
            value = value[name]
        return value

    def render(self, text):
        # For each open `if`: whether its part is rendered, and whether what surrounds it is.
        shown, written = [], []
        for part in re.split(r"(\s*\{\{-.*?\}\}|\{\{.*?\}\})", text):
            match = re.fullmatch(r"\s*\{\{-?(.*?)\}\}", part)
            if not match:
                if all(shown):
                    written.append(part)
                continue
            action = match[1].strip()
            if action.startswith("if "):
                shown.append(bool(self.value(action[3:])))
            elif action == "else":
                shown[-1] = not shown[-1]
            elif action == "end":
                shown.pop()
            elif all(shown):
                written.append(str(self.value(action)))
        assert not shown, "an if without its end"
        return "".join(written)


def rendered(over, release="takt"):
    values = merged(load(CHART / "values.yaml"), over)
    jsonschema.validate(values, SCHEMA)
    template = Template({"Values": values, "Release": {"Name": release},
                         "Chart": {"AppVersion": load(CHART / "Chart.yaml")["appVersion"]}})
    return [one for path in sorted(CHART.glob("templates/*.yaml"))
            for one in yaml.safe_load_all(template.render(path.read_text(encoding="utf-8"))) if one]


def one_of(documents, kind, name=None):
    found = [one for one in documents if one["kind"] == kind and name in (None, one["metadata"]["name"])]
    assert len(found) == 1, f"{len(found)} of {kind} {name}"
    return found[0]


class Chart(unittest.TestCase):
    def variants(self):
        for store in STORES:
            for over in ({}, EVERYTHING, {"worker": {"enabled": False}}, {"networkPolicy": {"enabled": False}}):
                with self.subTest(store=store, over=over):
                    yield store, rendered(merged({"store": {"kind": store}}, over) if "store" not in over else
                                          {**over, "store": {**over["store"], "kind": store}})

    def test_every_variant_fits_the_schema(self):
        # A field in the wrong place is dropped in silence or refused, in the cluster of somebody else.
        for _, documents in self.variants():
            for document in documents:
                if document["kind"] != "ServiceMonitor":
                    kubernetes_test.build(document, MODELS[document["apiVersion"], document["kind"]],
                                          document["kind"])

    def test_wrong_values_are_refused(self):
        for over in ({"store": {"kind": "postgres"}}, {"scheduler": {"replicas": 0}}, {"replicas": 3},
                     {"worker": {"args": "--demo"}}, {"store": {"secret": {"name": ""}}}):
            with self.subTest(over=over), self.assertRaises(jsonschema.ValidationError):
                rendered(over)

    def test_the_version_is_ours(self):
        chart = load(CHART / "Chart.yaml")
        self.assertEqual((chart["version"], chart["appVersion"]), (VERSION, VERSION))
        self.assertEqual(load(CHART / "values.yaml")["image"]["repository"] + ":" + VERSION, IMAGE)

    def test_the_embedded_store_has_one_scheduler_and_a_volume(self):
        # Two processes over one file.
        for store, documents in self.variants():
            stateful = one_of(documents, "StatefulSet")["spec"]
            container = stateful["template"]["spec"]["containers"][0]
            url = next(one for one in container["env"] if one["name"] == "TAKT_STORE_URL")
            self.assertEqual("volumeClaimTemplates" in stateful, store == "embedded")
            self.assertEqual(stateful["replicas"], 1 if store == "embedded" else 3)
            if store == "embedded":
                self.assertEqual(stateful["volumeClaimTemplates"][0]["metadata"]["name"], "data")
                self.assertTrue(url["value"].startswith("file:/var/lib/takt/"))
            else:
                self.assertEqual(url["valueFrom"]["secretKeyRef"], {"name": "takt-store", "key": "url"})

    def test_selectors_find_their_pods_and_no_other_releases(self):
        for documents in [rendered(EVERYTHING), rendered(EVERYTHING, release="other")]:
            pods = {one["metadata"]["name"]: one["spec"]["template"]["metadata"]["labels"]
                    for one in documents if one["kind"] in ("StatefulSet", "Deployment")}
            other = {name for name in pods if name.startswith("other")}
            self.assertIn(other, [set(), set(pods)])
            for document in documents:
                selector = document["spec"].get("selector", document["spec"].get("podSelector")) \
                    if "spec" in document else None
                if selector is None:
                    continue
                wanted = selector.get("matchLabels", selector)
                found = [name for name, labels in pods.items() if wanted.items() <= labels.items()]
                if document["kind"] == "ServiceMonitor":
                    services = [one for one in documents if one["kind"] == "Service"
                                and wanted.items() <= one["metadata"].get("labels", {}).items()]
                    self.assertEqual(len(services), 1, "each scheduler is scraped once")
                    continue
                kind = "worker" if document["metadata"]["name"].endswith("worker") else "scheduler"
                self.assertEqual([name.rsplit("-", 1)[1] for name in found], [kind])
                self.assertIn("app.kubernetes.io/instance", wanted)

    def test_pods_ask_for_no_rights(self):
        for _, documents in self.variants():
            for document in documents:
                if document["kind"] not in ("StatefulSet", "Deployment"):
                    continue
                spec = document["spec"]["template"]["spec"]
                self.assertFalse(spec["automountServiceAccountToken"])
                self.assertFalse(spec["enableServiceLinks"])
                self.assertTrue(spec["securityContext"]["runAsNonRoot"])
                for container in spec["containers"] + spec.get("initContainers", []):
                    self.assertEqual(container["image"], IMAGE)
                    self.assertEqual(container["securityContext"],
                                     {"allowPrivilegeEscalation": False, "readOnlyRootFilesystem": True,
                                      "capabilities": {"drop": ["ALL"]}})
                    self.assertIn("memory", container["resources"]["limits"])

    def test_what_scales_workers_is_the_only_one_that_says_how_many(self):
        # Each `helm upgrade` would set the number back.
        self.assertEqual(one_of(rendered({}), "Deployment")["spec"]["replicas"], 3)
        for key in ("enabled", "managed"):
            documents = rendered({"worker": {"autoscaling": {key: True}}})
            self.assertNotIn("replicas", one_of(documents, "Deployment")["spec"])
        scaled = load(CHART / "examples/keda.yaml")["spec"]
        name = one_of(documents, "Deployment")["metadata"]["name"]
        self.assertEqual(scaled["scaleTargetRef"], {"name": name})
        metrics = (DEPLOY.parent / "docs/metrics.md").read_text(encoding="utf-8")
        told = re.findall(r"(takt_\w+)\{(.*?)\}", scaled["triggers"][0]["metadata"]["query"])
        self.assertEqual(len(told), 1)
        for metric, labels in told:
            names = ",".join(re.findall(r"(\w+)=", labels))
            self.assertIn(f"| `{metric}` | gauge | {names} |", metrics)
        # The same signal, for the same Deployment, without KEDA.
        document = load(CHART / "examples/hpa.yaml")
        # Debian 12's client knows v2 under its last name before it became that, with the same fields.
        self.assertEqual(document["apiVersion"], "autoscaling/v2")
        kubernetes_test.build(document, "V2beta2HorizontalPodAutoscaler", "hpa.yaml")
        self.assertEqual(document["spec"]["scaleTargetRef"]["name"], name)
        external = document["spec"]["metrics"][0]["external"]["metric"]
        self.assertEqual(external["name"], told[0][0])
        self.assertEqual(",".join(external["selector"]["matchLabels"]), ",".join(re.findall(r"(\w+)=", told[0][1])))

    def test_the_same_as_the_manifests(self):
        # Two descriptions of one installation; a probe that is mended here must be mended there.
        for kind in ("StatefulSet", "Deployment"):
            ours = one_of(rendered({}), kind)["spec"]["template"]["spec"]["containers"][0]
            theirs = kubernetes_test.of_kind(kind)[0]["spec"]["template"]["spec"]["containers"][0]
            self.assertEqual({**ours, "imagePullPolicy": None}, {**theirs, "imagePullPolicy": None})

    @unittest.skipUnless(shutil.which("helm"), "helm is not installed here")
    def test_helm_renders_the_same(self):
        for store in STORES:
            over = {**EVERYTHING, "store": {**EVERYTHING["store"], "kind": store}}
            with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
                yaml.safe_dump(over, file)
                file.flush()
                text = subprocess.run(["helm", "template", "takt", CHART, "-f", file.name,
                                       "--kube-version", "1.27.0"], check=True,
                                      capture_output=True, text=True, timeout=60).stdout
            by_name = lambda one: (one["kind"], one["metadata"]["name"])  # noqa: E731
            self.assertEqual(sorted(filter(None, yaml.safe_load_all(text)), key=by_name),
                             sorted(rendered(over), key=by_name))


if __name__ == "__main__":
    unittest.main()
