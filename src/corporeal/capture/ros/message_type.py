"""ROS message definitions: from the text that a bag carries to a function that reads its bytes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, Literal

from corporeal.capture.ros.encoding import protobuf_reader, read_foreign_cdr, read_json
from corporeal.capture.ros.message import NotMappedError
from corporeal.capture.ros.unitree import DEFINITIONS

Encoding = Literal["ros1", "cdr"]
Decode = Callable[[bytes], Any]
_IDL_RULE = "=" * 80 + "\n"


def normal_type(name: str) -> str:
    """`pkg/msg/Type`, also for the older spelling `pkg/Type`."""
    parts = name.split("/")
    return f"{parts[0]}/msg/{parts[1]}" if len(parts) == 2 else name


@lru_cache(maxsize=1024)
def decoder(message_type: str, definition: str | bytes, language: str, encoding: str) -> Decode:
    """A function from a message's bytes to a message.

    `language` is that of the definition: ros1msg, ros2msg, ros2idl, protobuf, jsonschema, or empty
    when the file holds none; then the public definition of the type is taken. NotMappedError says
    why there is none.
    """
    if encoding == "json":
        return read_json
    if encoding == "protobuf":
        if language != "protobuf" or not isinstance(definition, bytes):
            raise NotMappedError("protobuf without its schema")
        return protobuf_reader(message_type, definition)
    if isinstance(definition, bytes):
        raise NotMappedError(f"a schema in {language!r} for messages in {encoding!r}")
    if encoding not in ("ros1", "cdr"):
        raise NotMappedError(f"the message encoding {encoding!r} is not read")
    name = normal_type(message_type)
    store = _own_store(name, definition, language) if definition else _public_store(encoding)
    if name not in store.fielddefs:
        raise NotMappedError("the file holds no definition of the type, which is not a public one")
    read = store.deserialize_ros1 if encoding == "ros1" else store.deserialize_cdr

    def decode(data: bytes) -> Any:
        from rosbags.serde import SerdeError

        # What a damaged message makes of generated code.
        broken = (SerdeError, ValueError, IndexError, TypeError, AssertionError, OverflowError)
        try:
            return read(data, name)
        except broken as error:
            if encoding == "cdr":
                return read_foreign_cdr(store, name, data)
            reason = str(error) or type(error).__name__
            raise NotMappedError(f"the bytes do not fit the definition ({reason})") from None

    return decode


@lru_cache(maxsize=4)
def _public_store(encoding: str) -> Any:
    from rosbags.typesys import Stores, get_types_from_msg, get_typestore

    if encoding == "ros1":
        return get_typestore(Stores.ROS1_NOETIC)
    store = get_typestore(Stores.LATEST)
    for name, definition in DEFINITIONS.items():
        store.register(dict(get_types_from_msg(definition, name)))
    return store


def public_fields(message_type: str) -> Mapping[str, Any]:
    """The public ROS 2 definitions by type; NotMappedError when this type is not among them."""
    store = _public_store("cdr")
    if normal_type(message_type) not in store.fielddefs:
        raise NotMappedError(f"the type {message_type!r} has no public definition")
    fields: Mapping[str, Any] = store.fielddefs
    return fields


def public_class(message_type: str) -> Any:
    """The class of messages of a public ROS 2 type."""
    public_fields(message_type)
    return _public_store("cdr").types[normal_type(message_type)]


def _own_store(name: str, definition: str, language: str) -> Any:
    from rosbags.typesys import (
        Stores,
        TypesysError,
        get_types_from_idl,
        get_types_from_msg,
        get_typestore,
    )  # fmt: skip

    try:
        if language == "ros2idl":
            parts = definition.split(_IDL_RULE) if _IDL_RULE in definition else [definition]
            found: dict[str, Any] = {}
            for part in parts:
                text = part.split("\n", 1)[-1] if part.startswith("IDL: ") else part
                if text.strip():
                    found.update(get_types_from_idl(text))
        else:
            found = dict(get_types_from_msg(definition, name))
        store = get_typestore(Stores.EMPTY)
        store.register(found)
    except (TypesysError, ValueError, KeyError) as error:
        raise NotMappedError(f"the definition in the file cannot be read ({error})") from None
    return store
