"""Whether what was sent can still be built, byte for byte, from what is stored."""

from app.verification.findings import Findings, Problem
from app.verification.verification import Verification

__all__ = ["Findings", "Problem", "Verification"]
