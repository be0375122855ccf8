# The front door. Needs Python >= 3.10, make and git; everything else is installed into .venv and .tox.
PYTHON ?= python3
TOX = .venv/bin/tox -q
export PIP_DISABLE_PIP_VERSION_CHECK = 1
# The certificates that the machine trusts, as pip does: a campus may have an authority of its own.
export UV_SYSTEM_CERTS = 1

.PHONY: help rehearse test lint pack functional integration bench clean

help:
	@echo "make rehearse     set up, then the tour: the whole product once on simulated machines"
	@echo "make test         lint, types, unit tests, rehearsal tests"
	@echo "make pack         every charm by the real charmcraft into dist/, and each dispatch once"
	@echo "make functional   real components"
	@echo "make integration  the jubilant suite, on the rehearsal or with JUJU_MODEL on a controller"
	@echo "make bench        side-by-side measurements"

.venv/ready: requirements/rehearsal.txt requirements/tox.txt pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10) and "Python 3.10 or newer is needed")'
	$(PYTHON) -m venv .venv
	.venv/bin/python -m pip install -q -r requirements/rehearsal.txt -r requirements/tox.txt
	.venv/bin/python -m pip install -q --no-deps -e .
	touch $@

rehearse: .venv/ready
	.venv/bin/rehearse tour

test: .venv/ready
	$(TOX) run -e lint,static,unit,rehearse

lint: .venv/ready
	$(TOX) run -e lint

pack functional integration bench: .venv/ready
	$(TOX) run -e $@

clean:
	rm -rf .venv .tox .cache .rehearsal build dist
