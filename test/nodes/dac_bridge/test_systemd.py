"""What systemd hears, by a socket as systemd makes it."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from dyn_nodes.dac_bridge.systemd import ServiceManager


@pytest.mark.parametrize("abstract", [False, True])
def test_notifications_arrive(abstract: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    name = f"@dyn_robot_test_{os.getpid()}" if abstract else str(tmp_path / "notify")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind("\0" + name[1:] if abstract else name)
        manager.settimeout(5.0)
        monkeypatch.setenv("NOTIFY_SOCKET", name)
        monkeypatch.setenv("WATCHDOG_USEC", "500000")
        service = ServiceManager()
        assert service.watchdog == 0.5
        for text in ("READY=1", "WATCHDOG=1", "STATUS=all\nis well", "STOPPING=1"):
            service.tell(text)
        heard = [manager.recv(100).decode() for _ in range(4)]
    assert heard == ["READY=1", "WATCHDOG=1", "STATUS=all is well", "STOPPING=1"]


def test_without_a_manager_nothing_happens(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NOTIFY_SOCKET", raising=False)
    monkeypatch.setenv("WATCHDOG_USEC", "500000")
    monkeypatch.setenv("WATCHDOG_PID", "1")
    service = ServiceManager()
    service.tell("READY=1")
    assert service.watchdog == 0.0
    monkeypatch.setenv("NOTIFY_SOCKET", "/nowhere/at/all")
    ServiceManager().tell("WATCHDOG=1")
