"""The Kubernetes manifests, without a cluster: their schema by the models of Kubernetes' own client, the
names by which they refer to each other, and what their containers run, really run."""
import functools
import json
import re
import unittest
import urllib.error
import urllib.request

from kubernetes import client
from support import DEPLOY, IMAGE, VERSION, free_ports, load, load_all

import harness
from harness import TaktTest, until

FOLDER = DEPLOY / "kubernetes"
MODELS = {
    ("v1", "Namespace"): "V1Namespace",
    ("v1", "Pod"): "V1Pod",
    ("v1", "Secret"): "V1Secret",
    ("v1", "Service"): "V1Service",
    ("v1", "ServiceAccount"): "V1ServiceAccount",
    ("apps/v1", "Deployment"): "V1Deployment",
    ("apps/v1", "StatefulSet"): "V1StatefulSet",
    ("networking.k8s.io/v1", "NetworkPolicy"): "V1NetworkPolicy",
    ("policy/v1", "PodDisruptionBudget"): "V1PodDisruptionBudget",
}
PLAIN = {"str": str, "int": int, "bool": bool, "float": (int, float)}


def build(value, kind, path):
    """`value` as the client's model `kind`; the models refuse what lacks a required field."""
    if value is None:
        raise ValueError(f"{path} is empty")
    if match := re.fullmatch(r"list\[(.+)\]", kind):
        return [build(item, match[1], f"{path}[{at}]") for at, item in enumerate(value)]
    if match := re.fullmatch(r"dict\(str, (.+)\)", kind):
        return {key: build(item, match[1], f"{path}.{key}") for key, item in value.items()}
    if kind == "object":  # A number or a name.
        return value
    if kind in PLAIN:
        if not isinstance(value, PLAIN[kind]) or (isinstance(value, bool) and kind != "bool"):
            raise ValueError(f"{path} must be a {kind}, not {value!r}")
        return value
    model = getattr(client, kind)
    fields = {name: field for field, name in model.attribute_map.items()}
    unknown = set(value) - set(fields)
    if unknown:
        raise ValueError(f"{path} has unknown fields: {', '.join(sorted(unknown))}")
    try:
        return model(**{fields[name]: build(item, model.openapi_types[fields[name]], f"{path}.{name}")
                        for name, item in value.items()})
    except ValueError as error:
        raise ValueError(error if path in str(error) else f"{path}: {error}") from None


@functools.cache
def documents():
    return [(path.name, document) for path in sorted(FOLDER.glob("*.yaml"))
            if path.name != "kustomization.yaml" for document in load_all(path)]


def of_kind(*kinds):
    return [document for _, document in documents() if document["kind"] in kinds]


def pods():
    """name, metadata and spec of each pod that is made."""
    for document in of_kind("Pod"):
        yield document["metadata"]["name"], document["metadata"], document["spec"]
    for document in of_kind("StatefulSet", "Deployment"):
        template = document["spec"]["template"]
        yield document["metadata"]["name"], template["metadata"], template["spec"]


def selected(selector):
    wanted = selector.get("matchLabels", selector).items()
    return {name for name, metadata, _ in pods() if wanted <= metadata["labels"].items()}


class Manifests(unittest.TestCase):
    def test_every_document_fits_the_schema(self):
        # A field in the wrong place is dropped in silence by older servers and refused by newer ones.
        for file, document in documents():
            with self.subTest(file=file, name=document["metadata"]["name"]):
                model = MODELS[document["apiVersion"], document["kind"]]
                build(document, model, document["kind"])

    def test_the_schema_check_notices_mistakes(self):
        # The check itself must be able to fail.
        service = of_kind("Service")[0]
        for change in ({"specs": {}}, {"spec": {"ports": [{"name": "http"}]}},
                       {"spec": {"ports": [{"port": "8080"}]}}):
            with self.assertRaises(ValueError):
                build({**service, **change}, "V1Service", "Service")

    def test_the_kustomization_names_every_file_that_is_applied(self):
        # A forgotten file is a policy that nobody enforces.
        applied = set(load(FOLDER / "kustomization.yaml")["resources"])
        others = {"kustomization.yaml", "secret.example.yaml", "setup.yaml"}
        self.assertEqual(load(FOLDER / "kustomization.yaml")["images"], [{"name": "takt", "newTag": VERSION}])
        self.assertEqual(applied | others, {path.name for path in FOLDER.glob("*.yaml")})

    def test_selectors_find_the_pods_that_they_are_meant_for(self):
        # A budget or policy that selects nothing protects nothing, and nobody is told.
        for document in of_kind("StatefulSet", "Deployment"):
            name = document["metadata"]["name"]
            self.assertEqual(selected(document["spec"]["selector"]), {name})
            for spread in document["spec"]["template"]["spec"].get("topologySpreadConstraints", []):
                self.assertEqual(selected(spread["labelSelector"]), {name})
        for document in of_kind("PodDisruptionBudget"):
            self.assertEqual(selected(document["spec"]["selector"]), {document["metadata"]["name"]})
        for document in of_kind("Service"):
            self.assertEqual(selected(document["spec"]["selector"]), {"takt-scheduler"})
        policies = {document["metadata"]["name"]: document for document in of_kind("NetworkPolicy")}
        for name, document in policies.items():
            expected = {name} if name != "takt-default-deny" else {one for one, _, _ in pods()}
            self.assertEqual(selected(document["spec"]["podSelector"]), expected)

    def test_ports_agree(self):
        # A service, a probe or a policy that names another port than the container's.
        for name, _, spec in pods():
            for container in spec["containers"]:
                ports = {port["name"]: port["containerPort"] for port in container.get("ports", [])}
                for probe in ("startupProbe", "livenessProbe", "readinessProbe"):
                    if probe in container:
                        self.assertIn(container[probe]["httpGet"]["port"], ports)
                if ports:
                    policy = next(one for one in of_kind("NetworkPolicy")
                                  if one["metadata"]["name"] == name)
                    allowed = {port["port"] for rule in policy["spec"]["ingress"]
                               for port in rule["ports"]}
                    self.assertEqual(allowed, set(ports.values()))
        for document in of_kind("Service"):
            self.assertEqual(document["spec"]["ports"],
                             [{"name": "http", "port": 8080, "targetPort": "http"}])
        stateful = of_kind("StatefulSet")[0]
        self.assertIn(stateful["spec"]["serviceName"],
                      [document["metadata"]["name"] for document in of_kind("Service")])

    def test_pods_ask_for_no_rights(self):
        # The namespace refuses pods that are not `restricted`; find out before the cluster does.
        for name, _, spec in pods():
            with self.subTest(pod=name):
                self.assertFalse(spec["automountServiceAccountToken"])
                self.assertFalse(spec["enableServiceLinks"])
                self.assertTrue(spec["securityContext"]["runAsNonRoot"])
                self.assertEqual(spec["securityContext"]["seccompProfile"], {"type": "RuntimeDefault"})
                for container in spec["containers"]:
                    self.assertEqual(container["image"], IMAGE)
                    self.assertEqual(container["securityContext"],
                                     {"allowPrivilegeEscalation": False, "readOnlyRootFilesystem": True,
                                      "capabilities": {"drop": ["ALL"]}})
                    self.assertIn("memory", container["resources"]["limits"])

    def test_a_stop_leaves_time(self):
        # Kubernetes kills what is still there after the grace period.
        specs = {name: spec for name, _, spec in pods()}
        worker, scheduler = specs["takt-worker"], specs["takt-scheduler"]
        # worker.drain_timeout and worker.stop_grace.
        self.assertGreater(worker["terminationGracePeriodSeconds"], 60 + 10)
        wait = int(scheduler["containers"][0]["lifecycle"]["preStop"]["exec"]["command"][1])
        # scheduler.stop_deadline.
        self.assertGreater(scheduler["terminationGracePeriodSeconds"], wait + 5)

    def test_secrets_are_those_that_the_page_makes(self):
        # A pod that waits for a Secret of another name waits for ever.
        used = {(ref["name"], ref["key"]) for _, _, spec in pods() for container in spec["containers"]
                for variable in container["env"]
                if (ref := variable.get("valueFrom", {}).get("secretKeyRef"))}
        self.assertEqual(used, {("takt-store", "url"), ("takt-worker", "token")})
        example = of_kind("Secret")[0]
        self.assertEqual((example["metadata"]["name"], set(example["stringData"])),
                         ("takt-store", {"url"}))
        page = (DEPLOY.parent / "docs" / "operating.md").read_text(encoding="utf-8")
        self.assertIn("create secret generic takt-worker --from-file=token=", page)

    def test_the_page_makes_the_token_that_prometheus_reads(self):
        # Every scrape is answered 401, and every alert says that the schedulers are down.
        scrape = load(DEPLOY / "prometheus" / "kubernetes.yaml")["scrape_configs"][0]
        folder, key = scrape["authorization"]["credentials_file"].rsplit("/", 1)
        page = (DEPLOY.parent / "docs" / "operating.md").read_text(encoding="utf-8")
        self.assertRegex(page, r"token create --role viewer [^|]+\|\s+tr -d '\\n' \| kubectl -n \w+ create "
                               rf"secret generic takt-viewer --from-file={key}=")
        self.assertIn(f"`takt-viewer` there at `{folder}`", page)


class Pods(TaktTest):
    def run_pod(self, name, **values):
        """The first container of a pod, with its arguments and environment, on loopback."""
        container = next(spec for one, _, spec in pods() if one == name)["containers"][0]
        variables = harness.environment()
        expand = {}
        for variable in container["env"]:
            source = variable.get("valueFrom", {})
            if "fieldRef" in source:
                value = {"metadata.name": name + "-0", "metadata.namespace": "takt"}[
                    source["fieldRef"]["fieldPath"]]
            elif "secretKeyRef" in source:
                value = values[source["secretKeyRef"]["name"]]
            else:
                value = variable["value"]
            expand[variable["name"]] = value
            variables[variable["name"]] = re.sub(r"0\.0\.0\.0:\d+", values["listen"], value)
        arguments = []
        for argument in container["args"]:
            argument = re.sub(r"\$\((\w+)\)", lambda match: expand[match[1]], argument)
            argument = re.sub(r"http://takt[\w.-]*:8080", values["scheduler"], argument)
            arguments.append(re.sub(r"0\.0\.0\.0:\d+", values["listen"], argument))
        return container, self.start(name, *arguments, env=variables)

    def get(self, url):
        try:
            with urllib.request.urlopen(url, timeout=5) as answer:
                return answer.status
        except urllib.error.HTTPError as error:
            return error.code
        except OSError:
            return None

    def test_the_pods_start_and_answer_their_probes(self):
        # What the kubelet would do: start the containers, ask their probes.
        tokens = {role: self.takt("token", "create", "--role", role, "--store", self.store_url).strip()
                  for role in ("admin", "worker")}
        addresses = [f"127.0.0.1:{port}" for port in free_ports(2)]
        common = {"scheduler": f"http://{addresses[0]}", "takt-store": self.store_url,
                  "takt-worker": tokens["worker"]}
        for name, address in zip(("takt-scheduler", "takt-worker"), addresses):
            container, process = self.run_pod(name, listen=address, **common)
            for probe in ("startupProbe", "livenessProbe", "readinessProbe"):
                url = f"http://{address}{container[probe]['httpGet']['path']}"

                def good(url=url, process=process):
                    self.assertIsNone(process.process.poll(), process.text())
                    return self.get(url) == 200
                until(good, f"{name} answers {url}")
        with urllib.request.urlopen(f"http://{addresses[0]}/openapi.json", timeout=5) as answer:
            paths = json.load(answer)["paths"]
        for path in ("/healthz", "/readyz"):
            self.assertEqual(paths[path]["get"]["x-permission"], "none")
        variables = {"TAKT_SERVER": common["scheduler"], "TAKT_TOKEN": tokens["admin"]}
        rows = self.takt_json("workers", env=variables)["items"]
        self.assertEqual([row["id"] for row in rows], ["takt-worker-0"])

    def test_the_variables_of_service_links_would_stop_takt(self):
        # Why enableServiceLinks is off: Kubernetes makes TAKT_PORT of the service `takt`.
        ended = self.run_takt("serve", "--store", self.store_url, "--listen", "127.0.0.1:0",
                              env={"TAKT_PORT": "tcp://10.0.0.1:8080"})
        self.assertEqual(ended.returncode, 2)
        self.assertIn("TAKT_PORT", ended.stderr)


if __name__ == "__main__":
    unittest.main()
