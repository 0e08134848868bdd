#!/usr/bin/env python3
"""Holds tools/verify.py against the published test vectors: python3 check_vectors.py DIRECTORY"""
import sqlite3, sys
from pathlib import Path

sys.dont_write_bytecode = True
import verify
from verify import (
    Seal, Trust, check_event, check_export, check_receipt, consistent, jcs, load_json, path_root,
    read_key, read_seals, sha256, tree_root,
)


def require(condition, message):
    verify.require(condition, "vector", message)


def refused(text):
    try:
        return check_event(load_json(text)) != text.encode()
    except (verify.Tampered, ValueError):
        return True


def check_tree(tree):
    leaves, roots = ([bytes.fromhex(value) for value in tree[name]] for name in ("leaves", "roots"))
    for size, root in enumerate(roots):
        require(tree_root(leaves[:size]) == root, f"the root of {size} leaves")
    for proof in tree["inclusion"]:
        path = map(bytes.fromhex, proof["path"])
        root = path_root(leaves[proof["index"]], proof["index"], proof["size"], path)
        require(root == roots[proof["size"]], "an inclusion proof")
    for proof in tree["consistency"]:
        old, new, path = proof["from"], proof["to"], map(bytes.fromhex, proof["path"])
        require(consistent(old, roots[old], new, roots[new], path), "a consistency proof")


def check_kept(vector):
    """What a pruning states to have kept."""
    said = vector["kept"]
    require(sha256("".join(f"{seq}\n" for seq in vector["events"]).encode()) == said["events_digest"], "events_digest")
    db = sqlite3.connect(":memory:")
    db.execute("CREATE TABLE kept_rows (id, event_seq, created_seq, live_from, live_to)")
    db.executemany("INSERT INTO kept_rows VALUES (?, ?, ?, ?, ?)", [(at, *row) for at, row in enumerate(vector["rows"], 1)])
    verify.Kept(0, said).read(db)


def check_recall(vector):
    """What the event of a read states of these positions."""
    positions = list(range(vector["first"], vector["first"] + vector["count"] * vector["step"], vector["step"]))
    root = tree_root([bytes.fromhex(sha256(b"\0" + one.to_bytes(8, "big"))) for one in positions]).hex()
    said = {"returned": positions} if len(positions) <= 1_000 else {"returned_count": len(positions), "returned_root": root}
    require(said == vector["details"] and verify.fits_together(said, positions[-1] + 1), "what a read returned")


def check_leaves(vectors):
    """The leaves of a state in their order, and the roots over the first ones."""
    hashes = [verify.leaf_of(*(leaf[name] for name in ("agent_id", "key", "value_digest", "version"))) for leaf in vectors["leaves"]]
    places = [verify.place_of(leaf) for leaf in vectors["leaves"]]
    require(places == sorted(places), "the order of leaves")
    for leaf, value in zip(vectors["leaves"], hashes):
        require(sha256(b"\0" + leaf["canonical"].encode()) == leaf["hash"] == value.hex(), f"leaf {leaf['key']}")
    for root in vectors["roots"]:
        require(tree_root(hashes[: root["count"]]).hex() == root["root"], f"the root of {root['count']} leaves")


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
        expected, salt = vector.pop("value_digest"), bytes.fromhex(vector.pop("salt"))
        require(sha256(salt + jcs(vector).encode()) == expected, "value_digest")
    for vector in digests["configs"]:
        salt = bytes.fromhex(vector["salt"])
        require(sha256(salt + jcs(vector["config"]).encode()) == vector["config_digest"], "config_digest")
    check_kept(load_json(read("kept.json")))
    for vector in load_json(read("recall.json")):
        check_recall(vector)
    check_leaves(load_json(read("state-leaves.json")))
    for name in ("export.json", "export.ndjson", "agent.ndjson"):
        check_export(read(name), Trust())
    check_tree(load_json(read("tree.json")))
    trust = Trust([read_key(read("seal.vkey"))])
    seals = read_seals(read("seals.txt"))
    require(len(seals) == 3 and all(seal.signed_by_any(trust.keys) for seal in seals), "seals")
    require(Seal(read("seal.txt")).root == seals[-1].root, "seal")
    check_receipt(read("receipt.txt"), trust)
    for name in ("sealed.ndjson", "sealed-window.json", "sealed-agent.json"):
        check_export(read(name), trust)
    check_export(read("sealed.ndjson"), Trust(trust.keys, seals))
    for name in ("held", "absent", "absent-prefix", "complete", "complete-prefix"):
        verify.check_proof(read(f"proof-{name}.json"), trust)
    for name in ("bound.ndjson", "bound-window.json", "bound-agent.ndjson", "bound-empty.json", "bound-erased.ndjson"):
        check_export(read(name), trust)
    print(f"{len(events['events'])} events, {len(events['refused'])} refusals: all vectors agree")


if __name__ == "__main__":
    main(sys.argv[1])
