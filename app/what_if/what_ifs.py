"""Tries the turns of a stored conversation in other ways: asks SQL for what they were, and the model server to compare.

Nothing is generated. No database session is held while the server is asked.
"""

from collections.abc import Mapping, Sequence
from uuid import UUID

import anyio

from app.clock import Clock
from app.conversations import TurnFigures
from app.database import Database
from app.models import Turn
from app.reports import BranchRow, ConversationReport, Reports, TurnRow
from app.turns.backends import Backends
from app.turns.prefill_speed import prefill_speeds
from app.verification.rebuilding import Damaged, Rebuilt, rebuild, text_is_gone
from app.verification.stored import StoredConversation, load_stored
from app.what_if import variants
from app.what_if.values import ConversationWhatIf, Obstacle, Read, TurnWhatIf
from inference_client import AuthenticationFailed, InferenceError, InvalidRequest, NotFound, TransportError

PATIENCE_S = 8.0
"""How long a page waits for all comparisons together."""
AT_ONCE = 2
"""Conversations that one process has compared at a time, so that readers do not keep the model server busy."""


class WhatIfs:
    """`secret` names the owners' cache scopes, as in the turns themselves."""

    def __init__(
        self,
        database: Database,
        reports: Reports,
        backends: Backends,
        clock: Clock,
        secret: bytes,
        *,
        patience: float = PATIENCE_S,
        clock_written: variants.SystemPromptWithClock = variants.clock_at_the_end,
    ) -> None:
        self._database = database
        self._reports = reports
        self._backends = backends
        self._clock = clock
        self._secret = secret
        self._patience = patience
        self._clock_written = clock_written
        self._at_once = anyio.CapacityLimiter(AT_ONCE)

    async def of_owner(self, owner_id: UUID, conversation_id: UUID, leaf_id: UUID | None = None) -> ConversationWhatIf:
        """As `of_conversation`; NotFound for everybody but its owner, and for a deleted one."""
        return await self._of(await self._reports.own_conversation(owner_id, conversation_id), leaf_id)

    async def of_conversation(self, conversation_id: UUID, leaf_id: UUID | None = None) -> ConversationWhatIf:
        """The branch that ends with this message; the active one without it, or where there is no such branch.

        Deleted ones too, for their numbers stay. NotFound.
        """
        return await self._of(await self._reports.conversation(conversation_id), leaf_id)

    async def _of(self, report: ConversationReport, leaf_id: UUID | None) -> ConversationWhatIf:
        branch = _branch(report, leaf_id)
        async with self._database.read() as session:
            stored = await load_stored(session, report.id, self._secret)
            served_by = {turn.backend for turn in stored.turns if turn.backend is not None}
            speeds = await prefill_speeds(session, served_by, self._clock())
        rows = _shown(report, branch)
        by_id = {turn.id: turn for turn in stored.turns}
        found: dict[UUID, Read | Obstacle] = {}
        with anyio.move_on_after(self._patience):
            async with self._at_once:
                await self._try_all(stored, [by_id[row.figures.id] for row in rows if row.figures.id in by_id], found)
        turns = tuple(_turn_what_if(row, speeds, found.get(row.figures.id)) for row in rows)
        return ConversationWhatIf(
            report.id, report.reference, turns, report.branches, branch.leaf_id if branch else None
        )

    async def _try_all(
        self, stored: StoredConversation, turns: Sequence[Turn], found: dict[UUID, Read | Obstacle]
    ) -> None:
        """Fills `found`, oldest turn first, so that whoever cuts this short has what came until then.

        A server that has failed once for a model is not asked about it again.
        """
        failed: dict[tuple[str | None, str | None], Obstacle] = {}
        for turn in turns:
            asked = (turn.backend, turn.model)
            obstacle = self._hindrance(turn) or failed.get(asked)
            try:
                found[turn.id] = obstacle or await self._compare(stored, turn)
            except Damaged:
                found[turn.id] = Obstacle.DELETED
            except InvalidRequest:
                found[turn.id] = Obstacle.FAILED
            except InferenceError as error:
                found[turn.id] = failed[asked] = _obstacle(error)

    def _hindrance(self, turn: Turn) -> Obstacle | None:
        """What is known without asking anybody."""
        if variants.as_it_was(TurnFigures.of(turn)) is None:
            return Obstacle.NO_FIGURES
        if text_is_gone(turn):
            return Obstacle.DELETED
        backend = self._backends.named(turn.backend)
        if backend is None:
            return Obstacle.OTHER_BACKEND
        return None if backend.settings.inspection else Obstacle.NO_INSPECTION

    async def _compare(self, stored: StoredConversation, turn: Turn) -> Read:
        """Of a turn that nothing is known to hinder. Damaged where a request cannot be built again; InferenceError."""
        real, backend = variants.as_it_was(TurnFigures.of(turn)), self._backends.named(turn.backend)
        assert real is not None
        assert backend is not None
        scope = stored.scope if backend.settings.isolation == "metadata" else None
        rebuilt = _rebuild(stored, turn, scope)
        clocked = variants.with_clock(rebuilt, self._clock_written)
        base = next((each for each in stored.turns if each.id == turn.base_turn_id), None)
        if base is None or not variants.promises(turn, base):
            alone = await backend.client.compare(rebuilt.body, clocked.body)
            return variants.read_alone(real, alone, promised=turn.expected_read_tokens is not None)
        before = variants.with_clock(_rebuild(stored, base, scope), self._clock_written)
        comparison = await backend.client.compare(before.body, clocked.body)
        same_clock = before.system_prompt == clocked.system_prompt
        return variants.read_behind(turn, base, real, comparison, same_clock=same_clock)


def _rebuild(stored: StoredConversation, turn: Turn, scope: str | None) -> Rebuilt:
    if text_is_gone(turn):
        raise Damaged("its text was deleted")
    return rebuild(turn, stored.nodes, stored.system_prompts, scope)


def _obstacle(error: InferenceError) -> Obstacle:
    if isinstance(error, TransportError):
        return Obstacle.AWAY
    if isinstance(error, AuthenticationFailed):
        return Obstacle.REFUSED
    return Obstacle.NO_MODEL if isinstance(error, NotFound) else Obstacle.FAILED


def _branch(report: ConversationReport, leaf_id: UUID | None) -> BranchRow | None:
    """None where no message is left."""
    active = next((branch for branch in report.branches if branch.active), None)
    return next((branch for branch in report.branches if branch.leaf_id == leaf_id), active)


def _shown(report: ConversationReport, branch: BranchRow | None) -> list[TurnRow]:
    """The turns of the branch, and those that stand on none because their messages were deleted."""
    elsewhere = {turn_id for each in report.branches if each is not branch for turn_id in each.turn_ids}
    here = branch.turn_ids if branch else frozenset()
    return [row for row in report.turns if row.figures.id in here or row.figures.id not in elsewhere]


def _turn_what_if(row: TurnRow, speeds: Mapping[str, float], result: Read | Obstacle | None) -> TurnWhatIf:
    """Without a result, of a turn that was not come to in time."""
    real = variants.as_it_was(row.figures)
    obstacle = result if isinstance(result, Obstacle) else Obstacle.TIME_UP if real else Obstacle.NO_FIGURES
    promised = row.figures.expected_read_tokens is not None
    return TurnWhatIf(
        number=row.number,
        figures=row.figures,
        real=real,
        blocks=variants.in_blocks(real, promised=promised) if real else None,
        clock=result if isinstance(result, Read) else None,
        obstacle=None if isinstance(result, Read) else obstacle,
        tokens_per_second=speeds.get(row.figures.backend) if row.figures.backend else None,
    )
