# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""The real parts: Keystone from PyPI with uwsgi and sqlite, Apache with mod_auth_mellon, the IdP.

Everything is below one folder, on free ports of loopback, and ends with the context. Apache reads
what the charm wrote for it; the rest of its configuration is what keystone's charm has (a site
with the include, and a proxy where that has mod_wsgi).
"""

import contextlib
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from tests.functional.keystone.waiting import restart_gracefully, wait_for
from tests.functional.kubernetes.processes import free_ports

HERE = Path(__file__).parent
CACHE = Path(__file__).parents[3] / ".cache" / "keystone"
VENV = CACHE / "venv"
MODULES = Path("/usr/lib/apache2/modules")
FAKETIME = Path("/usr/lib/x86_64-linux-gnu/faketime/libfaketimeMT.so.1")
ADMIN = "pw-of-the-tests"
PROTOCOL = "saml2"
ORIGIN = "http://localhost:9990/auth/websso/"
_LOADED = (
    "mpm_event",
    "authn_core",
    "authz_core",
    "authz_user",
    "proxy",
    "proxy_uwsgi",
    "auth_mellon",
)

_START_SERVERS = 2
"""Processes that accept after a start; with as many spare threads Apache adds none by itself."""


def find_missing() -> str:
    """Return what is not installed here; empty when all is."""
    if not (MODULES / "mod_auth_mellon.so").exists():
        return "apt-get install apache2 libapache2-mod-auth-mellon xmlsec1 faketime"
    if not Path("/usr/bin/xmlsec1").exists():
        return "apt-get install xmlsec1"
    return "" if os.geteuid() == 0 else "root, since Apache takes another user"


def make_environment() -> Path:
    """Make the environment of Keystone once; return its Python."""
    python = VENV / "bin/python"
    wanted = (HERE / "requirements.txt").read_text()
    mark = CACHE / "requirements.txt"
    if not mark.exists() or mark.read_text() != wanted:
        shutil.rmtree(CACHE, ignore_errors=True)
        CACHE.mkdir(parents=True)
        subprocess.run([sys.executable, "-m", "venv", VENV], check=True)
        command = [python, "-m", "pip", "install", "-q", "-r", HERE / "requirements.txt"]
        subprocess.run(command, check=True)
        mark.write_text(wanted)
    return python


def free_port() -> int:
    """Return a free port of loopback."""
    return free_ports(1)[0]


@dataclass
class Stack:
    """The processes and where they are.

    Attributes:
        root: Folder of everything; www-data may pass it.
        base: Public URL of Keystone, without a slash.
        idp: URL of the identity provider.
    """

    root: Path
    python: Path
    ports: dict[str, int] = field(default_factory=dict)
    processes: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)

    @property
    def base(self) -> str:
        return f"http://127.0.0.1:{self.ports['apache']}"

    @property
    def idp(self) -> str:
        return f"http://127.0.0.1:{self.ports['idp']}"

    @property
    def sp_metadata(self) -> Path:
        return self.root / "sp-meta.xml"

    def prepare(self) -> None:
        """Make the database, the keys and the configuration; start Keystone."""
        names = ("apache", "uwsgi", "idp")
        self.ports = dict(zip(names, free_ports(len(names)), strict=True))
        for name in ("fernet", "credential", "log", "run"):
            (self.root / name).mkdir(mode=0o700 if name in ("fernet", "credential") else 0o755)
        (self.root / "keystone.conf").write_text(self._keystone_conf())
        owner = ("--keystone-user", "root", "--keystone-group", "root")
        self._manage("db_sync")
        self._manage("fernet_setup", *owner)
        self._manage("credential_setup", *owner)
        url = f"{self.base}/v3"
        self._manage(
            "bootstrap",
            "--bootstrap-password",
            ADMIN,
            "--bootstrap-public-url",
            url,
            "--bootstrap-region-id",
            "RegionOne",
        )
        for name in ("idp", "idp-next", "federation"):
            self._make_key(name)
        self.use_idp_keys("idp")
        self._start(
            "uwsgi",
            VENV / "bin/uwsgi",
            "--module",
            "keystone.wsgi.api:application",
            "--socket",
            f"127.0.0.1:{self.ports['uwsgi']}",
            "--processes",
            "1",
            "--master",
            "--enable-threads",
            "--lazy-apps",
            "--die-on-term",
            "--buffer-size",
            "65535",
        )

    def read_idp_metadata(self) -> str:
        """Return what the identity provider publishes."""
        command = [self.python, HERE / "idp.py", self.root, str(self.ports["idp"]), "/nowhere"]
        done = subprocess.run(command, check=True, capture_output=True, text=True, env=self._env())
        return done.stdout

    def start_apache(self, include: str) -> None:
        """Start Apache with a file of the charm in its site, or let it read that anew."""
        (self.root / "sp-location.conf").write_text(include)
        conf = self.root / "httpd.conf"
        conf.write_text(self._httpd_conf())
        if "apache" in self.processes:
            command = ["apache2", "-f", conf, "-k", "graceful"]
            restart_gracefully(
                self.processes["apache"].pid,
                self.ports["apache"],
                _START_SERVERS,
                lambda: subprocess.run(command, check=True),
            )
            return
        self._start("apache", "apache2", "-f", conf, "-D", "FOREGROUND")
        self._wait_for("apache", f"{self.base}/v3")

    def use_idp_keys(self, *names: str) -> None:
        """Let the identity provider publish keys; the first one signs its answers."""
        whole = self.root / "idp-keys.new"
        whole.write_text(" ".join(names))
        whole.rename(self.root / "idp-keys")

    def start_idp(self) -> None:
        """Start the identity provider, once the service provider's metadata are there."""
        if "idp" in self.processes:
            return
        program = (self.python, HERE / "idp.py", self.root, str(self.ports["idp"]))
        self._start("idp", *program, self.sp_metadata)
        self._wait_for("idp", f"{self.idp}/metadata")

    @contextlib.contextmanager
    def idp_at(self, offset: str) -> Iterator[str]:
        """Run the identity provider with another clock, such as `+600s`; yield its URL.

        It believes to be where the right one is; only the login form is sent to it.
        """
        env = {"LD_PRELOAD": str(FAKETIME), "FAKETIME": offset}
        port = str(free_port())
        program = (self.python, HERE / "idp_elsewhere.py", self.root, str(self.ports["idp"]))
        self._start("idp-later", *program, self.sp_metadata, port, **env)
        url = f"http://127.0.0.1:{port}"
        self._wait_for("idp-later", f"{url}/metadata")
        try:
            yield url
        finally:
            self.stop("idp-later")

    def stop(self, *names: str) -> None:
        """End processes, all of them when none is named."""
        for name in names or tuple(reversed(self.processes)):
            process = self.processes.pop(name, None)
            if process is not None:
                process.terminate()
                try:
                    process.wait(10)
                except subprocess.TimeoutExpired:
                    process.kill()
                    process.wait()

    def _start(self, name: str, *command: object, **env: str) -> None:
        with (self.root / "log" / f"{name}.out").open("ab") as out:
            self.processes[name] = subprocess.Popen(
                [str(part) for part in command],
                env={**self._env(), **env},
                stdout=out,
                stderr=out,
            )

    def _wait_for(self, name: str, url: str) -> None:
        wait_for(url, self.processes[name], self.root / "log" / f"{name}.out")

    def _env(self) -> dict[str, str]:
        return {
            "PATH": "/usr/sbin:/usr/bin:/sbin:/bin",
            "HOME": str(self.root),
            "PYTHONWARNINGS": "ignore",
            "OS_KEYSTONE_CONFIG_FILES": str(self.root / "keystone.conf"),
        }

    def _manage(self, *arguments: str) -> None:
        command = [VENV / "bin/keystone-manage", "--config-file", self.root / "keystone.conf"]
        quiet = subprocess.DEVNULL
        subprocess.run(
            [*command, *arguments], check=True, env=self._env(), stdout=quiet, stderr=quiet
        )

    def _make_key(self, name: str) -> None:
        command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-days", "30", "-nodes"]
        command += ["-subj", f"/CN={name}", "-keyout", str(self.root / f"{name}.key")]
        command += ["-out", str(self.root / f"{name}.crt")]
        subprocess.run(command, check=True, capture_output=True)

    def _keystone_conf(self) -> str:
        root = self.root
        return f"""[DEFAULT]
log_file = {root}/log/keystone.log
[database]
connection = sqlite:///{root}/keystone.db
[fernet_tokens]
key_repository = {root}/fernet
[credential]
key_repository = {root}/credential
[auth]
methods = password,token,application_credential,mapped,{PROTOCOL}
[{PROTOCOL}]
remote_id_attribute = MELLON_IDP
[federation]
trusted_dashboard = {ORIGIN}
sso_callback_template = {VENV}/etc/keystone/sso_callback_template.html
[cache]
enabled = false
[identity]
password_hash_rounds = 4
"""

    def _httpd_conf(self) -> str:
        root, port = self.root, self.ports["apache"]
        loaded = "\n".join(f"LoadModule {name}_module {MODULES}/mod_{name}.so" for name in _LOADED)
        return f"""ServerRoot {root}
PidFile {root}/run/httpd.pid
DefaultRuntimeDir {root}/run
Listen 127.0.0.1:{port}
ServerName unknown.example
User www-data
Group www-data
ErrorLog {root}/log/apache.log
LogLevel warn
{loaded}
StartServers {_START_SERVERS}
ThreadsPerChild 25
MinSpareThreads 25
MaxSpareThreads 75
MellonLockFile {root}/run/mellon.lock
<VirtualHost *:{port}>
  ProxyPass / uwsgi://127.0.0.1:{self.ports["uwsgi"]}/ retry=0
  IncludeOptional {root}/sp-location*.conf
</VirtualHost>
"""
