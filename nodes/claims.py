"""Who is who on this machine: a ROS domain for runs that must not hear others, and one robot per namespace."""

import fcntl
import hashlib
import os
import tempfile

DOMAINS = range(1, 102)
"""Domains whose UDP ports lie below the ephemeral ports of Linux; 0 is everybody's default and left alone."""

_held: list[int] = []


def claim_domain() -> int:
    """A domain that no other process has claimed; it stays claimed until this process ends.

    When every domain is taken, 0 is returned.
    """
    start = os.getpid() % len(DOMAINS)
    for domain in (*DOMAINS[start:], *DOMAINS[:start]):
        if _claim(f"domain_{domain}"):
            return domain
    return 0


def claim_robot(namespace: str) -> bool:
    """Whether this process may be this user's robot of a namespace in its domain; it is until it ends."""
    return _claim(_robot_name(namespace))


def robot_runs(namespace: str) -> bool:
    """Whether a process is this user's robot of a namespace in this domain."""
    descriptor = _locked(_robot_name(namespace))
    if descriptor is None:
        return True
    os.close(descriptor)
    return False


def _robot_name(namespace: str) -> str:
    digest = hashlib.sha256(namespace.strip("/").encode()).hexdigest()[:16]
    return f"robot_{os.getuid()}_{os.environ.get('ROS_DOMAIN_ID', '0')}_{digest}"


def _claim(name: str) -> bool:
    descriptor = _locked(name)
    if descriptor is None:
        return False
    _held.append(descriptor)
    return True


def _locked(name: str) -> int | None:
    """An advisory lock on a file in the temporary folder, which the kernel drops with the process, however it ends."""
    path = os.path.join(tempfile.gettempdir(), f"dyn_robot_{name}.lock")
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o666)
    except OSError:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        return None
    return descriptor
