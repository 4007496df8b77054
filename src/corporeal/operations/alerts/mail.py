"""Alerts as one e-mail in plain text."""

from __future__ import annotations

import re
import smtplib
import ssl
from collections.abc import Sequence
from email.message import EmailMessage
from email.utils import formatdate, make_msgid
from pathlib import Path

from corporeal.operations.alert import (
    Alert,
    AlertError,
    ChannelKind,
    ChannelSettings,
    Send,
    one_line,
)

_ADDRESS = re.compile(r"[A-Za-z0-9.!#$%&'*+/=?^_`{|}~-]+@[A-Za-z0-9.-]+")
_HOST = re.compile(r"[A-Za-z0-9.:-]+")
_SUBJECT = 150


def open_mail(setting: ChannelSettings) -> Send:
    """Through `server` and `port`, from `sender` to the addresses in `to`.

    The line is encrypted where the server offers it (STARTTLS), and has to be with `require_tls`
    or with a `user`, whose password is in the variable that `password_variable` names.
    """
    server = setting.text("server")
    if not _HOST.fullmatch(server):
        raise setting.wrong("server", "the name of a host")
    port = int(setting.number("port", 587, lowest=1, highest=65535))
    timeout_s = setting.number("timeout_s", 20.0, lowest=0.1, highest=300)
    sender, to = _address(setting, "sender", setting.text("sender")), _recipients(setting)
    user = setting.text("user") if "user" in setting.values else None
    password = setting.secret("password_variable")
    if (user is None) != (password is None):
        raise setting.wrong("user", "both user and password_variable, or neither")
    needs_tls = setting.values.get("require_tls", False)
    if not isinstance(needs_tls, bool):
        raise setting.wrong("require_tls", "true or false")
    setting.require_host("smtp", server, port)
    trust, where = _trust(setting), f"{setting.where} {server}"

    def send(alerts: Sequence[Alert]) -> None:
        message = compose(alerts, sender=sender, to=to)
        try:
            with smtplib.SMTP(server, port, timeout=timeout_s) as line:
                line.ehlo()
                if line.has_extn("starttls"):
                    line.starttls(context=trust)
                    line.ehlo()
                elif needs_tls or user is not None:
                    raise AlertError(f"{where} offers no STARTTLS; expected an encrypted line.")
                if user is not None and password is not None:
                    line.login(user, password)
                refused = line.send_message(message)
        except OSError as error:
            raise AlertError(f"{where} {_reason(error)}.") from None
        if refused:
            raise AlertError(f"{where} refused {len(refused)} of the recipients.")

    return send


def _reason(error: OSError) -> str:
    """What went wrong, without what the server said: it may repeat a secret."""
    if isinstance(error, smtplib.SMTPResponseException):
        return f"answered {error.smtp_code}"
    said = "no answer" if isinstance(error, TimeoutError) else type(error).__name__
    return f"cannot be used ({said})"


def compose(alerts: Sequence[Alert], *, sender: str, to: Sequence[str]) -> EmailMessage:
    """The message; nothing in an alert can add a header or a recipient."""
    message = EmailMessage()
    more = f" and {len(alerts) - 1} more" if len(alerts) > 1 else ""
    title = one_line(alerts[0].title)[:_SUBJECT]
    message["Subject"] = f"[corporeal] {title}{more}"
    message["From"] = sender
    message["To"] = ", ".join(to)
    message["Date"] = formatdate()
    message["Message-ID"] = make_msgid(domain=sender.rpartition("@")[2])
    message["Auto-Submitted"] = "auto-generated"
    message.set_content(
        "\n\n".join(f"{one_line(each.title)}\n{each.text}\n{each.at}" for each in alerts) + "\n"
    )
    return message


def _recipients(setting: ChannelSettings) -> tuple[str, ...]:
    value = setting.values.get("to")
    listed = [value] if isinstance(value, str) else value
    if not isinstance(listed, list) or not listed:
        raise setting.wrong("to", "one address or a list of them")
    return tuple(_address(setting, "to", each) for each in listed)


def _address(setting: ChannelSettings, name: str, value: object) -> str:
    if not isinstance(value, str) or not _ADDRESS.fullmatch(value):
        raise setting.wrong(name, "an address such as team@example.org")
    return value


def _trust(setting: ChannelSettings) -> ssl.SSLContext:
    """Certificates of the system, or those in the file `authorities`."""
    if "authorities" not in setting.values:
        return ssl.create_default_context()
    path = setting.root / Path(setting.text("authorities"))
    try:
        return ssl.create_default_context(cafile=path)
    except OSError:
        raise setting.wrong("authorities", "a file of certificates (PEM)") from None


CHANNEL = ChannelKind(
    open_mail,
    options=("server", "port", "sender", "to", "user", "password_variable", "require_tls",
             "authorities", "timeout_s"),
)  # fmt: skip
