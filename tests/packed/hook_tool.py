#!/usr/bin/env python3
"""Every hook tool, and every program that would change a machine, as one script under many names.

It lies in a folder `bin`; answers come from hook-tools.json beside that folder, and each call is a
line of calls.log there. A copy elsewhere is told the folder by its first line below the imports.
"""

import json
import sys
from pathlib import Path

STUBS = ""
stubs = Path(STUBS or Path(sys.argv[0]).parent.parent)
name, arguments = Path(sys.argv[0]).name, sys.argv[1:]
with (stubs / "calls.log").open("a") as log:
    log.write(json.dumps([name, *arguments]) + "\n")
answers = json.loads((stubs / "hook-tools.json").read_text())
if name in answers:
    words = [word for word in arguments if not word.startswith("-")]
    answer = answers[name]
    if isinstance(answer, dict) and answer.get("by-word"):
        answer = answer.get(words[0] if words else "", answer["default"])
    sys.stdout.write(json.dumps(answer))
