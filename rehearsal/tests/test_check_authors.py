# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""What authors of bundles get wrong: one fault is one finding, at its line, with a thing to do."""

from dataclasses import dataclass
from pathlib import Path

import pytest

from rehearsal.bundle import Finding, check, render_text
from rehearsal.bundle.keys import JujuVersion

CHARMS = Path(__file__).parent / "data" / "observed" / "charms"
BUNDLE = """default-base: ubuntu@24.04
applications:
  easyrsa: {charm: easyrsa, channel: 1.35/stable, num_units: 1}
  etcd: {charm: etcd, channel: 1.35/stable, num_units: 3}
  worker: {charm: C/kubernetes-worker.charm, num_units: 2}
  driver: {charm: C/nvidia-driver.charm}
relations:
- [easyrsa:client, etcd:certificates]
- [driver:host, worker:juju-info]
"""
VERSIONS: tuple[JujuVersion, ...] = ("3.6", "4.0")


@dataclass(frozen=True, slots=True)
class Author:
    """Writes a bundle into a folder, with overlays, and has it checked."""

    folder: Path

    def check(
        self, text: str | bytes, *overlays: str | bytes, juju: JujuVersion = "3.6"
    ) -> list[Finding]:
        """Return what the check says of the texts."""
        paths: list[Path] = []
        for name, content in zip(("b", "o1", "o2"), (text, *overlays), strict=False):
            path = self.folder / f"{name}.yaml"
            data = content.encode() if isinstance(content, str) else content
            path.write_bytes(data.replace(b"C/", f"{CHARMS}/".encode()))
            paths.append(path)
        return check(paths[0], paths[1:], juju=juju)


@pytest.fixture
def author(tmp_path: Path) -> Author:
    return Author(tmp_path)


def etcd(more: str) -> str:
    """Return the bundle with more keys for etcd."""
    return BUNDLE.replace("num_units: 3}", f"num_units: 3, {more}}}")


def worker(units: str) -> str:
    """Return the bundle with other units of worker."""
    return BUNDLE.replace("num_units: 2}", f"{units}}}")


def test_the_bundle_that_all_faults_are_put_into_has_none(author: Author):
    for juju in VERSIONS:
        assert author.check(BUNDLE, juju=juju) == []


@pytest.mark.parametrize("juju", VERSIONS)
@pytest.mark.parametrize(
    ("text", "path", "remedy"),
    [
        (worker("num_units: two"), "applications.worker.num_units", "num_units: a whole number"),
        (worker('num_units: "2"'), "applications.worker.num_units", "write num_units: 2"),
        (worker("num_units: yes"), "applications.worker.num_units", "a whole number"),
        (worker("num_units: 1.5"), "applications.worker.num_units", "write 1, or what is meant"),
        (worker("num_units: null"), "applications.worker.num_units", "write num_units: 1"),
        (worker("numunits: 2"), "applications.worker.numunits", "did you mean 'num_units'?"),
        (worker("units: 2"), "applications.worker.units", "did you mean 'num_units'?"),
        (worker("Num-Units: 2"), "applications.worker.Num-Units", "did you mean 'num_units'?"),
        (worker("num_units: 1, to: new"), "applications.worker.to", 'write to: ["new"]'),
        (BUNDLE.replace("default-base", "default_base"), "default_base", "'default-base'?"),
        ("applications:\n- etcd\n", "applications", "key: value pairs below applications:"),
        (etcd("options: [a]"), "applications.etcd.options", "pairs below options:"),
        (etcd("constraints: [mem=8G, cores=4]"), "applications.etcd.constraints",
         'constraints: "mem=8G cores=4"'),
        (etcd("constraints: {mem: 8G}"), "applications.etcd.constraints", 'constraints: "mem=8G"'),
        (etcd('expose: "true"'), "applications.etcd.expose", "write expose: true"),
        (etcd('trust: "true"'), "applications.etcd.trust", "write trust: true"),
        (etcd("revision: latest"), "applications.etcd.revision", "revision: a whole number"),
        (f"{BUNDLE}- easyrsa:client\n", "relations.2", "[application:endpoint, application"),
        (f"{BUNDLE}- [easyrsa: client, worker:cni]\n", "relations.2.0", "without a blank"),
        (f"{BUNDLE}- [easyrsa:client, [worker:certificates]]\n", "relations.2.1", "[application"),
        (f"{BUNDLE}- [remote:etcd, worker:certificates]\nsaas: {{remote: a.b}}\n", "saas.remote",
         "pairs below remote:"),
        (f"{BUNDLE}x-note: 1\n", "x-note", "delete it; a bundle has applications, bundle"),
        (f"{BUNDLE}tags: gpu\n", "tags", 'write tags: ["gpu"]'),
        (etcd("options: {port: include-file://nosuch}"), "applications.etcd.options.port",
         "mend the path"),
    ],
    ids=["word", "quoted number", "truth", "fraction", "null", "typo", "other word", "capitals",
         "text for a list", "underscore", "list of applications", "list of options",
         "list of constraints", "map of constraints", "quoted truth", "quoted trust", "revision",
         "relation without a bracket", "blank after a colon", "relation to several",
         "text for a saas", "no key of a bundle", "text for tags", "include"],
)  # fmt: skip
def test_one_fault_is_one_finding(
    text: str, path: str, remedy: str, juju: JujuVersion, author: Author
):
    (finding,) = author.check(text, juju=juju)
    assert (finding.path, remedy in finding.remedy) == (path, True), finding


@pytest.mark.parametrize("juju", VERSIONS)
@pytest.mark.parametrize(
    ("text", "path", "remedy"),
    [
        (BUNDLE.replace("charm: etcd", "charm: etdc"), "applications.etcd.charm",
         "did you mean etcd?"),
        (BUNDLE.replace("charm: etcd", "charm: Etcd"), "applications.etcd.charm", "write etcd"),
        (BUNDLE.replace("charm: etcd", "charm: https://charmhub.io/etcd"),
         "applications.etcd.charm", "write the name alone: etcd"),
        (BUNDLE.replace("charm: etcd", "charm: local:etcd"), "applications.etcd.charm",
         "./etcd.charm"),
        (etcd("base: noble"), "applications.etcd.base", "ubuntu@24.04"),
        (etcd("base: Ubuntu Jammy"), "applications.etcd.base", "ubuntu@22.04"),
        (etcd("base: 22.04"), "applications.etcd.base", "ubuntu@22.04"),
        (BUNDLE.replace("1.35/stable, num_units: 3", "stable/1.35, num_units: 3"),
         "applications.etcd.channel", "write track/risk: 1.35/stable"),
        (etcd("options: {channel: latest/bleeding}"), "applications.etcd.options.channel",
         "write track/risk; risks are stable"),
        (etcd("options: {channel: include-flie://x}"), "applications.etcd.options.channel",
         "write include-file://PATH"),
        (etcd("options: {channel: 'include-file:/x'}"), "applications.etcd.options.channel",
         "write include-file://PATH"),
        (etcd("constraints: memory=8G"), "applications.etcd.constraints", "did you mean mem?"),
        (etcd("constraints: cpus=8"), "applications.etcd.constraints", "did you mean cores?"),
        (etcd("constraints: tgas=gpu"), "applications.etcd.constraints", "did you mean tags?"),
        (etcd("constraints: mem=8GB"), "applications.etcd.constraints", "write mem=8G"),
        (etcd("constraints: mem=8gib"), "applications.etcd.constraints", "write mem=8G"),
        (etcd("constraints: 'mem=8G,cores=4'"), "applications.etcd.constraints", "not a comma"),
        (etcd("constraints: mem = 8G"), "applications.etcd.constraints", "without a blank"),
        (etcd("constraints: arch=x86_64"), "applications.etcd.constraints", "write arch=amd64"),
        (etcd("constraints: arch=arm63"), "applications.etcd.constraints", "write one of amd64"),
        (etcd("constraints: cores=2 cores=4"), "applications.etcd.constraints", "cores once"),
        (etcd("constraints: 'tags=a,,b'"), "applications.etcd.constraints", "delete the comma"),
        (etcd("resources: {etcd: '3'}"), "applications.etcd.resources.etcd", "etcd: 3 without"),
        (etcd("resources: {etcd: -3}"), "applications.etcd.resources.etcd", "write 0 or more"),
        (etcd("options: {election_timeout: high}"), "applications.etcd.options.election_timeout",
         "write a number"),
        (f"{BUNDLE}machines: {{'01': {{}}}}\n", "machines.01", 'write it as "1"'),
        (f"{BUNDLE}machines: {{gpu: {{}}}}\n", "machines.gpu", 'write it as "0"'),
        (f"{BUNDLE}bundle: Kubernetes\n", "bundle", "in small letters"),
        (etcd("to: [[new], new]"), "applications.etcd.to.0", 'quotes: "new"'),
        (etcd("constraints: include-file://c"), "applications.etcd.constraints", "write it out"),
        (etcd("to: [zone=a, new]"), "applications.etcd.to.0", "below machines:"),
        (etcd("to: [lxd/0, new]"), "applications.etcd.to.0", "write lxd:0"),
        (etcd("to: [lxd, new]"), "applications.etcd.to.0", "write lxd:new"),
        (f"{BUNDLE}- [remot:etcd, etcd:db]\nsaas: {{remote: {{url: m.o}}}}\n", "relations.2",
         "did you mean remote?"),
        (f"{BUNDLE}- [zookeeper:zk, etcd:db]\n", "relations.2", "add the application"),
        (f"{BUNDLE}- [etcd:certificates, easyrsa:client]\n", "relations.2", "delete one"),
        (f"{BUNDLE}- [etcd, easyrsa]\n", "relations.2", "write both endpoints"),
    ],
)  # fmt: skip
def test_a_remedy_is_a_thing_to_do(
    text: str, path: str, remedy: str, juju: JujuVersion, author: Author
):
    found = [finding for finding in author.check(text, juju=juju) if finding.rule != "V15"]
    assert [finding.path for finding in found if remedy in finding.remedy] == [path], found


def test_a_misspelt_file_is_named_and_the_rest_is_checked_as_if_it_were_right(author: Author):
    text = BUNDLE.replace("C/kubernetes-worker.charm", "C/kubernetes-wroker.charm")
    wrong_end = text.replace("worker:juju-info", "worker:juju-inof")
    missing, end = author.check(wrong_end)
    assert (missing.path, missing.remedy) == (
        "applications.worker.charm",
        "did you mean kubernetes-worker.charm?",
    )
    assert (end.path, end.remedy) == ("relations.1", "did you mean juju-info?")


def test_a_file_without_the_base_in_its_name_means_the_packed_one(author: Author):
    packed = author.folder / "driver_ubuntu-24.04-amd64.charm"
    packed.write_bytes((CHARMS / "nvidia-driver.charm").read_bytes())
    text = BUNDLE.replace("C/nvidia-driver.charm", "./driver.charm")
    (finding,) = author.check(text)
    assert finding.remedy == "did you mean driver_ubuntu-24.04-amd64.charm?"


def test_a_file_beside_the_bundle_lacks_but_its_dot(author: Author):
    (author.folder / "d.charm").write_bytes((CHARMS / "nvidia-driver.charm").read_bytes())
    (finding,) = author.check(BUNDLE.replace("C/nvidia-driver.charm", "d.charm"))
    assert finding.remedy == "write ./d.charm: a file begins with ./ or /"


def test_a_charm_that_cannot_be_read_makes_no_subordinate_lonely(author: Author):
    text = BUNDLE.replace("C/kubernetes-worker.charm", "./nothing-like-it.charm")
    (finding,) = author.check(text)
    assert finding.path == "applications.worker.charm"


def test_a_lonely_subordinate_is_told_which_endpoint_to_relate(author: Author):
    (finding,) = author.check(BUNDLE.replace("- [driver:host, worker:juju-info]\n", ""))
    assert (finding.path, finding.remedy) == (
        "applications.driver",
        "relate driver:host to a principal",
    )


def test_a_subordinate_beside_a_subordinate_alone_has_no_units_on_36(author: Author):
    text = BUNDLE.replace("relations:", "  gpu: {charm: C/gpu-worker.charm}\nrelations:")
    text += "- [gpu:host, driver:juju-info]\n"
    (lonely,) = author.check(text)
    assert (lonely.path, lonely.severity) == ("applications.gpu", "warning")
    (endless,) = author.check(text, juju="4.0")
    assert (endless.rule, endless.severity) == ("scope", "error")


@pytest.mark.parametrize("charm", ["gpu-worker", "nvidia-driver"])
def test_j09_a_second_application_that_wants_a_machine_to_itself_is_told(
    charm: str, author: Author
):
    both = f"  a: {{charm: C/{charm}.charm}}\n  b: {{charm: C/{charm}.charm}}\nrelations:"
    text = BUNDLE.replace("- [driver:host, worker:juju-info]", "- [a:host, worker:juju-info]")
    text = text.replace("relations:", both)
    told = f"a and b are both {charm} and run beside worker"
    apart = [each for each in author.check(text) if told in each.message]
    beside = author.check(text + "- [b:host, worker:juju-info]\n")
    found = [(f.path, f.severity) for f in beside if told in f.message]
    assert (apart, found) == ([], [("applications.b", "warning")])


def test_a_file_that_cannot_be_read_comes_first(author: Author):
    text = worker("num_units: two").replace("C/", f"{CHARMS}/")
    (author.folder / "b.yaml").write_text(text)
    overlay = author.folder / "nosuch.yaml"
    found = check(author.folder / "b.yaml", [overlay])
    assert [finding.rule for finding in found] == ["file", "type"]
    assert render_text(found).startswith(f"{overlay}: error file: overlay {overlay}: not found\n")


@pytest.mark.parametrize("overlay", ["", "# later\n", "---\n", "---\n---\n"])
def test_an_overlay_that_holds_nothing_is_a_warning(overlay: str, author: Author):
    (finding,) = author.check(BUNDLE, overlay)
    assert (finding.severity, finding.message) == ("warning", "the overlay holds nothing")
    assert finding.position.file.endswith("o1.yaml")


@pytest.mark.parametrize("juju", VERSIONS)
@pytest.mark.parametrize(
    ("overlay", "path"),
    [
        (
            "applications:\n  etcd:\n    options:\n      port: x\n",
            "applications.etcd.options.port",
        ),
        ("applications:\n  etcd:\n    num_units: 1\n    to: [new, new]\n", "applications.etcd.to"),
        ("applications:\n\n\n  etcd: {constraints: mem=x}\n", "applications.etcd.constraints"),
        ("\n\n\nrelations: [[etcd:db, nosuch:etcd]]\n", "relations.2"),
        ("saas:\n\n\n  e: {url: nonsense}\n", "saas.e.url"),
        ("machines:\n\n\n  '7': {}\n", "machines.7"),
        ("applications:\n\n\n  etdc: {num_units: 1}\n", "applications.etdc.charm"),
    ],
)
def test_a_fault_of_an_overlay_stands_at_the_overlays_line(
    overlay: str, path: str, juju: JujuVersion, author: Author
):
    found = author.check(BUNDLE, "# nothing to see\napplications: {}\n", overlay, juju=juju)
    (finding,) = [finding for finding in found if finding.path == path]
    assert finding.position.file.endswith("o2.yaml")
    assert finding.position.line == 4


def test_an_application_of_an_overlay_that_is_misspelt_is_told_so(author: Author):
    (finding,) = author.check(BUNDLE, "applications: {etdc: {num_units: 1}}")
    assert finding.remedy.startswith("did you mean etcd?")


@pytest.mark.parametrize("name", ["metallb", "ceph-csi", "keystone"])
def test_a_local_charm_is_judged_by_its_own_file_and_never_by_facts_of_its_name(
    name: str, author: Author
):
    source = author.folder / name
    source.mkdir()
    (source / "charmcraft.yaml").write_text(
        f"name: {name}\nprovides: {{ours: {{interface: ours}}}}\n"
        "config: {options: {pools: {type: string}}}\n"
    )
    body = "num_units: 1, options: {pools: 10.0.0.1-10.0.0.9, iprange: x}"
    text = f"default-base: ubuntu@24.04\napplications:\n  m: {{charm: ./{name}, {body}}}\n"
    (finding,) = author.check(text)
    assert (finding.severity, finding.path) == ("error", "applications.m.options.iprange")


def test_a_name_of_charmhub_is_judged_by_facts_though_a_folder_has_its_name(author: Author):
    (author.folder / "etcd").mkdir()
    (author.folder / "etcd" / "charmcraft.yaml").write_text("name: etcd\n")
    assert author.check(BUNDLE) == []


@pytest.mark.parametrize("juju", VERSIONS)
def test_a_repeated_application_is_reported_with_its_name(juju: JujuVersion, author: Author):
    text = BUNDLE.replace("relations:", "  easyrsa: {charm: easyrsa, num_units: 1}\nrelations:")
    (finding,) = author.check(text, juju=juju)
    assert (finding.rule, finding.path) == ("duplicate", "applications.easyrsa")
    assert finding.severity == ("error" if juju == "3.6" else "warning")
