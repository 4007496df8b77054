"""The control interface is one of the protocol's."""

from __future__ import annotations

import pytest
from tests.quality.ruled import judge, marked

from corporeal.errors import NotAssessed
from corporeal.protocol.protocol import InterfaceInstruction

NAME = "interface_off_protocol"
VR = (InterfaceInstruction(interface="vr", speed="no quicker than a waiter"),)


def test_passes_an_interface_with_instructions() -> None:
    assert not list(judge(NAME, marked(interface="vr"), interfaces=VR))


def test_finds_another_interface() -> None:
    (found,) = judge(NAME, marked(interface="keyboard"), interfaces=VR)
    assert found.message == "interface 'keyboard' is none of the protocol's: vr"


def test_what_is_not_said_is_not_assessed() -> None:
    with pytest.raises(NotAssessed):
        list(judge(NAME, marked(), interfaces=VR))
    with pytest.raises(NotAssessed):
        list(judge(NAME, marked(interface="vr")))
