"""The doctor's round that an operator asks for in the browser; its report is stored, so that every process shows it."""

import asyncio
import logging

import anyio
from sqlalchemy.exc import SQLAlchemyError

from app.database import Database
from app.doctor.doctor import Doctor
from app.doctor.findings import Report
from app.models import StoredSetting

logger = logging.getLogger(__name__)
STORED_UNDER = "doctor_report"


class Rounds:
    """One at a time in a process. It belongs to the process, not to the request that asked for it."""

    def __init__(self, database: Database, doctor: Doctor) -> None:
        self._database = database
        self._doctor = doctor
        self._task: asyncio.Task[None] | None = None
        self._scope = anyio.CancelScope()

    @property
    def running(self) -> bool:
        return self._task is not None and not self._task.done()

    def begin(self) -> None:
        """Nothing happens while one is under way."""
        if not self.running:
            self._task = asyncio.create_task(self._run(), name="doctor")

    async def last(self) -> Report | None:
        async with self._database.read() as session:
            stored = await session.get(StoredSetting, STORED_UNDER)
        return Report.from_json(stored.value) if stored else None

    async def close(self) -> None:
        """One under way is given up."""
        self._scope.cancel()
        if self._task is not None:
            await asyncio.wait([self._task])

    async def _run(self) -> None:
        with self._scope:
            report = await self._doctor.examine()
            try:
                async with self._database.write() as session:
                    await session.merge(StoredSetting(key=STORED_UNDER, value=report.to_json()))
            except SQLAlchemyError:
                logger.exception("the doctor's report could not be stored")
