"""`corporeal campaign`: a protocol with its plan of episodes, handed out card by card."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict
from math import degrees
from typing import Annotated, Any

from corporeal.catalog.people import note_view
from corporeal.cli.command import Command, argument, group, option
from corporeal.cli.output import AsJson, console, make_table, print_json, print_result
from corporeal.cli.workspaces import (
    WorkspaceOption,
    enter_workspace,
    read_catalog,
    write_catalog,
)
from corporeal.operations.campaign import (
    CampaignProgress,
    campaigns,
    close_campaign,
    create_campaign,
    find_campaign,
    hide_people,
    next_card,
    open_cards,
    read_progress,
    refuse_card,
    shown_levels,
)
from corporeal.protocol import open_protocol
from corporeal.protocol.card import EpisodeCard
from corporeal.words import counted, percent, some_of

app = group("Collect a protocol's plan of episodes: what is next, and how far it is.")
Name = Annotated[str, argument("The name of the campaign.")]


@app.command("create")
def create(
    name: Annotated[str, argument("Small letters, digits, points and dashes.")],
    protocol: Annotated[str, option("The protocol: a built-in name or a file.")],
    episodes: Annotated[
        int | None,
        option("Accepted episodes it is to have; else the protocol says, or the design.", min=1),
    ] = None,
    seed: Annotated[int, option("Another seed is another plan that is as good.")] = 0,
    root: WorkspaceOption = None,
    as_json: AsJson = False,
) -> None:
    """Plan a campaign: which combinations of the protocol's factors its episodes are to show.

    Example: [bold]corporeal campaign create autumn --protocol pick_place --episodes 24[/bold]
    """
    document = open_protocol(protocol)
    with write_catalog(root, "judge") as (connection, actor):
        made = create_campaign(connection, actor, name, document, episodes=episodes, seed=seed)
    print_result(
        as_json,
        {"campaign": name, "protocol": document.reference, "episodes": made.episodes,
         "plan": made.plan},
        f"campaign {name}: {counted(made.episodes, 'episode')} of {document.reference}",
        f"next: corporeal record --campaign {name} -w FOLDER --operator YOU --station HERE",
    )  # fmt: skip


@app.command("list")
def list_campaigns(root: WorkspaceOption = None, as_json: AsJson = False) -> None:
    """List campaigns and how far each is.

    Example: [bold]corporeal campaign list[/bold]
    """
    with read_catalog(root, "read") as connection:
        told = [read_progress(connection, each) for each in campaigns(connection)]
    if as_json:
        print_json([_facts(each, brief=True) for each in told])
        return
    table = make_table("campaign", "protocol", "accepted", "of", "", right=("accepted", "of"))
    for each in told:
        state = "closed" if each.campaign.closed_at else percent(each.share)
        table.add_row(each.campaign.name, each.campaign.protocol.reference, str(each.accepted),
                      str(each.campaign.episodes), state)  # fmt: skip
    console().print(table if told else "no campaigns; next: corporeal campaign create NAME")


@app.command("show")
def show(name: Name, root: WorkspaceOption = None, as_json: AsJson = False) -> None:
    """Show the coverage of a campaign: levels, pairs never seen, what is confounded.

    Success is counted where episodes say how the demonstration went, with 95 % bounds (Wilson).

    Example: [bold]corporeal campaign show autumn[/bold]
    """
    with write_catalog(root, "read") as (connection, actor):
        told = hide_people(read_progress(connection, find_campaign(connection, name)), actor)
        cards = [(station, card, shown_levels(told.campaign, card.levels, actor))
                 for station, card in open_cards(connection, name)]  # fmt: skip
        if told.operators:
            one = next(iter(told.operators)) if told.hidden is not None else None
            note_view(connection, actor, what=f"campaign {name}", operator=one)
    if as_json:
        print_json({**_facts(told), "cards": [
            {"station": station, "card": asdict(card) | {"levels": levels}}
            for station, card, levels in cards
        ]})  # fmt: skip
        return
    page = console()
    page.print(
        f"{name}: {told.accepted} of {counted(told.campaign.episodes, 'episode')} accepted, "
        f"{told.rejected} rejected, {told.unchecked} unchecked"
        + (f", {told.practice} practice" if told.practice else ""), markup=False,
    )  # fmt: skip
    table = make_table("", "level", "accepted", "planned", "rejected", "success",
                       right=("accepted", "planned", "rejected"))  # fmt: skip
    factor = ""
    for each in told.levels:
        success = ""
        if each.low is not None and each.high is not None:
            success = (
                f"{each.successes} of {each.tried} ({percent(each.low)} to {percent(each.high)})"
            )
        name = "" if each.factor == factor else each.factor
        table.add_row(name, each.level, str(each.accepted), f"{each.planned:.0f}",
                      str(each.rejected), success)  # fmt: skip
        factor = each.factor
    page.print(table)
    if told.campaign.closed_at is None:
        page.print(told.forecast.words, soft_wrap=True, markup=False)
    for line in _unknown(told):
        page.print(line, soft_wrap=True, markup=False)
    for station, _, levels in cards:
        page.print(f"at {station or 'a station without a name'}: {_levels(levels)}", markup=False,
                   soft_wrap=True)  # fmt: skip


@app.command("next")
def next_(
    name: Name,
    station: Annotated[str | None, option("Where it is recorded.")] = None,
    operator: Annotated[str | None, option("Who demonstrates.")] = None,
    refuse: Annotated[
        str | None, option("Why the card that this station has cannot be recorded; the next one.")
    ] = None,
    root: WorkspaceOption = None,
    as_json: AsJson = False,
) -> None:
    """Hand out what to record next: rare combinations first, nothing confounded, few changes.

    A recorder does this by itself: corporeal record --campaign NAME.

    Example: [bold]corporeal campaign next autumn --station s1 --operator op07[/bold]
    """
    with enter_workspace(root, "ingest") as (workspace, actor):
        if refuse is not None:
            with workspace.database.write() as connection:
                held = [card for where, card in open_cards(connection, name) if where == station]
                for card in held:
                    refuse_card(connection, card.id, refuse, by=actor.name)
        card = next_card(workspace.database, name, station=station, operator=operator)
    print_result(as_json, card, *card_lines(card))


@app.command("close")
def close(name: Name, root: WorkspaceOption = None, as_json: AsJson = False) -> None:
    """End a campaign: no more cards are handed out, and what was collected stays.

    Example: [bold]corporeal campaign close autumn[/bold]
    """
    with write_catalog(root, "judge") as (connection, actor):
        closed = close_campaign(connection, actor, name)
    print_result(as_json, {"campaign": name, "closed_at": closed.closed_at}, f"{name} is closed")


def card_lines(card: EpisodeCard) -> Iterator[str]:
    """A card for people at a terminal."""
    yield f"episode {card.number} of {card.planned}: {card.instruction}"
    yield f"  {_levels(card.levels)}"
    for change in card.changes:
        yield f"  change {change}"
    if card.asked is not None:
        x, y = card.asked["object_xyz"][:2]
        angle = degrees(card.asked["object_yaw_rad"])
        yield f"  put the object at x {x:.3f} m, y {y:.3f} m, turned by {angle:.0f} degrees"
    for name, values in card.values.items():
        yield f"  {name}: " + ", ".join(f"{axis} {value:g}" for axis, value in values.items())
    for each in card.prohibited:
        yield f"  never: {each}"


def _levels(levels: Mapping[str, str]) -> str:
    return ", ".join(f"{name} {level}" for name, level in levels.items())


def _unknown(told: CampaignProgress) -> Iterator[str]:
    missing = told.told.missing
    if missing:
        pairs = [f"{each.first_level} with {each.second_level}" for each in missing]
        yield f"{len(pairs)} of {told.told.pairs} pairs not seen yet: {some_of(pairs)}"
    else:
        yield f"all {told.told.pairs} pairs of levels were seen"
    for first, second, strength in told.confounded:
        yield f"{first} and {second} are confounded: Cramer's V {strength:.2f}"
    if told.few_operators:
        least = told.campaign.protocol.operators.minimum_per_variant
        levels = [f"{factor} {level} ({count})" for factor, level, count in told.few_operators]
        yield f"shown by fewer than {least} operators: {some_of(levels)}"
    if told.operators:
        people = [f"{name} {count}" for name, count in told.operators.items()]
        yield f"operators: {', '.join(people)}"
    if told.hidden is not None:
        yield f"figures of single operators are {told.hidden}"


def _facts(told: CampaignProgress, *, brief: bool = False) -> dict[str, Any]:
    campaign = told.campaign
    facts: dict[str, Any] = {
        "campaign": campaign.name, "protocol": campaign.protocol.reference,
        "episodes": campaign.episodes, "accepted": told.accepted, "rejected": told.rejected,
        "unchecked": told.unchecked, "practice": told.practice, "closed_at": campaign.closed_at,
        "forecast": asdict(told.forecast) | {"words": told.forecast.words},
    }  # fmt: skip
    if brief:
        return facts
    return facts | {
        "levels": told.levels, "pairs": told.told.pairs, "pairs_missing": told.told.missing,
        "confounded": [{"first": one, "second": other, "cramers_v": strength}
                       for one, other, strength in told.confounded],
        "operators": told.operators, "few_operators": told.few_operators, "hidden": told.hidden,
    }  # fmt: skip


COMMAND = Command(app, panel="Record")
