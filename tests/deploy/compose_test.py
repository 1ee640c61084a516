"""The compose files, without Docker: their schema by docker-compose, their sense by what must hold, and
each of them really run, with every container a process of this machine on a port of its own."""
import os
import pathlib
import re
import shutil
import signal
import subprocess
import tempfile
import unittest

from support import DEPLOY, IMAGE, free_ports, load

import harness
from harness import TaktTest, until

COMPOSE = DEPLOY / "compose"
STORES = ["embedded", "etcd", "mysql", "redis"]
HEALTHCHECK = DEPLOY / "container" / "takt-healthcheck"
FIRST_TOKENS = DEPLOY / "container" / "takt-first-tokens"


# The names of all files that make-secrets makes.
MADE_SECRETS = []


def seconds(text):
    return int(re.fullmatch(r"(\d+)s", text)[1])


class ComposeFiles(unittest.TestCase):
    def files(self):
        for store in STORES:
            with self.subTest(store=store):
                yield store, load(COMPOSE / f"{store}.yaml")

    def test_every_file_fits_the_schema(self):
        # A key that compose does not know stops the whole installation. docker-compose 1.29 knows the
        # schema and needs no Docker for this; only the top-level `name` is younger than it.
        with tempfile.TemporaryDirectory() as folder:
            monitoring = shutil.copy(COMPOSE / "monitoring.yaml", folder)
            for store in STORES:
                text = (COMPOSE / f"{store}.yaml").read_text(encoding="utf-8")
                text, names = re.subn(rf"(?m)^name: takt-{store}\n", "", text)
                self.assertEqual(names, 1)
                copy = pathlib.Path(folder) / f"{store}.yaml"
                copy.write_text(text, encoding="utf-8")
                with self.subTest(store=store):
                    ended = subprocess.run(["/usr/bin/docker-compose", "-f", str(copy), "-f", monitoring,
                                            "config", "-q"],
                                           capture_output=True, text=True, timeout=60, check=False)
                    self.assertEqual(ended.returncode, 0, ended.stderr + ended.stdout)

    def test_what_services_name_is_declared(self):
        # docker-compose finds unknown volumes, networks and services itself; not that a declared one is
        # used by nobody, nor that a secret's file is never made.
        for _, file in self.files():
            services = file["services"].values()
            for kind in ("secrets", "volumes", "networks"):
                used = {str(item).split(":", 1)[0] for service in services
                        for item in service.get(kind, [])}
                self.assertEqual(set(file[kind]), used, kind)
            for name, secret in file["secrets"].items():
                self.assertEqual(secret, {"file": f"./secrets/{name}"})
                self.assertIn(name, MADE_SECRETS)

    def test_only_loopback_is_published_and_the_store_is_not(self):
        # Somebody starts the file on a machine with a public address.
        files = [*self.files(), ("monitoring", load(COMPOSE / "monitoring.yaml"))]
        for store, file in files:
            for name, service in file["services"].items():
                for port in service.get("ports", []):
                    self.assertRegex(port, r"^127\.0\.0\.1:\d+:\d+$", name)
                if name == store:
                    self.assertNotIn("ports", service)
                    self.assertEqual(service["networks"], ["store"])
            if store in STORES and store != "embedded":
                self.assertTrue(file["networks"]["store"]["internal"])

    def test_containers_of_takt_have_no_rights_to_lose(self):
        # A hole in a handler must not become a hole in the host.
        for _, file in self.files():
            for name, service in file["services"].items():
                if service["image"] != IMAGE:
                    self.assertFalse(service["image"].startswith("takt"), "another version's image")
                    continue
                self.assertEqual(service["cap_drop"], ["ALL"], name)
                self.assertTrue(service["read_only"], name)
                self.assertIn("no-new-privileges:true", service["security_opt"], name)
                self.assertNotIn("--insecure", service["command"], name)

    def test_redis_does_not_run_as_root(self):
        # Its image gives up root by itself only for a command that begins with redis-server.
        service = load(COMPOSE / "redis.yaml")["services"]["redis"]
        self.assertTrue(service["command"][0] == "redis-server" or service.get("user") == "redis")

    def test_three_schedulers_and_three_workers(self):
        # The topologies of the designs; the embedded store allows one scheduler.
        for store, file in self.files():
            commands = [service["command"][0] for service in file["services"].values()
                        if service["image"] == IMAGE and "entrypoint" not in service
                        for _ in range(service.get("deploy", {}).get("replicas", 1))]
            self.assertEqual(commands.count("serve"), 1 if store == "embedded" else 3)
            self.assertEqual(commands.count("worker"), 3)

    def test_a_stop_leaves_time_to_drain(self):
        # `docker compose down` kills what has not ended by then.
        for _, file in self.files():
            for name, service in file["services"].items():
                if name == "worker":
                    # worker.drain_timeout and worker.stop_grace.
                    self.assertGreater(seconds(service["stop_grace_period"]), 60 + 10)
                if name.startswith("scheduler"):
                    self.assertGreater(seconds(service["stop_grace_period"]), 5)

    def test_workers_can_be_scaled(self):
        # A fixed id or port is a name that only one container can have.
        for _, file in self.files():
            worker = file["services"]["worker"]
            self.assertNotIn("--id", worker["command"])
            self.assertNotIn("ports", worker)
            self.assertNotIn("container_name", worker)

    def test_nobody_can_take_the_whole_machine(self):
        # A flood of tasks, or a leak in a handler.
        for _, file in self.files():
            for name, service in file["services"].items():
                if name != "tokens":
                    # Compose 2 refuses `deploy.resources.limits` beside `pids_limit`: a service says all of it itself.
                    self.assertNotIn("resources", service.get("deploy", {}), name)
                    self.assertLessEqual({"cpus", "mem_limit"}, set(service), name)

    def test_every_store_says_when_it_is_healthy(self):
        # Without it the tokens are made too early, and nothing ever starts.
        for store, file in self.files():
            if store == "embedded":
                continue
            self.assertIn("test", file["services"][store]["healthcheck"])
            self.assertEqual(file["services"]["tokens"]["depends_on"],
                             {store: {"condition": "service_healthy"}})


class Containers(TaktTest):
    """Each service of a file as a process: host names become ports of loopback, mounts become folders."""

    def open(self, store):
        self.kind = store
        self.file = load(COMPOSE / f"{store}.yaml")
        self.secrets = pathlib.Path(self.folder) / "secrets"
        self.run_file([COMPOSE / "make-secrets", self.secrets])
        # Each container by its name: of a service with replicas worker-1, worker-2 and so on.
        self.services = {}
        for name, service in self.file["services"].items():
            count = service.get("deploy", {}).get("replicas")
            for container in [f"{name}-{i + 1}" for i in range(count)] if count else [name]:
                self.services[container] = service
        self.ports = dict(zip(self.services, free_ports(len(self.services))))
        for secret in [*self.secrets.glob("*.url"), *self.secrets.glob("*.yaml")]:
            secret.chmod(0o600)
            secret.write_text(self.here(None, secret.read_text()))

    def run_file(self, command, **options):
        ended = subprocess.run([str(part) for part in command], capture_output=True, text=True,
                               timeout=60, check=False, **options)
        self.assertEqual(ended.returncode, 0, f"{command}: {ended.stderr}{ended.stdout}")
        return ended.stdout

    def here(self, service, text):
        """What `text`, inside the container of `service`, is called on this machine."""
        for name, port in self.ports.items():
            text = re.sub(rf"\b{name}:\d+", f"127.0.0.1:{port}", text)
        text = re.sub(r"\b(0\.0\.0\.0|127\.0\.0\.1):(8080|2379|6379)\b",
                      f"127.0.0.1:{self.ports.get(service)}", text)
        text = text.replace("$$", "$").replace("/run/secrets", str(self.secrets))
        text = text.replace("/var/lib", f"{self.folder}/var")
        return text.replace("/run/takt", f"{self.folder}/tokens")

    def command(self, service):
        return [self.here(service, part) for part in self.services[service]["command"]]

    def container(self, service):
        """Starts a service of takt's by its own command and environment."""
        variables = harness.environment()
        for name, value in self.services[service]["environment"].items():
            variables[name] = self.here(service, value)
        return self.start(service, *self.command(service), env=variables)

    def first_tokens(self):
        self.run_file(["bash", FIRST_TOKENS, *self.command("tokens")],
                      env={**harness.environment(), "TAKT_BINARY": os.path.abspath(harness.TAKT)})

    def is_healthy(self, service):
        """What the image's health check says."""
        url = f"http://127.0.0.1:{self.ports[service]}/readyz"
        return subprocess.run(["bash", str(HEALTHCHECK), url], capture_output=True, timeout=30,
                              check=False).returncode == 0

    def store_process(self, arguments):
        """A store's own program, ended by its process id."""
        output = open(f"{self.folder}/store.out", "ab")
        self.addCleanup(output.close)
        process = subprocess.Popen([str(part) for part in arguments], stdout=output, stderr=output,
                                   stdin=subprocess.DEVNULL)
        self.addCleanup(process.wait, 30)
        self.addCleanup(process.kill)
        return process

    def until_store(self, check):
        """Waits until the file's own health check, spelled for this machine, succeeds."""
        until(lambda: subprocess.run(check, capture_output=True, timeout=30, check=False).returncode
              == 0, f"{self.kind} is healthy")

    def check_topology(self):
        schedulers = [name for name in self.ports if name.startswith("scheduler")]
        workers = [name for name in self.ports if name.startswith("worker-")]
        self.first_tokens()
        first = (pathlib.Path(self.folder) / "tokens/admin/token").read_text().strip()
        self.first_tokens()  # `docker compose up` a second time.
        admin = (pathlib.Path(self.folder) / "tokens/admin/token").read_text().strip()
        self.assertEqual(first, admin)
        processes = {name: self.container(name) for name in schedulers + workers}
        for name in schedulers + workers:
            def healthy(name=name):
                ended = processes[name].process.poll()
                self.assertIsNone(ended, f"{name} ended: {processes[name].text()}")
                return self.is_healthy(name)
            until(healthy, f"{name} is healthy")
        urls = ",".join(f"http://127.0.0.1:{self.ports[name]}" for name in schedulers)
        variables = {"TAKT_SERVER": urls, "TAKT_TOKEN": admin}
        self.refused(2, "submit", "noop", env={"TAKT_SERVER": urls})
        self.takt("submit", "echo", '{"say": "hello"}', "--wait", env=variables)
        rows = self.takt_json("workers", env=variables)["items"]
        self.assertEqual(len([row for row in rows if row["connected"]]), len(workers))
        if len(schedulers) > 1:
            self.check_takeover(schedulers, processes, variables)
        for name in workers:
            processes[name].signal(signal.SIGTERM)
        for name in workers:
            self.assertEqual(processes[name].wait(), 0, processes[name].text())

    def check_takeover(self, schedulers, processes, variables):
        """The leader's container is stopped; another one leads, and the workers find it."""
        leader = self.takt_json("status", env=variables)["leader"]["node_id"]
        self.assertIn(leader, schedulers)
        processes[leader].signal(signal.SIGTERM)
        self.assertEqual(processes[leader].wait(), 0, processes[leader].text())
        # Until another one leads, an answer asks to try again (exit code 5).
        submit = ["submit", "echo", "{}", "--id", "after", "--wait", "--wait-timeout", "25s"]
        until(lambda: self.run_takt(*submit, env=variables).returncode == 0, "another one leads")
        # A follower learns of the new leader when it next asks the store.
        until(lambda: self.takt_json("status", env=variables)["leader"]["node_id"] != leader,
              "the status names another leader")

    def test_embedded(self):
        self.open("embedded")
        self.check_topology()

    def test_redis(self):
        self.open("redis")
        shell = self.command("redis")
        # The port and the folder are the container's own.
        shell[2] = shell[2].replace("redis-server -", f"redis-server - --dir {self.folder} --bind "
                                    f"127.0.0.1 --port {self.ports['redis']}")
        self.store_process(shell)
        check = self.here("redis", self.file["services"]["redis"]["healthcheck"]["test"][1])
        self.until_store(["sh", "-c", check.replace("redis-cli", f"redis-cli -p {self.ports['redis']}")])
        self.check_topology()

    def test_etcd(self):
        self.open("etcd")
        peer = free_ports(1)[0]
        self.store_process([*self.command("etcd"), f"--listen-peer-urls=http://127.0.0.1:{peer}",
                            f"--initial-advertise-peer-urls=http://127.0.0.1:{peer}",
                            f"--initial-cluster=etcd=http://127.0.0.1:{peer}"])
        check = self.file["services"]["etcd"]["healthcheck"]["test"]
        self.assertEqual(check[0], "CMD")
        self.until_store(["env", "ETCDCTL_API=3", *[self.here("etcd", part) for part in check[1:]]])
        self.check_topology()

    def test_mysql(self):
        self.open("mysql")
        service = self.file["services"]["mysql"]
        data, socket = f"{self.folder}/mysql", f"{self.folder}/mysql.sock"
        user = ["--user=root"] if os.geteuid() == 0 else []
        self.run_file(["mariadb-install-db", "--no-defaults", f"--datadir={data}", *user,
                       "--auth-root-authentication-method=normal", "--skip-test-db"])
        self.store_process([service["command"][0], "--no-defaults", *service["command"][1:], *user,
                            f"--datadir={data}", f"--socket={socket}", "--bind-address=127.0.0.1",
                            f"--port={self.ports['mysql']}", f"--pid-file={self.folder}/mysql.pid"])
        client = ["mariadb", "--no-defaults", "-u", "root", f"--socket={socket}"]
        self.until_store([*client, "-e", "SELECT 1"])
        # What the image does with its MARIADB_ variables.
        names = service["environment"]
        password = (self.secrets / pathlib.Path(names["MARIADB_PASSWORD_FILE"]).name).read_text()
        self.run_file([*client, "-e", f"CREATE DATABASE {names['MARIADB_DATABASE']}; GRANT ALL ON "
                       f"{names['MARIADB_DATABASE']}.* TO {names['MARIADB_USER']}@'%' IDENTIFIED BY "
                       f"'{password.strip()}'"])
        self.check_topology()


def setUpModule():
    for program in ("/usr/bin/docker-compose", "redis-server", "etcd", "mariadbd", "openssl"):
        if not shutil.which(program, path=os.environ["PATH"] + ":/usr/sbin"):
            raise AssertionError(f"{program} is missing: ./dev setup installs it")
    os.environ["PATH"] += ":/usr/sbin"
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([str(COMPOSE / "make-secrets"), folder], check=True, capture_output=True)
        MADE_SECRETS.extend(os.listdir(folder))


if __name__ == "__main__":
    unittest.main()
