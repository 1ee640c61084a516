"""The Envoy example, without Envoy: each address that needs a timeout of its own has it, and what routes name is
there."""
import re
import unittest

from support import DEPLOY, load

RESOURCES = load(DEPLOY / "envoy/takt.yaml")["static_resources"]
MANAGER = RESOURCES["listeners"][0]["filter_chains"][0]["filters"][0]["typed_config"]


def route_of(path):
    """As Envoy chooses: the first that matches; a pattern must match the whole path."""
    for route in MANAGER["route_config"]["virtual_hosts"][0]["routes"]:
        match = route["match"]
        if (match.get("path") == path or path.startswith(match.get("prefix", "\0"))
                or re.fullmatch(match.get("safe_regex", {"regex": "\0"})["regex"], path)):
            return route["route"]
    return None


class Envoy(unittest.TestCase):
    def test_workers_get_their_websocket_through(self):
        self.assertIn({"upgrade_type": "websocket"}, MANAGER["upgrade_configs"])
        attach = route_of("/api/v1/workers/attach")
        self.assertEqual(attach["timeout"], "0s")
        # Longer than a worker may be silent (scheduler.worker_lease).
        self.assertGreater(int(attach["idle_timeout"].rstrip("s")), 30)

    def test_events_and_followed_logs_are_not_cut_off(self):
        for path in ("/api/v1/events", "/api/v1/executions/e-1/log"):
            self.assertEqual(route_of(path)["timeout"], "0s", path)
        self.assertNotEqual(route_of("/api/v1/executions/e-1")["timeout"], "0s")

    def test_routes_lead_to_the_schedulers(self):
        clusters = {one["name"]: one for one in RESOURCES["clusters"]}
        for route in MANAGER["route_config"]["virtual_hosts"][0]["routes"]:
            self.assertIn(route["route"]["cluster"], clusters)
        self.assertEqual(clusters["takt"]["health_checks"][0]["http_health_check"], {"path": "/readyz"})
        text = (DEPLOY / "nginx/takt.conf").read_text(encoding="utf-8")
        ports = [one["endpoint"]["address"]["socket_address"]["port_value"]
                 for one in clusters["takt"]["load_assignment"]["endpoints"][0]["lb_endpoints"]]
        self.assertEqual(ports, [int(port) for port in re.findall(r"server 127\.0\.0\.1:(\d+);", text)])


if __name__ == "__main__":
    unittest.main()
