"""The certificate by which the proxy answers https requests of the browser, which trusts this key only."""

from __future__ import annotations

import ssl
from base64 import b64encode
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

_NAME = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "crawl")])

#: Longer than any crawl.
_VALID = timedelta(days=3650)


class Certificate(NamedTuple):
    """A server's context, and the hash of its key for Chromium's ``--ignore-certificate-errors-spki-list``."""

    context: ssl.SSLContext
    key_hash: str


def new_certificate() -> Certificate:
    """A new key with a self-signed certificate; the key exists only in memory, and for a moment in a private folder."""
    key = ec.generate_private_key(ec.SECP256R1())
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(_NAME)
        .issuer_name(_NAME)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + _VALID)
        .sign(key, hashes.SHA256())
    )
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    public = key.public_key().public_bytes(serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    with TemporaryDirectory() as folder:
        file = Path(folder, "certificate.pem")
        file.touch(0o600)
        file.write_bytes(private + certificate.public_bytes(serialization.Encoding.PEM))
        context.load_cert_chain(file)
    return Certificate(context, b64encode(sha256(public).digest()).decode("ascii"))
