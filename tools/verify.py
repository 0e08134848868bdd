#!/usr/bin/env python3
"""Checks governd's audit log without governd: format governd.audit/1, Python's standard library only.

    python3 verify.py FILE...        FILE: an export (json or ndjson) or a workspace file (ws_....db)

Exit code 0: what was checked holds. 1: something was changed. 2: cannot be established.
The format is specified in src/log/event.ts; this is a second reading of it, made to be read.
"""
import hashlib, json, re, shutil, sqlite3, sys, tempfile
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


def load_json(text):
    return json.loads(text, object_pairs_hook=no_duplicates)


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


class Log:
    """The chains of a log, followed event by event in order of seq."""

    def __init__(self, whole, agent=None, after=None):
        self.whole, self.agent, self.after = whole, agent, after
        self.next_seq, self.workspace, self.heads, self.hashes = None, None, {}, []

    def add(self, canonical, details_text, salt, stored_hash):
        event = load_json(canonical)
        require(check_event(event) == canonical, "the bytes are not in canonical form")
        seq, agent, place = event["seq"], event["agent_id"], event["agent_seq"]
        value = sha256(b"\0", canonical)
        require(value == stored_hash, f"seq {seq}: the hash is not the one of the bytes")
        self.workspace = self.workspace or event["workspace_id"]
        require(event["workspace_id"] == self.workspace, f"seq {seq}: another workspace")
        if self.next_seq is not None:
            good = seq == self.next_seq if self.whole else seq >= self.next_seq
            require(good, f"seq {seq}: expected {self.next_seq}")
        self.next_seq = seq + 1
        require(self.whole or agent == self.agent, f"seq {seq}: another agent")
        first = (place - 1, event["previous_hash"]) if self.after is None else self.after
        before = self.heads.get(agent, first)
        require((place - 1, event["previous_hash"]) == before, f"seq {seq}: does not follow in its chain")
        require((place == 1) == (event["previous_hash"] == ZEROS), f"seq {seq}: a chain begins wrongly")
        genesis = (event["operation"], agent, place, event["result"]) == ("workspace.create", None, 1, "ok")
        require(genesis == (seq == 0), f"seq {seq}: the genesis is not where it belongs")
        require((details_text is None) == (salt is None), f"seq {seq}: details are half erased")
        if details_text is not None:
            require(re.fullmatch("[0-9a-f]{32}", salt), f"seq {seq}: not a salt")
            commitment = sha256(bytes.fromhex(salt), details_text.encode())
            require(commitment == event["details_commitment"], f"seq {seq}: details do not fit")
        self.heads[agent] = (place, value)
        self.hashes.append(value)
        return event

    def summary(self):
        return f"{self.workspace}: {len(self.hashes)} events, {len(self.heads)} chains"


def check_export(text):
    try:
        lines = [load_json(line) for line in text.splitlines() if line.strip()]
        ndjson = isinstance(lines[0], dict) and "type" in lines[0]
    except (ValueError, IndexError):
        ndjson = False
    if ndjson:
        require(lines[0].pop("type") == "header", "no header", Undetermined)
        header, events = lines[0], lines[1:-1]
        require(lines[-1].get("type") == "trailer", "the export is incomplete", Undetermined)
        require(lines[-1]["event_count"] == len(events), "the number of events is wrong")
        for event in events:
            require(event.pop("type", None) == "event", "a line is no event")
    else:
        try:
            header = load_json(text)
            events = header.pop("events")
        except (ValueError, KeyError, TypeError, AttributeError):
            raise Undetermined("not an export, or not all of it") from None
    require(header.get("format") == "governd.audit-export/1", "not an export", Undetermined)
    require(header["event_count"] == len(events), "the number of events is wrong")
    whole, after = header["agent_id"] is None, header["starts_after"]
    if not whole:
        after = (after["agent_seq"], after["hash"]) if after else (0, ZEROS)
    log = Log(whole, header["agent_id"], None if whole else after)
    if whole and header["start_time"] is None:
        log.next_seq = 0
    for event in events:
        require(isinstance(event, dict) and {"details", "details_salt", "hash"} <= set(event), "not an event")
        details, salt, value = event.pop("details"), event.pop("details_salt"), event.pop("hash")
        log.add(check_event(event), None if details is None else jcs(details), salt, value)
    require(not events or log.workspace == header["workspace_id"], "another workspace than stated")
    if ndjson:
        require(lines[-1]["head"] == (log.hashes[-1] if log.hashes else None), "another end than stated")
    return log.summary()


def check_workspace(path):
    with tempfile.TemporaryDirectory() as scratch:  # the evidence itself is not opened, only copied
        for part in (path, Path(f"{path}-wal")):
            if part.exists():
                shutil.copy(part, Path(scratch, "evidence.db" + part.name[len(path.name):]))
        db = sqlite3.connect(Path(scratch, "evidence.db"))
        try:
            return check_database(db)
        except sqlite3.Error as error:
            raise Undetermined(f"not a workspace file ({error})") from None
        finally:
            db.close()


def check_database(db):
    log, writes, configs = Log(True), {}, {}
    log.next_seq = 0
    rows = db.execute("SELECT seq, CAST(body AS BLOB), hash, details, details_salt FROM events ORDER BY seq")
    for seq, body, value, details, salt in rows:
        event = log.add(body, details, salt, value)
        require(event["seq"] == seq, f"seq {seq}: the row has another number")
        operation, result = event["operation"], event["result"]
        if details is None or result not in ("ok", "allowed"):
            continue
        said = load_json(details)
        require(jcs(said) == details, f"seq {seq}: details are not canonical")
        if operation == "data.write":
            writes[seq] = (event["agent_id"], said["key"], said["value_digest"])
        elif operation in ("config.update", "config.rollback"):
            configs[seq] = (event["agent_id"], said["version"], said["config_digest"])
        elif operation == "checkpoint.restore" and "config_version" in said:
            configs[seq] = (event["agent_id"], said["config_version"], said["config_digest"])
    require(log.hashes, "the log is empty", Undetermined)
    head = db.execute("SELECT workspace_id, seq, hash FROM head").fetchall()
    require(head == [(log.workspace, len(log.hashes) - 1, log.hashes[-1])], "the log does not end at its head")
    agents = dict(db.execute("SELECT first_seq, agent_id FROM agents"))
    for agent, key, value, metadata, seq in db.execute(
        "SELECT agent, key, value, metadata, written_seq FROM entries"
    ):
        digest = sha256(jcs({"key": key, "metadata": load_json(metadata), "value": load_json(value)}).encode())
        require(writes.get(seq) == (agents.get(agent), key, digest), f"an entry is not what seq {seq} wrote")
    for agent, version, config, seq in db.execute("SELECT agent, version, config, created_seq FROM configs"):
        digest = sha256(jcs(load_json(config)).encode())
        require(configs.pop(seq, None) == (agents.get(agent), f"v{version}", digest), f"config of seq {seq}")
    require(not configs, f"config versions are missing, of seq {sorted(configs)[:5]}")
    return log.summary()


def check(path):
    try:
        data = path.read_bytes()
    except OSError as error:
        raise Undetermined(str(error)) from None
    if data.startswith(b"SQLite format 3\0"):
        return check_workspace(path)
    try:
        return check_export(data.decode())
    except UnicodeDecodeError:
        raise Undetermined("neither a workspace file nor an export") from None


def main(paths):
    worst = 0
    for path in map(Path, paths):
        try:
            print(f"{path}: holds. {check(path)}. Unsealed: whoever has the file could have made all of it.")
        except Tampered as problem:
            print(f"{path}: TAMPERED. {problem}")
            worst = 1
        except Undetermined as problem:
            print(f"{path}: cannot be established. {problem}")
            worst = worst or 2
    return worst if paths else 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
