"""What of this machine's robot is open to whom."""

from __future__ import annotations

import os
import re
import socket
import stat
import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from xml.etree import ElementTree

from dyn_cli.setup.environment import ROOT
from dyn_nodes.bringup.systems import absolute

if TYPE_CHECKING:
    from rclpy.node import Node

POLICIES = next(
    (
        path
        for above in (ROOT, *ROOT.parents)
        for place in ("", "share/dyn_robot/")
        if (path := above / f"{place}config/security/policies.xml").exists()
    ),
    ROOT / "config" / "security" / "policies.xml",
)
OBEYED = "computed_torque_controller"
TOPIC = "motor_commands"
NODE = re.compile(r"(?:-m\0dyn_nodes\.executables\0|/lib/dyn_robot/)(\w+)\0|-m\0dyn_cli\.main\0dac\0run\0")
NODES = ("simulated_robot", "computed_torque_controller", "dac_bridge", "stiffness_server")
KINDS = {"topics": {"publish", "subscribe"}, "services": {"reply", "request"}, "actions": {"call", "execute"}}
SECURITY_MARK = b"dds.sec.auth"
"""Text that a Fast DDS with DDS security carries in its library."""
LISTEN = 8.0
"""Seconds in which publishers are heard of."""


@dataclass(frozen=True)
class Finding:
    """One thing that was looked at: whether it is closed, and a sentence."""

    closed: bool
    what: str
    sentence: str


@dataclass(frozen=True)
class Rule:
    """What a policy allows a node: a full name, of a kind (topics, services, actions), by a verb (publish, ...)."""

    enclave: str
    kind: str
    verb: str
    name: str


def discovery(env: Mapping[str, str]) -> Iterator[Finding]:
    """How far a node that is started with these variables looks, and is seen."""
    what = "discovery"
    reach, peers = env.get("ROS_AUTOMATIC_DISCOVERY_RANGE", ""), env.get("ROS_STATIC_PEERS", "")
    if env.get("ROS_LOCALHOST_ONLY") == "1" or reach in ("LOCALHOST", "OFF"):
        yield Finding(True, what, f"range {reach or 'LOCALHOST'}: nodes look for each other on this machine")
    else:
        named = reach or "not set, which means SUBNET"
        yield Finding(False, what, f"range {named}: every machine on the network finds the nodes")
    if peers:
        yield Finding(False, what, f"ROS_STATIC_PEERS names {peers}: these machines find the nodes")
    for name in ("ROS_DISCOVERY_SERVER", "FASTDDS_DISCOVERY_SERVER"):
        if env.get(name):
            yield Finding(False, what, f"{name} is {env[name]}: whoever uses that server finds the nodes")
    domain = env.get("ROS_DOMAIN_ID", "") or "0"
    note = ", everybody's default" if domain == "0" else ""
    yield Finding(True, "domain", f"{domain}{note}; domains keep robots apart, they do not keep anybody out")


def processes(proc: Path = Path("/proc")) -> Iterator[Finding]:
    """The nodes that run now: what they were started with, and on which addresses they listen."""
    found = False
    for folder in sorted(proc.glob("[0-9]*"), key=lambda path: int(path.name)):
        try:
            match = NODE.search((folder / "cmdline").read_bytes().decode(errors="replace"))
            name = "" if match is None else match[1] or "dac_bridge"
            if name not in NODES:
                continue
            entries = (folder / "environ").read_bytes().decode(errors="replace").split("\0")
            env = dict(entry.split("=", 1) for entry in entries if "=" in entry)
            ports = _outside_ports(folder)
        except OSError:
            continue
        found = True
        what = f"process {folder.name}"
        reach = [finding for finding in discovery(env) if not finding.closed]
        if reach:
            yield Finding(False, what, f"{name}: {reach[0].sentence}")
        if ports:
            listed = ", ".join(map(str, ports))
            yield Finding(False, what, f"{name} listens on all network interfaces (UDP {listed})")
        if not reach and not ports:
            yield Finding(True, what, f"{name} listens on this machine only")
    if not found:
        yield Finding(True, "processes", "no node runs here, as far as this user may see")


def security(env: Mapping[str, str]) -> Iterator[Finding]:
    """Whether DDS security is on, possible, and its keys are private."""
    what = "security"
    enabled, strategy = env.get("ROS_SECURITY_ENABLE", "false"), env.get("ROS_SECURITY_STRATEGY", "Permissive")
    keystore = env.get("ROS_SECURITY_KEYSTORE", "")
    local = all(finding.closed for finding in discovery(env))
    if enabled != "true":
        sentence = "off: whoever finds the nodes may read, publish and call everything"
        yield Finding(local, what, sentence + (" (that is this machine's users)" if local else ""))
    else:
        enforced = strategy == "Enforce"
        sentence = f"on, strategy {strategy}"
        yield Finding(enforced, what, sentence + ("" if enforced else ": a node without keys is let in; set Enforce"))
        if not has_security():
            yield Finding(False, what, "this Fast DDS is built without DDS security: nodes will refuse to start")
    if keystore:
        yield from _keys(Path(keystore))
    elif enabled == "true":
        yield Finding(False, "keystore", "ROS_SECURITY_KEYSTORE is not set")


def policy(path: Path = POLICIES) -> Iterator[Finding]:
    """Whether the policy lets only the controller publish motor commands."""
    try:
        allowed = {rule.enclave for rule in rules(path) if (rule.verb, rule.name) == ("publish", f"/{TOPIC}")}
    except (OSError, ElementTree.ParseError, ValueError) as error:
        yield Finding(False, "policy", f"{path.name} cannot be read: {error}")
        return
    only = allowed == {f"/dyn_robot/{OBEYED}"}
    yield Finding(only, "policy", f"may publish {TOPIC}: {', '.join(sorted(allowed)) or 'nobody'}")


def outputs(root: Path) -> Iterator[Finding]:
    """Converters that everybody on this machine may write to."""
    for path in sorted(root.glob("iio:device*/out_voltage*_raw")):
        if path.stat().st_mode & stat.S_IWOTH:
            yield Finding(False, "converter", f"{path} may be written by everybody")


def speakers(namespace: str) -> Iterator[Finding]:
    """Who publishes motor commands now."""
    from dyn_cli.client.robot_client import RobotClient
    from dyn_nodes.common.message_sender import senders

    topic = f"{absolute(namespace)}/{TOPIC}"
    with RobotClient(namespace) as client:
        client.wait(lambda: bool(senders(client.node, topic)), LISTEN)
        if senders(client.node, topic):
            client.spin(1.0)  # further ones
        names = sorted(sender.node for sender in senders(client.node, topic))
        missing = uncovered(client.node, namespace)
    if not names:
        yield Finding(True, TOPIC, "nobody publishes them now")
        return
    expected = [f"{absolute(namespace)}/{OBEYED}"]
    yield Finding(names == expected, TOPIC, f"published by {', '.join(names)}; dac_bridge obeys one")
    for rule in missing:
        yield Finding(False, "policy", f"{rule.enclave} may not {rule.verb} {rule.name}, but does: adapt the policy")


def uncovered(node: Node, namespace: str = "", path: Path = POLICIES) -> list[Rule]:
    """What the nodes of this package that run now use, and the policy does not allow."""
    place = absolute(namespace)
    allowed = {(rule.enclave, rule.kind, rule.verb, rule.name) for rule in rules(path)}
    running = {name for name, where in node.get_node_names_and_namespaces() if where.rstrip("/") == place}
    missing = []
    for name in (name for name in NODES if name in running):
        used = [
            ("topics", "publish", node.get_publisher_names_and_types_by_node(name, place or "/")),
            ("topics", "subscribe", node.get_subscriber_names_and_types_by_node(name, place or "/")),
            ("services", "reply", node.get_service_names_and_types_by_node(name, place or "/")),
            ("services", "request", node.get_client_names_and_types_by_node(name, place or "/")),
        ]
        for kind, verb, names in used:
            for full in (found.removeprefix(place) for found, _ in names):
                action, part, _ = full.partition("/_action/")
                wanted = ("actions", "execute", action) if part else (kind, verb, full)
                if (f"/dyn_robot/{name}", *wanted) not in allowed:
                    missing.append(Rule(f"/dyn_robot/{name}", *wanted))
    return missing


def rules(path: Path = POLICIES) -> list[Rule]:
    """What a policy file allows, with full names; ValueError where it is not as SROS 2 has policies."""
    root = ElementTree.parse(path).getroot()
    if root.tag != "policy" or "version" not in root.attrib or [child.tag for child in root] != ["enclaves"]:
        raise ValueError("a policy has a version and enclaves")
    found = []
    for enclave in root[0]:
        _expect(enclave, "enclave", {"path"}, {"profiles"})
        for profile in (profile for profiles in enclave for profile in profiles):
            _expect(profile, "profile", {"ns", "node"}, set(KINDS))
            for group in profile:
                verbs = set(group.attrib)
                if not verbs or not verbs <= KINDS[group.tag] or set(group.attrib.values()) - {"ALLOW", "DENY"}:
                    raise ValueError(f"{group.tag} has {group.attrib}, allowed: {', '.join(sorted(KINDS[group.tag]))}")
                for entry in group:
                    if entry.tag != group.tag.removesuffix("s") or not (entry.text or "").strip():
                        raise ValueError(f"{entry.tag} in {group.tag}")
                    name = _full(str(entry.text).strip(), profile.attrib["ns"], profile.attrib["node"])
                    found += [
                        Rule(enclave.attrib["path"], group.tag, verb, name)
                        for verb, value in group.attrib.items()
                        if value == "ALLOW"
                    ]
    return found


def has_security() -> bool:
    """Whether the Fast DDS that is loaded here has DDS security built in."""
    for folder in os.environ.get("LD_LIBRARY_PATH", "").split(os.pathsep):
        for path in (*Path(folder).glob("libfastrtps.so*"), *Path(folder).glob("libfastdds.so*")) if folder else ():
            return SECURITY_MARK in path.read_bytes()
    return True  # not found: nothing can be said against it


def _keys(keystore: Path) -> Iterator[Finding]:
    if not keystore.is_dir():
        yield Finding(False, "keystore", f"{keystore} is no folder")
        return
    try:
        private = [*keystore.rglob("key.pem"), *(p for p in (keystore / "private").glob("*") if p.is_file())]
        loose = [path for path in private if path.stat().st_mode & (stat.S_IRWXG | stat.S_IRWXO)]
    except OSError as error:
        yield Finding(False, "keystore", f"{keystore} cannot be read ({error.strerror})")
        return
    for path in loose:
        yield Finding(False, "keystore", f"{path} may be used by others than its owner; chmod 600")
    if not private:
        yield Finding(False, "keystore", f"{keystore} has no keys")
    elif not loose:
        yield Finding(True, "keystore", f"{keystore}: {len(private)} private keys, their owner's alone")


def _outside_ports(process: Path) -> list[int]:
    """UDP ports of DDS on which a process listens on more than the loopback interface."""
    links = (os.readlink(path) for path in (process / "fd").iterdir() if path.is_symlink())
    inodes = {link[8:-1] for link in links if link.startswith("socket:[")}
    low, high = _ephemeral()
    found = set()
    for line in (process / "net" / "udp").read_text().splitlines()[1:]:
        words = line.split()
        address, _, port = words[1].partition(":")
        bound = socket.inet_ntoa(struct.pack("=I", int(address, 16)))
        # Sockets that only send have ports of the ephemeral range.
        if words[9] in inodes and not bound.startswith("127.") and not low <= int(port, 16) <= high:
            found.add(int(port, 16))
    return sorted(found)


def _ephemeral() -> tuple[int, int]:
    try:
        low, high = map(int, Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split())
    except (OSError, ValueError):
        return 32768, 60999
    return low, high


def _full(name: str, namespace: str, node: str) -> str:
    base = namespace.rstrip("/")
    if name.startswith("/"):
        return name
    if name.startswith("~"):
        return f"{base}/{node}{name[1:]}"
    return f"{base}/{name}"


def _expect(element: ElementTree.Element, tag: str, attributes: set[str], children: set[str]) -> None:
    if element.tag != tag or set(element.attrib) != attributes or {child.tag for child in element} - children:
        raise ValueError(f"{element.tag} with {sorted(element.attrib)} is no {tag}")
