# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Whatever an option holds: one line that names it, and what worked goes on."""

import pytest
from controlplane import META, Deployment

from campus import Campus
from standins.garbage import NUMBERS, TEXTS

OPTIONS = {
    name: option
    for name, option in META["config"]["options"].items()
    if option["type"] != "secret"  # Juju itself takes nothing but the id of one.
}
SETTINGS = "/etc/keystone-auth/webhook.json"


@pytest.mark.parametrize("option", OPTIONS)
def test_an_option_full_of_garbage_is_named_in_one_line_and_nothing_changes(
    deployment: Deployment, campus: Campus, option: str
) -> None:
    campus.allow()
    deployment.run(deployment.on.config_changed())
    settings = deployment.host.files.find_text(SETTINGS)
    deployment.take_accesses()
    values = NUMBERS if OPTIONS[option]["type"] == "int" else TEXTS
    for value in values:
        status, message = deployment.configure(**{option: value})
        assert status == "blocked", (value, message)
        assert message.startswith(f"{option}: "), message
        assert len(message) <= 120
        assert message.isprintable()
        assert deployment.take_accesses() == []
        assert deployment.host.files.find_text(SETTINGS) == settings


@pytest.mark.parametrize("option", ["default-quota", "webhook-port", "keystone-url"])
def test_while_an_option_is_refused_actions_answer_and_the_charm_can_leave(
    deployment: Deployment, campus: Campus, option: str
) -> None:
    campus.allow()
    deployment.run(deployment.on.config_changed())
    value = 0 if option == "webhook-port" else "\x00"
    assert deployment.configure(**{option: value})[0] == "blocked"
    assert deployment.act("break-glass")["turn-off"]
    assert deployment.act("check")["platform"] == "Charmed Kubernetes"
    assert "gpu-lab" in deployment.act("prepare-removal")["stays"]
    deployment.run(deployment.on.stop())
    assert not deployment.host.systemd.is_active("keystone-auth-webhook.service")


@pytest.mark.parametrize("policy", TEXTS)
def test_a_policy_full_of_garbage_is_refused(
    deployment: Deployment, campus: Campus, policy: str
) -> None:
    campus.allow()
    deployment.run(deployment.on.config_changed())
    with pytest.raises(Exception, match="policy") as caught:
        deployment.act("import-policy", policy=policy)
    assert type(caught.value).__name__ == "ActionFailed"
