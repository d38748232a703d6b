"""The static files under a folder name made from their contents, so that browsers may keep them for ever."""

import hashlib
from pathlib import Path

STATIC_PREFIX = "/static/"
STATIC_FOLDER = Path(__file__).parent.parent / "static"


def contents_version(folder: Path = STATIC_FOLDER) -> str:
    """Changes when any file's name or bytes change. ES modules import each other by relative paths, so one
    version for all of them keeps a page from mixing old and new ones."""
    digest = hashlib.sha256()
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            digest.update(path.relative_to(folder).as_posix().encode())
            digest.update(path.read_bytes())
    return digest.hexdigest()[:12]
