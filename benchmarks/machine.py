"""The machine that a result belongs to, in one line: times of different machines cannot be compared."""

import platform
from pathlib import Path

import psutil

_CPU_INFO = Path("/proc/cpuinfo")
_SETS = ("avx2", "avx512f", "avx512_bf16", "amx_bf16")


def describe_machine() -> str:
    cores = psutil.cpu_count(logical=False)
    memory = psutil.virtual_memory().total / 2**30
    name, sets = _processor()
    return f"{name}, {cores} cores, {memory:.0f} GiB, {' '.join(sets) or 'no AVX2'}, {platform.system()}"


def _processor() -> tuple[str, list[str]]:
    """Its name, and those instruction sets that matter here; outside Linux nothing tells them."""
    if not _CPU_INFO.exists():
        return platform.processor() or platform.machine(), []
    lines = dict(line.split(":", 1) for line in _CPU_INFO.read_text().splitlines() if ":" in line)
    fields = {key.strip(): value.strip() for key, value in lines.items()}
    flags = fields.get("flags", "").split()
    return fields.get("model name", platform.machine()), [name for name in _SETS if name in flags]
