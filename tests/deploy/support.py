"""What the tests of deploy/ share: the folder, the harness of the end-to-end tests, YAML, free ports."""
import pathlib
import re
import socket
import sys

import yaml

SOURCE = pathlib.Path(__file__).resolve().parents[2]
DEPLOY = SOURCE / "deploy"
VERSION = re.search(r"project\(takt VERSION ([\d.]+)",
                    (SOURCE / "CMakeLists.txt").read_text(encoding="utf-8"))[1]
IMAGE = f"takt:{VERSION}"
sys.path.insert(0, str(SOURCE / "tests" / "e2e"))


def load(path):
    return yaml.safe_load(pathlib.Path(path).read_text(encoding="utf-8"))


def load_all(path):
    return [one for one in yaml.safe_load_all(pathlib.Path(path).read_text(encoding="utf-8")) if one]


def free_ports(count):
    """Ports of loopback that nobody listens on now; all are held until all are found."""
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports
