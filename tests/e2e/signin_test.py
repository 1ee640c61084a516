"""Signing in by OpenID Connect, against a provider of the test's own that can be told to lie."""
import base64
import hashlib
import html
import http.cookiejar
import http.server
import json
import pathlib
import re
import subprocess
import threading
import time
import unittest
import urllib.error
import urllib.parse
import urllib.request

from harness import TAKT, TaktTest, environment, free_port, until


def text64(data):
    if isinstance(data, dict):
        data = json.dumps(data).encode()
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


class SigningKey:
    """An RSA key that openssl keeps in a file."""

    def __init__(self, folder, kid):
        self.kid = kid
        self.path = pathlib.Path(folder) / f"{kid}.pem"
        subprocess.run(["openssl", "genrsa", "-out", self.path, "2048"], check=True, capture_output=True)
        shown = subprocess.run(["openssl", "rsa", "-in", self.path, "-noout", "-modulus"], check=True,
                               capture_output=True, text=True).stdout
        self.modulus = bytes.fromhex(shown.strip().split("=")[1])

    def jwk(self):
        return {"kty": "RSA", "use": "sig", "alg": "RS256", "kid": self.kid, "n": text64(self.modulus),
                "e": "AQAB"}

    def sign(self, head, claims):
        signed = text64(head) + "." + text64(claims)
        signature = subprocess.run(["openssl", "dgst", "-sha256", "-sign", self.path],
                                   input=signed.encode(), check=True, capture_output=True).stdout
        return signed + "." + text64(signature)


class Provider(http.server.ThreadingHTTPServer):
    """Answers as a provider does. `lie` changes the claims of the next tokens, `head` their head."""

    def __init__(self, folder):
        super().__init__(("127.0.0.1", 0), ProviderHandler)
        self.folder = folder
        self.issuer = f"http://127.0.0.1:{self.server_address[1]}"
        self.key = SigningKey(folder, "first")
        self.published = [self.key]
        self.codes = {}
        self.groups = ["ops"]
        self.lie = {}
        self.head = {}
        self.sign = None  # In place of the key's own.
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def token(self, asked):
        now = int(time.time())
        claims = {"iss": self.issuer, "aud": asked["client_id"], "sub": "u-1", "exp": now + 300, "iat": now,
                  "nonce": asked["nonce"], "email": "ada@example.org", "groups": self.groups, **self.lie}
        head = {"alg": "RS256", "kid": self.key.kid, **self.head}
        return (self.sign or self.key.sign)(head, claims)


class ProviderHandler(http.server.BaseHTTPRequestHandler):
    def log_message(self, *_):
        pass

    def answer(self, status, value):
        body = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        url = urllib.parse.urlsplit(self.path)
        issuer = self.server.issuer
        if url.path == "/.well-known/openid-configuration":
            return self.answer(200, {"issuer": issuer, "authorization_endpoint": issuer + "/authorize",
                                     "token_endpoint": issuer + "/token", "jwks_uri": issuer + "/keys"})
        if url.path == "/keys":
            return self.answer(200, {"keys": [key.jwk() for key in self.server.published]})
        if url.path != "/authorize":
            return self.answer(404, {})
        asked = dict(urllib.parse.parse_qsl(url.query))
        code = f"code-{len(self.server.codes)}"
        self.server.codes[code] = asked
        back = urllib.parse.urlencode({"code": code, "state": asked["state"], "session_state": "theirs"})
        self.send_response(302)
        self.send_header("Location", asked["redirect_uri"] + "?" + back)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def do_POST(self):
        form = dict(urllib.parse.parse_qsl(self.rfile.read(int(self.headers["Content-Length"])).decode()))
        asked = self.server.codes.pop(form.get("code"), None)
        if not asked or form.get("client_secret") != "hush":
            return self.answer(400, {"error": "invalid_grant"})
        challenge = text64(hashlib.sha256(form["code_verifier"].encode()).digest())
        if challenge != asked["code_challenge"] or asked["code_challenge_method"] != "S256":
            return self.answer(400, {"error": "invalid_grant"})
        self.answer(200, {"id_token": self.server.token(asked), "token_type": "Bearer"})


class Browser:
    """Follows redirects and keeps cookies, as a person's does."""

    def __init__(self):
        self.jar = http.cookiejar.CookieJar()
        self.opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(self.jar))

    def open(self, url, method="GET", headers=None, data=None):
        request = urllib.request.Request(url, method=method, headers=headers or {}, data=data)
        try:
            with self.opener.open(request, timeout=20) as answer:
                return answer.status, answer.read().decode(), answer.url
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode(), error.url

    def cookie(self, name):
        return next((cookie for cookie in self.jar if cookie.name == name), None)


class StopAtRedirects(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_):
        return None


class SignInTest(TaktTest):
    def setUp(self):
        super().setUp()
        self.provider = Provider(self.folder)
        self.addCleanup(self.provider.server_close)
        self.addCleanup(self.provider.shutdown)
        port = free_port()
        secret = pathlib.Path(self.folder) / "secret"
        secret.write_text("hush\n")
        key = pathlib.Path(self.folder) / "key"
        key.write_text("0123456789abcdef" * 4 + "\n")
        self.serve(
            "--set", f"signin.issuer={self.provider.issuer}", "--set", "signin.client_id=takt",
            "--set", f"signin.client_secret_file={secret}", "--set", f"signin.session_key_file={key}",
            "--set", f"signin.public_url=http://127.0.0.1:{port}",
            "--set", "signin.roles=[{group: ops, role: operator}, {group: root, role: admin}, "
                     "{group: look, role: viewer, namespace: billing}]", port=port)

    def sign_in(self, browser=None):
        browser = browser or Browser()
        return browser, browser.open(self.url + "/auth/login?return_to=/auth/methods")

    def me(self, browser):
        status, body, _ = browser.open(self.url + "/api/v1/me")
        self.assertEqual(status, 200, body)
        return json.loads(body)

    def refuses(self, why):
        browser, (status, body, _) = self.sign_in()
        self.assertEqual(status, 401, body)
        self.assertIn(why, body)
        self.assertIsNone(browser.cookie("takt_session"))

    def test_a_person_signs_in_and_may_what_the_groups_may(self):
        status, body, _ = Browser().open(self.url + "/api/v1/tasks")
        self.assertEqual(status, 401)
        self.assertIn("sign in", body)
        browser, (status, _, url) = self.sign_in()
        self.assertEqual((status, url), (200, self.url + "/auth/methods"))
        cookie = browser.cookie("takt_session")
        self.assertTrue(cookie.has_nonstandard_attr("HttpOnly"))
        self.assertLessEqual(cookie.expires - time.time(), 8 * 3600 + 1)
        me = self.me(browser)
        self.assertEqual((me["who"], me["role"], me["access_control"]), ("ada@example.org", "operator", True))
        status, body, _ = browser.open(self.url + "/api/v1/tasks", "POST", {"Content-Type": "application/json"},
                                       b'{"name": "noop"}')
        self.assertEqual(status, 201, body)
        status, body, _ = browser.open(self.url + "/api/v1/tokens")
        self.assertEqual(status, 403)
        self.assertIn("ada@example.org has the role operator", body)
        # Another site's page makes the browser send the cookie, and is refused all the same.
        status, body, _ = browser.open(self.url + "/api/v1/tasks", "POST", {
            "Content-Type": "application/json", "Origin": "https://evil.example.org"}, b'{"name": "noop"}')
        self.assertEqual(status, 403)
        browser.open(self.url + "/auth/logout", "POST")
        self.assertEqual(browser.open(self.url + "/api/v1/tasks")[0], 401)

    def test_the_audit_names_the_person(self):
        self.provider.groups = ["root"]
        browser, _ = self.sign_in()
        status, body, _ = browser.open(self.url + "/api/v1/queues/mail/pause", "POST")
        self.assertEqual(status, 200, body)

        def row():
            rows = json.loads(browser.open(self.url + "/api/v1/audit")[1])["items"]
            return next((row for row in rows if "ada@example.org" in json.dumps(row)), None)
        until(row, "an audit row with the name")

    def test_a_role_in_one_namespace_is_none_in_another(self):
        self.provider.groups = ["root"]
        admin, _ = self.sign_in()
        status, body, _ = admin.open(self.url + "/api/v1/namespaces", "POST",
                                     {"Content-Type": "application/json"}, b'{"name": "billing"}')
        self.assertEqual(status, 201, body)
        self.provider.groups = ["look"]
        browser, _ = self.sign_in()
        me = self.me(browser)
        self.assertEqual((me["role"], me["namespace"], me["namespaces"]), ("viewer", "billing", ["billing"]))
        tasks = "/api/v1/namespaces/billing/tasks"
        until(lambda: browser.open(self.url + tasks)[0] == 200, "billing is served")
        self.assertEqual(browser.open(self.url + "/api/v1/namespaces/default/tasks")[0], 403)
        self.assertEqual(browser.open(self.url + tasks, "POST", {"Content-Type": "application/json"},
                                      b'{"name": "noop"}')[0], 403)

    def test_who_is_in_no_known_group_may_nothing(self):
        self.provider.groups = ["strangers"]
        browser, _ = self.sign_in()
        status, body, _ = browser.open(self.url + "/api/v1/tasks")
        self.assertEqual(status, 403)
        self.assertIn("no group of ada@example.org has a role", body)

    def test_tokens_that_lie_are_refused(self):
        now = int(time.time())
        for lie, why in (({"iss": "https://evil.example.org"}, "issuer"), ({"aud": "another"}, "aud"),
                         ({"nonce": "of another time"}, "nonce"), ({"exp": now - 3600}, "expired"),
                         ({"iat": now + 3600}, "to come"), ({"sub": ""}, "sub")):
            with self.subTest(lie=lie):
                self.provider.lie = lie
                self.refuses(why)

    def test_signatures_that_are_none_are_refused(self):
        self.provider.head = {"alg": "none"}
        self.provider.sign = lambda head, claims: text64(head) + "." + text64(claims) + "."
        self.refuses("its key is for RS256")
        # Signed with what everybody knows, as if the public key were a shared secret.
        self.provider.head = {"alg": "HS256"}
        self.refuses("its key is for RS256")
        self.provider.head = {}
        other = SigningKey(self.folder, "other")
        self.provider.sign = other.sign
        self.refuses("wrong signature")
        self.provider.head = {"kid": "unheard"}
        self.refuses("does not have")

    def test_a_new_key_of_the_provider_is_fetched(self):
        self.assertEqual(self.sign_in()[1][0], 200)
        self.provider.key = SigningKey(self.folder, "second")
        self.provider.published.append(self.provider.key)
        # Keys are fetched at most every ten seconds, whatever tokens say of them.
        until(lambda: self.sign_in()[1][0] == 200, "the new key is known", deadline=25)

    def test_an_answer_counts_once_and_in_its_browser_only(self):
        stopping = urllib.request.build_opener(StopAtRedirects())

        def location(url, cookie=None):
            request = urllib.request.Request(url, headers={"Cookie": cookie} if cookie else {})
            try:
                stopping.open(request, timeout=20)
            except urllib.error.HTTPError as answer:
                return answer.code, answer.headers.get("Location"), answer.headers.get_all("Set-Cookie") or []
            raise AssertionError("no redirect")
        _, ask, cookies = location(self.url + "/auth/login")
        cookie = cookies[0].split(";")[0]
        _, back, _ = location(ask)
        self.assertEqual(location(back)[0], 401, "a browser that asked nothing")
        self.assertEqual(location(re.sub("state=[^&]*", "state=x", back), cookie)[0], 401, "another question's")
        status, _, cookies = location(back, cookie)
        self.assertEqual(status, 302)
        self.assertTrue(any(kept.startswith("takt_session=") for kept in cookies))
        self.assertEqual(location(back, cookie)[0], 401, "a code that was used")

    def test_a_session_that_was_changed_is_none(self):
        browser, _ = self.sign_in()
        text = browser.cookie("takt_session").value
        purpose, until_when, body, signature = text.split(".")
        changed = json.loads(base64.urlsafe_b64decode(body + "=="))
        changed["groups"] = ["root"]
        longer = f"{purpose}.{int(until_when) + 1}.{body}.{signature}"
        for forged in (longer, f"{purpose}.{until_when}.{text64(changed)}.{signature}", text[:-2], purpose + "."):
            status, _, _ = Browser().open(self.url + "/api/v1/tasks", headers={"Authorization": "Bearer " + forged})
            self.assertEqual(status, 401, forged)
        status, _, _ = Browser().open(self.url + "/api/v1/tasks", headers={"Authorization": "Bearer " + text})
        self.assertEqual(status, 200)

    def test_nobody_is_sent_to_another_site(self):
        for to in ("https://evil.example.org", "//evil.example.org", "/\\evil.example.org", "/\t/evil.example.org"):
            browser = Browser()
            _, _, url = browser.open(self.url + "/auth/login?return_to=" + urllib.parse.quote(to, safe=""))
            self.assertTrue(url.startswith(self.url + "/"), url)

    def begin_login(self):
        """A command line that waits, the address that it shows, and the number."""
        login = subprocess.Popen([TAKT, "login", "--server", self.url], stdout=subprocess.PIPE,
                                 stderr=subprocess.PIPE, text=True, env=environment())
        self.addCleanup(login.communicate)
        self.addCleanup(login.kill)
        shown = ""
        while not (number := re.search(r"number (\d{4} \d{4})\n", shown)):
            shown += login.stderr.readline()
        return login, re.search(r"http\S+", shown)[0], number[1]

    def test_the_command_line_signs_in(self):
        login, address, number = self.begin_login()
        browser = Browser()
        status, body, url = browser.open(address)
        self.assertEqual(status, 200, body)
        self.assertTrue(url.startswith(self.url), "nothing goes to the port before the person says so")
        self.assertIn(number, body)
        self.assertIn("ada@example.org", body)
        self.assertIsNone(login.poll())
        self.assertIsNone(browser.cookie("takt_session"), "the browser itself is not signed in")
        action = html.unescape(re.search(r'action="([^"]+)"', body)[1])
        status, body, url = browser.open(self.url + action, "POST")
        self.assertEqual(status, 200, body)
        self.assertTrue(url.startswith("http://127.0.0.1:"), url)
        self.assertIn("signed in", body)
        out, err = login.communicate(timeout=20)
        self.assertEqual(login.returncode, 0, err)
        who = subprocess.run([TAKT, "whoami", "--server", self.url, "--token", out.strip()], text=True,
                             capture_output=True, env=environment())
        self.assertIn("ada@example.org", who.stdout, who.stderr)
        # The code is worth nothing to whoever sees the address: no session is in it, and none is given for it.
        code = urllib.parse.parse_qs(urllib.parse.urlsplit(url).query)["code"][0]
        said = code.split(".")[2]
        self.assertNotIn(b"takt-session", base64.urlsafe_b64decode(said + "=" * (-len(said) % 4)))
        for shown in (code, "x"):
            status, _, _ = Browser().open(self.url + "/auth/session", "POST", {"Content-Type": "application/json"},
                                          json.dumps({"code": shown, "verifier": "y"}).encode())
            self.assertEqual(status, 401)

    def test_a_page_that_asks_can_be_neither_forged_nor_framed(self):
        """Somebody lures a browser to the address of a program of theirs, and would press the button too."""
        _, address, _ = self.begin_login()
        browser = Browser()
        opener = browser.opener.open(address, timeout=20)
        policy = opener.headers["Content-Security-Policy"]
        self.assertIn("frame-ancestors 'none'", policy)
        self.assertIn("default-src 'none'", policy)
        port = re.search("cli_port=([0-9]+)", address)[1]
        self.assertIn(f"form-action 'self' http://127.0.0.1:{port}", policy)
        self.assertEqual(opener.headers["Cache-Control"], "no-store")
        action = html.unescape(re.search(r'action="([^"]+)"', opener.read().decode())[1])
        for forged in ("/auth/cli", "/auth/cli?grant=x", action[:-2], action.replace("takt-grant", "takt-login")):
            status, body, _ = Browser().open(self.url + forged, "POST")
            self.assertEqual(status, 401, body)
        self.assertEqual(Browser().open(self.url + action)[0], 405, "a link cannot press the button")

    def test_the_page_that_asks_speaks_chinese_and_shows_names_as_they_are(self):
        self.provider.lie = {"email": "<b>eve</b>\"&"}
        _, address, number = self.begin_login()
        status, body, _ = Browser().open(address, headers={"Accept-Language": "zh-CN,zh;q=0.9"})
        self.assertEqual(status, 200, body)
        self.assertIn("命令行", body)
        self.assertIn(number, body)
        self.assertIn("&lt;b&gt;eve&lt;/b&gt;&quot;&amp;", body)

    def test_nobody_loses_a_role_because_of_many_groups(self):
        self.provider.groups = [f"group-{i}" for i in range(1500)] + ["ops"]
        browser, (status, body, _) = self.sign_in()
        self.assertEqual(status, 200, body)
        self.assertEqual(self.me(browser)["role"], "operator")
        # More than a token may have is no silent loss either.
        self.provider.groups = [f"a-rather-long-name-of-a-group-{i}" for i in range(2000)] + ["ops"]
        self.refuses("too long")

    def test_a_provider_that_is_away_is_said_to_be(self):
        self.provider.shutdown()
        self.provider.server_close()
        _, (status, body, _) = self.sign_in()
        self.assertEqual(status, 502)
        self.assertIn("sign-in provider", body)


class SignInConfigurationTest(TaktTest):
    def test_what_cannot_work_is_refused(self):
        for settings, why in ((["signin.issuer=http://id.example.org"], "https"),
                              (["signin.client_id=takt"], "signin.issuer"),
                              (["signin.issuer=https://id.example.org", "signin.lifetime=9h"], "8h"),
                              (["signin.issuer=https://id.example.org"], "signin.session_key_file")):
            arguments = [argument for setting in settings for argument in ("--set", setting)]
            run = subprocess.run([TAKT, "serve", "--store", "memory:", "--listen", "127.0.0.1:0", *arguments],
                                 text=True, capture_output=True, timeout=20, env=environment())
            self.assertNotEqual(run.returncode, 0)
            self.assertIn(why, run.stderr)


if __name__ == "__main__":
    unittest.main()
