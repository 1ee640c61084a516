"""The servers: Takt's stores and those of its peers. Each start_* gives a Server with its settings
for the drivers, its version and how durable it is set up."""

import dataclasses
import json
import os
import pathlib
import signal
import subprocess
import urllib.request

import toolchains
from processes import Process, free_port


@dataclasses.dataclass
class Server:
    processes: list  # In the order of their start.
    version: str
    durability: str
    settings: dict = dataclasses.field(default_factory=dict)  # For the driver.
    store_url: str = ""  # For takt serve.

    def pids(self):
        return [process.pid for process in self.processes]

    def stop(self):
        while self.processes:
            self.processes.pop().stop()


def first_line(*command):
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return (done.stdout or done.stderr).strip().splitlines()[0]


def start_redis(folder, cpus, fsync="everysec"):
    data, port = folder.make("redis"), free_port()
    command = ["redis-server", "--port", port, "--bind", "127.0.0.1", "--dir", data]
    command += ["--appendonly", "yes", "--appendfsync", fsync, "--save", ""]
    command += ["--maxmemory-policy", "noeviction"]
    server = Process("redis-server", command, data / "log", cpus)
    server.wait_for_port(port)
    return Server(
        [server],
        "redis " + first_line("redis-server", "--version").split("v=")[1].split()[0],
        f"append-only file, fsync {fsync}",
        {"port": port},
        f"redis://127.0.0.1:{port}",
    )


def start_etcd(folder, cpus):
    data, client, peer = folder.make("etcd"), free_port(), free_port()
    command = ["etcd", "--data-dir", data / "data", "--name", "bench", "--logger", "zap"]
    command += ["--log-level", "error"]
    command += ["--listen-client-urls", f"http://127.0.0.1:{client}"]
    command += ["--advertise-client-urls", f"http://127.0.0.1:{client}"]
    command += ["--listen-peer-urls", f"http://127.0.0.1:{peer}"]
    command += ["--initial-advertise-peer-urls", f"http://127.0.0.1:{peer}"]
    command += ["--initial-cluster", f"bench=http://127.0.0.1:{peer}"]
    # The growth runs put more than the default 2 GB into it between two compactions.
    command += ["--quota-backend-bytes", 8 << 30]
    server = Process("etcd", command, data / "log", cpus)
    server.wait_for_port(client)
    version = first_line("etcd", "--version").split()[-1]
    return Server(
        [server], f"etcd {version}", "fsync per group of writes, one member",
        store_url=f"etcd://127.0.0.1:{client}?quota={8 << 30}",
    )  # fmt: skip


def start_mariadb(folder, cpus):
    user = "mysql" if os.geteuid() == 0 else None
    data, port = folder.make("mariadb", user), free_port()
    as_user = [f"--user={user}"] if user else []
    subprocess.run(
        ["mariadb-install-db", "--no-defaults", f"--datadir={data}/data", "--skip-test-db",
         "--auth-root-authentication-method=normal", *as_user],
        check=True, capture_output=True,
    )  # fmt: skip
    (data / "init.sql").write_text(
        "CREATE DATABASE IF NOT EXISTS takt CHARACTER SET utf8mb4;\n"
        "CREATE USER IF NOT EXISTS takt@'%' IDENTIFIED BY 'bench';\n"
        "GRANT ALL PRIVILEGES ON takt.* TO takt@'%';\n"
    )
    command = ["mariadbd", "--no-defaults", f"--datadir={data}/data", f"--socket={data}/socket"]
    command += ["--bind-address=127.0.0.1", f"--port={port}", f"--init-file={data}/init.sql"]
    command += ["--skip-name-resolve", "--innodb-flush-log-at-trx-commit=1", "--skip-log-bin"]
    command += ["--innodb-buffer-pool-size=1G", "--innodb-log-file-size=512M", *as_user]
    command += ["--max-allowed-packet=64M"]
    server = Process("mariadbd", command, data / "log", cpus)
    server.wait_for_port(port)
    return Server(
        [server],
        "MariaDB " + first_line("mariadbd", "--version").split("Ver ")[1].split("-")[0],
        "fsync per commit (innodb_flush_log_at_trx_commit=1)",
        store_url=f"mysql://takt:bench@127.0.0.1:{port}/takt",
    )


def start_postgres(folder, cpus):
    programs = sorted(pathlib.Path("/usr/lib/postgresql").glob("*/bin"))[-1]
    user = "postgres" if os.geteuid() == 0 else None
    data, port = folder.make("postgres", user), free_port()
    made = Process(
        "initdb", [programs / "initdb", "-D", data / "data", "-A", "trust", "-U", "bench"],
        folder.path / "initdb.log", user=user, cwd=data,
    )  # fmt: skip
    made.wait_until(lambda: made.popen.poll() == 0)
    settings = {
        "listen_addresses": "127.0.0.1",
        "unix_socket_directories": str(data),
        "fsync": "on",
        "synchronous_commit": "on",
        "shared_buffers": "1GB",
        "max_wal_size": "4GB",
        "checkpoint_timeout": "15min",
        "max_connections": "200",
    }
    command = [programs / "postgres", "-D", data / "data", "-p", port]
    for name, value in settings.items():
        command += ["-c", f"{name}={value}"]
    server = Process(
        "postgres", command, folder.path / "postgres.log", cpus, user,
        stop_with=signal.SIGINT, cwd=data,
    )  # fmt: skip
    ask = [programs / "pg_isready", "-q", "-h", "127.0.0.1", "-p", str(port)]
    server.wait_until(lambda: subprocess.run(ask, check=False).returncode == 0)
    return Server(
        [server],
        "PostgreSQL " + first_line(programs / "postgres", "--version").split()[2],
        "fsync per commit (synchronous_commit=on)",
        {"url": f"postgres://bench@127.0.0.1:{port}/postgres"},
    )


def start_beanstalkd(folder, cpus, log_arguments=(), durability="none: memory only"):
    data, port = folder.make("beanstalkd"), free_port()
    command = ["beanstalkd", "-l", "127.0.0.1", "-p", port]
    for word in log_arguments:
        command.append(data if word == "DIR" else word)
    server = Process("beanstalkd", command, folder.path / "beanstalkd.log", cpus)
    server.wait_for_port(port)
    version = first_line("beanstalkd", "-v")
    return Server([server], version, durability, {"port": port})


def start_beanstalkd_synced(folder, cpus):
    return start_beanstalkd(folder, cpus, ["-b", "DIR", "-f0"], "binlog, fsync per operation (-f0)")


def start_gearmand(folder, cpus):
    data, port = folder.make("gearmand"), free_port()
    (data / "none").touch()
    # Its default of 991 buckets slows down from some ten thousand jobs on.
    command = ["gearmand", "--listen=127.0.0.1", f"--port={port}", f"--pid-file={data}/pid"]
    command += ["--log-file=stderr", "--hashtable-buckets=1000003", f"--config-file={data}/none"]
    server = Process("gearmand", command, data / "log", cpus)
    server.wait_for_port(port)
    version = "gearmand " + first_line("gearmand", "--version").split()[1]
    return Server([server], version, "none: memory only", {"port": port})


def start_rabbitmq(folder, cpus):
    user = "rabbitmq" if os.geteuid() == 0 else None
    data = folder.make("rabbitmq", user)
    port, distribution, names = free_port(), free_port(), free_port()
    (data / "rabbitmq.conf").write_text(
        f"listeners.tcp.default = 127.0.0.1:{port}\nloopback_users = none\n"
        "log.console = false\nlog.file.level = error\n"
    )
    environment = {
        **os.environ,
        "HOME": str(data),
        "ERL_EPMD_PORT": str(names),
        "ERL_EPMD_ADDRESS": "127.0.0.1",
        "RABBITMQ_NODENAME": "bench@localhost",
        "RABBITMQ_DIST_PORT": str(distribution),
        "RABBITMQ_BASE": str(data),
        "RABBITMQ_MNESIA_BASE": str(data / "mnesia"),
        "RABBITMQ_LOG_BASE": str(data / "log"),
        "RABBITMQ_CONFIG_FILE": str(data / "rabbitmq.conf"),
        "RABBITMQ_ADVANCED_CONFIG_FILE": str(data / "none.config"),
        "RABBITMQ_CONF_ENV_FILE": str(data / "none.env"),
        "RABBITMQ_ENABLED_PLUGINS_FILE": str(data / "enabled_plugins"),
        "RABBITMQ_PID_FILE": str(data / "pid"),
        "LANG": "C.UTF-8",
    }
    log = folder.path / "rabbitmq.log"
    around = {"cpus": cpus, "user": user, "env": environment, "cwd": data}
    # Erlang would leave a daemon of it behind.
    names_server = Process("epmd", ["epmd", "-port", names], log, **around)
    names_server.wait_for_port(names)
    program = "/usr/lib/rabbitmq/bin/rabbitmq-server"
    try:
        broker = Process("rabbitmq-server", [program], log, **around)
        broker.wait_for_port(port)
    except BaseException:
        names_server.stop()
        raise
    version = "RabbitMQ " + first_line(
        "dpkg-query", "-W", "-f", "${Version}", "rabbitmq-server"
    ).split("-")[0]  # fmt: skip
    return Server(
        [names_server, broker], version, "quorum queue on one member, fsync per group of writes",
        {"port": port},
    )  # fmt: skip


def start_nats(folder, cpus, always=False):
    data, port = folder.make("nats"), free_port()
    sync = "always" if always else "2m"
    (data / "nats.conf").write_text(
        f"listen: 127.0.0.1:{port}\njetstream {{ store_dir: {data}/store, sync_interval: {sync} }}\n"
    )
    program = toolchains.NATS_SERVER
    server = Process("nats-server", [program, "-c", data / "nats.conf"], data / "log", cpus)
    server.wait_for_port(port)
    return Server(
        [server],
        first_line(program, "--version").replace(": v", " "),
        "files, fsync before a message or batch is accepted (sync_interval: always)" if always
        else "files, fsync every two minutes (its default)",
        {"port": port, "atomic": always},
    )  # fmt: skip


def start_nats_synced(folder, cpus):
    return start_nats(folder, cpus, always=True)


def leads(url):
    """Whether a scheduler has begun its term: before, it sends workers away."""
    with urllib.request.urlopen(f"{url}/api/v1/scheduler/status", timeout=5) as answer:
        return json.load(answer)["is_leader"]


def start_takt(folder, cpus, takt, store, sets=(), prepare=None):
    """A scheduler over `store`, a Server, or over a file of its own; stops with it. `prepare` is told
    the store's URL before anybody leads there."""
    data = folder.make("takt")
    url = store.store_url if store else f"file:{data}/store"
    if prepare:
        prepare(url)
    command = [takt, "serve", "--store", url, "--listen", "127.0.0.1:0", "--log-level", "error"]
    for name, value in sets:
        command += ["--set", f"{name}={value}"]
    server = Process("takt serve", command, data / "log", cpus, stdout=subprocess.PIPE)
    line = server.popen.stdout.readline().decode()
    if "http" not in line:
        server.wait_until(lambda: False, 0)
    address = line[line.index("http") :].strip()
    server.wait_until(lambda: leads(address))
    return Server(
        [*(store.processes if store else []), server],
        first_line(takt, "--version") + (f", {store.version}" if store else ""),
        store.durability if store else "fsync per group of writes (SQLite WAL, synchronous=FULL)",
        {"url": address, "store_url": url},
    )
