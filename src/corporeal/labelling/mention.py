"""Which object and which hand an instruction names, in the words of the taxonomy."""

from __future__ import annotations

import re
from collections.abc import Iterable

from corporeal.labelling.taxonomy import HANDS, Taxonomy

_MOST_TEXT, _MOST_WORDS = 2000, 4
_DETERMINER = r"(?:the|a|an|this|that|one|your|its)"
# What follows a noun: where it is, whither it goes, what is done next.
_AFTER = (
    r"(?:from|on|onto|in|into|inside|to|toward|towards|at|of|off|out|over|under|near|by|between|"
    r"next|behind|beside|with|using|and|then|up|down|back|so|that|which|until|before|after)"
)
_NO_OBJECT = frozenset({"it", "them", "hand", "arm", "hands", "arms", "gripper", "object", "thing"})


def mentioned_object(texts: Iterable[str], taxonomy: Taxonomy) -> str | None:
    """The object that the first of these texts names; None where none does.

    Of a taxonomy that lists objects it is one of those, by name or alias, the longest that is
    there. Otherwise it is what follows the verb of one of its tasks: `yellow bottle` in "Pick up
    the yellow bottle on the table".
    """
    for text in texts:
        said = " ".join(text[:_MOST_TEXT].lower().replace("_", " ").split())
        named = _listed(said, taxonomy) if taxonomy.objects else _after_verb(said, taxonomy)
        if named is not None:
            return named
    return None


def mentioned_hand(texts: Iterable[str]) -> str | None:
    """The hand that the first of these texts that names any tells to use."""
    for text in texts:
        said = text[:_MOST_TEXT].lower()
        sides = [side for side in ("left", "right")
                 if re.search(rf"\b{side}[ -]?(?:hand|arm|gripper)\b", said)]  # fmt: skip
        if len(sides) == 2 or re.search(r"\b(?:both|two) (?:hands|arms|grippers)\b", said):
            return HANDS[2]
        if sides:
            return sides[0]
    return None


def _listed(said: str, taxonomy: Taxonomy) -> str | None:
    found = [
        (len(word), each.name)
        for each in taxonomy.objects
        for word in (each.name.replace("_", " "), *(alias.lower() for alias in each.aliases))
        if re.search(rf"\b{re.escape(word)}\b", said)
    ]
    return max(found)[1] if found else None


def _after_verb(said: str, taxonomy: Taxonomy) -> str | None:
    verbs = {
        phrase.partition("*")[0].strip().lower()
        for need in taxonomy.requirements
        for phrase in need.phrases
    } - {""}
    either = "|".join(re.escape(verb) for verb in sorted(verbs, key=len, reverse=True))
    if not either:
        return None
    pattern = (
        rf"\b(?:{either})\s+(?:up\s+)?(?:{_DETERMINER}\s+)?"
        rf"(?P<object>[^,.;:!?]+?)(?=\s+{_AFTER}\b|\s*[,.;:!?]|\s*$)"
    )
    for match in re.finditer(pattern, said):
        words = match["object"].split()
        plain = not re.fullmatch(_AFTER, words[0]) and not {words[0], words[-1]} & verbs
        plain = plain and words[-1] not in _NO_OBJECT
        if plain and len(words) <= _MOST_WORDS:
            return " ".join(words)
    return None
