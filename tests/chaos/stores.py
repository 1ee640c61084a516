"""Store servers of the tests' own: started on free ports, killed, stopped and started again.

All of them are Debian's, with the durable settings that docs/guarantees.md speaks of.
"""
import atexit
import os
import shutil
import signal
import socket
import subprocess
import tempfile

from harness import Process, free_port, until

START_SECONDS = 60


def accepts(port):
    try:
        socket.create_connection(("127.0.0.1", port), 1).close()
        return True
    except OSError:
        return False


def run(*command, timeout=30):
    """What a program that must succeed prints."""
    ended = subprocess.run(command, capture_output=True, text=True, timeout=timeout, check=False)
    if ended.returncode != 0:
        raise AssertionError(f"{command}: {ended.stderr}{ended.stdout}")
    return ended.stdout


class Server:
    """One server process that can be started again with its data."""

    def __init__(self, folder, name, command, ready):
        self.folder, self.name, self.command, self.ready = folder, name, command, ready
        self.process = None

    def launch(self):
        self.process = Process(self.folder, self.name, self.command[1:], program=self.command[0],
                               start_new_session=True)

    def start(self):
        self.launch()

        def is_up():
            if self.process.process.poll() is not None:
                raise AssertionError(f"{self.name} ended: {self.process.text()[-2000:]}")
            return self.ready()

        until(is_up, f"{self.name} answers", START_SECONDS)

    def kill(self):
        if self.process:
            self.process.kill()

    def stall(self):
        self.process.signal(signal.SIGSTOP)

    def resume(self):
        self.process.signal(signal.SIGCONT)


class Store:
    """What each kind of store has in common: servers, and the ports that a proxy stands before."""

    name = ""
    schedulers = 3

    def __init__(self, folder):
        self.folder = folder
        self.servers = []

    def start(self):
        for server in self.servers:
            server.start()

    def kill(self):
        for server in self.servers:
            server.kill()

    def stall(self):
        for server in self.servers:
            server.stall()

    def resume(self):
        for server in self.servers:
            server.resume()

    def close(self):
        self.kill()


class Embedded(Store):
    """One directory, one scheduler."""

    name = "embedded"
    schedulers = 1
    ports = ()

    def url(self, _ports):
        return f"file:{self.folder}/embedded"


class Redis(Store):
    name = "redis"

    def __init__(self, folder):
        super().__init__(folder)
        self.ports = [free_port()]
        self.add("redis", self.ports[0])

    def add(self, name, port, *arguments):
        data = f"{self.folder}/{name}-data"
        os.makedirs(data)
        server = Server(self.folder, name,
                        ["redis-server", "--bind", "127.0.0.1", "--port", str(port),
                         "--appendonly", "yes", "--appendfsync", "always", "--save", "",
                         "--repl-diskless-sync-delay", "0", "--dir", data, *arguments],
                        lambda: self.cli(port, "PING").strip() == "PONG")
        self.servers.append(server)
        return server

    def cli(self, port, *command):
        ended = subprocess.run(["redis-cli", "-p", str(port), *command], capture_output=True,
                               text=True, timeout=30, check=False)
        return ended.stdout

    def url(self, ports):
        return f"redis://127.0.0.1:{ports[0]}?timeout=1s&connect_timeout=500ms"


class Etcd(Store):
    name = "etcd"
    members = 1

    def __init__(self, folder):
        super().__init__(folder)
        self.ports = [free_port() for _ in range(self.members)]
        peers = [free_port() for _ in range(self.members)]
        cluster = ",".join(f"m{i}=http://127.0.0.1:{port}" for i, port in enumerate(peers))
        # A lease lasts at least one and a half election timeouts: short ones let terms be short.
        beat, election = ("50", "500") if self.members > 1 else ("10", "100")
        for index, (client, peer) in enumerate(zip(self.ports, peers)):
            client_url, peer_url = f"http://127.0.0.1:{client}", f"http://127.0.0.1:{peer}"
            self.servers.append(Server(
                folder, f"etcd-{index}",
                ["etcd", "--name", f"m{index}", "--data-dir", f"{folder}/etcd-{index}",
                 "--listen-client-urls", client_url, "--advertise-client-urls", client_url,
                 "--listen-peer-urls", peer_url, "--initial-advertise-peer-urls", peer_url,
                 "--initial-cluster", cluster, "--heartbeat-interval", beat,
                 "--election-timeout", election, "--logger", "zap", "--log-level", "warn"],
                lambda port=client: accepts(port)))

    def start(self):
        # None of several answers before a majority is there.
        for server in self.servers:
            server.launch()
        for server in self.servers:
            until(server.ready, f"{server.name} answers", START_SECONDS)
        until(lambda: self.leader() is not None, "etcd has a leader", START_SECONDS)

    def leader(self):
        """The number of the member that leads etcd itself."""
        for index, port in enumerate(self.ports):
            ended = subprocess.run(["etcdctl", "--endpoints", f"127.0.0.1:{port}",
                                    "--command-timeout", "1s", "endpoint", "status"],
                                   capture_output=True, text=True, timeout=30, check=False)
            if ", true, " in ended.stdout:
                return index
        return None

    def url(self, ports):
        hosts = ",".join(f"127.0.0.1:{port}" for port in ports)
        return f"etcd://{hosts}?timeout=1s"


class EtcdOfThree(Etcd):
    members = 3


class Mysql(Store):
    name = "mysql"
    installed = None  # An empty database, made once and copied for each run.
    redo = "16M"  # Of the redo log. Quickly made; full after a second of a flood, and then all wait for its pages.

    def __init__(self, folder):
        super().__init__(folder)
        self.ports = [free_port()]
        self.socket = f"{folder}/mysql.sock"
        user = ["--user=root"] if os.geteuid() == 0 else []
        init = f"{folder}/init.sql"
        with open(init, "w", encoding="utf-8") as file:
            file.write("CREATE DATABASE IF NOT EXISTS takt CHARACTER SET utf8mb4;\n"
                       "CREATE USER IF NOT EXISTS takt@'%' IDENTIFIED BY 'chaos';\n"
                       "GRANT ALL PRIVILEGES ON takt.* TO takt@'%';\n")
        self.servers.append(Server(
            folder, "mariadbd",
            ["mariadbd", "--no-defaults", f"--datadir={folder}/mysql", "--bind-address=127.0.0.1",
             f"--port={self.ports[0]}", f"--socket={self.socket}", f"--init-file={init}",
             "--skip-name-resolve", "--innodb-flush-log-at-trx-commit=1",
             f"--innodb-log-file-size={self.redo}", "--innodb-buffer-pool-size=64M", *user],
            self.answers))

    def start(self):
        if Mysql.installed is None:
            Mysql.installed = tempfile.mkdtemp(prefix="takt-chaos-mysql-")
            atexit.register(shutil.rmtree, Mysql.installed, ignore_errors=True)
            user = ["--user=root"] if os.geteuid() == 0 else []
            run("mariadb-install-db", "--no-defaults", f"--datadir={Mysql.installed}",
                "--auth-root-authentication-method=normal", "--skip-test-db",
                "--innodb-log-file-size=16M", *user, timeout=120)
        shutil.copytree(Mysql.installed, f"{self.folder}/mysql")
        super().start()

    def query(self, sql):
        return subprocess.run(["mariadb", "--no-defaults", f"--socket={self.socket}", "-uroot",
                               "-N", "-B", "-e", sql], capture_output=True, text=True, timeout=30,
                              check=False).stdout

    def hold_tables(self, prefix, seconds):
        """Nobody else reads or writes the tables of this prefix meanwhile."""
        tables = [name for name in self.query("SHOW TABLES FROM takt").split() if name.startswith(prefix)]
        locks = ", ".join(f"{name} WRITE" for name in tables)
        self.query(f"USE takt; LOCK TABLES {locks}; DO SLEEP({seconds}); UNLOCK TABLES")
        return len(tables)

    def answers(self):
        return self.query("SELECT 1").strip() == "1"

    def url(self, ports):
        return f"mysql://takt:chaos@127.0.0.1:{ports[0]}/takt?timeout=1&pool=2"


STORES = {kind.name: kind for kind in (Redis, Etcd, Mysql, Embedded)}
