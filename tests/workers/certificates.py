"""A certificate authority and a certificate of 127.0.0.1, for TLS."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID


def write_certificates(folder: Path) -> None:
    """Write ``ca.pem``, ``cert.pem`` and ``key.pem``."""
    ca_key, key = (ec.generate_private_key(ec.SECP256R1()) for _ in range(2))
    ca_name, name = (x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)]) for text in ("test CA", "127.0.0.1"))
    address = x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))])
    authority = _builder(ca_name, ca_name, ca_key.public_key()).add_extension(
        x509.BasicConstraints(ca=True, path_length=None), critical=True
    )
    usage = x509.KeyUsage(True, False, False, False, False, True, True, False, False)
    authority = authority.add_extension(usage, critical=True)
    identifier = x509.SubjectKeyIdentifier.from_public_key(ca_key.public_key())
    authority = authority.add_extension(identifier, critical=False)
    server = _builder(name, ca_name, key.public_key()).add_extension(address, critical=False)
    server = server.add_extension(
        x509.AuthorityKeyIdentifier.from_issuer_subject_key_identifier(identifier), critical=False
    )
    pem = serialization.Encoding.PEM
    (folder / "ca.pem").write_bytes(authority.sign(ca_key, hashes.SHA256()).public_bytes(pem))
    (folder / "cert.pem").write_bytes(server.sign(ca_key, hashes.SHA256()).public_bytes(pem))
    plain = serialization.NoEncryption()
    (folder / "key.pem").write_bytes(key.private_bytes(pem, serialization.PrivateFormat.PKCS8, plain))


def _builder(subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePublicKey) -> x509.CertificateBuilder:
    now = datetime.now(UTC)
    builder = x509.CertificateBuilder(issuer, subject, key, x509.random_serial_number())
    return builder.not_valid_before(now - timedelta(days=1)).not_valid_after(now + timedelta(days=2))
