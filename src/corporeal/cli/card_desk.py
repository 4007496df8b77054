"""The cards of a campaign while it is recorded: the next one is made ready while nobody waits."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from contextlib import ExitStack, suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from corporeal.cli.workspaces import enter_workspace
from corporeal.errors import CorporealError, UnknownNameError
from corporeal.operations.campaign import (
    CampaignError,
    drop_card,
    find_campaign,
    next_card,
    refuse_card,
    take_card,
)
from corporeal.protocol import Protocol
from corporeal.protocol.card import EpisodeCard
from corporeal.protocol.design import DesignError

# Where there is no card, Studio or another station may change that.
_AGAIN_S = 5.0


class CardDesk:
    """Holds the card that the operator sees; a thread of its own asks the catalogue.

    Used with `with`. A workspace that cannot be reached costs the card and never a take: `problem`
    says so, and it is asked for again.
    """

    def __init__(
        self,
        campaign: str,
        root: Path,
        *,
        station: str | None,
        operator: str | None,
        again_s: float = _AGAIN_S,
    ) -> None:
        self._campaign, self._station, self._operator = campaign, station, operator
        self._again_s, self._lock = again_s, threading.Lock()
        self._card: EpisodeCard | None = None
        self._last, self._is_over = "", False
        self._changed = threading.Condition(self._lock)
        self._problem = "The next card is being made."
        self._jobs: list[Callable[[], None]] = []
        self._wake, self._stopping = threading.Event(), threading.Event()
        self._stack = ExitStack()
        self._workspace, self._actor = self._stack.enter_context(enter_workspace(root, "ingest"))
        with self._workspace.database.read() as connection:
            self.protocol: Protocol = find_campaign(connection, campaign).protocol
        self._thread = threading.Thread(target=self._run, name="cards", daemon=True)

    def __enter__(self) -> Self:
        self._fetch()
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        del kind, error, trace
        self._stopping.set()
        self._wake.set()
        with self._changed:
            self._changed.notify_all()
        self._thread.join()
        # Where the workspace is away the card lapses: the next recorder here takes it up.
        with self._stack, suppress(CorporealError):
            self._work()
            if self._card is not None:
                with self._workspace.database.write() as connection:
                    drop_card(connection, self._card.id)

    @property
    def card(self) -> EpisodeCard | None:
        """What to record next."""
        with self._lock:
            return self._card

    @property
    def problem(self) -> str:
        """Why there is no card; nothing where there is one."""
        with self._lock:
            return "" if self._card is not None else self._problem

    @property
    def ending(self) -> str:
        """Why nothing is left for who records here; empty where something may be."""
        with self._lock:
            return self._problem if self._is_over and self._card is None else ""

    def take(self) -> EpisodeCard | None:
        """A take begins: the card that it follows. The next one is made in the background."""
        card = self._let_go("The next card is being made.")
        if card is not None:
            self._later(lambda: self._note_taken(card.id))
        return card

    def wait_for_next(self) -> Mapping[str, Any] | None:
        """What the metadata are to say of the episode after the last that this was asked for.

        For a source that does what cards ask for. None once nothing is left for who records here.
        """

        def is_known() -> bool:
            has_next = self._card is not None and self._card.id != self._last
            return has_next or self._is_over or self._stopping.is_set()

        with self._changed:
            self._changed.wait_for(is_known)
            if self._card is None or self._card.id == self._last:
                return None
            self._last = self._card.id
            return self._card.facts(self.protocol)

    def refuse(self, why: str, by: str | None) -> str | None:
        """The card cannot be recorded; why that cannot be taken, if so."""
        if not why.strip():
            return "refuse: no reason; expected one. Say what is in the way."
        card = self._let_go("Another card is being made.")
        if card is None:
            return "refuse: there is no card that it could be of."
        self._later(lambda: self._note_refused(card.id, why, by))
        return None

    def _let_go(self, meanwhile: str) -> EpisodeCard | None:
        with self._lock:
            card, self._card, self._problem = self._card, None, meanwhile
        return card

    def _later(self, job: Callable[[], None]) -> None:
        with self._lock:
            self._jobs.append(job)
        self._wake.set()

    def _note_taken(self, card: str) -> None:
        with self._workspace.database.write() as connection:
            take_card(connection, card)

    def _note_refused(self, card: str, why: str, by: str | None) -> None:
        with self._workspace.database.write() as connection:
            refuse_card(connection, card, why, by=by or self._operator or self._actor.name)

    def _run(self) -> None:
        while not self._stopping.is_set():
            self._wake.wait(self._again_s)
            self._wake.clear()
            if self._stopping.is_set():
                return
            try:
                self._work()
            except CorporealError as error:
                self._say(str(error))
                continue
            if self.card is None:
                self._fetch()

    def _work(self) -> None:
        """What was noted meanwhile goes to the catalogue; what fails is tried again."""
        while True:
            with self._lock:
                job = self._jobs[0] if self._jobs else None
            if job is None:
                return
            with suppress(CampaignError):  # The card is not open any more: nothing is to be noted.
                job()
            with self._lock:
                self._jobs.pop(0)

    def _fetch(self) -> None:
        try:
            card = next_card(self._workspace.database, self._campaign, station=self._station,
                             operator=self._operator)  # fmt: skip
        except CorporealError as error:
            # What the campaign refuses it refuses for good; a workspace may only be away.
            refusals = (CampaignError, DesignError, UnknownNameError)
            self._say(str(error), is_over=isinstance(error, refusals))
            return
        with self._changed:
            self._card, self._is_over = card, False
            self._changed.notify_all()

    def _say(self, problem: str, *, is_over: bool = False) -> None:
        with self._changed:
            self._problem, self._is_over = problem, is_over
            self._changed.notify_all()
