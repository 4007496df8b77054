"""The card says to an operator what the protocol asks of them."""

from __future__ import annotations

from corporeal.protocol import open_protocol
from corporeal.protocol.card import operator_card
from corporeal.protocol.protocol import InterfaceInstruction, Prohibition

PICK = open_protocol("pick_place")


def test_a_card_has_task_cases_and_prohibitions() -> None:
    lines = operator_card(PICK)
    assert lines[0].startswith("task pick_place: The object was lifted")
    assert "when this happens: The object leaves the table: keep it as a failure" in lines
    assert "never: fall, the robot goes down" in lines
    assert "failures are kept and labelled" in lines
    assert lines[-1] == "change the operator every 60 min"


def test_a_card_has_the_instructions_of_the_interface_in_use() -> None:
    interfaces = (
        InterfaceInstruction(interface="vr", speed="slowly"),
        InterfaceInstruction(interface="spacemouse", grip="with the left button"),
    )
    rules = PICK.model_copy(update={"interfaces": interfaces})
    lines = operator_card(rules, interface="vr")
    assert "vr, speed: slowly" in lines
    assert not [line for line in lines if line.startswith("spacemouse")]


def test_what_only_people_see_is_announced() -> None:
    rules = PICK.model_copy(update={"prohibited": (Prohibition(behaviour="dragging"),)})
    assert "never: dragging (you will be asked)" in operator_card(rules)
    assert rules.questions == ("Did this happen: dragging?",)
