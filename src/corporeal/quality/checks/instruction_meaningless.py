"""The instruction says in words what is demonstrated."""

import re
from collections.abc import Iterator

from corporeal.errors import NotAssessed
from corporeal.quality.check import Check, Finding, Findings
from corporeal.quality.subject import Subject
from corporeal.schema import roles


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# Words that stand where a sentence should; none of them alone tells what to do.
PLACEHOLDERS = _words(
    """task tasks test tests testing tmp temp todo tbd fixme fill none null nan na unknown undefined
    default placeholder dummy example sample foo bar baz foobar asdf qwerty xxx abc instruction
    instructions prompt description text string label untitled unnamed demo demonstration episode
    lorem ipsum valid invalid success fail failure true false yes no ok"""
)
# Verbs that ask for an object: "pick" alone does not say what.
TRANSITIVE = _words(
    """pick place put take grab grasp move push pull hold carry open close pour hand give insert
    remove fold press turn rotate throw catch manipulate"""
)
# Words that a placeholder may be dressed in.
FILLERS = _words("a an the this that my some do perform run here is for in new n")
_KEYBOARD = ("qwertyuiop", "asdfghjkl", "zxcvbnm", "qwertz", "azerty")
_FILE = re.compile(r"\S+\.(h5|hdf5|parquet|mp4|json|jsonl|bag|db3|mcap|npz|txt|csv|zarr)", re.I)
_IDENTIFIER = re.compile(r"[a-z]*[_\-/]?\d+([_\-/]\d+)*", re.I)
_TEMPLATE = re.compile(r"[{<\[]\s*\w+\s*[}>\]]|\$\w+|%s")
_VOWELS = set("aeiouyáéíóúäöüèàâêîôûåø")


def find(subject: Subject) -> Findings:
    """Yield an instruction that is empty, a placeholder, a file name, a template or no language.

    Why: a language-conditioned policy learns from these words; "task" under every episode teaches
    it to ignore them.
    Fix: write what a person would be told, such as "put the red cup on the shelf".
    """
    texts = tuple(_instructions(subject))
    if not texts:
        raise NotAssessed("no instruction")
    name = subject.recording.source.stem
    judged = [(label, text, complaint(text, name=name)) for label, text in texts]
    if any(reason is None for _, _, reason in judged):
        return  # labels such as "valid" stand beside the sentence in some datasets
    for label, text, reason in judged:
        yield Finding(f"the instruction {text.strip()[:60]!r} {reason}", stream=label)


def _instructions(subject: Subject) -> Iterator[tuple[str | None, str]]:
    recording = subject.recording
    label = recording.named(roles.INSTRUCTION)
    said: list[str] = []
    if label is not None:
        signal = recording.signals[label]
        said = [str(signal[number]) for number in range(min(len(signal), 20))]
        yield from ((label, text) for text in dict.fromkeys(said))
    # An instruction that is stated and empty is a fault: facts, which leave it out, do not show it.
    # A dataset's table of tasks holds sentences; a recorder's `task` is the name of a protocol.
    key = (
        "instruction" if "instruction" in recording.metadata or not recording.regridded else "task"
    )
    if key in recording.metadata:
        stated = str(recording.metadata[key] or "")
        if stated not in said:
            yield None, stated


def complaint(text: str, *, name: str = "") -> str | None:
    """What is wrong with an instruction, as the end of a sentence; None when it is real.

    `name` is that of the dataset.
    """
    plain = text.strip()
    words = re.findall(r"[^\W\d_]+", plain.lower())
    if not plain:
        return "is empty"
    if _FILE.fullmatch(plain):
        return "is the name of a file"
    if _TEMPLATE.search(plain):
        return "is a template that was not filled in"
    if not words or _IDENTIFIER.fullmatch(plain):
        return "is a number or an identifier, not words"
    told = [word for word in words if word not in FILLERS]
    if {"lorem", "todo", "tbd"} & {*words} or all(word in PLACEHOLDERS for word in told):
        return "is a placeholder"
    if plain == name and " " not in plain:
        return "is the name of the dataset"
    if len(words) == 1 and words[0] in TRANSITIVE:
        return "names no object: it does not say what is to be done with what"
    if _gibberish(words, plain):
        return "is not language"
    return None


def _gibberish(words: list[str], plain: str) -> bool:
    """Most words could not be spoken: no vowel, five consonants in a row, or one letter over."""
    if not plain.isascii():
        return False  # the rules below are for the Latin alphabet
    odd = 0
    for word in words:
        mute = len(word) > 2 and not _VOWELS & set(word)
        harsh = re.search(r"[bcdfghjklmnpqrstvwxz]{6,}", word) is not None
        stutter = re.search(r"(.)\1\1", word) is not None
        typed = len(word) > 3 and any(word in row for row in _KEYBOARD)
        odd += mute or harsh or stutter or typed
    letters = sum(character.isalpha() for character in plain)
    return odd > 0.5 * len(words) or letters < 0.4 * len(plain.replace(" ", ""))


CHECK = Check(find, topic="records", severity="quarantine", formerly=("real_instruction",))
