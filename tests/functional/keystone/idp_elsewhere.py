# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""The identity provider on another port than it believes to have, for a clock that is wrong."""

import runpy
import sys
from http.server import ThreadingHTTPServer
from pathlib import Path

PORT = int(sys.argv.pop())
idp = runpy.run_path(str(Path(__file__).with_name("idp.py")), run_name="idp")
ThreadingHTTPServer(("127.0.0.1", PORT), idp["Handler"]).serve_forever()
