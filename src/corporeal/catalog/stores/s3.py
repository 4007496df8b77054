"""S3 (AWS, RustFS, MinIO, SeaweedFS): a bucket, or the part of it below a prefix."""

from __future__ import annotations

import hashlib
import os
import re
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from corporeal.catalog.store.object_lock import can_hold, erase_versions, hold
from corporeal.catalog.store.signed_request import Bucket
from corporeal.catalog.store.store import (
    Abilities,
    StoreError,
    StoreKind,
    UnreachableStoreError,
    blocks_of,
    check_digest,
    check_span,
    digest_of,
    ends_early,
    not_there,
    place_checked,
)
from corporeal.errors import MissingExtraError
from corporeal.trust import is_here

if TYPE_CHECKING:
    from obstore.store import S3Store

OPTIONS = ("endpoint", "region", "addressing")
_ENDPOINTS = ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL", "AWS_ENDPOINT")
_PART = 16 << 20
_MAX_PARTS = 9000
_BUCKET = re.compile(r"[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]")
_PREFIX = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9_.-]*(/[A-Za-z0-9_-][A-Za-z0-9_.-]*)*")
_KEY = re.compile(r"([0-9a-f]{2})/([0-9a-f]{2})/(\1\2[0-9a-f]{60})")
_RETRIES = 5
_RETRY_FOR = timedelta(seconds=60)
# Processes in which the client has started its threads; a fork of one has none of them.
_STARTED: set[int] = set()


class _NotFoundError(StoreError):
    """There is no such object, or no such bucket."""


class ObjectStore:
    """`prefix/ab/cd/<hex>`, as in a folder. Keys come from the environment (AWS_*) alone.

    Files of up to one part (16 MiB) are created only once; of two writers who put the same larger
    file at the same moment the later one wins, with the same bytes. Every part carries its SHA-256,
    which the server checks. Holding is set right after storing, by a request of its own.
    """

    def __init__(self, bucket: str, prefix: str, place: Bucket) -> None:
        self._name = bucket
        self._prefix = prefix
        self.place = place
        self._made: S3Store | None = None

    @property
    def url(self) -> str:
        """`s3://bucket/prefix`."""
        return f"s3://{self._name}/{self._prefix}".rstrip("/")

    def __getstate__(self) -> dict[str, Any]:
        """Everything but the connection: another process makes its own."""
        return {**self.__dict__, "_made": None}

    @property
    def _client(self) -> S3Store:
        _refuse_fork()
        if self._made is None:
            self._made = _connect(self._name, self._prefix, self.place)
        return self._made

    @property
    def is_local(self) -> bool:
        """A bucket is not."""
        return False

    def path(self, digest: str) -> None:
        """No object of a bucket is a file."""

    def put(
        self, source: Path, *, retain_until: datetime | None = None, replace: bool = False
    ) -> str:
        """Store a file, and hold it if asked to; one that is there is sent only to `replace` it."""
        try:
            digest, size = digest_of(source), source.stat().st_size
            present = self.has(digest)
            if replace or present != size:
                self._send(source, digest, size, is_new=present is None)
        except OSError as error:
            raise StoreError(f"{source}: {error.strerror or error}.") from None
        if retain_until is not None:
            hold(self.place, self._full(_key(digest)), retain_until)
        return digest

    def _send(self, source: Path, digest: str, size: int, *, is_new: bool) -> None:
        import obstore
        from obstore.exceptions import AlreadyExistsError

        key = _key(digest)
        with self._explained():
            if size > _PART:
                part = max(_PART, -(-size // _MAX_PARTS))
                blocks = _checked_blocks(source, digest)
                obstore.put(self._client, key, blocks, chunk_size=part, max_concurrency=4)
                return
            # Even an empty file is a block.
            whole = b"".join(_checked_blocks(source, digest))
            try:
                obstore.put(self._client, key, whole, mode="create" if is_new else "overwrite")
            except AlreadyExistsError:
                return

    def has(self, digest: str) -> int | None:
        """The size of an object; None when it is not there."""
        import obstore

        key = _key(digest)
        try:
            with self._explained():
                return int(obstore.head(self._client, key)["size"])
        except _NotFoundError:
            return None

    def fetch(self, digest: str, target: Path) -> None:
        """Copy an object into a new file, checked on the way."""
        size = self.has(digest)
        if size is None:
            raise not_there(digest)
        place_checked(blocks_of(self, digest, size), digest, target)

    def read(self, digest: str, start: int, count: int) -> bytes:
        """Some bytes of an object, in one request."""
        import obstore

        key = _key(digest)
        check_span(digest, start, count)
        if not count:
            return b""
        try:
            with self._explained(beyond=ends_early(digest, start + count)):
                block = obstore.get_range(self._client, key, start=start, length=count)
        except _NotFoundError:
            raise not_there(digest) from None
        if len(block) != count:
            raise ends_early(digest, start + count)
        return bytes(block)

    def erase(self, digest: str) -> None:
        """Remove an object with all of its versions."""
        erase_versions(self.place, self._full(_key(digest)))

    def digests(self) -> Iterator[str]:
        """All objects; S3 lists them in order."""
        import obstore

        with self._explained():
            for page in obstore.list(self._client, chunk_size=1000):
                for entry in page:
                    if match := _KEY.fullmatch(entry["path"]):
                        yield f"sha256:{match[3]}"

    def abilities(self) -> Abilities:
        """Try both with objects that are erased again; takes some seconds."""
        import obstore
        from obstore.exceptions import AlreadyExistsError

        key = f"trial/{uuid.uuid4().hex}"
        create_only = False
        with self._explained():
            obstore.put(self._client, key, b"once", mode="create")
            try:
                obstore.put(self._client, key, b"twice", mode="create")
            except AlreadyExistsError:
                create_only = True
        erase_versions(self.place, self._full(key))
        held = can_hold(self.place, self._full(f"trial/{uuid.uuid4().hex}"))
        return Abilities(write_once=held, create_only=create_only)

    def _full(self, key: str) -> str:
        return f"{self._prefix}/{key}" if self._prefix else key

    @contextmanager
    def _explained(self, beyond: StoreError | None = None) -> Iterator[None]:
        """The client's pages of text in one sentence, without what the server says of keys."""
        from obstore.exceptions import BaseError, NotFoundError

        try:
            yield
        except (NotFoundError, FileNotFoundError):
            raise _NotFoundError(f"store {self.url}: no such bucket, or no such object.") from None
        except BaseError as error:
            text = str(error)
            status = re.search(r"status code: (\d{3})", text)
            if beyond is not None and status is not None and status[1] == "416":
                raise beyond from None
            code = re.search(r"<Code>(\w+)</Code>", text)
            reason = code[1] if code else f"status {status[1]}" if status else "it does not answer"
            raise UnreachableStoreError(
                f"store {self.url}: {reason}. Look at the endpoint, the bucket and the keys in the "
                "environment (AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY)."
            ) from None


def _checked_blocks(source: Path, digest: str) -> Iterator[bytes]:
    """A file's bytes; the last of them only if all of them have the hash."""
    actual = hashlib.sha256()
    with source.open("rb") as file:
        block = file.read(_PART)
        while block:
            actual.update(block)
            following = file.read(_PART)
            if not following and f"sha256:{actual.hexdigest()}" != digest:
                raise StoreError(f"{source} was changed while it was stored. Wait for its writer.")
            yield block
            block = following


def _key(digest: str) -> str:
    name = check_digest(digest)
    return f"{name[:2]}/{name[2:4]}/{name}"


def _refuse_fork() -> None:
    """Raise where the client would wait for its threads for ever."""
    if not _STARTED:
        _STARTED.add(os.getpid())
    elif os.getpid() not in _STARTED:
        raise StoreError(
            "S3 was in use when this process was forked, and cannot be used in it; expected a "
            "process that was started anew. Use multiprocessing.get_context('spawn')."
        )


def _connect(bucket: str, prefix: str, place: Bucket) -> S3Store:
    try:
        from obstore.store import S3Store
    except ModuleNotFoundError:
        raise MissingExtraError("obstore", "server") from None
    parts = urlsplit(place.address)
    virtual = not parts.path
    endpoint = place.address if virtual else f"{parts.scheme}://{parts.netloc}"
    return S3Store(
        bucket,
        prefix=prefix or None,
        endpoint=endpoint,
        region=place.region,
        virtual_hosted_style_request=virtual,
        checksum_algorithm="sha256",
        client_options={"allow_http": parts.scheme == "http"},
        retry_config={"max_retries": _RETRIES, "retry_timeout": _RETRY_FOR},
    )


def open_bucket(url: str, _: Path, options: dict[str, Any]) -> ObjectStore:
    """The store; nothing is sent yet. `addressing` is path or virtual (bucket in the host name)."""
    parts = urlsplit(url)
    if "@" in parts.netloc or parts.query or parts.fragment:
        raise StoreError(
            "store, got an address with keys or a question mark in it; expected s3://bucket/prefix."
            " Put AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY into the environment."
        )
    bucket, prefix = parts.netloc, parts.path.strip("/")
    if not _BUCKET.fullmatch(bucket) or (prefix and not _PREFIX.fullmatch(prefix)):
        raise StoreError(f"store, got {url!r}; expected s3://bucket/prefix of plain names.")
    for name in options:
        if name not in OPTIONS:
            raise StoreError(
                f"store {url}, got the option {name!r}; expected one of: {', '.join(OPTIONS)}. "
                "Keys belong into the environment."
            )
    region = options.get("region") or _from_environment("AWS_REGION", "AWS_DEFAULT_REGION")
    region = str(region or "us-east-1")
    address = _address(bucket, region, options)
    return ObjectStore(bucket, prefix, Bucket(address, region))


def _address(bucket: str, region: str, options: dict[str, Any]) -> str:
    given = str(options.get("endpoint") or _from_environment(*_ENDPOINTS)).rstrip("/")
    addressing = options.get("addressing") or ("path" if given else "virtual")
    parts = urlsplit(given or f"https://s3.{region}.amazonaws.com")
    if parts.scheme not in ("http", "https") or not parts.netloc or "@" in parts.netloc:
        raise StoreError("endpoint of the store; expected http://host:port or https://host.")
    if addressing == "path":
        return f"{parts.scheme}://{parts.netloc}/{bucket}"
    if addressing == "virtual":
        return f"{parts.scheme}://{bucket}.{parts.netloc}"
    raise StoreError(f"addressing, got {addressing!r}; expected path or virtual.")


def _from_environment(*names: str) -> str:
    return next((os.environ[name] for name in names if os.environ.get(name)), "")


def host_of_bucket(url: str, options: Mapping[str, Any]) -> str:
    """The server that a file names; at Amazon the bucket, as anyone may have one there."""
    if endpoint := str(options.get("endpoint", "")):
        try:
            parts = urlsplit(endpoint)
            host, port = parts.hostname or "", f":{parts.port}" if parts.port else ""
        except ValueError:
            return endpoint[:120]
        return "" if is_here(host) else f"{parts.scheme}://{host}{port}"
    # Without one in the file, the user's own environment says where buckets are.
    return "" if _from_environment(*_ENDPOINTS) else f"s3://{urlsplit(url).netloc}"


STORE = StoreKind(schemes=("s3",), open=open_bucket, host=host_of_bucket)
