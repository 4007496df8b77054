"""The tables of the catalogue, the same in SQLite and PostgreSQL."""

from __future__ import annotations

from collections.abc import Iterator

from sqlalchemy import (
    JSON,
    BigInteger,
    Boolean,
    Column,
    Float,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    Table,
    Text,
    UniqueConstraint,
)
from sqlalchemy.dialects.postgresql import JSONB

# Where the key is text, SQLite is told to keep rows in its order (`sqlite_with_rowid`): it would
# otherwise keep the key twice.
METADATA = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "fk": "fk_%(table_name)s_%(column_0_N_name)s",
        "pk": "pk_%(table_name)s",
    }
)
# Ordered by code points on both, whatever the language of the server is.
_Text = Text().with_variant(Text(collation="C"), "postgresql")
_Json = JSON().with_variant(JSONB(), "postgresql")
# SQLite counts upwards by itself only in a column of its own integer type.
_Number = BigInteger().with_variant(Integer(), "sqlite")


def _required(*names: str) -> Iterator[Column[str]]:
    """Texts that must be there."""
    return (Column(name, _Text, nullable=False) for name in names)


def _optional(*names: str) -> Iterator[Column[str]]:
    """Texts that may be missing."""
    return (Column(name, _Text) for name in names)


EPISODE = Table(
    "episode",
    METADATA,
    Column("id", _Text, primary_key=True),
    # What the file is: its bytes' SHA-256 names the object in the store.
    Column("hash", _Text, nullable=False, unique=True),
    Column("bytes", BigInteger, nullable=False),
    *_required("file", "state"),
    # What it says of itself.
    *_optional("task", "instruction"),
    Column("robot", _Text, index=True),
    Column("operator", _Text, index=True),
    Column("station", _Text, index=True),
    Column("session", _Text, index=True),
    Column("batch", _Text, index=True),
    *_optional("protocol", "calibration", "environment", "mode", "software"),
    Column("recorded_ns", BigInteger),
    Column("duration_s", Float),
    Column("success", Boolean),
    Column("failure", _Text),
    # What was found.
    Column("verdict", _Text, index=True),
    Column("score", Float),
    Column("policy", _Text),
    Column("ingested_at", _Text, nullable=False),
    Column("metadata", _Json, nullable=False),
    # What people call it: counted up from 1 in this workspace, and never given twice.
    Column("number", BigInteger),
    Index("ix_episode_number", "number", unique=True),
    # Listings go on behind an id, so the indices that they follow end with it.
    Index("ix_episode_recorded_ns_id", "recorded_ns", "id"),
    Index("ix_episode_score_id", "score", "id"),
    Index("ix_episode_task_score_operator_id", "task", "score", "operator", "id"),
    Index("ix_episode_state_task", "state", "task"),
)
"""One row for each episode. `recorded_ns` is Unix time; `ingested_at` is ISO 8601 in UTC."""

STREAM = Table(
    "stream",
    METADATA,
    Column("episode", ForeignKey("episode.id"), primary_key=True),
    Column("path", _Text, primary_key=True),
    Column("kind", _Text, nullable=False),
    Column("rate_hz", Float),
    Column("samples", BigInteger, nullable=False),
    sqlite_with_rowid=False,
)

FINDING = Table(
    "finding",
    METADATA,
    Column("number", _Number, primary_key=True, autoincrement=True),
    Column("episode", ForeignKey("episode.id"), nullable=False, index=True),
    *_required("check", "severity"),
    Column("stream", _Text),
    Column("value", Float),
    Column("limit", Float),
    Column("message", _Text, nullable=False),
    Column("frames", _Json, nullable=False),
    # What it is drawn from: small lists of numbers by name; none where a check gave none.
    Column("evidence", _Json),
    # Not severity before episode: SQLite would then read all findings of a check per episode.
    Index("ix_finding_check_episode_severity", "check", "episode", "severity"),
)

NOT_ASSESSED = Table(
    "not_assessed",
    METADATA,
    Column("episode", ForeignKey("episode.id"), primary_key=True),
    Column("check", _Text, primary_key=True),
    Column("reason", _Text, nullable=False),
    Index("ix_not_assessed_check_episode", "check", "episode"),
    sqlite_with_rowid=False,
)
"""Checks that could not run on an episode when it was last judged, and why."""

ASSESSMENT = Table(
    "assessment",
    METADATA,
    Column("episode", ForeignKey("episode.id"), primary_key=True),
    Column("number", Integer, primary_key=True),
    *_required("at", "who", "verdict"),
    Column("score", Float),
    # The policy by name, and a hash of all that the verdict follows from beside the episode.
    *_required("policy", "basis"),
    Column("reason", _Text),
    # How often each check found something, by severity; the reference that it was scored against.
    Column("facts", _Json, nullable=False),
    sqlite_with_rowid=False,
)
"""Every judgement of an episode, the first with number 1; the highest is the one in force."""

DECISION = Table(
    "decision",
    METADATA,
    Column("episode", ForeignKey("episode.id"), primary_key=True),
    *_required("verdict", "who", "at"),
    Column("why", _Text),
    Index("ix_decision_who_episode", "who", "episode"),
    sqlite_with_rowid=False,
)
"""The verdict that a person gave an episode; it holds whatever the checks say later."""

TAG = Table(
    "tag",
    METADATA,
    Column("episode", ForeignKey("episode.id"), primary_key=True),
    Column("tag", _Text, primary_key=True),
    *_required("who", "at"),
    Index("ix_tag_tag_episode", "tag", "episode"),
    sqlite_with_rowid=False,
)
"""Words of their own that people put on episodes."""

SYNOPSIS = Table(
    "synopsis",
    METADATA,
    Column("episode", ForeignKey("episode.id"), primary_key=True),
    Column("content", LargeBinary, nullable=False),
    # The motion in brief, for the parts of a score that compare; none where nothing moves.
    Column("profile", LargeBinary),
)
"""An episode in brief, some kilobytes, for checks and scores that compare episodes."""

REFERENCE = Table(
    "reference",
    METADATA,
    Column("task", _Text, primary_key=True),
    Column("robot", _Text, primary_key=True),
    Column("version", Integer, primary_key=True),
    Column("episodes", _Json, nullable=False),
    *_required("made_at", "made_by"),
)
"""The episodes that those of a task and robot are scored against; never changed, only followed by
the next version. No task or no robot is an empty text."""

SCORE = Table(
    "score",
    METADATA,
    Column("episode", ForeignKey("episode.id"), primary_key=True),
    Column("part", _Text, primary_key=True),
    Column("value", Float),
    Column("weight", Float),
    Index("ix_score_part_value_episode", "part", "value", "episode"),
    sqlite_with_rowid=False,
)

DOCUMENT = Table(
    "document",
    METADATA,
    Column("hash", _Text, primary_key=True),
    Column("kind", _Text, nullable=False, index=True),
    *_required("name", "version", "text"),
)
"""Documents by content; the same text is stored once, whatever refers to it."""

GOVERNS = Table(
    "governs",
    METADATA,
    Column("episode", ForeignKey("episode.id"), primary_key=True),
    Column("kind", _Text, primary_key=True),
    Column("document", ForeignKey("document.hash"), nullable=False, index=True),
    Index("ix_governs_kind_document_episode", "kind", "document", "episode"),
    sqlite_with_rowid=False,
)
"""Which documents stand behind an episode, one of each kind."""

EDGE = Table(
    "edge",
    METADATA,
    Column("child", _Text, primary_key=True),
    Column("parent", _Text, primary_key=True, index=True),
    Column("relation", _Text, primary_key=True),
    sqlite_with_rowid=False,
)
"""Lineage: `child` came from `parent`; both are `kind:id`, such as release:walks@1.0.0."""

RELEASE = Table(
    "release",
    METADATA,
    Column("name", _Text, primary_key=True),
    Column("version", _Text, primary_key=True),
    *_required("manifest", "condition"),
    Column("episodes", Integer, nullable=False),
    *_required("created_at", "created_by"),
    Column("facts", _Json, nullable=False),
)
"""Immutable. `manifest` is the hash of the object that lists everything in it."""

MEMBER = Table(
    "member",
    METADATA,
    Column("name", _Text, primary_key=True),
    Column("version", _Text, primary_key=True),
    Column("episode", ForeignKey("episode.id"), primary_key=True, index=True),
    Column("split", _Text, nullable=False),
    sqlite_with_rowid=False,
)

EVENT = Table(
    "event",
    METADATA,
    Column("number", _Number, primary_key=True, autoincrement=False),
    *_required("at", "who", "what"),
    Column("subject", _Text, nullable=False, index=True),
    Column("why", _Text),
    # Kept as it was written, letter by letter, because the hash covers it.
    Column("details", JSON, nullable=False),
    *_required("previous", "hash"),
)
"""The audit log: only ever appended to; every row's hash covers the one before."""

HEAD = Table(
    "head",
    METADATA,
    Column("id", Integer, primary_key=True, autoincrement=False),
    Column("number", _Number, nullable=False),
    Column("hash", _Text, nullable=False),
)
"""The end of the audit log, in one row that writers take in turn."""

ACCOUNT = Table(
    "account",
    METADATA,
    Column("name", _Text, primary_key=True),
    *_required("role", "created_at"),
    Column("disabled", Boolean, nullable=False, default=False),
)

TOKEN = Table(
    "token",
    METADATA,
    Column("hash", _Text, primary_key=True),
    Column("account", ForeignKey("account.name"), nullable=False, index=True),
    *_required("label", "created_at"),
    *_optional("expires_at", "revoked_at"),
)
"""API tokens by the SHA-256 of the secret, which is not stored."""

LOGIN = Table(
    "login",
    METADATA,
    Column("hash", _Text, primary_key=True),
    Column("token", ForeignKey("token.hash"), nullable=False, index=True),
    *_required("address", "created_at", "expires_at"),
    Column("ended_at", _Text),
)
"""Sessions of browsers, by the SHA-256 of what their cookie holds; each was made of a token."""

METRIC = Table(
    "metric",
    METADATA,
    Column("number", _Number, primary_key=True, autoincrement=True),
    *_required("scope", "subject", "name", "at"),
    Column("value", Float, nullable=False),
    UniqueConstraint("scope", "subject", "name"),
    Index("ix_metric_name_at", "name", "at"),
)
"""Figures of batches and releases over time."""

VIEW = Table(
    "view",
    METADATA,
    Column("number", _Number, primary_key=True, autoincrement=True),
    *_required("owner", "name"),
    Column("shared", Boolean, nullable=False),
    Column("condition", _Text, nullable=False),
    Column("settings", _Json, nullable=False),
    Column("created_at", _Text, nullable=False),
    UniqueConstraint("owner", "name"),
)
"""Saved views of the list of episodes; a shared one is seen by all."""

SHARE = Table(
    "share",
    METADATA,
    Column("hash", _Text, primary_key=True),
    *_required("label", "address"),
    Column("episodes", _Json, nullable=False),
    *_required("created_by", "created_at"),
    *_optional("expires_at", "revoked_at"),
)
"""Links that show some episodes to whoever has them, by the SHA-256 of their secret."""

REVIEW = Table(
    "review",
    METADATA,
    Column("name", _Text, primary_key=True),
    Column("condition", _Text, nullable=False),
    Column("settings", _Json, nullable=False),
    *_required("created_by", "created_at"),
    Column("closed_at", _Text),
)
"""A sample of episodes that people look at; `settings` holds share, seed, acceptance number."""

REVIEW_ITEM = Table(
    "review_item",
    METADATA,
    Column("review", ForeignKey("review.name"), primary_key=True),
    Column("episode", ForeignKey("episode.id"), primary_key=True, index=True),
    Column("place", Integer, nullable=False),
    Column("stratum", _Text, nullable=False),
    # Why it is here: drawn, or a neighbour of one that was rejected.
    Column("because", _Text, nullable=False),
    *_optional("taken_by", "taken_at", "decision", "why", "decided_by", "decided_at"),
    Column("seconds", Float),
    # The share of the episode that was on the screen before the decision; none where not known.
    Column("shown", Float),
    # Counts the changes of this row, so that two people are told of each other.
    Column("version", Integer, nullable=False, default=0),
    Index("ix_review_item_review_place", "review", "place"),
)
"""One episode of a review and what was decided; open while `decision` is missing."""

LABEL_TASK = Table(
    "label_task",
    METADATA,
    Column("id", _Text, primary_key=True),
    Column("episode", ForeignKey("episode.id"), nullable=False, index=True),
    # annotate, qualify, adjudicate, correct
    *_required("kind", "queue"),
    Column("taxonomy", ForeignKey("document.hash"), nullable=False, index=True),
    # open, working, submitted, returned, done, dropped
    Column("state", _Text, nullable=False),
    Column("assigned_to", _Text, index=True),
    # Tasks of one pair are the same episode, given to two people who do not see each other.
    Column("pair", _Text, index=True),
    Column("priority", Integer, nullable=False),
    # Where it began: the proposal, or nothing for those who work without one.
    Column("start", _Json, nullable=False),
    Column("content", _Json, nullable=False),
    Column("version", Integer, nullable=False),
    Column("seconds", Float, nullable=False),
    Column("settings", _Json, nullable=False),
    *_required("created_by", "created_at", "changed_at"),
    Index("ix_label_task_queue_state_priority", "queue", "state", "priority"),
)
"""One person's work on the labels of one episode; `content` is `start` after all its edits."""

LABEL_EDIT = Table(
    "label_edit",
    METADATA,
    Column("task", ForeignKey("label_task.id"), primary_key=True),
    Column("number", Integer, primary_key=True),
    *_required("edit", "who", "at", "action"),
    Column("steps", _Json, nullable=False),
    UniqueConstraint("task", "edit"),
    sqlite_with_rowid=False,
)
"""Every edit as it was made; version n of a task is its start and the first n edits."""

LABELS = Table(
    "labels",
    METADATA,
    Column("episode", ForeignKey("episode.id"), primary_key=True),
    Column("number", Integer, primary_key=True),
    Column("taxonomy", ForeignKey("document.hash"), nullable=False, index=True),
    Column("task", ForeignKey("label_task.id")),
    Column("content", _Json, nullable=False),
    *_required("hash", "who", "at"),
    # None while it holds; else why it does not any more, such as a changed rule.
    Column("stale", _Text),
    sqlite_with_rowid=False,
)
"""Labels that count, every version of them; the highest number is the one in force."""

LABEL_COMMENT = Table(
    "label_comment",
    METADATA,
    Column("number", _Number, primary_key=True, autoincrement=True),
    Column("episode", ForeignKey("episode.id"), nullable=False, index=True),
    Column("task", ForeignKey("label_task.id")),
    Column("time_ns", BigInteger),
    *_required("who", "at", "text"),
    Column("resolved_at", _Text),
)

QUALIFICATION = Table(
    "qualification",
    METADATA,
    Column("number", _Number, primary_key=True, autoincrement=True),
    Column("account", _Text, nullable=False, index=True),
    Column("taxonomy", ForeignKey("document.hash"), nullable=False),
    Column("passed", Boolean, nullable=False),
    Column("at", _Text, nullable=False),
    Column("figures", _Json, nullable=False),
)
"""Who was measured against gold labels of a taxonomy, and how well they did."""

STATION_CHECK = Table(
    "station_check",
    METADATA,
    Column("number", _Number, primary_key=True, autoincrement=True),
    *_required("calibration", "at", "who"),
    *_optional("station", "source"),
    Column("passed", Boolean, nullable=False),
    # Every marker with how far it was off, how sure that is, and what moved.
    Column("shifts", _Json, nullable=False),
    UniqueConstraint("calibration", "at"),
    Index("ix_station_check_at", "at"),
)
"""Looks at the markers of a station: whether its calibration still held. `at` is ISO 8601."""

HALT = Table(
    "halt",
    METADATA,
    Column("key", _Text, primary_key=True),
    *_required("calibration", "at", "who", "why"),
    # The last check that passed before; none where there was none.
    *_optional("station", "since"),
    *_optional("lifted_at", "lifted_by", "lifted_why"),
    Index("ix_halt_lifted_at", "lifted_at"),
)
"""A calibration that failed its check: collection stands still until somebody lifts it."""

HELD = Table(
    "held",
    METADATA,
    Column("halt", ForeignKey("halt.key"), primary_key=True),
    Column("episode", ForeignKey("episode.id"), primary_key=True, index=True),
    # What it was before, which lifting gives back.
    Column("state", _Text, nullable=False),
    Column("verdict", _Text),
    Column("decision", _Json),
    sqlite_with_rowid=False,
)
"""Episodes that a halt quarantined."""

CAMPAIGN = Table(
    "campaign",
    METADATA,
    Column("name", _Text, primary_key=True),
    Column("protocol", ForeignKey("document.hash"), nullable=False),
    # Accepted episodes that it is to have.
    Column("episodes", Integer, nullable=False),
    Column("seed", Integer, nullable=False),
    # The levels of every episode, done and to come, by factor; made anew as collection goes on.
    Column("plan", _Json, nullable=False),
    *_required("created_by", "created_at"),
    Column("closed_at", _Text),
)
"""A protocol with its plan of episodes: what is to be collected, whoever collects it."""

CAMPAIGN_CARD = Table(
    "campaign_card",
    METADATA,
    Column("id", _Text, primary_key=True),
    Column("campaign", ForeignKey("campaign.name"), nullable=False),
    *_optional("station", "operator"),
    # open, taken, refused, dropped
    Column("state", _Text, nullable=False),
    # The card as the station showed it.
    Column("content", _Json, nullable=False),
    # Why it was refused.
    Column("why", _Text),
    *_required("offered_at", "changed_at"),
    Index("ix_campaign_card_campaign_state", "campaign", "state"),
    Index("ix_campaign_card_campaign_station", "campaign", "station"),
)
"""What a campaign asked a station for, episode by episode, and what became of it."""
SETTING = Table(
    "setting",
    METADATA,
    Column("name", _Text, primary_key=True),
    Column("value", _Json, nullable=False),
    *_required("who", "at"),
    sqlite_with_rowid=False,
)
"""What a workspace has decided, such as who may see figures of single people; each is logged."""

OPERATOR = Table(
    "operator",
    METADATA,
    # The pseudonym, as episodes state it.
    Column("name", _Text, primary_key=True),
    Column("account", _Text, unique=True),
    # Hours of teleoperation before the first episode here, as they say themselves.
    Column("hours_before", Float),
    *_required("added_at", "added_by"),
    Column("left_at", _Text),
)
"""People who demonstrate, by the pseudonym that their episodes have."""

TRAINING = Table(
    "training",
    METADATA,
    Column("number", _Number, primary_key=True, autoincrement=True),
    Column("operator", ForeignKey("operator.name"), nullable=False),
    *_required("task", "phase"),
    Column("document", ForeignKey("document.hash"), nullable=False),
    *_required("begun_at", "begun_by"),
    Column("why", _Text),
    Index("ix_training_operator_task", "operator", "task"),
)
"""Phases of training that were begun: what is recorded from then on counts for the phase."""

CERTIFICATE = Table(
    "certificate",
    METADATA,
    Column("number", _Number, primary_key=True, autoincrement=True),
    Column("operator", ForeignKey("operator.name"), nullable=False),
    Column("task", _Text, nullable=False),
    Column("document", ForeignKey("document.hash"), nullable=False),
    *_required("valid_from", "valid_until", "given_at", "given_by"),
    # Why it was given although the evidence does not suffice; none where it does.
    Column("why", _Text),
    Column("evidence", _Json, nullable=False),
    *_optional("revoked_from", "revoked_at", "revoked_by", "revoked_why"),
    Index("ix_certificate_task_operator", "task", "operator"),
)
"""Who may collect data of a task, from when until when, and what that rests on."""

CERTIFIED_TASK = Table(
    "certified_task",
    METADATA,
    Column("task", _Text, primary_key=True),
    Column("document", ForeignKey("document.hash"), nullable=False),
    *_required("since", "who", "at"),
    sqlite_with_rowid=False,
)
"""Tasks whose data counts only with a certificate, and for what is recorded since when."""

PRACTICE = Table(
    "practice",
    METADATA,
    Column("episode", ForeignKey("episode.id"), primary_key=True),
    *_required("why", "at"),
    Index("ix_practice_why_episode", "why", "episode"),
    sqlite_with_rowid=False,
)
"""Episodes of people without a certificate: they stay out of every release."""
