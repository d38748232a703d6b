"""A zip archive that is made piece by piece, so that it never lies in memory as a whole."""

import io
import zipfile
from datetime import datetime


class _Sink(io.RawIOBase):
    """Takes what is written until somebody fetches it. It cannot be rewound, and zipfile copes with that."""

    def __init__(self) -> None:
        self._pieces: list[bytes] = []

    def writable(self) -> bool:
        return True

    def write(self, data: object) -> int:
        piece = bytes(data)  # type: ignore[call-overload]
        self._pieces.append(piece)
        return len(piece)

    def take(self) -> bytes:
        pieces, self._pieces = self._pieces, []
        return b"".join(pieces)


class Archive:
    """`made_at` is the time of all its files. One that is given up must be ended too; its last piece is for nobody."""

    def __init__(self, made_at: datetime) -> None:
        self._time = made_at.timetuple()[:6]
        self._sink = _Sink()
        self._zip = zipfile.ZipFile(self._sink, "w", zipfile.ZIP_DEFLATED)

    def add(self, name: str, content: bytes) -> bytes:
        """The next piece of the archive."""
        entry = zipfile.ZipInfo(name, self._time)
        entry.compress_type = zipfile.ZIP_DEFLATED
        self._zip.writestr(entry, content)
        return self._sink.take()

    def end(self) -> bytes:
        """The last piece."""
        self._zip.close()
        return self._sink.take()
