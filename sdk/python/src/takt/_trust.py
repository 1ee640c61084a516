"""Whom a TLS connection trusts: the system's authorities, or those of a file, which may be replaced."""
from __future__ import annotations

import logging
import os
import ssl
import threading

log = logging.getLogger("takt")


class Trust:
    """From any thread."""

    def __init__(self, ca_file: str | None) -> None:
        self._file = ca_file
        self._lock = threading.Lock()
        self._stamp = self._look()
        self._context = ssl.create_default_context(cafile=ca_file)

    def context(self) -> ssl.SSLContext:
        """For a new connection. A file that was replaced is read anew; one that cannot be read changes nothing."""
        with self._lock:
            stamp = self._look()
            if stamp and stamp != self._stamp:
                try:
                    self._context = ssl.create_default_context(cafile=self._file)
                    self._stamp = stamp
                except (OSError, ssl.SSLError) as error:
                    log.warning("cannot read %s again: %s", self._file, error)
            return self._context

    def _look(self) -> tuple[int, int, int] | None:
        try:
            found = os.stat(self._file) if self._file else None
        except OSError:
            return None
        return (found.st_ino, found.st_size, found.st_mtime_ns) if found else None
