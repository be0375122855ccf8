# Copyright 2026 the authors of this repository
# SPDX-License-Identifier: Apache-2.0
"""A campus identity provider that exists nowhere: metadata, and the federation's signing key.

Made once with cryptography 50.0.2; the keys open nothing.
"""

import signxml.signer
from lxml import etree

ENTITY = "https://idp.example.edu/idp"
IDP_CERTIFICATE = """\
MIICrTCCAZWgAwIBAgIBBzANBgkqhkiG9w0BAQsFADAaMRgwFgYDVQQDDA9pZHAuZXhhbXBsZS5lZHUwHhcNMjUwMT\
AxMDAwMDAwWhcNNDUwMTAxMDAwMDAwWjAaMRgwFgYDVQQDDA9pZHAuZXhhbXBsZS5lZHUwggEiMA0GCSqGSIb3DQEB\
AQUAA4IBDwAwggEKAoIBAQCnOEDEHvM7bcKNyBV/S+Isbuie2J8ceqo6ayEftroBoqEhlT2WP7ZnSss22Xyumz0p6e\
nPsK8+epqxuREHTxJoIEg1mDfrFVskMWtBeHSV/QyLU6G9NAV0BzxNc4w4pNBEBneUOrrVzsc7CRlJF0eCXzkR6/V2\
/3b1OFgok7mlJsviU22UW1ErtQuHlVlAxNKjUXq/SqoOxwYtZyKb5Kt9H/YkxFX1DJce+OlwalZ6ijkMN2gdISq5Mz\
H231hPN7s041jQBMq2Un2PQKKqQZi6Dd8jbw5Poot6uE1iheoFG9VtI8rEzutYB7W5SHY11aOyCRCnDBE+Y1/Q6tf9\
J0ZJAgMBAAEwDQYJKoZIhvcNAQELBQADggEBADN+4t2agRM/cxodzUbKp0+7W0AjC9oCVaF4i9dDBoQ2GI/S8iBcH3\
i3fHsFAWl6EXrNc23CrFjUpoMuZmdq8pcDktTQSC4qhODNLZvPftpHtTPOKrPcDcCofOQ15nzaeVAEGa9lAPHVQ/rm\
QI3k1eGtVneUvLm9OxriPitscAUpt9PF4dcBTKkP4T7gECMWRZn3Y6Je2+Q9W0rJ7NIDiCySrSMq0ZSGvTTYATfSM8\
fYuniO1iERRePfUO2ZrM+oB5TBnsMWmG6W+2CCdCcWzu6uI4KF0CXn372Tb6JeUDKMFlOCAY0tZdYK6fz9Sl2HMvhA\
VR27Di+X9Xbd+Nc2fi0="""
FEDERATION_KEY = """-----BEGIN RSA PRIVATE KEY-----
MIIEogIBAAKCAQEAgnMvWR6GQcsdHsCZ4K0wt+iBwzNF6s68//9dsHq8dMfZx8U3
DBr9MHUnl0hhVP8nJGonU47YYUeMBREBdTdZPmA/NCvo+zs7M9x7NNLdI2H5iK7f
zRCV185TapXieeNBxCkzvjBw8QO3UTWNkfCZXxP7xw2HbNwlGAY84MUQHYOUGpoo
zlkpEgSnF5KfDNS6+KzpcniQKdUGe8QMWPhDLQH3EfM9nYqJkt0N5wZVVhdE8qTX
Cp/sswkWSjg+Ttb7ge9zKZzhEeUjRIg2tJIjmRuowV/EGp3Lo28nh7gzNhwartVT
l3W3cEw2Bu9MkFsOKBPM8GIoaRoX127syZpTOwIDAQABAoIBAC6UxvGBztsrlkhm
6guqjFz/b2aupmbEUATxwRjFmwnwWznUmGWANazaCLsio27gda+xID3cIjQKgltE
yUp76yg04hzVGSqs6eUI9A3WxhReZeaC23O0Wm1nRa4nu2le1xsew1VEou/NLeaX
wue8DGhBEITxtcwPiEdd4ts4QxrmYLb35TeVUSgEkx52iJy52qPQ+VVGop5oj2MT
MEGsIGAvo7UuZMTKrFXXC27G/CBuWMfsx8Kkdacu6mbLneeVdwaTx68kUdlwAs3C
OxRQ5gVdPxcEqFXcsbX5x8CIdJNlt9Rl8gHA3luzqD2/U7R8OXVkSJsEyNJEgxkB
LA1CajECgYEAt//kQ4NmqGESEJc5BRLRmPRmv5F9aQAATo0s7ZXPG0LNzjV6TZfF
3Yb2BlYRlNjwSa60WW8zpbzEsUPCVi5DKb77bmXjL0f63jpC97VqMhRA3kYRqTuA
Kak5lqUpFj1ZIQckqnSPAw8RMXVV+bQdG0kPUQQTJvlOvjgQHLfsBx8CgYEAtX75
D4CFlWVARBLlU9ei1K4OJGJ1TTh0aWRr5Uc3DFg1Ys7ttBs3GyPHVeo8z0j9IvjK
qo1D4uTNSvMCqkkablLLmzDa6sNPMUO2SHE1cFLez8X6pUp76Wc8OFFIoWdapS5V
KRW+HmskLWaGYgYvDNK/G4MlPcmzRNJHU1tn/GUCgYBNQjcYWg462Td6m+SnSrWT
YdvayD4+Xm/Ci+i3gdXKfoxn73CBMB822zpmgrEzLLwIVEEJ5HVtPAvi2q64/Qfa
eYSdYE66RaECurfvxs7mZDawnf9AbelslM/Hf2X3Hp9UDOnKYNLD2AnCGKCXDpfC
IzU5MVrRXJFBscyiImAKxQKBgGb0N+QLS7uLTAFRlrUQxVVPxsXs9A1x0NdYF7xf
wWJHR0FdkIlyRrgme5TI4uXSyYVlC9HjgHbcw3eYkhJ2lX+vh7/o3sX9NJcFigld
7qpg1/OUorHQpqmn3gk0Urb8IfdBaR19L/OhY0w9tE02pMnpYm8A3cdG+2I2xi8K
0tnhAoGATQxOwgE/9m02xkMDQnpgD3yuKRfwHRNKfPuOnSMnCYnRjMa2vYed2IQQ
5mOVmIqV3s/jrh9pngfZjnfCkRRkpjsmrDPdSpCFPjikVB3cmxtVhrYN+jVRf1B2
IqYcKLJw5edy+L9LAa1rCtQGARqD5Fh8Xjmn1BYwD+NJe6OBeTY=
-----END RSA PRIVATE KEY-----"""
FEDERATION_CERTIFICATE = """-----BEGIN CERTIFICATE-----
MIICuzCCAaOgAwIBAgIBBzANBgkqhkiG9w0BAQsFADAhMR8wHQYDVQQDDBZmZWRl
cmF0aW9uLmV4YW1wbGUuZWR1MB4XDTI1MDEwMTAwMDAwMFoXDTQ1MDEwMTAwMDAw
MFowITEfMB0GA1UEAwwWZmVkZXJhdGlvbi5leGFtcGxlLmVkdTCCASIwDQYJKoZI
hvcNAQEBBQADggEPADCCAQoCggEBAIJzL1kehkHLHR7AmeCtMLfogcMzRerOvP//
XbB6vHTH2cfFNwwa/TB1J5dIYVT/JyRqJ1OO2GFHjAURAXU3WT5gPzQr6Ps7OzPc
ezTS3SNh+Yiu380QldfOU2qV4nnjQcQpM74wcPEDt1E1jZHwmV8T+8cNh2zcJRgG
PODFEB2DlBqaKM5ZKRIEpxeSnwzUuvis6XJ4kCnVBnvEDFj4Qy0B9xHzPZ2KiZLd
DecGVVYXRPKk1wqf7LMJFko4Pk7W+4Hvcymc4RHlI0SINrSSI5kbqMFfxBqdy6Nv
J4e4MzYcGq7VU5d1t3BMNgbvTJBbDigTzPBiKGkaF9du7MmaUzsCAwEAATANBgkq
hkiG9w0BAQsFAAOCAQEAIiyjkWyUHZwKWr9mzyOBxCxxk5o/3IvAqcM1zyxaKAhX
X62pg1UhOc+xPqiA1ELU2pHxHhMC1e7h9rweDHg2WlJYXm1IQ3z64fo3SpGDTxJc
hst9Vf6kkfR/Gca9wrve2glHhr3OuUMKWOi2Eee77MVuPllDE3oo4WXlUXjJJPxi
rxZFS+yZ/TH6qqEDLN1+lB0JjdTAn1II203KHiK7KbVhkWwvn+9OCRUcqxtUKHrX
hYi9h1boTSjuLYCwCnhPNZ8/ncva2DDOdez2qcHmsoVmbpp1KkDMxl9onqO6zxD+
LbImcw1p7IT/Wm/DoJRfsAt2RCRbn6EAixoDV2vs/g==
-----END CERTIFICATE-----
"""
_MD = "urn:oasis:names:tc:SAML:2.0:metadata"
_BINDINGS = "urn:oasis:names:tc:SAML:2.0:bindings"


def metadata(
    entity: str = ENTITY,
    *,
    certificate: str = IDP_CERTIFICATE,
    valid_until: str = "",
    bindings: tuple[str, ...] = ("HTTP-Redirect", "HTTP-POST", "SOAP"),
) -> str:
    """Return the metadata of one identity provider."""
    until = f' validUntil="{valid_until}"' if valid_until else ""
    services = "".join(
        f'<SingleSignOnService Binding="{_BINDINGS}:{name}" Location="https://idp.example.edu/{name}"/>'
        for name in bindings
    )
    key = f"<ds:X509Data><ds:X509Certificate>{certificate}</ds:X509Certificate></ds:X509Data>"
    keys = (
        f'<KeyDescriptor use="signing"><ds:KeyInfo>{key}</ds:KeyInfo></KeyDescriptor>'
        if certificate
        else ""
    )
    return (
        f'<EntityDescriptor entityID="{entity}" xmlns="{_MD}"{until}'
        ' xmlns:ds="http://www.w3.org/2000/09/xmldsig#">'
        '<IDPSSODescriptor protocolSupportEnumeration="urn:oasis:names:tc:SAML:2.0:protocol">'
        f"{keys}{services}</IDPSSODescriptor></EntityDescriptor>"
    )


def aggregate(*documents: str, valid_until: str = "") -> str:
    """Return the metadata of several providers."""
    until = f' validUntil="{valid_until}"' if valid_until else ""
    return f'<EntitiesDescriptor xmlns="{_MD}"{until}>{"".join(documents)}</EntitiesDescriptor>'


def sign(document: str, name: str = "_signed") -> str:
    """Return a document that the federation has signed, under an ID."""
    root = etree.fromstring(document.encode())
    root.set("ID", name)
    signer = signxml.signer.XMLSigner(c14n_algorithm="http://www.w3.org/2001/10/xml-exc-c14n#")
    signed = signer.sign(root, key=FEDERATION_KEY, cert=FEDERATION_CERTIFICATE, reference_uri=name)
    return etree.tostring(signed, encoding="unicode")


IDP_METADATA = metadata()
