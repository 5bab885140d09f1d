"""A ROS domain of one's own, so that runs on one machine do not hear each other."""

import fcntl
import os
import tempfile

DOMAINS = range(1, 102)
"""Domains whose UDP ports lie below the ephemeral ports of Linux; 0 is everybody's default and left alone."""

_held: list[int] = []


def claim_domain() -> int:
    """A domain that no other process has claimed; it stays claimed until this process ends.

    The claim is an advisory lock on one file per domain in the temporary folder, which the kernel drops with
    the process, however it ends. When every domain is taken, 0 is returned.
    """
    start = os.getpid() % len(DOMAINS)
    for domain in (*DOMAINS[start:], *DOMAINS[:start]):
        path = os.path.join(tempfile.gettempdir(), f"dyn_robot_domain_{domain}.lock")
        try:
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o666)
        except OSError:
            continue
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(descriptor)
            continue
        _held.append(descriptor)
        return domain
    return 0
