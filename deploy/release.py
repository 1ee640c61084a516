"""What makes packages a release: checksums, a bill of materials, the section of the changelog.

usage: deploy/release.py PACKAGES BINARY TARGET [--draft]

PACKAGES is the folder that `./dev package` fills, BINARY the program in them. TARGET is made anew. Without --draft a
tree with changes, or a changelog that still says "not released", is refused: what is published must be found again.
"""
import base64
import datetime
import hashlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import uuid

SOURCE = pathlib.Path(__file__).resolve().parents[1]
KINDS = ("*.deb", "*.whl", "*.tar.gz", "*.tgz")


def run(*command, cwd=SOURCE):
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=True, timeout=120).stdout


def version():
    found = re.search(r"(?m)^project\(takt VERSION ([\d.]+)", (SOURCE / "CMakeLists.txt").read_text())
    return found[1]


def section(text, number):
    """(heading, text) of one version in the changelog."""
    found = re.search(rf"(?ms)^## ({re.escape(number)}\b[^\n]*)\n(.*?)(?=^## |\Z)", text)
    if not found:
        raise SystemExit(f"release: CHANGELOG.md has no section '## {number}'")
    return found[1], found[2].strip() + "\n"


def made_at():
    """The time of the commit: the same tree gives the same files."""
    seconds = os.environ.get("SOURCE_DATE_EPOCH") or run("git", "log", "-1", "--format=%ct").strip()
    return datetime.datetime.fromtimestamp(int(seconds), datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


# --- Bill of materials --------------------------------------------------------------------------

def libraries(binary):
    """Where the loader finds each library that the binary needs, directly or not."""
    found = {}
    for line in run("ldd", str(binary)).splitlines():
        match = re.match(r"\s*(\S+) => (/\S+)", line)
        if match:
            found[match[1]] = match[2]
        elif "not found" in line:
            raise SystemExit(f"release: {line.strip()}: build on the machine that it is released for")
    return found


def debian_packages(paths):
    """(name, version, architecture) of the packages that files came with. /lib is a link to /usr/lib."""
    spelled = {}
    for path in paths:
        real = os.path.realpath(path)
        for name in (path, real, re.sub(r"^/usr", "", real), "/usr" + path):
            spelled[name] = path
    # Not all spellings are of a package, which is an error to dpkg.
    found = subprocess.run(["dpkg-query", "-S", *spelled], capture_output=True, text=True, check=False, timeout=120)
    package_of = {}
    for line in found.stdout.splitlines():
        names, _, file = line.rpartition(": ")
        if file in spelled:
            package_of[spelled[file]] = names.split(", ")[0]
    if lost := set(paths) - set(package_of):
        raise SystemExit(f"release: {', '.join(sorted(lost))}: of no Debian package")
    shown = run("dpkg-query", "-W", "-f", "${Package} ${Version} ${Architecture}\\n", *sorted(set(package_of.values())))
    return sorted({tuple(line.split()) for line in shown.splitlines()})


def debian_components(binary):
    return [{"type": "library", "bom-ref": f"deb/{name}", "name": name, "version": number,
             "purl": f"pkg:deb/debian/{name}@{number.replace('+', '%2B').replace(':', '%3A')}"
                     f"?arch={architecture}&distro=debian-12"}
            for name, number, architecture in debian_packages(libraries(binary).values())]


def npm_components(lock, part):
    """What a lock file says is needed when the program runs; tools of the build are not in it."""
    components = []
    for place, entry in sorted(json.loads(lock.read_text())["packages"].items()):
        if not place or entry.get("dev") or entry.get("devOptional"):
            continue
        name = place.rsplit("node_modules/", 1)[1]
        component = {"type": "library", "bom-ref": f"npm/{part}/{place}", "name": name, "version": entry["version"],
                     "purl": f"pkg:npm/{name.replace('@', '%40')}@{entry['version']}",
                     "properties": [{"name": "takt:part", "value": part}]}
        if entry.get("license"):
            component["licenses"] = [{"license": {"name": entry["license"]}}]
        kind, _, digest = entry.get("integrity", "").partition("-")
        if kind == "sha512":
            component["hashes"] = [{"alg": "SHA-512", "content": base64.b64decode(digest).hex()}]
        components.append(component)
    return components


def bill(binary, number):
    """CycloneDX 1.5."""
    components = debian_components(binary)
    components += npm_components(SOURCE / "web" / "package-lock.json", "console")
    components += npm_components(SOURCE / "sdk" / "node" / "package-lock.json", "node-sdk")
    digest = hashlib.sha256(pathlib.Path(binary).read_bytes()).hexdigest()
    return {"bomFormat": "CycloneDX", "specVersion": "1.5", "version": 1,
            "serialNumber": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, f'takt {number} {digest}')}",
            "metadata": {"timestamp": made_at(), "component": {
                "type": "application", "bom-ref": "takt", "name": "takt", "version": number,
                "licenses": [{"license": {"id": "Apache-2.0"}}],
                "hashes": [{"alg": "SHA-256", "content": digest}]}},
            "components": components,
            "dependencies": [{"ref": "takt", "dependsOn": [one["bom-ref"] for one in components]}]}


# --- The folder ---------------------------------------------------------------------------------

def write_checksums(folder):
    """SHA256SUMS, which `sha256sum -c` reads."""
    lines = [f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n"
             for path in sorted(folder.iterdir()) if path.name != "SHA256SUMS"]
    (folder / "SHA256SUMS").write_text("".join(lines))


def refuse_unfinished(heading):
    if "not released" in heading:
        raise SystemExit(f"release: CHANGELOG.md says '## {heading}': give it a date first, or say --draft")
    if run("git", "status", "--porcelain", "--untracked-files=no").strip():
        raise SystemExit("release: files of the tree are changed and not committed: commit first, or say --draft")


def release(packages, binary, target, draft):
    number = version()
    heading, changes = section((SOURCE / "CHANGELOG.md").read_text(), number)
    if not draft:
        refuse_unfinished(heading)
    found = [path for kind in KINDS for path in sorted(packages.glob(kind)) if number in path.name]
    if not found:
        raise SystemExit(f"release: {packages} has no package of version {number}: ./dev package makes them")
    if target.exists():
        shutil.rmtree(target)
    target.mkdir(parents=True)
    for path in found:
        shutil.copy(path, target)
    (target / f"takt-{number}.cdx.json").write_text(json.dumps(bill(binary, number), indent=1) + "\n")
    (target / "CHANGES.md").write_text(f"# Takt {heading}\n\n{changes}")
    write_checksums(target)
    for path in sorted(target.iterdir()):
        print(f"{path.stat().st_size:>10}  {path.name}")


if __name__ == "__main__":
    names = [word for word in sys.argv[1:] if word != "--draft"]
    if len(names) != 3:
        raise SystemExit("usage: deploy/release.py PACKAGES BINARY TARGET [--draft]")
    release(*(pathlib.Path(name).resolve() for name in names), draft="--draft" in sys.argv)
