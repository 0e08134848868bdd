#!/usr/bin/env python3
"""Checks governd's audit log without governd: format governd.audit/1, Python's standard library only.

    python3 verify.py [--public-key KEY]... [--seal FILE] [--witness-key KEY]... [--witness-quorum N] [--complete] FILE...

FILE   an export (json or ndjson), a receipt, a workspace file (ws_....db), or a data directory with its control.db
KEY    the sealing key that you trust: name+hash+key, 32 bytes in base64 or hex, PEM, or a file with it
--witness-key KEY: a witness's key, name+hash+key of type 4; --witness-quorum N: how many must have cosigned (default: all)
--seal FILE: seals kept elsewhere, one or many; the log must be a continuation of each
--complete: it is not enough that what is here holds; a seal must prove that no event is missing

Exit code 0: what was checked holds. 1: something was changed. 2: cannot be established.
The format is specified in docs/audit-format.md; this is a second reading of it, made to be read.
"""
import argparse, base64, contextlib, functools, hashlib, itertools, json, re, shutil, sqlite3, sys, tempfile, time
from datetime import datetime, timezone
from decimal import Decimal
from pathlib import Path

ZEROS = "0" * 64
TYPEID = "[0-7][0-9a-hjkmnp-tv-z]{25}"
FORMS = {  # the 14 members of an event; None stands for an integer
    "actor": f"(key|usr)_{TYPEID}|cli|system",
    "agent_id": "[A-Za-z0-9._:@~-]{1,128}",
    "agent_seq": None,
    "blocked_by": "policy:[a-z][a-z0-9_]{0,63}",
    "config_version": "v[1-9][0-9]{0,15}",
    "details_commitment": "[0-9a-f]{64}",
    "format": "governd\\.audit/1",
    "id": f"aud_{TYPEID}",
    "operation": "[a-z][a-z0-9_]{0,63}\\.[a-z][a-z0-9_]{0,63}",
    "previous_hash": "[0-9a-f]{64}",
    "result": "ok|allowed|blocked|not_found|conflict|denied",
    "seq": None,
    "timestamp": r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z",
    "workspace_id": f"ws_{TYPEID}",
}
NULLABLE = {"agent_id", "blocked_by", "config_version"}


# Operations whose details an erasure can destroy; those of all others are always there.
ERASABLE = {"data.delete", "data.delete_prefix", "data.list", "data.read", "data.read_full", "data.search", "data.write"}


class Tampered(Exception):
    """The evidence contradicts itself."""


class Undetermined(Exception):
    """There is nothing here that could be checked."""


def require(condition, message, kind=Tampered):
    if not condition:
        raise kind(message)


def sha256(*parts):
    return hashlib.sha256(b"".join(parts)).hexdigest()


def number(value):
    """A number as ECMAScript writes it (RFC 8785, 3.2.2.3)."""
    if value == 0:
        return "0"
    sign, digits, exponent = Decimal(repr(value)).as_tuple()
    text = "".join(map(str, digits)).rstrip("0")
    point = len(digits) + exponent  # where the decimal point stands in the digits
    if len(text) <= point <= 21:
        text = text.ljust(point, "0")
    elif 0 < point <= 21:
        text = f"{text[:point]}.{text[point:]}"
    elif -6 < point <= 0:
        text = "0." + "0" * -point + text
    else:
        text = f"{text[0]}{'.' if text[1:] else ''}{text[1:]}e{point - 1:+d}"
    return "-" * sign + text


def jcs(value):
    """Canonical JSON (RFC 8785)."""
    if isinstance(value, dict):
        names = sorted(value, key=lambda name: name.encode("utf-16-be"))
        return "{" + ",".join(f"{jcs(name)}:{jcs(value[name])}" for name in names) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(jcs, value)) + "]"
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return number(value)
    return json.dumps(value, ensure_ascii=False)


def no_duplicates(pairs):
    require(len(dict(pairs)) == len(pairs), "a JSON object has a member twice")
    return dict(pairs)


def no_number(name):
    raise ValueError(f"{name} is not JSON")


def load_json(text):
    return json.loads(text, object_pairs_hook=no_duplicates, parse_constant=no_number)


def check_event(event):
    """The forms of an event's members; returns its canonical bytes."""
    require(isinstance(event, dict) and set(event) == set(FORMS), "not the members of an event")
    for name, form in FORMS.items():
        value = event[name]
        if form is None:
            good = type(value) is int and 0 <= value < 2**53
        else:
            good = (value is None and name in NULLABLE) or (
                isinstance(value, str) and re.fullmatch(form, value, re.ASCII) is not None
            )
        require(good, f"{name} has the wrong type or form")
    return jcs(event).encode()


def node(left, right):
    return hashlib.sha256(b"\1" + left + right).digest()


def tree_root(leaves):
    """MTH of RFC 6962, 2.1, over leaf hashes: complete subtrees on a stack, then folded."""
    stack = []  # (leaves, hash)
    for leaf in leaves:
        stack.append((1, leaf))
        while len(stack) > 1 and stack[-2][0] == stack[-1][0]:
            (size, left), (_, right) = stack[-2:]
            stack[-2:] = [(2 * size, node(left, right))]
    return fold([value for _, value in stack])


def fold(subtrees):
    if not subtrees:
        return hashlib.sha256(b"").digest()
    value = subtrees[-1]
    for left in reversed(subtrees[:-1]):
        value = node(left, value)
    return value


def path_root(leaf, index, size, path):
    """The root that an inclusion proof leads to (RFC 9162, 2.1.3.2); None when it leads nowhere."""
    last, value = size - 1, leaf
    for sibling in path:
        if last == 0:
            return None
        if index % 2 == 1 or index == last:
            value = node(sibling, value)
            while index % 2 == 0 and index != 0:
                index, last = index // 2, last // 2
        else:
            value = node(value, sibling)
        index, last = index // 2, last // 2
    return value if last == 0 else None


def consistent(old, old_root, new, new_root, path):
    """Whether one tree is the beginning of another (RFC 9162, 2.1.4.2), for 0 < old < new."""
    index, last, path = old - 1, new - 1, list(path)
    while index % 2 == 1:
        index, last = index // 2, last // 2
    first = path.pop(0) if index else old_root
    values = [first, first]
    for sibling in path:
        if last == 0:
            return False
        if index % 2 == 1 or index == last:
            values = [node(sibling, value) for value in values]
            while index % 2 == 0 and index != 0:
                index, last = index // 2, last // 2
        else:
            values[1] = node(values[1], sibling)
        index, last = index // 2, last // 2
    return last == 0 and values == [old_root, new_root]


def range_root(start, leaves, size, before, after):
    """The root over leaves start... with the covering subtrees before and after them."""
    def covering(begin, end):
        while begin < end:
            width = 1
            while begin % (2 * width) == 0 and begin + 2 * width <= end:
                width *= 2
            yield width
            begin += width

    end = start + len(leaves)
    parts = list(zip(covering(0, start), before, strict=True)) + [(1, leaf) for leaf in leaves]
    parts += list(zip(covering(end, size), after, strict=True))
    stack, at = [], 0
    for width, value in parts:
        at += width
        while stack and stack[-1][0] == width and (at - width) % (2 * width) == width:
            value, width = node(stack.pop()[1], value), 2 * width
        stack.append((width, value))
    return fold([value for _, value in stack])


P = 2**255 - 19  # Ed25519, RFC 8032, 5.1, for verifying only: points as (X, Y, Z, T) with x = X/Z, y = Y/Z, xy = T/Z
L = 2**252 + 27742317777372353535851937790883648493
D = -121665 * pow(121666, -1, P) % P


def add(p, q):
    a, b = (p[1] - p[0]) * (q[1] - q[0]) % P, (p[1] + p[0]) * (q[1] + q[0]) % P
    c, d = 2 * D * p[3] * q[3] % P, 2 * p[2] * q[2] % P
    e, f, g, h = b - a, d - c, d + c, b + a
    return (e * f % P, g * h % P, f * g % P, e * h % P)


def multiply(scalar, point):
    result = (0, 1, 1, 0)
    while scalar:
        if scalar & 1:
            result = add(result, point)
        point, scalar = add(point, point), scalar >> 1
    return result


def decompress(data):
    y = int.from_bytes(data, "little")
    sign, y = y >> 255, y & (2**255 - 1)
    x2 = (y * y - 1) * pow(D * y * y + 1, -1, P) % P
    x = pow(x2, (P + 3) // 8, P)
    if (x * x - x2) % P:
        x = x * pow(2, (P - 1) // 4, P) % P
    if (x * x - x2) % P or y >= P or (x == 0 and sign):
        return None
    x = P - x if x % 2 != sign else x
    return (x, y, 1, x * y % P)


BASE = decompress((4 * pow(5, -1, P) % P).to_bytes(32, "little"))


@functools.lru_cache(maxsize=1024)  # files that are given together may have the same seals
def ed25519_holds(key, message, signature):
    point, r = decompress(key), decompress(signature[:32])
    s = int.from_bytes(signature[32:], "little")
    if len(signature) != 64 or point is None or r is None or s >= L:
        return False
    h = int.from_bytes(hashlib.sha512(signature[:32] + key + message).digest(), "little") % L
    one, two = multiply(s, BASE), add(r, multiply(h, point))
    return all((one[at] * two[2] - two[at] * one[2]) % P == 0 for at in (0, 1))


def unbase64(text, length=None):
    data = base64.b64decode(text, validate=True)
    require(base64.b64encode(data).decode() == text, "base64 that is not canonical")
    require(length is None or len(data) == length, "a hash is not 32 bytes")
    return data


def key_id(name, key, kind=b"\1"):
    return hashlib.sha256(name.encode() + b"\n" + kind + key).digest()[:4]


def read_key(text):
    """The 32 bytes of a public key, from any of its usual forms."""
    text = text.strip()
    if "+" in text and re.fullmatch(r"[^+\s]+\+[0-9a-f]{8}\+\S+", text):
        name, given, data = text.split("+", 2)
        data = base64.b64decode(data)
        require(data[:1] == b"\1" and key_id(name, data[1:]).hex() == given, "not a verifier key", Undetermined)
        return data[1:]
    if text.startswith("-----BEGIN PUBLIC KEY-----"):
        text = "".join(text.splitlines()[1:-1])
    data = bytes.fromhex(text) if re.fullmatch("[0-9a-f]{64}", text) else base64.b64decode(text)
    require(len(data) in (32, 44), "not an Ed25519 public key", Undetermined)
    return data[-32:]


def read_witness(text):
    """The name and the key of a witness (C2SP tlog-cosignature, type 4)."""
    name, given, data = text.strip().split("+", 2)
    data = base64.b64decode(data)
    good = data[:1] == b"\4" and len(data) == 33 and key_id(name, data[1:], b"\4").hex() == given
    require(good, "not the verifier key of a witness", Undetermined)
    return name, data[1:]


def parse_origin(origin):
    """host/workspace, or host/workspace/epoch after a restore: the origin of the first epoch, the workspace, the epoch."""
    parts = re.fullmatch("(.*)/([2-9]|[1-9][0-9]{1,14})", origin)
    base, epoch = (parts[1], int(parts[2])) if parts else (origin, 1)
    return base, base.rsplit("/", 1)[-1], epoch


class Seal:
    """A signed tree head: C2SP signed-note and tlog-checkpoint."""

    def __init__(self, text):
        self.text, _, signatures = text.rpartition("\n\n")
        self.text += "\n"
        lines = self.text.split("\n")
        good = re.fullmatch("[^\n]+\n(0|[1-9][0-9]*)\n[^\n]+\n", self.text) and signatures.endswith("\n")
        require(good, "not a seal")
        self.origin, self.size, self.root = lines[0], int(lines[1]), unbase64(lines[2], 32)
        self.base, self.workspace, self.epoch = parse_origin(self.origin)
        self.signatures = []
        for line in signatures.splitlines():
            dash, name, data = line.split(" ")
            require(dash == "\u2014", "not a signature line")
            self.signatures.append((name, unbase64(data)))

    def signed_by(self, key):
        own = [data[4:] for name, data in self.signatures if (name, data[:4]) == (self.origin, key_id(self.origin, key))]
        require(all(ed25519_holds(key, self.text.encode(), data) for data in own), "a seal's signature is wrong")
        return bool(own)

    def cosigned_by(self, name, key):
        """When a witness cosigned it, in seconds since 1970; None if it did not. A wrong cosignature is tampering."""
        own = [data[4:] for one, data in self.signatures if (one, data[:4]) == (name, key_id(name, key, b"\4"))]
        times = [int.from_bytes(data[:8], "big") for data in own]
        for time, data in zip(times, own):
            text = f"cosignature/v1\ntime {time}\n{self.text}"
            good = len(data) == 72 and time < 2**63 and ed25519_holds(key, text.encode(), data[8:])
            require(good, f"the cosignature of {name} is not right")
        return max(times, default=None)

    def signed_by_any(self, keys):
        return any([self.signed_by(key) for key in keys])

    def check(self, workspace, trust, keys=()):
        """Says whether the seal's signature was checked. `keys` are the log's, where they came with the seal."""
        require(self.workspace == workspace, "the seal is of another workspace")
        trust.note_witnesses(self)
        if not trust.keys:
            return "sealed (by whom is not checked: no --public-key)"
        signed = self.signed_by_any(trust.with_later(keys))
        require(signed, not_their_key(trust, {sha256(key) for key in keys}), Undetermined)
        return "sealed with the given key" if self.signed_by_any(trust.keys) else "sealed with a key that the given key leads to"


def not_their_key(trust, fingerprints):
    if any(key.hex() in fingerprints for key in trust.keys):
        return "the given key is the fingerprint of this log's key: give the key itself"
    if any(sha256(key) in fingerprints for key in trust.keys):
        return "the given key is one of this log's, and no seal here is by it or a later one: give an earlier key"
    return "the given key does not lead to the key that sealed this: it is another log's key, or somebody replaced this log and its seals"


def read_key_chain(chain, workspace):
    """The keys of a log, the first one first: each is announced by an event under a seal by the key before it."""
    keys, last = [], -1
    require(isinstance(chain, list) and chain, "the announcements of keys are not in order")
    for one in chain:
        good = has(one, "public_key", "event", "path", "seal") and isinstance(one["event"], dict) and is_hashes(one["path"])
        require(good and isinstance(one["public_key"], str), "the announcements of keys are not in order")
        try:
            require("+" in one["public_key"], "a key is announced in another form than name+hash+key")
            key, seal = read_key(one["public_key"]), Seal(one["seal"])
        except (ValueError, TypeError, AttributeError, Undetermined):
            raise Tampered("a key or a seal among the announcements of keys is not in order") from None
        event, value = Log(False).read(*stored(one["event"]))
        announced = (event["operation"], event["agent_id"], event["result"], event["workspace_id"])
        expected = ("seal.rotate_key" if keys else "workspace.create", None, "ok", workspace)
        require(announced == expected and event["seq"] > last, "an event does not announce a key of this log")
        details = one["event"]["details"]
        require(details.get("signing_key") == sha256(key), f"seq {event['seq']} announces another key")
        path = [bytes.fromhex(value) for value in one["path"]]
        included = event["seq"] < seal.size and path_root(bytes.fromhex(value), event["seq"], seal.size, path) == seal.root
        sealed = seal.workspace == workspace and included and seal.signed_by(keys[-1] if keys else key)
        require(sealed, f"seq {event['seq']}, which announces a key, is not under a seal by the key before it")
        keys.append(key)
        last = event["seq"]
    return keys


def split_seals(text):
    """The records of a file of seals, each a seal and an empty line, and what follows the last one."""
    notes, at = [], 0
    record = re.compile("((?:(?!\u2014 ).+\n)+\n(?:\u2014 .+\n)+)\n")
    while found := record.match(text, at):
        notes.append(found[1])
        at = found.end()
    return notes, text[at:]


def read_seals(text):
    """Seals kept elsewhere. Only the empty line after the last one may be missing."""
    notes, rest = split_seals(text if text.endswith("\n\n") else text + "\n")
    require(notes and not rest, "not a file of seals, or cut off inside a seal", Undetermined)
    return [Seal(note) for note in notes]


class Trust:
    """The auditor's input: keys, seals kept elsewhere, and witnesses."""

    def __init__(self, keys=(), anchors=(), complete=False, witnesses=(), quorum=None):
        self.keys, self.anchors, self.complete = keys, anchors, complete
        self.witnesses, self.quorum = witnesses, len(witnesses) if quorum is None else quorum
        self.witnessed = {}  # of the log that is checked now: the newest seal that each witness has cosigned, and when
        self.prunings = []  # that were read: (position, digest of the export that holds what was dropped)

    def note_witnesses(self, seal, kind=Tampered):
        """Notes which witnesses have cosigned a seal that is one of the log's."""
        for name, key in self.witnesses:
            try:
                time = seal.cosigned_by(name, key)
            except Tampered as problem:
                raise kind(str(problem)) from None
            if time is not None and seal.size and seal.size >= self.witnessed.get(name, (0, 0))[0]:
                self.witnessed[name] = (seal.size, time)

    def require_witnesses(self):
        """What the witnesses have cosigned, in words; the next log is counted by itself."""
        seen, self.witnessed = self.witnessed, {}
        count = f"{len(seen)} of the {self.quorum} required witnesses have cosigned a seal of this log"
        require(len(seen) >= self.quorum, count, Undetermined)
        words = [f"{name} through event {size - 1} at {utc(time)}" for name, (size, time) in seen.items()]
        return f". Witnessed: {', '.join(words)}" if words else ""

    def with_later(self, keys):
        """The given keys, and those of a log after the first that was given."""
        first = next((at for at, key in enumerate(keys) if key in self.keys), len(keys))
        return [*self.keys, *keys[first + 1 :]]

    def unknown(self, why):
        """Says that events may be missing; with --complete that is why nothing is established."""
        require(not self.complete, f"completeness cannot be established: {why}", Undetermined)
        return f"Completeness cannot be established: {why}"

    def anchor(self, log):
        """Every kept seal must be the beginning of a whole log, or be named by a restore; returns the others."""
        compared = []
        for seal in self.anchors:
            require(seal.workspace == log.workspace, "the kept seal is of another workspace", Undetermined)
            if log.is_lost(seal):
                continue
            why = log.restored_before(seal)
            require(seal.size <= len(log.hashes), "the log is shorter than the kept seal says" + why)
            root = tree_root(map(bytes.fromhex, log.hashes[: seal.size]))
            require(root == seal.root, "the log is not the one of the kept seal" + why)
            self.note_witnesses(seal, Undetermined)
            compared.append(seal)
        return compared


class Epochs:
    """The origin in force at each size of the tree, and the restores that began it."""

    def __init__(self):
        self.origins, self.restores, self.keys = [[0, None]], [], []  # (size, origin), (seq, details), (seq, digest)

    def note(self, seq, operation, said):
        if operation != "log.restore":
            self.keys.append((seq, said.get("signing_key")))
            if seq == 0:
                self.origins[0][1] = said.get("origin")
            return
        self.restores.append((seq, said))
        now = self.origins[-1]
        if not EPOCH & set(said):  # as older versions declared it: the origin stays
            self.origins.append([seq + 1, now[1]])
            return
        problem = epoch_problem(seq, said, now[1], self.keys and self.keys[-1][1])
        require(not problem, f"seq {seq}: {problem}")
        now[1] = said["previous_origin"]
        self.origins.append([seq + 1, said["origin"]])

    def is_foreign(self, seal, whole):
        """Whether a seal's origin is not in force at its size. After a window there may be later epochs."""
        origin = [origin for size, origin in self.origins if size <= seal.size][-1]
        if origin is None or origin == seal.origin:
            return False
        base, _, epoch = parse_origin(origin)
        return whole or (seal.base != base or seal.epoch < epoch)

    def naming(self, seal):
        """The position of the restore that names a seal as one over lost events."""
        head = {"origin": seal.origin, "size": seal.size, "root": seal.root.hex()}
        return next((seq for seq, said in self.restores if head in said.get("lost_seals", [])), None)


EPOCH = {"origin", "previous_origin", "signing_key", "last_seal", "lost_seals", "lost_through"}


def epoch_problem(seq, said, origin, key):
    """What is wrong with the epoch that a restore begins after an origin and a key, None where these are not known."""
    head = lambda value: is_count(value["size"]) and is_hash(value["root"])
    last, lost = said.get("last_seal"), said.get("lost_seals")
    good = EPOCH <= set(said) and isinstance(said["origin"], str) and isinstance(said["previous_origin"], str)
    good = good and is_hash(said["signing_key"]) and (last is None or (has(last, "size", "root") and head(last)))
    good = good and isinstance(lost, list) and len(lost) <= 1000
    good = good and all(has(one, "origin", "size", "root") and isinstance(one["origin"], str) and head(one) for one in lost)
    if not good:
        return "a restore does not state its epoch in the form that it must have"
    if origin not in (None, said["previous_origin"]) or key not in (None, [], said["signing_key"]):
        return "a restore names another origin or another key than the one in force"
    (base, _, epoch), (before, _, number) = parse_origin(said["origin"]), parse_origin(said["previous_origin"])
    if base != before or epoch <= number:
        return "the origin that a restore begins does not follow the one before"
    sizes = [one["size"] for one in lost]
    good = sizes == sorted(sizes) and all(size > seq for size in sizes)
    good = good and all(parse_origin(one["origin"])[0] == base and parse_origin(one["origin"])[2] < epoch for one in lost)
    good = good and (last is None or last["size"] <= seq or {"origin": said["previous_origin"], **last} in lost)
    good = good and said["lost_through"] == (sizes[-1] - 1 if sizes else None)
    return None if good else "a restore names lost seals that it cannot have lost"


class Log:
    """The chains of a log, followed event by event in order of seq."""

    def __init__(self, whole, agent=None, after=None):
        self.whole, self.agent, self.after = whole, agent, after
        self.first_seq, self.next_seq, self.workspace, self.heads, self.hashes = None, None, None, {}, []
        self.pruned = 0  # events before this one may be there as leaves of the tree alone
        self.firsts = {}  # the first event of each agent, where it is here
        self.blanks, self.erasures, self.unnamed = [], [], 0  # events without details, and what accounts for them
        self.later, self.open = [], False  # erasures after the last event: (ranges, proved); whether others may follow
        self.keys = []  # (seq, details) of events that name a sealing key
        self.control = []  # events about rows of control.db
        self.epochs, self.lost = Epochs(), []  # its origins; the restores that name a kept seal as lost

    def add(self, canonical, details_text, salt, stored_hash):
        event, value = self.read(canonical, details_text, salt, stored_hash)
        seq, agent, place = event["seq"], event["agent_id"], event["agent_seq"]
        if self.next_seq is not None:
            good = seq == self.next_seq if self.whole else seq >= self.next_seq
            require(good, f"seq {seq}: expected {self.next_seq}")
        self.next_seq = seq + 1
        self.first_seq = seq if self.first_seq is None else self.first_seq
        require(self.whole or agent == self.agent, f"seq {seq}: another agent")
        first = (place - 1, event["previous_hash"]) if self.after is None else self.after
        before = self.heads.get(agent, first)
        require((place - 1, event["previous_hash"]) == before, f"seq {seq}: does not follow in its chain")
        require((place == 1) == (event["previous_hash"] == ZEROS), f"seq {seq}: a chain begins wrongly")
        genesis = (event["operation"], agent, place, event["result"]) == ("workspace.create", None, 1, "ok")
        require(genesis == (seq == 0), f"seq {seq}: the genesis is not where it belongs")
        if (event["operation"], agent, event["result"]) == ("log.restore", None, "ok"):
            said = load_json(details_text) if details_text else {}
            last = (seq - 1, self.hashes[-1] if self.hashes else None)
            named = (said.get("head_seq"), said.get("head_hash"))
            require(not (said and self.whole and self.hashes) or named == last, f"seq {seq}: restored from another log")
        self.note_epoch(event, details_text)
        if details_text is None:
            self.blanks.append(seq)
        elif (event["operation"], event["result"]) == ("data.erase", "ok"):
            self.erasures.append((seq, load_json(details_text)))
        self.heads[agent] = (place, value)
        if place == 1:
            self.firsts[agent] = seq
        self.hashes.append(value)
        return event

    def check_blanks(self, ends_early=False):
        """Every event without details must be named by a later erasure, or be counted by one of the older format."""
        blanks, named = set(self.blanks), []
        for seq, said in self.erasures:
            named += check_erasure(seq, said)
        if self.whole and self.first_seq is not None:
            positions = (seq for first, end in named for seq in range(max(first, self.first_seq), end + 1))
            restored = [seq for seq in positions if seq not in blanks]
            require(not restored, f"details that an erasure destroyed are there again, of seq {sorted(restored)[:5]}")
        covered = lambda seq, ranges: any(first <= seq <= end for first, end in ranges)
        sure = named + [one for ranges, proved in self.later if proved for one in ranges]
        unsure = [one for ranges, proved in self.later if not proved for one in ranges]
        unproved = [seq for seq in sorted(blanks) if not covered(seq, sure) and covered(seq, unsure)]
        missing = [seq for seq in sorted(blanks) if not covered(seq, sure + unsure)]
        older = [(seq, said) for seq, said in self.erasures if "erased" not in said]
        budget = 0
        for seq in reversed(missing):
            while older and older[-1][0] > seq:
                budget += older.pop()[1]["events"]
            if budget:
                budget, self.unnamed = budget - 1, self.unnamed + 1
        missing = missing[self.unnamed :]
        kind = Undetermined if ends_early or self.open else Tampered
        require(not missing, f"details are gone, and no erasure names the events: seq {missing[:5]}", kind)
        return unproved

    def read(self, canonical, details_text, salt, stored_hash):
        """An event by itself: its form, its hash, its details."""
        event = load_json(canonical)
        require(check_event(event) == canonical, "the bytes are not in canonical form")
        seq, value = event["seq"], sha256(b"\0", canonical)
        require(value == stored_hash, f"seq {seq}: the hash is not the one of the bytes")
        self.workspace = self.workspace or event["workspace_id"]
        require(event["workspace_id"] == self.workspace, f"seq {seq}: another workspace")
        require((details_text is None) == (salt is None), f"seq {seq}: details are half erased")
        if details_text is None:
            require(event["operation"] in ERASABLE, f"seq {seq}: details that nothing can erase are gone")
        else:
            require(re.fullmatch("[0-9a-f]{32}", salt), f"seq {seq}: not a salt")
            commitment = sha256(bytes.fromhex(salt), details_text.encode())
            require(commitment == event["details_commitment"], f"seq {seq}: details do not fit")
        return event, value

    def keep(self, canonical, details_text, salt, stored_hash):
        """An event from the pruned part of the log: it has to be the leaf of its place."""
        event, value = self.read(canonical, details_text, salt, stored_hash)
        seq, agent, place = event["seq"], event["agent_id"], event["agent_seq"]
        require(self.hashes[seq] == value, f"seq {seq}: not the leaf of its place in the tree")
        before = self.heads.get(agent, (0, ZEROS))
        require(place > before[0], f"seq {seq}: out of order in its chain")
        if place == before[0] + 1:
            require(event["previous_hash"] == before[1], f"seq {seq}: does not follow in its chain")
        self.heads[agent] = (place, value)
        self.note_epoch(event, details_text)
        return event

    def note_epoch(self, event, details_text):
        operation, own = event["operation"], (event["agent_id"], event["result"]) == (None, "ok")
        if own and operation in ("workspace.create", "seal.rotate_key", "log.restore"):
            self.epochs.note(event["seq"], operation, load_json(details_text))

    def check_origin(self, seal, whole=True):
        require(not self.epochs.is_foreign(seal, whole), "a seal is of another epoch: its origin was not in force at its size")

    def is_lost(self, seal, whole=True):
        """Whether a kept seal is of an earlier origin and named by a restore. One that is not named is a fork."""
        if not self.epochs.is_foreign(seal, whole):
            return False
        restore = self.epochs.naming(seal)
        why = self.restored_before(seal) or ": its origin was not in force at its size"
        require(restore is not None, "the log is not the one of the kept seal" + why)
        self.lost.append(restore)
        return True

    def check_lost(self, through):
        """What a restore says of kept seals counts only under a seal by a trusted key: others could have added it."""
        uncovered = [seq for seq in self.lost if through is None or seq > through]
        require(not uncovered, f"the restore at seq {uncovered} names the kept seal, and no seal by a trusted key covers the restore")

    def restored_before(self, seal):
        """A declared restore that does not name a kept seal excuses nothing."""
        over = [seq for seq, _ in self.epochs.restores if seq < seal.size]
        return f": it was restored from a backup at seq {over[0]}, and events are gone" if over else ""

    def summary(self):
        bodies = f", with bodies from seq {self.pruned} on" if self.pruned else ""
        epochs = f", {self.unnamed} erased, not named (older format)" if self.unnamed else ""
        for (seq, said), (_, origin) in zip(self.epochs.restores, self.epochs.origins[1:]):
            name = f", from there on sealed as {origin}" if "origin" in said else ""
            epochs += f", restored from a backup at seq {seq}{name}"
        if self.lost:
            epochs += f", {len(self.lost)} kept seals are over lost events and named at seq {sorted(set(self.lost))}"
        return f"{self.workspace}: {len(self.hashes)} events{bodies}, {len(self.heads)} chains{epochs}"


WHITE = " \t\r\n"
TIME = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,3})?Z"
FORMAT, OLDER = "governd.audit-export/2", "governd.audit-export/1"
COMMON = {"format", "workspace_id", "agent_id", "start_time", "end_time", "exported_at", "event_count", "proof", "seal",
          "public_key"}
OWN = {FORMAT: {"before", "after", "binding"}, OLDER: {"starts_after"}}
OPTIONAL = {FORMAT: {"erasures", "keys", "restores"}, OLDER: {"proof"}}


def is_count(value):
    return type(value) is int and 0 <= value < 2**53


def is_hash(value):
    return isinstance(value, str) and re.fullmatch("[0-9a-f]{64}", value) is not None


def is_hashes(value):
    return isinstance(value, list) and len(value) <= 128 and all(map(is_hash, value))


def has(value, *members):
    return isinstance(value, dict) and set(value) == set(members)


def check_header(header):
    """The members of a header and their types."""
    known = isinstance(header, dict) and isinstance(header.get("format"), str) and header["format"] in OWN
    require(known, "not an export of a known format", Undetermined)
    form = header["format"]
    members = COMMON | OWN[form]
    require(members - OPTIONAL[form] <= set(header) <= members | OPTIONAL[form], "the header has not the members of a header")
    texts = [header["workspace_id"], header["exported_at"]]
    texts += [header[name] for name in ("agent_id", "start_time", "end_time", "seal", "public_key") if header[name] is not None]
    good = all(isinstance(text, str) for text in texts) and is_count(header["event_count"])
    proof = header.get("proof")
    if form == OLDER:
        after = header["starts_after"]
        good &= after is None or (has(after, "agent_seq", "hash") and is_count(after["agent_seq"]) and is_hash(after["hash"]))
        good &= proof is None or has(proof, "path") or has(proof, "before", "after")
    else:
        good &= isinstance(header["after"], dict) and isinstance(header["binding"], dict)
        good &= header["before"] is None or isinstance(header["before"], dict)
        good &= proof is None or has(proof, "path", "binding") or has(proof, "before", "after", "binding")
    require(good and (proof is None or all(map(is_hashes, proof.values()))), "a member of the header has the wrong type")
    if "erasures" in header:
        check_erasures(header["erasures"])


def check_erasures(value):
    good = has(value, "events", "seal") and (value["seal"] is None or isinstance(value["seal"], str))
    good = good and isinstance(value["events"], list) and all(
        has(one, "event", "path") and isinstance(one["event"], dict) and (one["path"] is None or is_hashes(one["path"]))
        for one in value["events"]
    )
    require(good, "the erasures are not in order")


def is_text(text):
    """Whether all of it was UTF-8."""
    return not re.search("[\udc80-\udcff]", text)


def read_ndjson(lines):
    """The header, the events, and the trailer or why there is none."""
    try:
        header = load_json(lines[0])
        require(is_text(lines[0]) and header.pop("type") == "header", "no header", Undetermined)
    except (Tampered, ValueError):
        raise Undetermined("not an export: its first line cannot be read") from None
    check_header(header)
    require("erasures" not in header, "the header has not the members of a header")
    events = []
    for number, line in enumerate(lines[1:], 2):
        try:
            value = load_json(line)
        except ValueError:
            return header, events, "the export is incomplete, or a line cannot be read"
        if not isinstance(value, dict) or not is_text(line):
            return header, events, "a line of the export is no object"
        kind = value.get("type")
        require(kind in ("event", "trailer"), "a line is neither an event nor the trailer")
        if kind == "trailer":
            good = has({"erasures": 0, **value}, "type", "event_count", "head", "erasures") and is_count(value["event_count"])
            require(good and (value["head"] is None or is_hash(value["head"])), "the trailer is not in order")
            if "erasures" in value:
                check_erasures(value["erasures"])
                require(header["format"] == FORMAT, "the trailer is not in order")
            require(not "".join(lines[number:]).strip(WHITE), "something follows the trailer")
            return header, events, value
        del value["type"]
        events.append(value)
    return header, events, "the export is incomplete: its trailer is missing"


def read_document(text):
    """The members of a json export but its events; these; and why its end is missing, or None.

    It is read member by member and event by event, because an export that was cut off may be altered before that.
    """
    decoder = json.JSONDecoder(object_pairs_hook=no_duplicates, parse_constant=no_number)
    header, events, at = {}, [], 0

    def peek():
        nonlocal at
        while at < len(text) and text[at] in WHITE:
            at += 1
        return text[at : at + 1]

    def skip(expected):
        nonlocal at
        if peek() == "" or text[at] not in expected:
            raise ValueError("not JSON")
        at += 1
        return text[at - 1]

    def value():
        nonlocal at
        peek()
        found, end = decoder.raw_decode(text, at)
        require(is_text(text[at:end]), "this is not UTF-8", Undetermined)
        at = end
        return found

    def members():
        nonlocal at
        skip("{")
        named = set()
        while True:
            name = value()
            require(isinstance(name, str), "not JSON", Undetermined)
            require(name not in named, "a member is there twice")
            named.add(name)
            skip(":")
            if name != "events":
                header[name] = value()
            else:
                require("agent_id" in header, "the events stand before the agent_id", Undetermined)
                skip("[")
                more = peek() != "]" or skip("]") != "]"
                while more:
                    events.append(value())
                    more = skip(",]") == ","
            if skip(",}") == "}":
                return

    try:
        members()
    except Tampered:
        require(header.get("format") in OWN, "not an export", Undetermined)
        raise
    except (ValueError, RecursionError, Undetermined):
        return header, events, "not an export, or not all of it"
    require("format" in header, "not an export", Undetermined)
    check_header(header)
    require(not text[at:].strip(WHITE), "something follows the end of the export")
    return header, events, None


def check_export(text, trust):
    lines = text.split("\n")
    try:
        ndjson = "type" in json.loads(lines[0]).keys()
    except (ValueError, AttributeError):
        ndjson = False
    header, events, trailer = read_ndjson(lines) if ndjson else read_document(text)
    if isinstance(trailer, str):
        check_part(header, events)
        raise Undetermined(trailer)
    whole = header["agent_id"] is None
    bound = read_bound(header, "ndjson" if ndjson else "json") if header["format"] == FORMAT else None
    if bound:
        before = bound.before
        after = (before["agent_seq"], bound.before_hash) if before else (0, ZEROS)
    else:
        after = header["starts_after"]
        after = (after["agent_seq"], after["hash"]) if after else (0, ZEROS)
    log = Log(whole, header["agent_id"], None if whole else after)
    if whole and bound:
        log.next_seq = bound.before["seq"] + 1 if bound.before else 0
    elif whole and header["start_time"] is None:
        log.next_seq = 0
    bodies = feed(log, events)
    require(not events or log.workspace == header["workspace_id"], "another workspace than stated")
    require(header["event_count"] == len(events), "the number of events is wrong")
    if ndjson:
        require(trailer["event_count"] == len(events), "the number of events is wrong")
        require(trailer["head"] == (log.hashes[-1] if log.hashes else None), "another end than stated")
    if bound:
        check_bound(header, bound, bodies, log)
        said = check_bound_seal(header, bound, bodies, log, trust, (trailer if ndjson else header).get("erasures"))
        return f"{log.summary()}, {said}"
    ends_early = header["end_time"] is not None
    if not ends_early:
        log.check_blanks()
    check_window(header, [body["timestamp"] for body in bodies])
    said = check_export_seal(header, log, trust, bodies and bodies[-1]["agent_seq"])
    if ends_early:
        log.check_blanks(ends_early)
    return f"{log.summary()}, {said}"


def feed(log, events):
    """Adds events as they are shown; returns their bodies."""
    bodies = []
    for event in events:
        require(isinstance(event, dict) and {"details", "details_salt", "hash"} <= set(event), "not an event")
        bodies.append(log.add(*stored(event)))
    return bodies


def stored(shown):
    """The canonical bytes, the details, the salt and the hash of a shown event."""
    event = {**shown}
    try:
        details, salt, value = event.pop("details"), event.pop("details_salt"), event.pop("hash")
        text = None if details is None else jcs(details)
        (text or "").encode()  # no lone surrogates
        return check_event(event), text, salt, value
    except (ValueError, TypeError, KeyError, RecursionError):
        raise Tampered("not an event") from None


def check_part(header, events):
    """An export without its end: what is there must hold by itself."""
    agent = header.get("agent_id")
    log = Log(agent is None, agent)
    feed(log, events)


class Bound:
    """The event of an export, and the events on both sides of the exported ones."""

    def __init__(self, header):
        self.event, self.hash = Log(False).read(*stored(header["binding"]))
        self.said = header["binding"]["details"]
        self.after, self.before, self.before_hash = header["after"], header["before"], None
        self.after_hash = sha256(b"\0", check_event(self.after))
        if self.before is not None:
            self.before_hash = sha256(b"\0", check_event(self.before))


def is_edge(value):
    return value is None or (
        has(value, "seq", "agent_seq", "hash") and is_count(value["seq"]) and is_count(value["agent_seq"]) and is_hash(value["hash"])
    )


def read_bound(header, form):
    """Reads the event of an export and compares it with the header."""
    bound = Bound(header)
    event, said = bound.event, bound.said
    needed = {"format", "event_count", "first", "last", "tree_root"}
    good = (event["operation"], event["result"]) == ("audit.export", "ok") and isinstance(said, dict)
    require(good and needed <= set(said) <= needed | {"scope", "start_time", "end_time", "pruned_before"}, "it is not the event of an export")
    good = said.get("scope") == ("workspace" if event["agent_id"] is None else None) and is_count(said["event_count"])
    good &= is_edge(said["first"]) and is_edge(said["last"]) and is_hash(said["tree_root"]) and is_count(said.get("pruned_before", 0))
    require(good, "it is not the event of an export")
    own = [(event[name], header[name]) for name in ("workspace_id", "agent_id")]
    own += [(said.get(name), header[name]) for name in ("start_time", "end_time", "event_count")]
    own += [(event["timestamp"], header["exported_at"]), (said["format"], form)]
    require(all(one == other for one, other in own), "the event of the export describes another export")
    return bound


def check_bound(header, bound, bodies, log):
    """The events are those that the event of the export states, and there are no others in the window."""
    event, said, agent = bound.event, bound.said, header["agent_id"]
    edge = lambda at: {**{name: bodies[at][name] for name in ("seq", "agent_seq")}, "hash": log.hashes[at]} if bodies else None
    require((said["first"], said["last"]) == (edge(0), edge(-1)), "the events are not the ones that the event of the export states")
    beside = [bound.after] + ([bound.before] if bound.before else [])
    good = all(one["workspace_id"] == header["workspace_id"] and agent in (None, one["agent_id"]) for one in beside)
    previous, value = (bodies[-1], log.hashes[-1]) if bodies else (bound.before, bound.before_hash)
    if agent is None:
        good &= bound.after["seq"] == (previous["seq"] if previous else -1) + 1
    else:
        place = (previous["agent_seq"] + 1, value) if previous else (1, ZEROS)
        good &= (bound.after["agent_seq"], bound.after["previous_hash"]) == place
    at_end = bound.after["seq"] == event["seq"]
    good &= bound.after["seq"] <= event["seq"] and (not at_end or bound.after_hash == bound.hash)
    require(good, "the events before and after the exported ones are not the ones beside them")
    start, end = window_of(header)
    outside = lambda one: one["timestamp"] < start or one["timestamp"] >= end
    pruned = said.get("pruned_before", 0)
    require((bodies[0] if bodies else bound.after)["seq"] >= pruned, "the export holds events that were pruned")
    before_fits = bound.before is None or bound.before["seq"] < pruned or outside(bound.before)
    require(before_fits, "the event before the first one belongs to the export, and is not in it")
    require(at_end or outside(bound.after), "the event after the last one belongs to the export, and is not in it")
    require(not bodies or not outside(bodies[0]), "the first event is outside the header's times")
    require(not bodies or not outside(bodies[-1]), "the last event is outside the header's times")
    if agent is None and bodies and log.first_seq == 0 and len(bodies) == event["seq"]:
        root = tree_root(map(bytes.fromhex, log.hashes)).hex()
        require(root == said["tree_root"], "the log before the event of the export is not the one that it states")


def check_bound_seal(header, bound, bodies, log, trust, erasures):
    event, said, open_questions = bound.event, bound.said, []
    seal, keys = read_own_seal(header), []
    if "keys" in header:
        keys = read_key_chain(header["keys"], header["workspace_id"])
        last_key = header["public_key"] and read_key(header["public_key"])  # a restore gives it another name
        require(last_key == keys[-1], "the announcements of keys do not lead to the export's key")
    if "restores" in header:
        take_restores(header, log, seal)
    if seal is None:
        words, sealed = "unsealed: its holder could have made all of it", False
        if trust.keys:
            open_questions.append("the export has no seal for the given key")
    else:
        require(seal.size == event["seq"] + 1, "the export's seal does not end with the event of the export")
        check_bound_proof(header, bound, log, seal)
        words, sealed = check_own_seal(header, seal, trust, open_questions, keys)
    whole = header["start_time"] is None and header["end_time"] is None
    all_here = whole and header["agent_id"] is None and log.first_seq == 0
    shown = "restores" in header and is_trusted(header, log, trust, sealed, keys)
    if seal is not None:
        log.check_origin(seal, all_here or "restores" in header)
    is_log, last, proved = whole and header["agent_id"] is None, log.next_seq - 1 if bodies else event["seq"], None
    if sealed:
        proved = last
    run = log.hashes + [bound.after_hash]
    for anchor in trust.anchors:
        if anchor.workspace != header["workspace_id"]:
            open_questions.append("the kept seal is of another workspace")
        elif is_damaged(anchor, trust):
            open_questions.append("the kept seal is damaged: its signature is wrong")
        elif shown and log.is_lost(anchor, False):
            continue
        elif (all_here or (seal is not None and anchor.size == seal.size)) and log.is_lost(anchor, all_here):
            continue
        elif is_log and anchor.size > event["seq"] + 1:
            raise Tampered("the export ends before the kept seal does" + log.restored_before(anchor))
        elif header["agent_id"] is None and log.first_seq == 0 and anchor.size <= len(run if is_log else log.hashes):
            root = tree_root(map(bytes.fromhex, run[: anchor.size]))
            require(root == anchor.root, "the log is not the one of the kept seal" + log.restored_before(anchor))
            trust.note_witnesses(anchor, Undetermined)
            through = min(anchor.size - 1, last)
            proved = through if proved is None else max(proved, through)
        elif seal is not None and anchor.size == seal.size:
            same = (anchor.root, anchor.origin) == (seal.root, seal.origin)
            require(same, "the export's seal is not the kept one of the same size")
            trust.note_witnesses(anchor, Undetermined)
            proved = last
        else:
            open_questions.append("the kept seal is another one than the export was made under")
    log.check_lost(seal.size if shown else last if is_trusted(header, log, trust, sealed, keys) else None)
    open_questions += take_erasures(header, erasures, log, last, seal, trust.with_later(keys))
    unproved = log.check_blanks()
    if unproved:
        open_questions.append(f"no seal covers the erasure of details yet: seq {unproved[:5]}")
    require(not open_questions, "; ".join(open_questions), Undetermined)
    if proved is None:
        return f"{words}. {trust.unknown('no seal that could be checked says where the log ends')}"
    pruned = said.get("pruned_before", 0)
    if whole and not pruned:
        return f"{words}. Complete through event {proved if header['agent_id'] is None else event['seq'] - 1}, sealed"
    number = "seq" if header["agent_id"] is None else "agent_seq"
    held = f"events {bodies[0][number]} to {bodies[-1][number]}" if bodies else "no events"
    times = "" if whole else f", all from {header['start_time'] or 'the beginning'} until {header['end_time'] or 'the end'}"
    return f"{words}. Partial: {held}{times}" + (f"; events before event {pruned} were pruned" if pruned else "")


def take_restores(header, log, seal):
    """All restores of the log, which an export that does not hold all events shows beside them."""
    restores = header["restores"]
    good = isinstance(restores, list) and restores and all(
        has(one, "event", "path") and isinstance(one["event"], dict) and is_hashes(one["path"]) for one in restores
    )
    require(good, "the restores are not in order")
    keys, log.epochs, last = log.epochs.keys, Epochs(), -1
    for one in restores:
        event, value = Log(False).read(*stored(one["event"]))
        seq, said, path = event["seq"], one["event"]["details"], [bytes.fromhex(text) for text in one["path"]]
        good = (event["operation"], event["agent_id"], event["result"]) == ("log.restore", None, "ok") and said is not None
        good = good and event["workspace_id"] == header["workspace_id"] and last < seq and seal and seq < seal.size
        good = good and path_root(bytes.fromhex(value), seq, seal.size, path) == seal.root
        require(good, "a restore is not one of the sealed log")
        log.epochs.note(seq, event["operation"], said)
        last = seq
    log.epochs.keys = keys


def check_bound_proof(header, bound, log, seal):
    """The event of the export, the exported events and those on both sides are in the sealed log."""
    proof = {name: [bytes.fromhex(value) for value in values] for name, values in (header["proof"] or {}).items()}
    path = proof.get("binding", [])
    good = path_root(bytes.fromhex(bound.hash), bound.event["seq"], seal.size, path) == seal.root
    good = good and fold(path[::-1]).hex() == bound.said["tree_root"]
    if header["agent_id"] is None:
        leaves = ([bound.before_hash] if bound.before else []) + log.hashes + [bound.after_hash]
        start = bound.after["seq"] + 1 - len(leaves)
        try:
            root = range_root(start, [bytes.fromhex(leaf) for leaf in leaves], seal.size, proof["before"], proof["after"])
        except (ValueError, KeyError):
            root = None
    else:
        known = bound.after["seq"] < seal.size and "path" in proof
        root = path_root(bytes.fromhex(bound.after_hash), bound.after["seq"], seal.size, proof["path"]) if known else None
    require(good and root == seal.root, "the events are not the ones that were sealed")


def take_erasures(header, erasures, log, last, own, keys):
    """Erasures after the last event, which account for details that are missing; returns open questions."""
    if erasures is None:
        return []
    try:
        seal = erasures["seal"] and Seal(erasures["seal"])
    except (ValueError, Undetermined):
        raise Tampered("the seal over the erasures is not in order") from None
    require(not seal or seal.workspace == header["workspace_id"], "the seal over the erasures is of another workspace")
    keys = keys or ([read_key(header["public_key"])] if header["public_key"] else [])
    signed = bool(seal and own and seal.signed_by_any(keys))
    for one in erasures["events"]:
        event, value = Log(False).read(*stored(one["event"]))
        details = one["event"]["details"]
        good = (event["operation"], event["result"]) == ("data.erase", "ok") and log.hashes and event["seq"] > last
        good = good and event["workspace_id"] == header["workspace_id"] and header["agent_id"] in (None, event["agent_id"])
        require(good, "an erasure is not one of this log after the last event")
        check_erasure(event["seq"], details)
        included = False
        if seal and one["path"] is not None:
            path = [bytes.fromhex(value) for value in one["path"]]
            included = event["seq"] < seal.size and path_root(bytes.fromhex(value), event["seq"], seal.size, path) == seal.root
            require(included, "an erasure is not in the sealed log")
        if "erased" in details:
            log.later.append((details["erased"], included and signed))
        elif included and signed:
            log.erasures.append((event["seq"], details))
        else:
            log.open = True
    return []


def check_erasure(seq, said):
    """The ranges of positions that an erasure names; none in the older format."""
    require(is_count(said.get("events")), f"seq {seq}: not the details of an erasure")
    if "erased" not in said:
        return []
    ranges, last = said["erased"], -1
    good = isinstance(ranges, list) and all(isinstance(one, list) and len(one) == 2 and all(map(is_count, one)) for one in ranges)
    require(good, f"seq {seq}: not the positions of an erasure")
    for first, end in ranges:
        require(last < first <= end < seq, f"seq {seq}: not the positions of an erasure")
        last = end
    positions = sum(end - first + 1 for first, end in ranges)
    require(positions == said["events"], f"seq {seq}: not the positions of an erasure")
    return ranges


def comparable(time):
    seconds, _, decimals = time[:-1].partition(".")
    return f"{seconds}.{decimals:0<3}Z"


def window_of(header):
    """The start and the end time of an export, in the form of events."""
    start, end = header["start_time"], header["end_time"]
    good = all(time is None or re.fullmatch(TIME, time, re.ASCII) for time in (start, end))
    require(good, "the start or end time is not a time")
    return "" if start is None else comparable(start), "~" if end is None else comparable(end)


def check_window(header, times):
    """The edges of an export of the older format. The order of events is the log's: the clock may step back."""
    first_is_named = header["starts_after"] is not None
    window_of_agent = header["start_time"] is not None and header["agent_id"] is not None and times
    require(not first_is_named or window_of_agent, "an event before the first one is named, which only a window of an agent has")
    start, end = window_of(header)
    if times:
        first, last = times[0], times[-1]
        require(start <= first < end, "the first event is outside the header's times")
        require(last < end and (start <= last or first == start), "the last event is outside the header's times")


def read_own_seal(header):
    """The seal that an export carries; the key that came with it must have signed it."""
    if header["seal"] is None:
        require(header.get("proof") is None and header["public_key"] is None, "there is a proof or a key, and no seal")
        return None
    try:
        seal, key = Seal(header["seal"]), header["public_key"] and read_key(header["public_key"])
    except (ValueError, Undetermined):
        raise Tampered("the seal or its key is not in order") from None
    require(not key or seal.signed_by(key), "the key that came with the seal did not sign it")
    return seal


def check_own_seal(header, seal, trust, open_questions, keys=()):
    """What is known of an export's seal, in words, and whether a given key signed it."""
    try:
        return seal.check(header["workspace_id"], trust, keys), bool(trust.keys)
    except Undetermined as question:
        open_questions.append(str(question))
        return str(question), False


def is_trusted(header, log, trust, sealed, keys=()):
    """Whether a given key leads to the export's seal, or without one the key that the genesis names."""
    if trust.keys or not header["public_key"]:
        return sealed
    first = keys[0] if keys else read_key(header["public_key"])
    return [(0, sha256(first))] == [key for key in log.epochs.keys if key[0] == 0]


def check_export_seal(header, log, trust, last_agent_seq):
    """The seal of an export of the older format, the kept ones, and what they say about events that are not here."""
    whole = header["start_time"] is None and header["end_time"] is None
    is_log, open_questions = whole and header["agent_id"] is None, []
    count = len(log.hashes)
    seal, proved = read_own_seal(header), None
    if seal is None:
        said = "unsealed: its holder could have made all of it"
        if trust.keys:
            open_questions.append("the export has no seal for the given key")
    else:
        require(not is_log or seal.size <= count, f"the export ends before event {seal.size - 1}, the last one under its seal")
        check_connection(header, log, seal)
        said, sealed = check_own_seal(header, seal, trust, open_questions)
        proved = log.next_seq - 1 if count and sealed else None
        log.check_origin(seal, is_log)
    trusted = seal is not None and is_trusted(header, log, trust, proved is not None)
    for anchor in trust.anchors:
        through = compare_anchor(anchor, header, log, seal, trust, open_questions)
        proved = through if proved is None else max(proved, through or 0)
    log.check_lost(log.next_seq - 1 if count and trusted else None)
    if not count and not (is_log and seal and seal.size == 0):
        open_questions.append("the export holds no events, and nothing proves that there were none")
    require(not open_questions, "; ".join(open_questions), Undetermined)
    if proved is None:
        return f"{said}. {trust.unknown('no seal that could be checked says where the log ends')}"
    if not whole:
        return f"{said}. {trust.unknown('nothing binds the window of an export of the older format')}"
    if is_log or (seal and seal.size == log.next_seq):
        return f"{said}. Complete through event {proved}, sealed"
    return f"{said}. {trust.unknown(f'nothing proves that the agent has no events after event {log.next_seq - 1}')}"


def check_connection(header, log, seal):
    """The proof of an export of the older format leads from the events to the seal."""
    leaves, proof = [bytes.fromhex(value) for value in log.hashes], header.get("proof") or {}
    parts = {name: [bytes.fromhex(value) for value in values] for name, values in proof.items()}
    if not leaves:
        require(seal.size > 0 or seal.root == fold([]), "the seal is not one of a log without events")
    elif header["agent_id"] is None:
        try:
            root = range_root(log.first_seq, leaves, seal.size, parts["before"], parts["after"])
        except (ValueError, KeyError):
            root = None
        require(root == seal.root, "the events are not the ones that were sealed")
    else:
        last = log.next_seq - 1
        root = path_root(leaves[-1], last, seal.size, parts.get("path", [])) if last < seal.size else None
        require(root == seal.root, "the last event is not in the sealed log")


def utc(seconds):
    """A time as text; years beyond 9999 have none."""
    return datetime.fromtimestamp(min(seconds, 253402300799), timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


def is_damaged(anchor, trust):
    """Whether a kept seal has a wrong signature of a given key."""
    try:
        return anchor.signed_by_any(trust.keys) and False
    except Tampered:
        return True


def compare_anchor(anchor, header, log, seal, trust, open_questions):
    """Compares a kept seal with an export; returns the last event here that it covers."""
    count = len(log.hashes)
    is_log = header["agent_id"] is None and header["start_time"] is None and header["end_time"] is None
    if anchor.workspace != header["workspace_id"]:
        open_questions.append("the kept seal is of another workspace")
    elif is_damaged(anchor, trust):
        open_questions.append("the kept seal is damaged: its signature is wrong")
    elif (is_log or (seal is not None and anchor.size == seal.size)) and log.is_lost(anchor, is_log):
        return None
    elif header["agent_id"] is None and log.first_seq == 0 and anchor.size <= count:
        root = tree_root(map(bytes.fromhex, log.hashes[: anchor.size]))
        require(root == anchor.root, "the log is not the one of the kept seal")
        trust.note_witnesses(anchor, Undetermined)
        return anchor.size - 1 if anchor.size else None
    elif is_log:
        raise Tampered("the export ends before the kept seal does" + log.restored_before(anchor))
    elif seal is None or seal.size != anchor.size:
        open_questions.append("the kept seal is another one than the export was made under")
    else:
        same = (anchor.root, anchor.origin) == (seal.root, seal.origin)
        require(same, "the export's seal is not the kept one of the same size")
        trust.note_witnesses(anchor, Undetermined)
        return log.next_seq - 1 if count else None
    return None


def check_receipt(text, trust):
    head, _, seal = text.partition("\n\n")
    lines, seal = head.split("\n"), Seal(seal)
    require(lines[1].startswith("extra ") and lines[2].startswith("index "), "not a receipt", Undetermined)
    extra, index = load_json(unbase64(lines[1][6:]).decode()), int(lines[2][6:])
    chain = extra.pop("keys", None)
    if "leaf" in extra:  # the exact texts that are hashed
        require(has(extra, "leaf", "details", "details_salt"), "not a receipt", Undetermined)
        leaf, details, salt = extra["leaf"].encode(), extra["details"], extra["details_salt"]
        require(details is None or jcs(load_json(details)) == details, "not a receipt", Undetermined)
        value = sha256(b"\0", leaf)
    else:
        leaf, details, salt, value = stored(extra)
    log = Log(False, load_json(leaf)["agent_id"])
    event = log.add(leaf, details, salt, value)
    path = [unbase64(line, 32) for line in lines[3:]]
    root = path_root(bytes.fromhex(value), index, seal.size, path)
    require(index == event["seq"] and root == seal.root, "the proof does not lead from the event to the seal")
    keys = [] if chain is None else read_key_chain(chain, log.workspace)
    require(not keys or seal.signed_by(keys[-1]), "the announcements of keys do not lead to the receipt's seal")
    require(trust.keys, "a receipt is checked with the public key: give it with --public-key", Undetermined)
    said = seal.check(log.workspace, trust, keys)
    return f"{log.workspace}: event {index}, {said}. Partial: event {index} of {seal.size}"


def log_header(path):
    """The header of the write-ahead log beside a database; None without one."""
    try:
        with open(f"{path}-wal", "rb") as log:
            return log.read(32) or None
    except FileNotFoundError:
        return None


def copy_once(path, target):
    """Copies a database and its log. False when a daemon wrote so that the copies may not fit together.

    A log takes precedence over the database, so the copies fit while the log has the same header: a log that is begun
    again has another one. Without a log, the database itself must stay as it is.
    """
    log = Path(f"{target}-wal")
    log.unlink(missing_ok=True)
    header, before = log_header(path), path.stat()
    shutil.copy(path, target)
    if header is not None:
        try:
            shutil.copy(f"{path}-wal", log)
        except FileNotFoundError:
            return False
        return log_header(target) == header == log_header(path)
    after = path.stat()
    same = (before.st_ino, before.st_size, before.st_mtime_ns) == (after.st_ino, after.st_size, after.st_mtime_ns)
    return same and log_header(path) is None


@contextlib.contextmanager
def copied(path):
    """A copy of a database, opened: the evidence itself is not opened."""
    path = path.resolve()  # the log is beside the file itself, not beside a link to it
    with tempfile.TemporaryDirectory() as scratch:
        target = Path(scratch, "evidence.db")
        for attempt in range(20):
            if copy_once(path, target):
                break
            time.sleep(0.05)
        else:
            raise Undetermined("the file is written to so often that no consistent copy could be made: try again")
        db = sqlite3.connect(target)
        try:
            yield db
        except sqlite3.Error as error:
            raise Undetermined(f"not a database of governd ({error})") from None
        finally:
            db.close()


def check_workspace(path, trust, logs=None, seals=None):
    """`seals`: the file of seals beside the databases. It is read before the database, so it is not ahead of it."""
    filed = seals.read_bytes().decode(errors="surrogateescape") if seals and seals.exists() else ""
    with copied(path) as db:
        said = check_database(db, trust, [] if logs is None else logs, filed)
        return said + trust.require_witnesses()


# SHA-256 over the sorted objects of the schema (type, name, table, text, with 0 behind each): for each number that the
# file gives its schema, and for derived data, which is there only where it is needed.
SCHEMAS = {
    1: "36f92905cb743828c308becee5c68c5740d235e14dd54d74c63bf322cab811e8",
    2: "87bb5ec0e845cf2d3419b664b0ffefd6d4c81711c9d728410ab7cf0405a05c33",
    3: "87bb5ec0e845cf2d3419b664b0ffefd6d4c81711c9d728410ab7cf0405a05c33",
}
DERIVED = {
    "entries_by_age": "dc2ab4a6a82f4ac6880124c2edfe90693f2ae372a0104b065c48c7772b55d0ac",
    "search_(agents|rows|rows_by_key|terms|texts(_.*)?)": "0ba8c5887abd79dd5450fddabe95d53a93be4ecc2d4526d24f8476c2b84ce718",
    "(sqlite_autoindex_)?search_(vectors.*|embedding)": "0a5fbcf72e46faa37c52afba97c5c55376eb66bcd800f461ab618b0ac62089ae",
}
OWN_TABLES = {  # that SQLite makes for itself
    "CREATE TABLE sqlite_stat1(tbl,idx,stat)",
    "CREATE TABLE sqlite_stat4(tbl,idx,neq,nlt,ndlt,sample)",
    "CREATE TABLE sqlite_sequence(name,seq)",
}


def check_schema(db, schemas=SCHEMAS):
    """The schema must be the one that governd makes, and every index must hold what its table holds."""
    rows = [row for row in db.execute("SELECT type, name, tbl_name, sql FROM sqlite_schema") if row[3] not in OWN_TABLES]
    version = db.execute("PRAGMA user_version").fetchone()[0]
    require(version <= max(schemas), "a newer governd wrote this file", Undetermined)
    groups = {}
    for row in rows:
        group = next((form for form in DERIVED if re.fullmatch(form, row[1])), None)
        groups.setdefault(group, []).append("".join(f"{value or ''}\0" for value in row))
    for group, objects in groups.items():
        expected = schemas.get(version) if group is None else DERIVED[group]
        require(sha256("".join(sorted(objects)).encode()) == expected, "the schema was changed: an object of it is missing, added or has another text")
    require(schemas is not SCHEMAS or version > 2 or "entries_by_age" in groups, "the schema was changed: index entries_by_age is missing")
    for kind, name, _, sql in rows:
        if kind != "table" or sql.startswith("CREATE VIRTUAL TABLE") or name.startswith("search_texts_"):
            continue
        for (message,) in db.execute(f"PRAGMA integrity_check('{name}')"):
            about_rows = re.search(r" index \S+$| value in \S+$|^CHECK constraint", message)
            require(message == "ok", f"table {name}: {message}", Tampered if about_rows else Undetermined)


def check_database(db, trust, logs, filed=""):
    known = db.execute("SELECT 1 FROM sqlite_schema WHERE name IN ('events', 'head', 'agents')").fetchone()
    require(known, "this database is no workspace of governd", Undetermined)
    check_schema(db)
    log, history = Log(True), []
    log.pruned = log.next_seq = pruned_before(db)
    log.hashes = [leaf.hex() for leaf in leaves_before(db, log.pruned)]
    prunings = [0]
    rows = db.execute("SELECT seq, CAST(body AS BLOB), hash, details, details_salt FROM events ORDER BY seq")
    for seq, body, value, details, salt in rows:
        event = (log.keep if 0 <= seq < log.pruned else log.add)(body, details, salt, value)
        require(event["seq"] == seq, f"seq {seq}: the row has another number")
        operation, result = event["operation"], event["result"]
        if result not in ("ok", "allowed"):
            continue
        if operation in EFFECTS:
            history.append((event, details and load_json(details)))
        if details is None:
            continue
        said = load_json(details)
        require(jcs(said) == details, f"seq {seq}: details are not canonical")
        if event["agent_id"] is None and (operation in CONTROL_OPERATIONS or operation == "log.restore"):
            log.control.append(ControlEvent(event, said))
        if operation in ("workspace.create", "seal.rotate_key") or (operation == "log.restore" and "origin" in said):
            log.keys.append((seq, said))
        if operation == "audit.prune":
            prunings.append(said["before_seq"])
            trust.prunings.append((said["before_seq"], said["export_digest"]))
    head = db.execute("SELECT one, workspace_id, format, seq, hash FROM head").fetchall()
    require(log.hashes, "the log is empty", Tampered if head else Undetermined)
    log.first_seq = log.pruned
    log.check_blanks()
    require(max(prunings) == log.pruned, "no event says that the beginning of the log was pruned")
    last = (1, log.workspace, "governd.audit/1", len(log.hashes) - 1, log.hashes[-1])
    require(head == [last], "the log does not end at its head")
    check_rows(db, log, history)
    for seq, said in log.epochs.restores:
        last = said.get("last_seal")
        if last and last["size"] <= seq:
            root = tree_root(map(bytes.fromhex, log.hashes[: last["size"]])).hex()
            require(root == last["root"], f"seq {seq}: the last seal that the restore names is not of this log")
    anchors = trust.anchor(log)
    logs.append(log)
    said, by_key = check_stored_seals(db, log, trust, filed)
    covered = [seal.size - 1 for seal in anchors if seal.size] + ([] if by_key is None else [by_key])
    if not covered:
        return f"{log.summary()}, {said}. {trust.unknown('no seal that could be checked says where the log ends')}"
    if log.pruned:
        return f"{log.summary()}, {said}. Partial: events {log.pruned} to {max(covered)}; those before were pruned"
    return f"{log.summary()}, {said}. Complete through event {max(covered)}, sealed"


EFFECTS = {"data.write", "data.delete", "data.delete_prefix", "data.expire", "config.update", "config.rollback",
           "checkpoint.create", "checkpoint.delete", "checkpoint.restore"}


def json_digest(build):
    """The digest of stored JSON. Text that is no JSON has none: it was changed."""
    try:
        return sha256(jcs(build()).encode())
    except (ValueError, TypeError):
        return None


def check_rows(db, log, history):
    """The rows beside the events must be those that the events leave."""
    agents = dict(db.execute("SELECT first_seq, agent_id FROM agents"))
    by_seq = {event["seq"]: (event, said) for event, said in history}
    check_agent_rows(db, log)
    check_tiles(db, log.hashes)
    check_configs(db, agents, history)
    check_checkpoints(db, log, agents, history)
    check_entries(db, agents, by_seq)
    if log.pruned == 0:
        check_entry_sets(db, agents, history)


def check_agent_rows(db, log):
    rows = db.execute("SELECT agent_id, head_seq, head_hash, first_seq FROM agents").fetchall()
    require(len(rows) == len(log.heads), "the row of an agent is missing or added")
    for agent, place, value, first in rows:
        require(log.heads.get(agent) == (place, value), "the row of an agent does not name the end of its chain")
        require(log.firsts.get(agent, first) == first, "the row of an agent does not name its first event")
    counted = db.execute("SELECT first_seq FROM agents a WHERE live_entries !="
                         " (SELECT count(*) FROM entries WHERE agent = a.first_seq AND live_to IS NULL)").fetchall()
    require(not counted, "an agent's count of entries is not the number of its present entries")


def check_tiles(db, hashes):
    """Full tiles of every level, and above the leaves the one that is filling."""
    expected, level, nodes = {}, 0, [bytes.fromhex(value) for value in hashes]
    while nodes:
        parts = [nodes[at : at + 256] for at in range(0, len(nodes), 256)]
        for tile, part in enumerate(parts):
            if level > 0 or len(part) == 256:
                expected[level, tile] = b"".join(part)
        level, nodes = level + 1, [tree_root(part) for part in parts if len(part) == 256]
    stored = {(level, tile): bytes(value) for level, tile, value in db.execute("SELECT level, tile, hashes FROM tiles")}
    require(stored == expected, "the stored tree is not the one of the events")


def check_configs(db, agents, history):
    made = {}
    for event, said in history:
        if said and event["operation"] in ("config.update", "config.rollback", "checkpoint.restore"):
            version = said.get("config_version" if event["operation"] == "checkpoint.restore" else "version")
            if version is not None:
                made[event["seq"]] = (event["agent_id"], version, said["config_digest"], said.get("rolled_back_from"))
    for agent, version, config, seq, source in db.execute(
        "SELECT agent, version, config, created_seq, rolled_back_from FROM configs"
    ):
        digest = json_digest(lambda: load_json(config))
        row = (agents.get(agent), f"v{version}", digest, None if source is None else f"v{source}")
        require(agent in agents and made.pop(seq, None) == row, f"a stored config is not what event {seq} made")
    require(not made, f"config versions are missing, of seq {sorted(made)[:5]}")


def check_checkpoints(db, log, agents, history):
    made = {}
    for event, said in history:
        seq, agent, operation = event["seq"], event["agent_id"], event["operation"]
        if not said or not operation.startswith("checkpoint."):
            continue
        version = event["config_version"] and int(event["config_version"][1:])
        if operation == "checkpoint.create":
            made[said["checkpoint_id"]] = (
                *(agent, seq, seq, version, said["entry_count"], said["label"], jcs(said["metadata"])),)
        elif operation == "checkpoint.restore":
            made[said["safety_checkpoint_id"]] = (agent, seq - 1, seq, version, said["safety_entry_count"], None, "{}")
        else:
            made.pop(said["checkpoint_id"], None)
    for name, agent, *row in db.execute(
        "SELECT id, agent, as_of_seq, event_seq, config_version, entry_count, label, metadata FROM checkpoints"
    ):
        said = made.pop(name, None)
        require(agent in agents and said == (agents[agent], *row), "a stored checkpoint is not what its event made")
    require(not made or log.pruned, "a checkpoint is missing")


def check_entries(db, agents, by_seq):
    """Each stored version by itself: what it holds, where its key began, and from when to when it was present."""

    def is_of(seq, agent, operations):
        event, said = by_seq.get(seq, ({}, None))
        known = agent in agents and event.get("agent_id") == agents[agent] and event["operation"] in operations
        return said if known else None

    for agent, key, value, metadata, written, created, begin, end, created_at, updated_at in db.execute(
        "SELECT agent, key, value, metadata, written_seq, created_seq, live_from, live_to, created_at, updated_at FROM entries"
    ):
        digest = json_digest(lambda: {"key": key, "metadata": load_json(metadata), "value": load_json(value)})
        said = is_of(written, agent, ["data.write"])
        good = said and said["key"] == key and said["value_digest"] == digest
        require(good, f"a stored entry is not what event {written} wrote")
        first = is_of(created, agent, ["data.write"])
        require(first and first["key"] == key and created <= written, f"event {created} did not create the entry's key")
        times = tuple(moment(by_seq[seq][0]["timestamp"]) for seq in (created, written))
        require((created_at, updated_at) == times, "a stored entry has another time than its event")
        restored = begin > written and is_of(begin, agent, ["checkpoint.restore"])
        require(begin == written or restored, f"event {begin} neither wrote nor restored a stored entry")
        ends = end is not None and is_of(end, agent, ["data.write", "data.delete", "data.delete_prefix", "checkpoint.restore"])
        about = ends and ends.get("key", key) == key and key.startswith(ends.get("prefix", ""))
        require(end is None or (about and end > begin), f"event {end} could not end a stored entry")


def check_entry_sets(db, agents, history):
    """All versions of each agent whose log says exactly which there are: not after expiries and restores."""
    states, checkpoints, unsure = {}, {}, set()
    for event, said in history:
        agent, seq, operation = event["agent_id"], event["seq"], event["operation"]
        present, ended = states.setdefault(agent, ({}, []))

        def end(key):
            if key in present:
                ended.append((key, *present.pop(key), seq))

        if operation == "data.expire" or (operation == "data.delete_prefix" and said is None):
            unsure.add(agent)
        elif operation == "checkpoint.restore" and (not said or said["entries_restored"] + said["entries_removed"]):
            unsure.add(agent)
        elif said is None:
            continue  # an erased key has no stored entry
        elif operation == "data.write":
            created = present[said["key"]][1] if said["key"] in present else seq
            end(said["key"])
            present[said["key"]] = (seq, created, seq)
        elif operation == "data.delete":
            end(said["key"])
        elif operation == "data.delete_prefix":
            for key in [key for key in present if key.startswith(said["prefix"])]:
                end(key)
    for first, position in db.execute("SELECT agent, as_of_seq FROM checkpoints"):
        checkpoints.setdefault(agents.get(first), []).append(position)
    for first, config in db.execute("SELECT agent, config FROM configs"):
        if "retention_days" in config:
            unsure.add(agents.get(first))
    stored = {}
    for first, *version in db.execute("SELECT agent, key, written_seq, created_seq, live_from, live_to FROM entries"):
        stored.setdefault(agents.get(first), []).append(tuple(version))
    for agent, (present, ended) in states.items():
        seen = [one for one in ended if any(one[3] <= at < one[4] for at in checkpoints.get(agent, []))]
        left = [(key, *version, None) for key, version in present.items()] + seen
        same = sorted(map(repr, left)) == sorted(map(repr, stored.get(agent, [])))
        require(agent in unsure or same, "the stored entries of an agent are, as a whole, not those that the log leaves")


def pruned_before(db):
    """The first position that a pruned log still has, as its own events state it; they are checked with all others."""
    said = db.execute("SELECT details FROM events WHERE operation = 'audit.prune' AND agent_id IS NULL")
    return max([load_json(details)["before_seq"] for (details,) in said if details is not None], default=0)


def leaves_before(db, size):
    """The leaf hashes of the pruned events, read from the tiles of the tree."""
    for tile in range(size // 256):
        row = db.execute("SELECT hashes FROM tiles WHERE level = 0 AND tile = ?", (tile,)).fetchone()
        require(row is not None and len(row[0]) == 256 * 32, f"tile {tile} of the tree is gone")
        yield from (row[0][at : at + 32] for at in range(0, 256 * 32, 32))


def all_seals(db, tables, filed):
    """The stored seals, and those of the file of seals that are not stored, in the order in which they are compared."""
    rows = db.execute("SELECT size, note FROM seals ORDER BY id").fetchall() if "seals" in tables else []
    stored = [(size, Seal(note)) for size, note in rows]
    require(all(seal.size == size for size, seal in stored), "a stored seal has another size than its row")
    known = {seal.text for _, seal in stored}
    notes, rest = split_seals(filed)
    # A crash may cut the last record. It is stored, too, because a seal is stored before it is filed.
    cut_off = any(note.encode().startswith(rest.encode(errors="surrogateescape")) for _, note in rows)
    require(not rest or cut_off, "the file of seals ends with something that is no seal, and is not the beginning of a stored one")
    merged = [seal for _, seal in stored]
    at = 0
    for seal in (seal for seal in map(Seal, notes) if seal.text not in known):
        while at < len(merged) and merged[at].size <= seal.size:
            at += 1
        merged.insert(at, seal)
        at += 1
    return merged


def check_stored_seals(db, log, trust, filed):
    """The seals of a log. Trust passes from the given key to every key that the log names under a seal by a trusted one."""
    tables = {name for (name,) in db.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")}
    seals = all_seals(db, tables, filed)
    stored_keys = read_stored_keys(db, log) if "seal_keys" in tables else {}
    require(seals or not trust.keys, "there is no seal for the given key", Undetermined)
    keys = {sha256(key): key for key in [*stored_keys.values(), *trust.keys]}
    from_size = {}  # from which size on a key that the log names may sign
    for seq, said in log.keys:
        from_size.setdefault(said.get("signing_key"), seq + 1 if seq else 0)
    trusted = {sha256(key) for key in trust.keys} or {said.get("signing_key") for seq, said in log.keys if seq == 0}
    through, by_key, own = None, None, False  # the last event under any seal, and under one by a trusted key; whether by a given one
    for seal in seals:
        size = seal.size
        require(through is None or size > through, "the seals are not in order")
        require(seal.workspace == log.workspace, "a seal is of another workspace")
        require(size <= len(log.hashes), "the log is shorter than a seal of it")
        root = tree_root(map(bytes.fromhex, log.hashes[:size]))
        require(root == seal.root, f"the first {size} events are not the ones that were sealed")
        log.check_origin(seal)
        through = size - 1
        trust.note_witnesses(seal)
        able = [name for name in trusted | set(from_size) if from_size.get(name, 0) <= size]
        signers = {name for name in able if name in keys and seal.signed_by(keys[name])}
        known = signers or not from_size or any(name not in keys for name in able)
        require(known, f"the seal over {size} events is signed by no key that this log names")
        if signers & trusted:
            by_key, own = through, bool(signers & {sha256(key) for key in trust.keys})
            trusted |= {name for name, start in from_size.items() if start <= size}
    log.check_lost(by_key)
    if through is None:
        return "unsealed: its holder could have made all of it", None
    if not trust.keys:
        return f"sealed through seq {through} (by whom is not checked: no --public-key)", None
    require(by_key is not None, not_their_key(trust, set(from_size)), Undetermined)
    return f"sealed with {'the given key' if own else 'a key that the given key leads to'} through seq {by_key}", by_key


def read_stored_keys(db, log):
    """The stored keys by the position of the event that names each."""
    found = dict(db.execute("SELECT announced_seq, verifier_key FROM seal_keys"))
    require(set(found) == {seq for seq, _ in log.keys}, "a sealing key is missing, or is stored and no event names it")
    for seq, said in log.keys:
        try:
            key = read_key(found[seq])
        except (ValueError, TypeError, AttributeError, Undetermined):
            raise Tampered(f"seq {seq}: the stored sealing key is damaged") from None
        same = (sha256(key), found[seq].split("+")[0]) == (said.get("signing_key"), said.get("origin"))
        require(same, f"seq {seq} names another sealing key than the stored one")
        found[seq] = key
    return found


# SHA-256 over the schema of control.db, for each of its numbers, as above.
CONTROL_SCHEMAS = {
    1: "52c7a02bd631b0c882427bac2ce810adbb13252f86acca1ece265c39739d0438",
    2: "3d75138ebb70b22b5365843942d760c4db009da465e924e8191f845603c57243",
    3: "8b160d6b9b2be7351e9326ee777ec988f9ab9e71d8c692a312533aa401c80560",
}
KEY_COLUMNS = "workspace_id digest label scope agents created_at created_by expires_at revoked_at revoked_by replaced_by"
LINK_COLUMNS = "kind digest workspace_id role account_id drops_totp label created_at created_by expires_at used_at used_by revoked_at"
COVERED = {  # the columns of control.db that events cover
    "workspaces": "id name created_by",
    "api_keys": "id " + KEY_COLUMNS,
    "members": "workspace_id account_id role joined_at",
    "links": "id " + LINK_COLUMNS,
}
SOME = object()  # in a column that an event states: anything but NULL


def moment(value):
    """A time as control.db stores it, in milliseconds; None and what is not stated stay."""
    return round(datetime.fromisoformat(value.replace("Z", "+00:00")).timestamp() * 1000) if isinstance(value, str) else value


def control_changes(event, said):
    """The rows of control.db that an event states: (table, id, kind, columns, columns that were NULL before)."""
    operation, actor, workspace = event["operation"], event["actor"], event["workspace_id"]

    def columns(names, **others):
        stated = {name: said[name] for name in names.split() if name in said} | others
        return {name: moment(value) if name.endswith("_at") else value for name, value in stated.items()}

    account = said.get("account_id")
    link = said.get("invitation_id")
    if operation == "workspace.create":
        yield "workspaces", workspace, "add", columns("name", created_by=actor), ()
        if actor.startswith("usr_"):  # a person owns the workspace that they create
            yield "members", actor, "add", {"role": "owner"}, ()
    elif operation in ("key.create", "key.rotate"):
        if operation == "key.rotate":
            old = {"replaced_by": said.get("key_id"), "expires_at": moment(said.get("replaced_expires_at"))}
            yield "api_keys", said.get("replaces"), "set", old, ("replaced_by", "revoked_at")
        none = dict.fromkeys(("revoked_at", "revoked_by", "replaced_by"))
        key = columns("label scope agents created_at expires_at", workspace_id=workspace, created_by=actor, **none)
        if isinstance(key.get("agents"), list):
            key["agents"] = json.dumps(key["agents"], separators=(",", ":"), ensure_ascii=False)
        if "key_digest" in said:
            key["digest"] = said["key_digest"]
        yield "api_keys", said.get("key_id"), "add", key, ()
    elif operation == "key.revoke":
        columns_now = {"revoked_at": SOME, "revoked_by": actor} | columns("revoked_at")
        yield "api_keys", said.get("key_id"), "set", columns_now, ("revoked_at",)
    elif operation == "member.invite":
        none = dict.fromkeys(("account_id", "used_at", "used_by", "revoked_at"))
        row = columns("role label created_at expires_at", kind="invitation", workspace_id=workspace, drops_totp=0, created_by=actor, **none)
        if "link_digest" in said:
            row["digest"] = said["link_digest"]
        yield "links", link, "add", row, ()
    elif operation == "member.uninvite":
        yield "links", link, "put", {"revoked_at": SOME} | columns("revoked_at"), ("used_at", "revoked_at")
    elif operation == "member.join":
        joined = columns("joined_at")
        used = {"workspace_id": workspace, "used_by": account, "used_at": joined.get("joined_at", SOME), "revoked_at": None}
        yield "links", link, "put", used, ("used_at", "revoked_at")
        yield "members", account, "add", columns("role joined_at"), ()
    elif operation == "member.change":
        yield "members", account, "set", {"role": said.get("role")}, ()
    elif operation == "member.remove":
        yield "members", account, "remove", {}, ()


CONTROL_OPERATIONS = {"workspace.create", "key.create", "key.rotate", "key.revoke", "member.invite", "member.uninvite",
                      "member.join", "member.change", "member.remove"}


class ControlEvent:
    def __init__(self, event, said):
        self.seq, self.id, self.operation, self.time = event["seq"], event["id"], event["operation"], event["timestamp"]
        self.actor, self.said, self.restore = event["actor"], said, None
        if self.operation == "log.restore":
            # One that says when it revoked links brought control.db to what the log states.
            self.restore = said.get("backup_created_at") or "", moment(said.get("links_revoked_at"))
        self.changes = [change for change in control_changes(event, said) if isinstance(change[1], str)]
        if self.restore and self.restore[1] is not None:
            self.changes += [(row["table"], row["id"], "remove", {}, ()) for row in said["rows_left_out"]]


def row_name(table, row, workspace):
    return (table, row) + ((workspace,) if table == "members" else ())


def differs(state, row):
    """Whether a row is not in a state; None stands for no row."""
    if state is None or row is None:
        return (state is None) != (row is None)
    return any(row[name] is None if value is SOME else row[name] != value for name, value in state.items() if name in row)


def distinct(states):
    return [state for at, state in enumerate(states) if state not in states[:at]]


def windows(log, backup_time):
    """When a backup began to be made, and the events since then that its control.db need not have seen."""
    ends = [(event.restore[0], at) for at, event in enumerate(log.control) if event.restore and event.restore[1] is None]
    for time, end in ends + ([(backup_time, len(log.control))] if backup_time is not None else []):
        yield time, list(itertools.dropwhile(lambda event: event.time < time, log.control[:end]))


def expected_rows(log, backup_time, after):
    """The states of which each row must be in one. Optional events are those that control.db need not have seen:
    recorded beside a backup (also before its restore by an older version), or while this was read, or in contradiction
    to others (older versions recorded refused acts)."""
    optional = {event for event in log.control if event.seq > after}
    optional.update(event for _, events in windows(log, backup_time) for event in events)
    while True:
        rows, doubtful = replay_control(log, optional)
        if doubtful <= optional:
            return rows
        optional |= doubtful


def replay_control(log, optional):
    rows, by, doubtful = {}, {}, set()
    unknown = [None, {}] if log.pruned else [None]

    def owners():
        return any(state and state.get("role") == "owner" for name, states in rows.items() if name[0] == "members" for state in states)

    def fits(kind, unset, state):
        if kind == "add":
            return not state
        return kind == "put" if state is None else all(state.get(name) is None for name in unset)

    for event in log.control:
        if event.restore:  # a restore revokes the links that nobody has used; an older version did not say when
            at = {"revoked_at": event.restore[1] or SOME}
            for name in (name for name in rows if name[0] == "links"):
                ended = [state | at if state and not state.get("used_at") and not state.get("revoked_at") else state for state in rows[name]]
                rows[name] = distinct(ended if event.restore[1] else rows[name] + ended)
        owned = owners() and not event.restore
        for table, row, kind, columns, unset in event.changes:
            name = row_name(table, row, log.workspace)
            states = rows.get(name, unknown)
            if not any(fits(kind, unset, state) for state in states):
                doubtful.update([event], by.get(name, [])[-1:])
            now = [None if kind == "remove" else columns if kind == "add" else (state or {}) | columns for state in states]
            rows[name] = distinct(states + now if event in optional else now)
            by.setdefault(name, []).append(event)
        if owned and not owners():  # a workspace keeps an owner
            gone = [seen for name, seen in by.items() if any(row[0] == "members" and row[1] == name[1] and row[3].get("role") == "owner" for one in seen for row in one.changes)]
            doubtful.update([event], *(seen[-1:] for seen in gone))
    return {name: (states, by.get(name, [])) for name, states in rows.items()}, doubtful


def stored_rows(db):
    rows = {}
    for table, names in COVERED.items():
        present = {row[1] for row in db.execute(f"PRAGMA table_info({table})")}
        names = [name for name in names.split() if name in present]
        for values in db.execute(f"SELECT {', '.join(names)} FROM {table}") if names else ():
            store(rows, table, {name: value.hex() if isinstance(value, bytes) else value for name, value in zip(names, values)})
    return rows


def store(rows, table, row):
    workspace = row["id"] if table == "workspaces" else row["workspace_id"]
    rows[row_name(table, row["account_id" if table == "members" else "id"], workspace)] = row


def finish_act(rows, changes):
    """Changes the rows as the next start of the daemon will, for an act whose event is in the log."""

    def update(table, row, workspace=None, **columns):
        if row_name(table, row, workspace) in rows:
            rows[row_name(table, row, workspace)] |= columns

    def snake(record):
        return {re.sub("[A-Z]", lambda found: "_" + found[0].lower(), name): value for name, value in record.items()}

    for kind, said in changes:
        said = snake(said)
        if kind == "addWorkspace":
            store(rows, "workspaces", said)
        elif kind == "addKey":
            agents = said["agents"] and json.dumps(said["agents"], separators=(",", ":"), ensure_ascii=False)
            store(rows, "api_keys", dict.fromkeys(("id " + KEY_COLUMNS).split()) | said | {"agents": agents})
        elif kind == "replaceKey":
            update("api_keys", said["id"], replaced_by=said["by"], expires_at=said["expires_at"])
        elif kind == "revokeKey":
            update("api_keys", said["id"], revoked_at=said["at"], revoked_by=said["by"])
        elif kind == "addMember":
            store(rows, "members", said)
        elif kind == "setRole":
            update("members", said["account_id"], said["workspace_id"], role=said["role"])
        elif kind == "removeMember":
            rows.pop(row_name("members", said["account_id"], said["workspace_id"]), None)
        elif kind == "addLink":
            row = dict.fromkeys(("id " + LINK_COLUMNS).split()) | said
            store(rows, "links", row | {"drops_totp": int(said["drops_totp"])})
        elif kind == "takeLink":
            update("links", said["id"], used_at=said["at"], used_by=said["by"])
        elif kind == "revokeInvitation":
            update("links", said["id"], revoked_at=said["at"])
        else:
            require(kind in UNCOVERED_CHANGES, "pending_acts: a row does not have the form of an act")


# Changes of rows that no event states.
UNCOVERED_CHANGES = {"addAccount", "setPassword", "beginTotp", "confirmTotp", "dropTotp", "setRecoveryCodes", "endSession",
                     "endOtherSessions", "forgetDevices"}


def check_control(db, logs, backup_time, again):
    """The rows of control.db against those that the events of all logs leave."""
    check_schema(db, CONTROL_SCHEMAS)
    rows = stored_rows(db)
    tables = {name for (name,) in db.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")}
    acts = db.execute("SELECT workspace_id, event, changes FROM pending_acts") if "pending_acts" in tables else ()
    for workspace, event, changes in acts:
        event, log = load_json(event), logs.get(workspace)
        recorded = next((one for one in log.control if one.id == event["id"]), None) if log else None
        if recorded is None:
            continue  # without its event, an act is dropped
        same = (event["operation"], event["actor"], jcs(event["details"])) == (recorded.operation, recorded.actor, jcs(recorded.said))
        require(same, f"pending_acts: the act is not what seq {recorded.seq} of {workspace} says")
        finish_act(rows, load_json(changes))
    expected = {}
    for workspace, log in logs.items():
        own = {name for name, row in rows.items() if workspace in (row.get("workspace_id"), row.get("id"))}
        found = expected_rows(log, backup_time, len(log.hashes) - 1)
        if any(row_problem(name, said, rows) for name, said in found.items()) or not own <= found.keys():
            newer = again(workspace)
            if newer and len(newer.hashes) > len(log.hashes):
                found = expected_rows(newer, backup_time, len(log.hashes) - 1)
        expected |= found
    for name, said in expected.items():
        problem = row_problem(name, said, rows)
        require(problem is None, problem)
    left_out = 0
    for (table, row, *_), columns in ((name, row) for name, row in rows.items() if name not in expected):
        if table == "links" and (columns["kind"] != "invitation" or columns["created_by"] in ("cli", "system")):
            continue  # no event records those of the operator
        workspace = row if table == "workspaces" else columns["workspace_id"]
        log = logs.get(workspace)
        require(log is not None or again(workspace), f"{table} {row}: its workspace has no log")
        require(log is None or log.pruned, f"{table} {row}: no event created this row")
        left_out += 1
    pruned = f", {left_out} rows whose events were pruned" if left_out else ""
    since = {}
    for time, events in (window for log in logs.values() for window in windows(log, backup_time)):
        since[time] = since.get(time, 0) + sum(bool(event.changes) for event in events)
    lag = "".join(f". {acts} acts since {time} may be missing in it" for time, acts in since.items())
    return f"{len(rows) - left_out} rows are as the logs say{lag}. Not covered: accounts, sessions, devices, last uses, links of the operator{pruned}"


def row_problem(name, said, rows):
    states, events = said
    row = rows.get(name)
    if not all(differs(state, row) for state in states):
        return None
    last = events[-1]
    return f"{name[0]} {name[1]} is not what the log says, last in seq {last.seq} ({last.operation}, {last.time})"


def check_directory(root, trust):
    """Every workspace of a data directory, and its control.db, which is read after them."""
    require((root / "workspaces").is_dir(), "this directory is not a data directory of governd", Undetermined)
    logs, said, control = {}, [], root / "control.db"

    def read(workspace):
        found = []
        path = root / "workspaces" / f"{workspace}.db"
        return path.exists() and check_workspace(path, trust, found, root / "seals" / f"{workspace}.log") and found[0]

    for path in sorted((root / "workspaces").glob("*.db")):
        found = []
        said.append(check_workspace(path, trust, found, root / "seals" / f"{path.stem}.log"))
        require(found[0].workspace == path.stem, f"{path.name} stands in the place of another workspace")
        logs[path.stem] = found[0]
    if not control.exists():
        return ". ".join([*said, WITHOUT_CONTROL])
    require(control.read_bytes()[:16] == b"SQLite format 3\0", "control.db is encrypted or damaged", Undetermined)
    manifest = root / "manifest.json"
    backup_time = load_json(manifest.read_text())["created_at"] if manifest.exists() else None
    with copied(control) as db:
        db.text_factory = lambda text: text.decode(errors="surrogateescape")
        said.append(f"control.db: {check_control(db, logs, backup_time, read)}")
    return ". ".join(said)


WITHOUT_CONTROL = "Not covered: control.db is not part of this (workspaces, keys, members, invitations)"


def check(path, trust):
    trust.witnessed = {}
    if path.is_dir():
        return check_directory(path, trust)
    try:
        data = path.read_bytes()
    except OSError as error:
        raise Undetermined(str(error)) from None
    if data.startswith(b"SQLite format 3\0"):
        return f"{check_workspace(path, trust)}. {WITHOUT_CONTROL}"
    try:
        text = data.decode(errors="surrogateescape")  # bytes after the end need not be text
        said = check_receipt(text, trust) if text.startswith("c2sp.org/tlog-proof@v1\n") else check_export(text, trust)
        return said + trust.require_witnesses()
    except UnicodeDecodeError:
        raise Undetermined("neither a workspace file nor an export") from None


def main():
    options = argparse.ArgumentParser(description="Checks governd's audit log.")
    options.add_argument("--public-key", metavar="KEY", action="append", default=[])
    options.add_argument("--seal", metavar="FILE", action="append", default=[])
    options.add_argument("--witness-key", metavar="KEY", action="append", default=[])
    options.add_argument("--witness-quorum", metavar="N", type=int)
    options.add_argument("--complete", action="store_true", help="require proof that no event is missing")
    options.add_argument("files", metavar="FILE", nargs="+", type=Path)
    given, worst = options.parse_args(), 0
    try:
        text_of = lambda key: Path(key).read_text() if Path(key).is_file() else key
        keys, witnesses = [read_key(text_of(key)) for key in given.public_key], [read_witness(text_of(key)) for key in given.witness_key]
        require(len({key for _, key in witnesses}) == len(witnesses), "two witnesses have the same key", Undetermined)
        require(0 <= (given.witness_quorum or 0) <= len(witnesses), "the quorum is larger than the number of witnesses", Undetermined)
        seals = [seal for name in given.seal for seal in read_seals(Path(name).read_text())]
        trust = Trust(keys, seals, given.complete, witnesses, given.witness_quorum)
    except (Tampered, Undetermined, OSError, ValueError) as problem:
        print(f"the key or a seal cannot be read: {problem}")
        return 2
    for path in given.files:
        try:
            print(f"{path}: holds. {check(path, trust)}.")
        except Tampered as problem:
            print(f"{path}: TAMPERED. {problem}")
            worst = 1
        except (Undetermined, OSError, ValueError, KeyError, TypeError, IndexError) as problem:
            known = isinstance(problem, (Undetermined, OSError))
            reason = problem if known else "it is not in the form that it should have"
            print(f"{path}: cannot be established. {reason}")
            worst = worst or 2
    for before, digest in trust.prunings:
        found = [path for path in given.files if path.is_file() and sha256(path.read_bytes()) == digest]
        named = f"{found[0]}, as the pruning names it" if found else f"not given: the export with SHA-256 {digest}"
        print(f"what was pruned before event {before}: {named}")
    return worst


if __name__ == "__main__":
    sys.exit(main())
