"""A certificate authority of this machine's own: a headset opens WebXR only in a secure context."""

from __future__ import annotations

import ipaddress
import shutil
import subprocess  # nosec B404
import tempfile
from collections.abc import Sequence
from pathlib import Path

from corporeal.errors import CorporealError

_AUTHORITY_DAYS, _SERVER_DAYS = "3650", "365"


def own_certificate(folder: Path, names: Sequence[str]) -> tuple[Path, Path, Path]:
    """Certificate and key for these names and addresses, and the authority that signed them.

    The authority is made once and kept in `folder`, readable for this user alone.
    """
    program = shutil.which("openssl")
    if program is None:
        raise CorporealError(
            "https, got no program openssl to make a certificate with; expected it on PATH. "
            "Install it, or serve on 127.0.0.1 and use adb reverse."
        )
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    authority, authority_key = folder / "ca.crt", folder / "ca.key"
    if not (authority.is_file() and authority_key.is_file()):
        _make(program, ["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-sha256", "-days",
                        _AUTHORITY_DAYS, "-subj", "/CN=Corporeal teleoperation",
                        "-addext", "basicConstraints=critical,CA:TRUE",
                        "-addext", "keyUsage=critical,keyCertSign,cRLSign",
                        "-keyout", str(authority_key), "-out", str(authority)])  # fmt: skip
        authority_key.chmod(0o600)
    certificate, key = folder / "server.crt", folder / "server.key"
    with tempfile.TemporaryDirectory(dir=folder) as scratch:
        request, terms = Path(scratch) / "server.csr", Path(scratch) / "server.txt"
        terms.write_text(
            f"subjectAltName={','.join(_alternative(name) for name in names)}\n"
            "basicConstraints=CA:FALSE\nextendedKeyUsage=serverAuth\n"
        )
        _make(program, ["req", "-newkey", "rsa:2048", "-nodes", "-sha256", "-subj",
                        "/CN=corporeal", "-keyout", str(key), "-out", str(request)])  # fmt: skip
        _make(program, ["x509", "-req", "-in", str(request), "-CA", str(authority), "-CAkey",
                        str(authority_key), "-CAcreateserial", "-days", _SERVER_DAYS, "-sha256",
                        "-extfile", str(terms), "-out", str(certificate)])  # fmt: skip
    key.chmod(0o600)
    return certificate, key, authority


def _alternative(name: str) -> str:
    try:
        return f"IP:{ipaddress.ip_address(name)}"
    except ValueError:
        return f"DNS:{name}"


def _make(program: str, arguments: list[str]) -> None:
    done = subprocess.run([program, *arguments], capture_output=True, text=True)  # nosec B603
    if done.returncode:
        said = (done.stderr.strip().splitlines() or ["no word"])[-1][:200]
        raise CorporealError(
            f"openssl, got {said}; expected a certificate. Look at the folder that it is kept in."
        )
