# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""Campus login with the real parts: Keystone, Apache with mod_auth_mellon, a SAML IdP."""
