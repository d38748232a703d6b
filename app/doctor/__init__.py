"""Small probes that tell what is wrong with an installation and its backends, without disturbing it."""

from app.doctor.doctor import Doctor
from app.doctor.examination import Patience
from app.doctor.findings import APP, Finding, Report, State
from app.doctor.rounds import Rounds

__all__ = ["APP", "Doctor", "Finding", "Patience", "Report", "Rounds", "State"]
