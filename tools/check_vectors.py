#!/usr/bin/env python3
"""Holds tools/verify.py against the published test vectors: python3 check_vectors.py DIRECTORY"""
import sys
from pathlib import Path

sys.dont_write_bytecode = True
import verify
from verify import check_event, check_export, jcs, load_json, require, sha256


def refused(text):
    try:
        return check_event(load_json(text)) != text.encode()
    except (verify.Tampered, ValueError):
        return True


def main(directory):
    def read(name):
        return (Path(directory) / name).read_text()

    for vector in load_json(read("jcs.json")):
        require(jcs(load_json(vector["json"])) == vector["canonical"], f"jcs: {vector['json']}")
    events = load_json(read("events.json"))
    log = verify.Log(True)
    for vector in events["events"]:
        require(jcs(load_json(vector["details"])) == vector["details"], "details")
        event = log.add(vector["canonical"].encode(), vector["details"], vector["salt"], vector["hash"])
        require(event["details_commitment"] == vector["details_commitment"], "commitment")
    for text in events["refused"]:
        require(refused(text), f"taken for an event: {text}")
    digests = load_json(read("digests.json"))
    for vector in digests["entries"]:
        expected = vector.pop("value_digest")
        require(sha256(jcs(vector).encode()) == expected, "value_digest")
    for vector in digests["configs"]:
        require(sha256(jcs(vector["config"]).encode()) == vector["config_digest"], "config_digest")
    for name in ("export.json", "export.ndjson", "agent.ndjson"):
        check_export(read(name))
    print(f"{len(events['events'])} events, {len(events['refused'])} refusals: all vectors agree")


if __name__ == "__main__":
    main(sys.argv[1])
