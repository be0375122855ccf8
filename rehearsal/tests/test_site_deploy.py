# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""A plan carried out on a site: what is made, in which order, and where it stops."""

from collections.abc import Callable
from pathlib import Path

import pytest

from rehearsal.bundle import load, plan
from rehearsal.errors import FormatError, UsageError
from rehearsal.juju.ledger import Ledger
from rehearsal.maas.constraints import ConstraintError
from rehearsal.maas.machines import NoMachineError
from rehearsal.site import Site

CHARMS = Path(__file__).parent / "data" / "observed" / "charms"
BASE = f"""
default-base: ubuntu@24.04
applications:
  etcd: {{charm: {CHARMS}/etcd.charm, num_units: 2, to: ["0", "1"], annotations: {{n: "1"}}}}
  easyrsa: {{charm: {CHARMS}/easyrsa.charm, num_units: 1, to: ["lxd:0"], expose: true}}
  worker: {{charm: {CHARMS}/kubernetes-worker.charm, num_units: 1, constraints: cores=16}}
  containerd: {{charm: {CHARMS}/containerd.charm}}
machines: {{"0": {{}}, "1": {{constraints: tags=big}}}}
relations:
- [etcd:certificates, easyrsa:client]
"""
MACHINES = """
machines:
- {name: small-1, cores: 4, mem: 8G, disk: 50G, address: 10.1.0.1}
- {name: small-2, cores: 4, mem: 8G, disk: 50G, address: 10.1.0.2}
- {name: big-1, cores: 16, mem: 64G, disk: 90G, address: 10.1.0.3, tags: [big]}
- {name: big-2, cores: 16, mem: 64G, disk: 90G, address: 10.1.0.4, tags: [big]}
"""

Deploy = Callable[..., list[str]]


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "inventory.yaml").write_text(MACHINES)
    with Site(tmp_path / "home") as site:
        site.use_inventory(tmp_path / "inventory.yaml")
        site.juju.set_model_config({"agent-version": "4.0.15"})
    return tmp_path / "home"


@pytest.fixture
def deploy(home: Path, tmp_path: Path) -> Deploy:
    """Deploy the bundle with an overlay; return the changes shown."""

    def run(overlay: str = "", base: str = BASE) -> list[str]:
        (tmp_path / "b.yaml").write_text(base)
        (tmp_path / "o.yaml").write_text(overlay)
        bundle = load(tmp_path / "b.yaml", [tmp_path / "o.yaml"], juju="4.0").bundle
        assert bundle is not None
        shown: list[str] = []
        with Site(home) as site:
            planned = plan(bundle, existing=site.existing())
            site.deploy(bundle, planned, lambda line: None, show=shown.append)
        return shown

    return run


def test_a_deploy_makes_what_the_plan_numbers(deploy: Deploy, home: Path):
    shown = deploy()
    with Site(home) as site:
        model = site.juju.model
        places = {name: unit.machine for name, unit in model.units.items()}
        hosts = {number: machine.hostname for number, machine in model.machines.items()}
    assert places == {"easyrsa/0": "0/lxd/0", "etcd/0": "0", "etcd/1": "1", "worker/0": "2"}
    assert (hosts["0"], hosts["1"], hosts["2"]) == ("small-1", "big-1", "big-2")
    assert "- add unit worker/0 to new machine 2" in shown


def test_the_model_shows_what_a_second_deploy_compares(deploy: Deploy, home: Path):
    deploy()
    with Site(home) as site:
        held = site.existing()
        assert site.existing("3.6").juju == "3.6"
    assert held.juju == "4.0"
    assert held.machines == ("0", "1", "2")
    assert held.containers == ("0/lxd/0",)
    assert held.next_machine == 3
    assert held.relations == frozenset([frozenset(["etcd:certificates", "easyrsa:client"])])
    assert held.applications["worker"].constraints == "arch=amd64 cores=16"
    assert held.applications["containerd"].constraints == ""
    assert held.applications["etcd"].units == {"etcd/0": "0", "etcd/1": "1"}
    assert held.applications["etcd"].annotations == {"n": "1"}
    assert held.applications["easyrsa"].exposed[""].cidrs == ("0.0.0.0/0", "::/0")
    facts = held.charms()["containerd"]
    assert (facts.subordinate, facts.partial) == (True, True)
    assert facts.find_endpoint("containerd") is not None


def test_on_juju_4_the_same_bundle_stops_at_a_charm_that_is_no_file(deploy: Deploy):
    deploy()
    with pytest.raises(UsageError, match=r'local charm at ".*/easyrsa": file does not exist'):
        deploy()


def test_what_was_done_before_a_failure_stays(deploy: Deploy, home: Path):
    base = BASE.replace("expose: true", "expose: false")
    deploy("relations: [[worker:certificates, easyrsa:client]]", base)
    overlay = (
        "applications: {easyrsa: {constraints: arch=amd64}, etcd: {constraints: arch=amd64,"
        " options: {channel: 3.4/edge}, annotations: {n: '2'}}, worker: {constraints:"
        " arch=amd64 cores=16, annotations: {w: '1'}}}"
    )
    with pytest.raises(UsageError, match="config yaml not supported"):
        deploy(overlay, base)
    with Site(home) as site:
        held = site.existing()
    assert held.applications["etcd"].annotations == {"n": "1"}
    assert held.applications["worker"].annotations == {}


def test_a_wrong_endpoint_stops_before_any_unit(deploy: Deploy, home: Path):
    with pytest.raises(UsageError, match="cannot deploy bundle"):
        deploy("relations: [[etcd:nosuch, easyrsa:client]]")
    with Site(home) as site:
        held = site.existing()
    assert list(held.applications) == ["containerd", "easyrsa", "etcd", "worker"]
    assert held.machines == ("0", "1")
    assert all(not known.units for known in held.applications.values())
    assert held.applications["worker"].constraints == "cores=16"


def test_a_site_without_a_fitting_machine_deploys_nothing(deploy: Deploy, home: Path):
    with pytest.raises(NoMachineError) as stop:
        deploy("applications: {worker: {num_units: 3}}")
    assert "small-2" in stop.value.reasons
    with Site(home) as site:
        assert site.existing().applications == {}


def test_offers_and_saas_are_kept(deploy: Deploy, home: Path):
    deploy(
        "saas: {far: {url: admin/m.ca}}\n"
        "applications: {easyrsa: {offers: {ca: {endpoints: [client], acl: {u: read}}}}}\n"
        "relations: [[worker:certificates, far:client]]"
    )
    with Site(home) as site:
        held = site.existing()
    assert held.offers == {"ca": ("client",)}
    assert held.saas == {"far"}


def test_constraints_of_the_model_choose_machines(home: Path, deploy: Deploy):
    with Site(home) as site:
        site.set_model_constraints("cores=8 arch=amd64")
    deploy(base=BASE.replace("tags=big", "tags=big").replace("cores=16", "mem=1G"), overlay=(
        "applications: {worker: {num_units: 0}, etcd: {num_units: 1, to: ['1']},"
        " easyrsa: {to: ['lxd:1']}}\nmachines: {'1': {}}"
    ))  # fmt: skip
    with Site(home) as site:
        held = site.existing()
        hosts = [machine.hostname for machine in site.juju.model.machines.values()]
    assert hosts[0] == "big-1"
    assert held.arch == "amd64"
    assert held.applications["worker"].constraints == "cores=8 mem=1G"


def test_wrong_constraints_of_the_model_are_refused(home: Path):
    with Site(home) as site, pytest.raises(ConstraintError, match="cores"):
        site.set_model_constraints("cores=two")


def test_a_unit_of_a_subordinate_is_said_and_not_made(deploy: Deploy, home: Path, tmp_path: Path):
    overlay = "applications: {containerd: {num_units: 1}, worker: {num_units: 0}}"
    assert "- add unit containerd/0 to new machine 2" in deploy(overlay)
    with Site(home) as site:
        assert site.juju.model.units_of("containerd") == []
        assert site.juju.model.machines["2"].hostname == "small-2"


@pytest.mark.parametrize("kind", ["file", "loop", "below a file"])
def test_a_home_that_can_be_no_folder_is_refused_in_one_line(kind: str, tmp_path: Path):
    path = tmp_path / "home"
    if kind == "loop":
        path.symlink_to("home")
    else:
        path.write_text("")
    with pytest.raises(FormatError, match="home"):
        Site(path / "x" if kind == "below a file" else path)


def test_notes_of_an_application_go_when_another_of_that_name_comes(tmp_path: Path):
    notes = Ledger(tmp_path)
    notes.annotate("applications", "x", {"a": "1"})
    notes.annotate("applications", "x", {"b": "2"})
    notes.constrain("x", "mem=1G")
    assert notes.annotations("x") == {"a": "1", "b": "2"}
    assert Ledger(tmp_path).find_constraints("x") == "mem=1G"
    notes.begin("x")
    assert Ledger(tmp_path).annotations("x") == {}
    assert Ledger(tmp_path).find_constraints("x") is None


@pytest.mark.parametrize("text", ["{", "[]", '{"schema": 2}', "7", '{"schema": 1'])
def test_notes_that_cannot_be_read_are_refused(text: str, tmp_path: Path):
    (tmp_path / "ledger.json").write_text(text)
    with pytest.raises(FormatError, match=r"ledger\.json"):
        Ledger(tmp_path)
