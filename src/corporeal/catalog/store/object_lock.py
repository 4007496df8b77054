"""Object lock of S3: hold an object until a date, erase what is not held, and try it out."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from xml.etree import ElementTree

from corporeal.catalog.store.signed_request import Answer, Bucket
from corporeal.catalog.store.store import StoreError

_SPACE = "http://s3.amazonaws.com/doc/2006-03-01/"
_TRIAL = timedelta(seconds=3)
_PATIENCE_S = 10.0


def hold(bucket: Bucket, key: str, until: datetime) -> None:
    """Keep an object from being deleted by anyone until then; a later date stays as it is."""
    if until.tzinfo is None:
        raise StoreError(
            f"retain_until, got {until.isoformat()} without a time zone; expected UTC."
        )
    present = held_until(bucket, key)
    if present is not None and present >= until:
        return
    answer = _retain(bucket, key, until)
    if not answer.good:
        raise StoreError(
            f"{bucket.address}: cannot hold {key} until {_shown(until)}: {code_of(answer)}; "
            "expected a bucket with object lock. The object is stored, but anyone may delete it."
        )


def held_until(bucket: Bucket, key: str) -> datetime | None:
    """Until when an object is held; None when it is not."""
    answer = bucket.ask("GET", key, {"retention": ""})
    if not answer.good:
        return None
    found = _parsed(answer).findtext(f"{{{_SPACE}}}RetainUntilDate")
    return None if found is None else datetime.fromisoformat(found)


def erase_versions(bucket: Bucket, key: str) -> None:
    """Delete every version of an object and its delete markers; StoreError while one is held."""
    while versions := list(_versions(bucket, key)):
        for version in versions:
            answer = bucket.ask("DELETE", key, {"versionId": version})
            if not answer.good and answer.status != 404:
                until = held_until(bucket, key)
                reason = f"is held until {_shown(until)}" if until else "cannot be erased"
                raise StoreError(f"{bucket.address}: {key} {reason} ({code_of(answer)}).")


def can_hold(bucket: Bucket, key: str) -> bool:
    """Whether an object that is held really withstands deletion: tried with one at `key`.

    Held for three seconds of the server's clock, and erased when they are over.
    """
    answer = bucket.ask("PUT", key, body=b"A trial of object lock.\n")
    if not answer.good:
        raise StoreError(f"{bucket.address}: cannot be written: {code_of(answer)}.")
    version = _header(answer, "x-amz-version-id")
    begin = parsedate_to_datetime(_header(answer, "date") or _date_here())
    try:
        if not version or not _retain(bucket, key, begin + _TRIAL).good:
            return False
        refused = bucket.ask("DELETE", key, {"versionId": version})
        there = bucket.ask("GET", key, {"versionId": version})
        return refused.status == 403 and there.good
    finally:
        _erase_soon(bucket, key)


def code_of(answer: Answer) -> str:
    """The name that S3 gives to what went wrong; nothing else of what the server says is shown."""
    try:
        body = answer.body
        found = ElementTree.fromstring(body).findtext("Code") if body else None  # nosec B314
    except ElementTree.ParseError:
        found = None
    return found if found and found.isalnum() else f"status {answer.status}"


def _retain(bucket: Bucket, key: str, until: datetime) -> Answer:
    text = (
        f'<Retention xmlns="{_SPACE}"><Mode>COMPLIANCE</Mode>'
        f"<RetainUntilDate>{_shown(until)}</RetainUntilDate></Retention>"
    )
    return bucket.ask("PUT", key, {"retention": ""}, body=text.encode())


def _erase_soon(bucket: Bucket, key: str) -> None:
    """Erase an object as soon as it may be; one that stays held is a few bytes."""
    deadline = time.monotonic() + _PATIENCE_S
    while True:
        try:
            erase_versions(bucket, key)
        except StoreError:
            if time.monotonic() > deadline:
                return
            time.sleep(0.5)
        else:
            return


def _versions(bucket: Bucket, key: str) -> Iterator[str]:
    answer = bucket.ask("GET", "", {"versions": "", "prefix": key})
    if not answer.good:
        raise StoreError(f"{bucket.address}: cannot list versions: {code_of(answer)}.")
    listed = _parsed(answer)
    for kind in ("Version", "DeleteMarker"):
        for entry in listed.iter(f"{{{_SPACE}}}{kind}"):
            if entry.findtext(f"{{{_SPACE}}}Key") == key:
                yield entry.findtext(f"{{{_SPACE}}}VersionId") or "null"


def _parsed(answer: Answer) -> ElementTree.Element:
    try:
        return ElementTree.fromstring(answer.body)  # nosec B314
    except ElementTree.ParseError as error:
        raise StoreError(f"the S3 server answered with broken XML: {error}.") from None


def _header(answer: Answer, name: str) -> str:
    lowered = {key.lower(): value for key, value in answer.headers.items()}
    return lowered.get(name, "")


def _shown(until: datetime) -> str:
    """UTC to the second, rounded up."""
    whole = until.astimezone(UTC)
    if whole.microsecond:
        whole = whole.replace(microsecond=0) + timedelta(seconds=1)
    return whole.strftime("%Y-%m-%dT%H:%M:%SZ")


def _date_here() -> str:
    return datetime.now(UTC).strftime("%a, %d %b %Y %H:%M:%S GMT")
