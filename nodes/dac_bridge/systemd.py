"""What systemd is told: that the service is ready, that it lives, what it does (``sd_notify``, a datagram each)."""

import contextlib
import os
import socket


class ServiceManager:
    """Nothing is sent where no service manager has started this process."""

    def __init__(self) -> None:
        self._address = os.environ.get("NOTIFY_SOCKET", "")
        if self._address.startswith("@"):
            self._address = "\0" + self._address[1:]
        watched = os.environ.get("WATCHDOG_PID", str(os.getpid())) == str(os.getpid())
        try:
            self.watchdog = int(os.environ.get("WATCHDOG_USEC", "0")) * 1e-6 if watched else 0.0
        except ValueError:
            self.watchdog = 0.0
        """Seconds within which a sign of life is expected; 0 if none is."""

    def tell(self, text: str) -> None:
        """READY=1, WATCHDOG=1 (a sign of life), STOPPING=1, or STATUS=, which ``systemctl status`` shows."""
        if not self._address:
            return
        with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sender:
            sender.setblocking(False)
            sender.sendto(" ".join(text.split()).encode(), self._address)
