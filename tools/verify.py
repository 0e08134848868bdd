#!/usr/bin/env python3
"""Checks governd's audit log without governd: format governd.audit/1, Python's standard library only.

    python3 verify.py [--public-key KEY]... [--seal FILE]... [--witness-key KEY]... [--witness-quorum N] [--complete] [--json] FILE...
    python3 verify.py --policy FILE [--seal FILE]... [--complete] [--json] FILE...

FILE   an export (json or ndjson), a receipt, a proof of what was stored, a workspace file (ws_....db), or a data directory
KEY    the sealing key that you trust: name+hash+key, 32 bytes in hex, PEM, or a file with it
--witness-key KEY: a witness's key, name+hash+key; --witness-quorum N: how many must have cosigned (default: all). Cosignatures
  with ML-DSA-44 (type 6) are not checked: such a witness is named, and never counts
--policy FILE: the logs, the witnesses and their quorum, as C2SP tlog-policy has them
--seal FILE: seals kept elsewhere, one or many; the log must be a continuation of each
--complete: it is not enough that what is here holds; a seal must prove that no event is missing
--json: prints what is found with the codes that docs/verify-json.md lists

Exit code 0: what was checked holds. 1: something was changed. 2: cannot be established.
The format is specified in docs/audit-format.md; this is written from it, and made to be read.
"""
import argparse, base64, calendar, contextlib, functools, hashlib, itertools, json, os, re, shutil, sqlite3, stat, sys, tempfile, time
from datetime import datetime, timedelta, timezone
from decimal import Decimal
from pathlib import Path

ZEROS = "0" * 64
TYPEID = "[0-7][0-9a-hjkmnp-tv-z]{25}"
FORMS = {  # the 14 members of an event; None stands for an integer
    "actor": f"[a-z]{{3}}_{TYPEID}|[a-z]{{1,16}}",
    "agent_id": "[A-Za-z0-9._:@~-]{1,128}",
    "agent_seq": None,
    "blocked_by": "policy:[a-z][a-z0-9_]{0,63}",
    "config_version": "v[1-9][0-9]{0,15}",
    "details_commitment": "[0-9a-f]{64}",
    "format": "governd\\.audit/1",
    "id": f"aud_{TYPEID}",
    "operation": "[a-z][a-z0-9_]{0,63}\\.[a-z][a-z0-9_]{0,63}",
    "previous_hash": "[0-9a-f]{64}",
    "result": "[a-z][a-z0-9_]{0,63}",
    "seq": None,
    "timestamp": r"\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])T([01]\d|2[0-3]):[0-5]\d:[0-5]\d\.\d{3}Z",
    "workspace_id": f"ws_{TYPEID}",
}
NULLABLE = {"agent_id", "blocked_by", "config_version"}

# The greatest number of a vocabulary that is known here, and its results and actors; OPERATIONS has the rest of it.
VOCABULARY = 1
RESULTS = {"ok", "allowed", "blocked", "not_found", "conflict", "denied"}
ACTORS = "(key|usr|wid)_.*|cli|system"


# What an event can be: operations, actors, result, chain, and the form of the details (docs/audit-format.md, "Forms of details").
OPERATIONS = """
config.read_version | kul | ok | a | {version: v1}
audit.verify agent.read agent.suspend agent.resume | kul | not_found | n | {}
config.read config.list_versions config.read_version config.read_effective checkpoint.list data.write data.read data.read_full data.versions data.list data.query data.search policy.check policy.replay | kul | denied | n | {code: "quota_exceeded", quota: "entries" or "bytes", limit: count, used: count}
config.read | kul | ok | a | {version: v1, as_of?: moment}
config.read_effective | kul | not_found | n | {code: "audit_event_not_found" or "checkpoint_not_found" or "moment_gone"}
config.read | kul | not_found | n | {as_of?: moment, code?: "audit_event_not_found" or "checkpoint_not_found" or "moment_gone"}
config.update | kul | ok | a | {version: v1, config_digest: hash}
config.update | kul | conflict | n | {code: "version_conflict"}
config.list_versions checkpoint.list | kul | ok | n | {count: count}
config.read_version config.rollback | kul | not_found | n | {version?: v1}
config.read_effective | kul | ok | n | {as_of?: moment}
config.rollback | kul | ok | a | {version: v1, config_digest: hash, rolled_back_from: v1}
config.rollback | kul | conflict | a | {code: "version_conflict"}
checkpoint.create | kuls | ok | a | {checkpoint_id: cp_, as_of_seq: count, entry_count: count, label: text or null, metadata: object, findings?: findings, excepted?: {*: some}}
checkpoint.create | kuls | blocked | a | {findings: findings, excepted?: {*: some}}
checkpoint.create | kuls | denied | a | {code: "agent_suspended"}
checkpoint.create | kuls | denied | n | {code: "quota_exceeded", quota: "entries" or "bytes", limit: count, used: count}
checkpoint.list data.write data.read data.read_full data.versions data.list data.query data.search data.delete data.delete_prefix | kul | denied | a | {code: "agent_suspended"}
checkpoint.read | kul | ok | a | {checkpoint_id: cp_, returned?: positions, returned_count?: some, returned_root?: hash, read_seq?: count}
checkpoint.read checkpoint.compare checkpoint.restore | kul | not_found | o | {checkpoint_id~: text}
checkpoint.read checkpoint.compare checkpoint.restore | kul | denied | a | {checkpoint_id: cp_, code: "agent_suspended"}
checkpoint.read checkpoint.compare checkpoint.restore | kul | denied | a | {checkpoint_id: cp_, code: "quota_exceeded", quota: "entries" or "bytes", limit: count, used: count}
checkpoint.read checkpoint.compare checkpoint.restore policies.read policies.list_versions policies.read_version policy.check policy.replay | kul | denied | o | {code: "quota_exceeded", quota: "entries" or "bytes", limit: count, used: count}
checkpoint.compare | kul | ok | a | {checkpoint_id: cp_, to?: cp_, count: count, returned?: positions, returned_count?: some, returned_root?: hash, read_seq?: count}
checkpoint.restore | kul | ok | a | {checkpoint_id: cp_, safety_checkpoint_id: cp_, safety_entry_count: count, entries_restored: count, entries_removed: count, entries_unchanged: count, findings?: findings, excepted?: {*: some}}
checkpoint.restore | kul | ok | a | {checkpoint_id: cp_, safety_checkpoint_id: cp_, safety_entry_count: count, entries_restored: count, entries_removed: count, entries_unchanged: count, findings?: findings, excepted?: {*: some}, config_version: v1, config_digest: hash, rolled_back_from: v1}
checkpoint.restore | kul | blocked | a | {checkpoint_id: cp_, findings: findings, excepted?: {*: some}, limit?: text}
checkpoint.delete | kuls | ok | a | {checkpoint_id: cp_}
checkpoint.delete | kuls | not_found | o | {checkpoint_id~: text}
checkpoint.delete | kuls | denied | a | {checkpoint_id: cp_, code: "agent_suspended"}
data.write | kul | allowed | a | {key: text, value_digest: hash, expires_at?: time, redacted?: true, reverted_from?: aud_, findings?: findings, excepted?: {*: some}}
data.write | kul | not_found | n | {key~: text, code: "version_not_found" or "version_gone"}
data.write | kul | blocked | a | {key?: text, findings: findings, excepted?: {*: some}, limit?: text, retry_after_seconds?: some}
data.write data.delete | kul | conflict | n | {key~: text, code: "version_conflict", undone?: true}
data.write | kul | conflict | a | {key~: text, code: "version_quarantined"}
data.delete | kul | not_found | n | {key~: text, undone?: true}
data.read data.read_full | kul | ok | a | {key~: text, returned?: positions, returned_count?: some, returned_root?: hash, read_seq?: count, as_of?: moment}
data.read | kul | not_found | n | {key~: text, undone?: true, as_of?: moment, code?: "audit_event_not_found" or "checkpoint_not_found" or "moment_gone"}
data.read_full | kul | not_found | n | {key~: text, as_of?: moment, code?: "audit_event_not_found" or "checkpoint_not_found" or "moment_gone"}
data.versions | kul | ok | a | {key~: text, count: count, returned?: positions, returned_count?: some, returned_root?: hash, read_seq?: count}
data.versions | kul | not_found | n | {key~: text}
data.list | kul | ok | n | {prefix~: text, count: count, returned?: positions, returned_count?: some, returned_root?: hash, read_seq?: count, as_of?: moment}
data.list data.query | kul | not_found | n | {prefix~: text, code: "audit_event_not_found" or "checkpoint_not_found" or "moment_gone"}
data.query | kul | ok | n | {prefix~: text, filter?~: [[text]], count: count, returned?: positions, returned_count?: some, returned_root?: hash, read_seq?: count, as_of?: moment}
data.search | kul | ok | n | {prefix~: text, filter?~: [[text]], limit: some, collapse?: true, count: count, returned?: positions, returned_count?: some, returned_root?: hash, read_seq?: count}
data.delete | kul | ok | a | {key: text}
data.delete_prefix | kul | ok | a | {prefix: text, count: some}
data.delete_prefix | kul | not_found | n | {prefix~: text}
data.delete_prefix | kul | conflict | a | {prefix: text, entries: some, code: "count_mismatch"}
data.erase | kulc | not_found | n | {}
data.erase | kulc | denied | a | {code: "agent_suspended"}
data.erase | kulc | ok | n | {entries: count, versions: count, events: count, erased: [[count]], version?: erased}
data.erase | kulc | conflict | n | {code: "version_conflict" or "version_present"}
data.expire | s | ok | a | {count: some, through: count}
quarantine.preview quarantine.set | kul | not_found | n | {code: "entry_not_found" or "version_not_found" or "audit_event_not_found" or "version_gone"}
quarantine.preview | kul | ok | a | {count: some, include_effects?: some}
quarantine.preview | kul | conflict | a | {code: "already_quarantined" or "not_a_write"}
quarantine.preview | kul | denied | n | {code: "quota_exceeded", quota: "entries" or "bytes", limit: count, used: count}
quarantine.set | kul | ok | a | {reason: text, versions: writes, findings?: findings, excepted?: {*: some}, include_effects?: some}
quarantine.set | kul | conflict | a | {code: "already_quarantined" or "not_a_write" or "preview_changed"}
quarantine.set quarantine.release | kul | blocked | a | {findings: findings, excepted?: {*: some}}
quarantine.release | kul | ok | a | {reason: text, versions: writes, findings?: findings, excepted?: {*: some}}
quarantine.release | kul | not_found | n | {}
quarantine.release | kul | not_found | o | {}
policies.read | kul | ok | o | {version: p1 or null}
policies.update | kul | ok | w | {version: p1, config_digest: hash}
policies.update | kul | conflict | w | {code: "version_conflict"}
policies.list_versions | kul | ok | o | {count: count}
policies.read_version | kul | ok | o | {version: p1}
policies.read_version | kul | not_found | o | {version?: p1}
policy.check | kul | ok | n | {allowed: true, redacted?: true, findings?: findings, excepted?: {*: some}, under: "agent" or "request"}
policy.check | kul | ok | o | {allowed: true, redacted?: true, findings?: findings, excepted?: {*: some}, under: "agent" or "request"}
policy.check | kul | ok | n | {allowed: false, blocked_by: text, findings: findings, excepted?: {*: some}, retry_after_seconds?: some, under: "agent" or "request"}
policy.check | kul | ok | o | {allowed: false, blocked_by: text, findings: findings, excepted?: {*: some}, retry_after_seconds?: some, under: "agent" or "request"}
policy.replay | kul | ok | n | {under: "request", policies: [text]}
policy.replay | kul | ok | o | {under: "request", policies: [text]}
audit.query | kulc | ok | n | {start_time?: time, end_time?: time, agent_ids?: [text], operations?: [text], result?: text or [text], actors?: [text], sessions?: [text], subjects?: [text], detectors?: [text], modes?: [text], policies?: [text], filtered_by?: ["actors" or "sessions" or "subjects" or "detectors" or "policies" or "key" or "text"], count: count}
audit.query | kulc | ok | o | {scope: "workspace" or "all", start_time?: time, end_time?: time, agent_ids?: [text], operations?: [text], result?: text or [text], actors?: [text], sessions?: [text], subjects?: [text], detectors?: [text], modes?: [text], policies?: [text], filtered_by?: ["actors" or "sessions" or "subjects" or "detectors" or "policies" or "key" or "text"], count: count}
audit.read | kul | ok | a | {event_id: aud_, proof?: true}
audit.read | kul | ok | o | {event_id: aud_, proof?: true}
audit.read audit.receipt lineage.read | kul | not_found | o | {event_id~: text}
audit.receipt | kul | ok | a | {event_id: aud_, format?: "tlog-proof"}
audit.receipt | kul | ok | o | {event_id: aud_, format?: "tlog-proof"}
audit.receipt | kul | not_found | a | {event_id: aud_, format?: "tlog-proof"}
audit.receipt | kul | not_found | o | {event_id: aud_, format?: "tlog-proof"}
audit.verify | kul | ok | n | {valid: flag, chain_intact: flag, events_checked: count}
audit.verify | kul | ok | o | {scope: "workspace", valid: flag, chain_intact: flag, events_checked: count}
audit.export | kulc | ok | n | {format: "json" or "ndjson" or "csv" or "cloudevents" or "ocsf", start_time?: time, end_time?: time, event_count: count, first: edge or null, last: edge or null, tree_root: hash, restores: count, vocabulary: some, pruned_before?: some}
audit.export | kulc | ok | o | {scope: "workspace", format: "json" or "ndjson" or "csv" or "cloudevents" or "ocsf", start_time?: time, end_time?: time, event_count: count, first: edge or null, last: edge or null, tree_root: hash, restores: count, vocabulary: some, pruned_before?: some}
audit.export | kulc | ok | n | {format: "json" or "ndjson" or "csv" or "cloudevents" or "ocsf", start_time?: time, end_time?: time, received: count}
audit.export | kulc | ok | o | {scope: "workspace", format: "json" or "ndjson" or "csv" or "cloudevents" or "ocsf", start_time?: time, end_time?: time, received: count}
audit.export | kulc | ok | n | {format: "csv" or "cloudevents" or "ocsf", start_time?: time, end_time?: time, agent_ids?: [text], operations?: [text], result?: text or [text], actors?: [text], sessions?: [text], subjects?: [text], detectors?: [text], modes?: [text], policies?: [text], filtered_by?: ["actors" or "sessions" or "subjects" or "detectors" or "policies" or "key" or "text"]}
audit.export | kulc | ok | o | {scope: "workspace", format: "csv" or "cloudevents" or "ocsf", start_time?: time, end_time?: time, agent_ids?: [text], operations?: [text], result?: text or [text], actors?: [text], sessions?: [text], subjects?: [text], detectors?: [text], modes?: [text], policies?: [text], filtered_by?: ["actors" or "sessions" or "subjects" or "detectors" or "policies" or "key" or "text"]}
audit.export | kulc | not_found | n | {format: "json" or "ndjson" or "csv" or "cloudevents" or "ocsf"}
audit.stream | kul | ok | n | {agent_ids?: [text], operations?: [text], result?: text or [text], actors?: [text], sessions?: [text], subjects?: [text], detectors?: [text], modes?: [text], policies?: [text], filtered_by?: ["actors" or "sessions" or "subjects" or "detectors" or "policies" or "key" or "text"], after?: aud_}
audit.stream | kul | ok | o | {scope: "workspace", agent_ids?: [text], operations?: [text], result?: text or [text], actors?: [text], sessions?: [text], subjects?: [text], detectors?: [text], modes?: [text], policies?: [text], filtered_by?: ["actors" or "sessions" or "subjects" or "detectors" or "policies" or "key" or "text"], after?: aud_}
audit.stream | kul | not_found | n | {agent_ids?: [text], operations?: [text], result?: text or [text], actors?: [text], sessions?: [text], subjects?: [text], detectors?: [text], modes?: [text], policies?: [text], filtered_by?: ["actors" or "sessions" or "subjects" or "detectors" or "policies" or "key" or "text"], after: aud_}
audit.stream | kul | not_found | o | {scope: "workspace", agent_ids?: [text], operations?: [text], result?: text or [text], actors?: [text], sessions?: [text], subjects?: [text], detectors?: [text], modes?: [text], policies?: [text], filtered_by?: ["actors" or "sessions" or "subjects" or "detectors" or "policies" or "key" or "text"], after: aud_}
audit.activity | kul | ok | n | {interval: "minute" or "hour" or "day", start_time: time, end_time: time}
audit.activity | kul | ok | o | {scope: "workspace", interval: "minute" or "hour" or "day", start_time: time, end_time: time}
lineage.read | kul | ok | a | {event_id: aud_, direction: "causes" or "effects", depth: some, count: count}
lineage.read | kul | conflict | a | {event_id: aud_, code: "not_a_write"}
lineage.read | kul | conflict | o | {event_id: aud_, code: "not_a_write"}
state.root | s | ok | w | {seq: count, root: hash, count: count}
proof.create | kulc | ok | n | {key?~: text, prefix?~: text, claim: "held" or "absent" or "complete", root_seq: count, count: count, with_values?: true, returned?: positions, returned_count?: some, returned_root?: hash, read_seq?: count}
proof.create | kulc | not_found | n | {key?~: text, prefix?~: text, code: "moment_gone"}
sink.create | kulc | ok | w | {sink_id: snk_, type: "webhook" or "syslog" or "otlp" or "splunk_hec" or "file", receiver: text or null, format: "governd" or "cloudevents" or "ocsf", filter: object, include_details: flag, enabled: flag, start: count or "now" or "beginning", settings_digest: hash}
sink.change | kulcs | ok | w | {sink_id: snk_, changed: [text], receiver?: text or null, format?: "governd" or "cloudevents" or "ocsf", filter?: object, include_details?: flag, enabled?: flag, settings_digest?: hash}
sink.rotate | kulc | ok | w | {sink_id: snk_, old_keys_until: time, settings_digest: hash}
sink.remove | kulc | ok | w | {sink_id: snk_, position: count or null}
sink.test | kulc | ok | w | {sink_id: snk_}
audit.prune | c | ok | o | {before_seq: count, before_time: time, events: count, export_digest: hash, kept: {events: count, events_digest: hash, versions: count, checkpoints: count, rows_digest: hash}}
agent.list | kul | ok | o | {prefix~: text, contains?~: text, count: count}
agent.read | kul | ok | a | {}
agent.suspend | kulc | ok | a | {reason: text or null, state_before: "active" or "suspended", findings?: findings, excepted?: {*: some}}
agent.suspend agent.resume | kul | blocked | a | {findings: findings, excepted?: {*: some}}
agent.resume | kul | ok | a | {reason: text or null, state_before: "active" or "suspended", findings?: findings, excepted?: {*: some}}
dashboard.view | u | ok | o | {agent_id?: text, operation: text, entry?: aud_, checkpoint_id?: text, to?: cp_, returned?: positions, returned_count?: some, returned_root?: hash, read_seq?: count, as_of?: moment}
dashboard.view | u | not_found | o | {agent_id?: text, operation: text, entry?: aud_, checkpoint_id?: text, to?: cp_, returned?: positions, returned_count?: some, returned_root?: hash, read_seq?: count, as_of?: moment}
workspace.create | ucs | ok | o | {format: "governd.audit/1", name: text, origin: text, owner: usr_ or null, signing_key: hash, vocabulary: some, workspace_id: ws_}
log.vocabulary | s | ok | o | {vocabulary: some}
seal.rotate_key | c | ok | o | {origin: text, signing_key: hash}
log.restore | c | ok | o | {head_seq: count, head_hash: hash, backup_created_at: time, backup_digest: hash, origin: text, previous_origin: text, signing_key: hash, last_seal: {size: count, root: hash} or null, lost_seals: [{origin: text, size: count, root: hash}], lost_through: count or null, rights: "later" or "ended" or "kept", later: {seq: count, hash: hash} or null, workspaces_left_out?: [ws_]}
workspace.change | uc | ok | w | {second_factor_since: time or null}
key.create | uc | ok | w | {key_id: key_, key_digest: hash, label: text or null, scope: "full" or "agent" or "auditor", agents: [agent] or null, networks: [text] or null, expires_at: time or null}
key.change | uc | ok | w | {key_id: key_, networks: [text] or null}
key.revoke | uc | ok | w | {key_id: key_}
key.rotate | uc | ok | w | {key_id: key_, key_digest: hash, label: text or null, scope: "full" or "agent" or "auditor", agents: [agent] or null, networks: [text] or null, expires_at: time or null, replaces: key_, replaced_expires_at: time}
workload.begin | s | ok | w | {workload_id: wid_, workload_digest: hash}
member.invite | uc | ok | w | {invitation_id: inv_, link_digest: hash, role: "owner" or "member" or "auditor", label: text or null, expires_at: time}
member.uninvite | uc | ok | w | {invitation_id: inv_}
member.join | u | ok | w | {account_id: usr_, role: "owner" or "member" or "auditor", invitation_id: inv_}
member.join | u | ok | w | {account_id: usr_, role: "owner" or "member" or "auditor", issuer: text}
member.join member.remove | c | ok | i | {account_id: usr_, role: "auditor"}
member.change | uc | ok | w | {account_id: usr_, role: "owner" or "member" or "auditor", issuer?: text, role_before: "owner" or "member" or "auditor"}
member.remove | uc | ok | w | {account_id: usr_, role: "owner" or "member" or "auditor", issuer?: text}
account.create | u | ok | i | {account_id: usr_, account_digest: hash, link_id: inv_ or null, invitation_id?: inv_, identity_id?: idn_, identity_digest?: hash, issuer?: text, address: text or null, address_kind: "loopback" or "private" or "public" or "many" or "unknown"}
account.sign_in | u | ok | i | {account_id: usr_, session_id: ses_, session_digest: hash, expires_at: time, second_factor: "totp" or "recovery_code" or "passkey" or null, account_digest?: hash, passkey_id?: pky_, credential_digest?: hash, issuer?: text, identity_id?: idn_, multi_factor?: flag, known_device: flag, sessions_ended?: [ses_], address: text or null, address_kind: "loopback" or "private" or "public" or "many" or "unknown"}
account.sign_in | s | denied | i | {attempts: some, account_id: usr_ or null, accounts?: [usr_], unknown_account: count, reasons: {*: some}, since?: time, until?: time, address: text or null, address_kind: "loopback" or "private" or "public" or "many" or "unknown"}
account.end_sessions | uc | ok | i | {account_id: usr_, sessions: [ses_]}
account.end_sessions | s | ok | i | {account_id: usr_, sessions: [ses_], issuer: text}
account.change_password | uc | ok | i | {account_id: usr_, account_digest: hash, sessions_ended: [ses_]}
account.rename account.begin_totp account.confirm_totp account.disable_totp account.renew_codes | u | ok | i | {account_id: usr_, account_digest: hash}
account.reset_password | u | ok | i | {account_id: usr_, account_digest: hash, link_id: inv_, second_factor_ended: flag, passkeys_ended: [pky_], sessions_ended: [ses_], address: text or null, address_kind: "loopback" or "private" or "public" or "many" or "unknown"}
account.add_passkey | u | ok | i | {account_id: usr_, passkey_id: pky_, host: text, credential_digest: hash, account_digest?: hash}
account.remove_passkey | uc | ok | i | {account_id: usr_, passkey_id: pky_, account_digest?: hash}
installation.add_workspace | u | ok | i | {account_id: usr_, for_workspace_id: ws_, name: text, genesis: hash}
installation.add_workspace | c | ok | i | {account_id: null, for_workspace_id: ws_, name: text, genesis: hash}
installation.heads | s | ok | i | {count: count, root: hash}
installation.delete_workspace | c | ok | i | {for_workspace_id: ws_, size: some, head: hash, seal: text}
account.link_identity | u | ok | i | {account_id: usr_, identity_id: idn_, identity_digest: hash, issuer: text}
account.unlink_identity | uc | ok | i | {account_id: usr_, identity_id: idn_, issuer: text, sessions_ended: [ses_]}
account.erase | uc | ok | i | {account_id: usr_, operator: flag, links: [inv_], events: count, erased: [[count]]}
account.require_issuer | c | ok | i | {only: flag}
account.link | cs | ok | i | {link_id: inv_, link_digest: hash, kind: "setup" or "reset", account_id: usr_ or null, second_factor_ends: flag, expires_at: time}
account.unlink | cs | ok | i | {link_id: inv_}
"""


# Operations whose details an erasure can destroy; those of all others are always there.
ERASABLE = {"data.delete", "data.delete_prefix", "data.list", "data.query", "data.read", "data.read_full", "data.search", "data.versions", "data.write", "proof.create",
            "account.create", "account.sign_in", "account.end_sessions", "account.change_password", "account.rename", "account.reset_password",
            "account.begin_totp", "account.confirm_totp", "account.disable_totp", "account.add_passkey", "account.remove_passkey",
            "account.renew_codes", "account.link_identity", "account.unlink_identity", "account.link", "account.unlink"}
ERASING = {("data.erase", "ok"), ("account.erase", "ok")}


# Codes of what keeps an answer from being established; every other code is a sign of tampering (docs/verify-json.md).
OBSTACLES = {"workspace_left_out", "completeness_unknown", "copied_while_written", "erasure_outside", "evidence_unreadable", "export_incomplete", "key_not_given", "encoding_unknown",
             "log_empty", "newer_format", "newer_schema", "newer_vocabulary", "node_copies", "not_evidence", "seal_missing", "usage", "witness_missing"}


class Problem(Exception):
    """Something that was found: its code, words, and the position of the event that it is about, if there is one."""

    def __init__(self, code, message, seq=None):
        super().__init__(message)
        self.code, self.message, self.seq = code, message, seq


class Tampered(Problem):
    """The evidence contradicts itself."""


class Undetermined(Problem):
    """There is nothing here that could be checked."""


def require(condition, code, message, seq=None):
    if not condition:
        raise (Undetermined if code in OBSTACLES else Tampered)(code, message, seq)


def sha256(*parts):
    return hashlib.sha256(b"".join(parts)).hexdigest()


def number(value):
    """A number as ECMAScript writes it (RFC 8785, 3.2.2.3): one of double precision, also where it is an integer."""
    if abs(value) >= 2**1024:
        raise ValueError("larger than a number can be")
    value = float(value) if abs(value) >= 2**53 else value
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


def jcs(value, depth=1):
    """Canonical JSON (RFC 8785), nested at most 128 levels deep."""
    if isinstance(value, (dict, list)) and depth > 128:
        raise ValueError("nested too deeply")
    if isinstance(value, dict):
        names = sorted(value, key=lambda name: name.encode("utf-16-be"))
        return "{" + ",".join(f"{jcs(name)}:{jcs(value[name], depth + 1)}" for name in names) + "}"
    if isinstance(value, list):
        return "[" + ",".join(jcs(one, depth + 1) for one in value) + "]"
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return number(value)
    return ENCODER.encode(value)


ENCODER = json.JSONEncoder(ensure_ascii=False)  # json.dumps makes one for each call


def no_duplicates(pairs):
    require(len(dict(pairs)) == len(pairs), "event_malformed", "a JSON object has a member twice")
    return dict(pairs)


def no_number(name):
    raise ValueError(f"{name} is not JSON")


def read_integer(text):
    """An integer as JSON has it; Python refuses to read thousands of digits."""
    return int(text) if len(text) < 400 else float(text)


def read_fraction(text):
    """1.0 and 1e0 are the number 1, however they are written."""
    value = float(text)
    return int(value) if value.is_integer() and abs(value) < 2**53 else value


# How JSON is read: a member that is there twice, and what is no number, is no JSON.
JSON_FORM = {"object_pairs_hook": no_duplicates, "parse_constant": no_number, "parse_int": read_integer, "parse_float": read_fraction}
TOO_DEEP = "JSON is nested too deeply"


def load_json(text):
    try:
        return json.loads(text, **JSON_FORM)
    except RecursionError:
        raise Tampered("event_malformed", TOO_DEEP) from None


BASE32 = "0123456789abcdefghjkmnpqrstvwxyz"


def position_of(event_id):
    """The position in the id of an event: the first half of its 128 bits."""
    value = 0
    for letter in event_id[4:]:
        value = 32 * value + BASE32.index(letter)
    return value >> 64


def check_event(event):
    """The forms of an event's members; returns its canonical bytes."""
    require(isinstance(event, dict) and set(event) == set(FORMS), "event_malformed", "not the members of an event")
    for name, form in FORMS.items():
        value = event[name]
        if form is None:
            good = type(value) is int and (name == "agent_seq") <= value < 2**53
        else:
            good = (value is None and name in NULLABLE) or (
                isinstance(value, str) and re.fullmatch(form, value, re.ASCII) is not None
            )
        require(good, "event_malformed", f"{name} has the wrong type or form")
    require(position_of(event["id"]) == event["seq"], "event_malformed", "the id is that of another position")
    require(is_day(event["timestamp"]), "event_malformed", "the timestamp is no day")
    return jcs(event).encode()


def is_day(timestamp):
    """Whether the month of a time has its day."""
    year, month, day = (int(part) for part in timestamp[:10].split("-"))
    return day <= calendar.monthrange(year or 4, month)[1]  # the year 0 is a leap year


PATTERNS = {
    "hash": "[0-9a-f]{64}",
    "agent": "[A-Za-z0-9._:@~-]{1,128}",
    "time": FORMS["timestamp"],
    "trace": "[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}",
    "session": "[!-~]{1,128}",
    "v1": "v[1-9][0-9]{0,15}",
    "p1": "p[1-9][0-9]{0,15}",
}
NAMED = {
    "findings": '[{policy: text, detector: text, tier?: count, field: text, start: count, end: count, mode: "audit" or "redact" or "block"}]',
    "edge": "{seq: count, agent_seq: count, hash: hash}",
    "moment": "{seq: count, timestamp: time}",
    "erased": "{seq: count, key_of: count or null, expires_at: time or null}",
    "workload": "{issuer: text, subject: text}",
    "parties": "[{iss: text or null, sub: text}]",
    "authorised": '{session_id: ses_, second_factor: "totp" or "recovery_code" or "passkey" or null, second_factor_at: time or null}',
}


def read_form(text):
    """The form of a value, as a function that says whether a value has it. An object's members are its attribute."""
    tokens = re.findall(r'"[^"]*"|[a-z_0-9]+[?~]*|[][{}:,*]', text)

    def several():
        forms = [one()]
        while tokens[:1] == ["or"]:
            tokens.pop(0)
            forms.append(one())
        return forms[0] if len(forms) == 1 else lambda value: any(form(value) for form in forms)

    def one():
        token = tokens.pop(0)
        if token == "[":
            item = several()
            tokens.pop(0)  # the closing bracket
            return lambda value: isinstance(value, list) and all(map(item, value))
        if token == "{":
            return members()
        return simple(token)

    def members():
        named = {}
        while tokens[0] != "}":
            name = tokens.pop(0)
            tokens.pop(0)  # the colon
            named[name.rstrip("?~")] = (name[len(name.rstrip("?~")) :], several())
            if tokens[0] == ",":
                tokens.pop(0)
        tokens.pop(0)
        if set(named) == {"*"}:
            return lambda value: isinstance(value, dict) and all(map(named["*"][1], value.values()))
        form = lambda value: isinstance(value, dict) and members_problem(value, named) is None
        form.members = named
        return form

    return several()


def simple(name):
    if name.startswith('"'):
        return lambda value: value == name[1:-1]
    if name in NAMED:
        return read_form(NAMED[name])
    if name.endswith("_") or name in PATTERNS:
        pattern = PATTERNS.get(name, name + TYPEID)
        good = lambda value: isinstance(value, str) and re.fullmatch(pattern, value, re.ASCII) is not None
        return (lambda value: good(value) and is_day(value)) if name == "time" else good
    return {
        "text": lambda value: isinstance(value, str),
        "count": is_count,
        "some": lambda value: is_count(value) and value > 0,
        "flag": lambda value: isinstance(value, bool),
        "true": lambda value: value is True,
        "false": lambda value: value is False,
        "null": lambda value: value is None,
        "object": lambda value: isinstance(value, dict),
        "positions": are_positions,
        "writes": lambda value: are_positions(value) and bool(value),
    }[name]


def are_positions(value):
    """At most 1,000 positions in the log, each once, ascending."""
    good = isinstance(value, list) and len(value) <= 1_000 and all(map(is_count, value))
    return good and all(before < one for before, one in zip(value, value[1:]))


def members_problem(value, members):
    """The name of a member that is missing, unknown or of another type; None when an object has exactly its members."""
    marks = {name: mark for name, (mark, _) in members.items()}
    absent = {name for name, mark in marks.items() if name not in value}
    redacted = value.get("redacted") is True and "redacted" not in members and any("~" in marks[name] for name in absent)
    for name, said in value.items():
        if not (redacted if name == "redacted" and name not in members else name in members and members[name][1](said)):
            return name
    return next((name for name in absent if marks[name] == "" or (marks[name] == "~" and not redacted)), None)


def read_operations():
    """By operation and result, the forms of details with the actors and the chain of each."""
    forms = {}
    for line in OPERATIONS.strip().splitlines():
        names, actors, result, chain, members = (part.strip() for part in line.split(" | "))
        for name in names.split():
            forms.setdefault(name, {}).setdefault(result, []).append((actors, chain, read_form(members).members))
    return forms


def is_in(chain, event, installation):
    """Whether events of a chain can be in the chain of this event. `installation` is None where it is not known."""
    if event["agent_id"] is not None:
        return chain in "an" and not installation
    return {"a": False, "n": True, "o": True, "w": installation is not True, "i": installation is not False}[chain]


def check_form(event, said, installation):
    """An event by itself: its result, its actor, its chain, and the members of its details."""
    where, agent, actor = f"seq {event['seq']}", event["agent_id"], event["actor"]
    results = KNOWN.get(event["operation"])
    known = results is not None and event["result"] in RESULTS and re.fullmatch(ACTORS, actor)
    require(known, "operation_unknown", f"{where}: there is no such operation, result or kind of actor", event["seq"])
    fits = event["result"] in results and (event["result"] == "blocked") == (event["blocked_by"] is not None)
    require(fits, "result_impossible", f"{where}: the operation never ends like this", event["seq"])
    forms = [form for form in results[event["result"]] if is_in(form[1], event, installation)]
    require(forms, "chain_impossible", f"{where}: the operation is never recorded in this chain", event["seq"])
    kind = {"wid": "l", "cli": "c", "system": "s"}.get(actor.split("_")[0], actor[0])
    forms = [form for form in forms if kind in form[0]]
    require(forms, "actor_impossible", f"{where}: nobody of this kind can be its actor", event["seq"])
    if said is None:
        return
    problems = [members_problem(said, {**shared_members(event, kind, chain, said), **members}) for _, chain, members in forms]
    require(None in problems, "details_invalid", f"{where}: the details have not the form of this operation and result", event["seq"])


STATED = {"client": "text", "trace": "trace", "session": "session"}  # what a request states of itself


def shared_members(event, kind, chain, said):
    """The members that details of every operation have where they apply."""
    shared = {name: ("?", simple(form)) for name, form in STATED.items()} if kind in "kul" else {}
    if kind == "l":
        shared["workload"] = ("", simple("workload"))
        shared["on_behalf_of"] = ("?", lambda value: simple("parties")(value) and 2 <= len(value) <= 6)
    if kind == "u":
        shared["authorised_by"] = ("?", simple("authorised"))
    if event["agent_id"] is None and chain == "n":
        shared["agent_id"] = ("", simple("text"))
    if depends_on_policies(event, said):
        shared["policies_version"] = ("?", simple("p1"))
    return shared


def depends_on_policies(event, said):
    return event["agent_id"] is not None or said.get("redacted") is True or "agent_id" in said or "allowed" in said


def version_number(version):
    """The number of a version such as v3 or p3; 0 for none."""
    return int(version[1:]) if isinstance(version, str) else 0


def fits_together(said, seq):
    """Whether what a read states that it returned can be so: not both forms, nothing from after it, no state that is not earlier."""
    listed, count, root, read = (said.get(name) for name in ("returned", "returned_count", "returned_root", "read_seq"))
    good = (count is None) == (root is None) and (listed is None or count is None) and (count is None or count > 1_000)
    good = good and (not listed or listed[-1] < seq)
    at = said["as_of"]["seq"] if "as_of" in said else 0
    if "as_of" in said:
        good = good and at < seq and (not listed or listed[-1] <= at)
    return good and (read is None or (bool(listed or count) and at <= read < seq - 1))


def is_of_present(said):
    """Whether a read was of the state before its event, and not of an earlier moment, or of one that is not there."""
    return "as_of" not in said and said.get("code") not in ("audit_event_not_found", "checkpoint_not_found", "moment_gone")


class Premises:
    """What operations need before them and leave behind. What is None is not known, and is learned from the first event."""

    def __init__(self, single):
        self.single = single  # whether there is one agent's chain alone, which does not show the workspace's policies
        self.policies, self.installation, self.agents = None, None, {}

    def take(self, event, said):
        seq, agent, operation = event["seq"], event["agent_id"], event["operation"]
        if seq == 0:
            self.policies, self.installation = 0, event["actor"] == "system"
        check_form(event, said, self.installation)
        known = event["agent_seq"] == 1
        of = self.agents.setdefault(agent, {"config": 0 if known else None, "suspended": False if known else None, "checkpoints": set() if known else None})
        version = version_number(event["config_version"])
        self.need(of["config"] in (None, version), seq, "config_version is not the version in force")
        of["config"] = version
        if said is not None:
            if not self.single:
                stated = version_number(said.get("policies_version"))
                policies = self.policies if depends_on_policies(event, said) else 0
                self.need(policies in (None, stated), seq, "policies_version is not the version in force")
                self.policies = stated if depends_on_policies(event, said) else self.policies
            self.need(fits_together(said, seq), seq, "what the operation returned cannot be so")
            self.need(operation != "state.root" or said["seq"] < seq, seq, "the state that the operation names is not from before it")
            if agent is not None or operation.startswith("policies."):
                self.need(self.fits_versions(operation, event["result"], said, version, seq), seq, "there is no such version or position")
        if event["result"] == "ok":
            self.follow(event, said, of, version)

    def need(self, condition, seq, words):
        require(condition, "operation_impossible", f"seq {seq}: {words}", seq)

    def fits_versions(self, operation, result, said, version, seq):
        named = version_number(said.get("version"))
        if operation == "config.read" and not is_of_present(said):
            return named <= version
        if result == "not_found":
            if operation == "config.read":
                return version == 0
            reads = ("config.read_version", "config.rollback", "policies.read_version")
            return operation not in reads or named == 0 or named > version
        if operation == "data.write" and "reverted_from" in said:
            return position_of(said["reverted_from"]) < seq
        if result != "ok":
            return True
        if operation in ("config.read", "policies.read"):
            return named == version
        if operation in ("config.read_version", "policies.read_version"):
            return named <= version
        if operation in ("config.update", "config.rollback", "policies.update"):
            return named == version + 1 and version_number(said.get("rolled_back_from")) <= version
        if operation == "checkpoint.create":
            return said["as_of_seq"] == seq
        if operation == "checkpoint.restore" and "config_version" in said:
            return version_number(said["config_version"]) == version + 1 and version_number(said["rolled_back_from"]) <= version
        return True

    def follow(self, event, said, of, version):
        operation, seq, checkpoints = event["operation"], event["seq"], of["checkpoints"]
        if operation in ("config.update", "config.rollback", "policies.update") or (operation == "checkpoint.restore" and "config_version" in said):
            of["config"] = version + 1
        if operation == "policies.update":
            self.policies = version + 1
        if operation.startswith("checkpoint.") and "checkpoint_id" in said and checkpoints is not None:
            made = {"checkpoint.create": "checkpoint_id", "checkpoint.restore": "safety_checkpoint_id"}.get(operation)
            needed = [said[name] for name in ("checkpoint_id", "to") if name in said and name != made]
            self.need(all(name in checkpoints for name in needed), seq, "there is no such checkpoint of this agent")
            self.need(made is None or said[made] not in checkpoints, seq, "there is such a checkpoint already")
            checkpoints |= {said[made]} if made else set()
            checkpoints -= {said["checkpoint_id"]} if operation == "checkpoint.delete" else set()
        if operation in ("agent.suspend", "agent.resume"):
            before = said["state_before"] == "suspended"
            self.need(of["suspended"] in (None, before), seq, "the agent was not in the state that is stated")
            of["suspended"] = operation == "agent.suspend"


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
    require(base64.b64encode(data).decode() == text, "seal_invalid", "base64 that is not canonical")
    require(length is None or len(data) == length, "seal_invalid", "a hash is not 32 bytes")
    return data


def key_id(name, key, kind=b"\1"):
    return hashlib.sha256(name.encode() + b"\n" + kind + key).digest()[:4]


def verifier_key(name, key):
    """A sealing key as text, under the name of an origin (C2SP signed-note)."""
    return "+".join((str(name), key_id(str(name), key).hex(), base64.b64encode(b"\1" + key).decode()))


def read_key(text):
    """The 32 bytes of a public key, from any of its usual forms."""
    text = text.strip("\ufeff \t\r\n")
    if "+" in text and re.fullmatch(r"[^+\s]+\+[0-9a-f]{8}\+\S+", text):
        name, given, data = text.split("+", 2)
        data = base64.b64decode(data)
        good = data[:1] == b"\1" and len(data) == 33 and key_id(name, data[1:]).hex() == given
        require(good, "usage", "not the verifier key of a log")
        return data[1:]
    if re.fullmatch("[0-9a-f]{64}", text):
        return bytes.fromhex(text)
    require(text.startswith("-----BEGIN PUBLIC KEY-----"), "usage", "neither name+hash+key, nor PEM, nor 32 bytes in hex")
    data = base64.b64decode("".join(text.splitlines()[1:-1]))
    require(len(data) == 44 and data[:12].hex() == "302a300506032b6570032100", "usage", "not an Ed25519 public key")
    return data[12:]


def read_own_key(text):
    """A key that evidence carries: a verifier key in the one form that it has."""
    key = read_key(text)
    require(text == verifier_key(text.split("+")[0], key), "seal_invalid", "the key is not a verifier key")
    return key


class Policy:
    """A trust policy (C2SP tlog-policy), read line by line."""

    def __init__(self, data):
        self.logs, self.witnesses, self.groups, self.members, self.quorum = [], {}, {}, set(), None
        for number, line in enumerate(data.split(b"\n"), 1):
            try:
                require(not re.search(b"[\0-\x08\x0b-\x1f\x7f]", line), "usage", "a control character")
                word, *items = [item for item in re.split(b"[ \t]+", line) if item] or [b"#"]
                if not word.startswith(b"#"):
                    read = {b"log": self.log, b"witness": self.witness, b"group": self.group, b"quorum": self.set_quorum}.get(word)
                    require(read is not None, "usage", "a line begins with log, witness, group, quorum or #")
                    read(*items)
            except (Problem, ValueError) as problem:
                raise Undetermined("usage", f"line {number} of the policy: {problem}") from None
            except TypeError:  # of the call
                raise Undetermined("usage", f"line {number} of the policy has too few or too many words") from None
        require(self.quorum is not None, "usage", "the policy has no quorum")

    def log(self, key, url=None):
        name, data = key.decode().split("+")[0], read_key(key.decode())
        require(b"+" in key and data not in [one for _, one in self.logs], "usage", "no verifier key, or the same key again")
        self.logs.append((name, data))

    def witness(self, name, key, url=None):
        self.require_new(name)
        witness = read_witness(key.decode())
        require(witness[2] not in [one[2] for one in self.witnesses.values()], "usage", "the same key again")
        self.witnesses[name] = witness

    def group(self, name, threshold, first, *others):
        self.require_new(name)
        for member in (first, *others):
            self.require_defined(member)
            require(member not in self.members, "usage", "a name is a member once")
            self.members.add(member)
        count, is_number = 1 + len(others), re.fullmatch(b"[1-9][0-9]{0,8}", threshold)
        needed = count if threshold == b"all" else 1 if threshold == b"any" else int(threshold) if is_number else 0
        require(1 <= needed <= count, "usage", "the threshold is all, any, or a number of members")
        self.groups[name] = needed, (first, *others)

    def set_quorum(self, name):
        require(self.quorum is None, "usage", "a second quorum")
        if name != b"none":
            self.require_defined(name)
        self.quorum = name

    def require_new(self, name):
        require(name != b"none" and name not in self.witnesses and name not in self.groups, "usage", "a name is defined once")

    def require_defined(self, name):
        require(name in self.witnesses or name in self.groups, "usage", "no earlier line defines a name")


def read_witness(text):
    """The name, the type and the key of a witness (C2SP tlog-cosignature): Ed25519 or ML-DSA-44."""
    name, given, data = text.strip().split("+", 2)
    data = base64.b64decode(data)
    kind = data[:1]
    good = len(data) == {ED25519: 33, ML_DSA_44: 1313}.get(kind) and key_id(name, data[1:], kind).hex() == given
    require(good and (kind == ED25519 or len(name.encode()) < 256), "usage", "not the verifier key of a witness")
    return name, kind, data[1:]


ED25519, ML_DSA_44 = b"\4", b"\6"  # the types of witnesses' keys


KEY_NAME = "[^+\0-\x20\x7f-\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ufeff]+"  # no white space and no control characters


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
        good = re.fullmatch("[^\n]+\n(0|[1-9][0-9]{0,15})\n[^\n]+\n", self.text) and signatures.endswith("\n")
        good = good and is_text(text) and not re.search("[\0-\x09\x0b-\x1f]", self.text)  # signed-note: no control characters
        require(good and int(lines[1]) < 2**53, "seal_invalid", "not a seal")
        try:
            self.origin, self.size, self.root = lines[0], int(lines[1]), unbase64(lines[2], 32)
            self.base, self.workspace, self.epoch = parse_origin(self.origin)
            self.signatures = []
            for line in signatures[:-1].split("\n"):
                dash, name, data = line.split(" ")
                self.signatures.append((name, unbase64(data)))
                good = dash == "\u2014" and re.fullmatch(KEY_NAME, name) and len(self.signatures[-1][1]) > 4
                require(good and len(self.signatures) <= 100, "seal_invalid", "not a signature line")
        except ValueError:
            raise Tampered("seal_invalid", "not a seal") from None

    def signed_by(self, key):
        own = [data[4:] for name, data in self.signatures if (name, data[:4]) == (self.origin, key_id(self.origin, key))]
        require(all(ed25519_holds(key, self.text.encode(), data) for data in own), "seal_signature", "a seal's signature is wrong")
        return bool(own)

    def cosigned_by(self, name, key):
        """When a witness cosigned it with Ed25519, in seconds since 1970; None if it did not. A wrong cosignature is tampering."""
        own = [data[4:] for one, data in self.signatures if (one, data[:4]) == (name, key_id(name, key, ED25519))]
        times = [int.from_bytes(data[:8], "big") for data in own]
        for time, data in zip(times, own):
            text = f"cosignature/v1\ntime {time}\n{self.text}"
            good = len(data) == 72 and time < 2**63 and ed25519_holds(key, text.encode(), data[8:])
            require(good, "seal_signature", f"the cosignature of {name} is not right")
        return max(filter(None, times), default=None)  # one without a time does not count

    def signed_by_any(self, keys):
        return any([self.signed_by(key) for key in keys])

    def check(self, workspace, trust, keys=()):
        """Says whether the seal's signature was checked. `keys` are the log's, where they came with the seal."""
        require(self.workspace == workspace, "seal_invalid", "the seal is of another workspace")
        trust.note_witnesses(self)
        if not trust.keys:
            return "sealed (by whom is not established: no key was given)"
        signed = self.signed_by_any(trust.with_later(keys))
        require(signed, "seal_missing", not_their_key(trust, {fingerprint_of(key) for key in keys}))
        return "sealed with the given key" if self.signed_by_any(trust.keys) else "sealed with a key that the given key leads to"


def fingerprint_of(key):
    """How events name a key: the byte 0x01 is the type of Ed25519."""
    return sha256(b"\1", key)


def not_their_key(trust, fingerprints):
    if any(key.hex() in fingerprints for key in trust.keys):
        return "the given key is the fingerprint of this log's key: give the key itself"
    if any(fingerprint_of(key) in fingerprints for key in trust.keys):
        return "the given key is one of this log's, and no seal here is by it or a later one: give an earlier key"
    return "the given key does not lead to the key that sealed this: it is another log's key, or somebody replaced this log and its seals"


def is_key_chain(chain):
    """Whether a value has the form of announcements of keys."""
    return isinstance(chain, list) and len(chain) > 0 and all(
        has(one, "public_key", "event", "path", "seal") and isinstance(one["event"], dict) and is_hashes(one["path"])
        and isinstance(one["public_key"], str) and isinstance(one["seal"], str)
        for one in chain
    )


def read_key_chain(chain, workspace, number):
    """The keys of a log, the first one first: each is announced by an event under a seal by the key before it."""
    try:
        return follow_keys(chain, workspace, number)
    except Tampered as problem:
        raise Tampered("seal_invalid", str(problem)) from None


def follow_keys(chain, workspace, number):
    keys, last = [], -1
    require(is_key_chain(chain), "seal_invalid", "the announcements of keys are not in order")
    for one in chain:
        try:
            key, seal = read_own_key(one["public_key"]), Seal(one["seal"])
        except (ValueError, TypeError, AttributeError, Undetermined):
            raise Tampered("seal_invalid", "a key or a seal among the announcements of keys is not in order") from None
        event, value = Log(False, number=number).read(*stored(one["event"]))
        announced = (event["operation"], event["agent_id"], event["result"], event["workspace_id"])
        expected = ("seal.rotate_key" if keys else "workspace.create", None, "ok", workspace)
        require(announced == expected and event["seq"] > last, "seal_invalid", "an event does not announce a key of this log")
        details = one["event"]["details"]
        require(details.get("signing_key") == fingerprint_of(key), "seal_invalid", f"seq {event['seq']} announces another key")
        path = [bytes.fromhex(value) for value in one["path"]]
        included = event["seq"] < seal.size and path_root(bytes.fromhex(value), event["seq"], seal.size, path) == seal.root
        sealed = seal.workspace == workspace and included and seal.signed_by(keys[-1] if keys else key)
        require(sealed, "seal_invalid", f"seq {event['seq']}, which announces a key, is not under a seal by the key before it")
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
    require(notes and not rest, "usage", "not a file of seals, or cut off inside a seal")
    return [Seal(note) for note in notes]


class Trust:
    """The auditor's input: keys, seals kept elsewhere, and witnesses."""

    def __init__(self, keys=(), anchors=(), complete=False, witnesses=(), quorum=None):
        self.keys, self.anchors, self.complete = keys, anchors, complete
        self.witnesses, names = witnesses, range(len(witnesses))
        self.names = dict(zip(names, witnesses))  # the witnesses by the names that groups use
        self.groups = [(None, len(witnesses) if quorum is None else quorum, names)]  # each after its members; the last one is the quorum
        self.called, self.logs = "witnesses", None  # what the members are called; the workspaces that a policy lists
        self.workspace = None  # that is checked now
        self.witnessed = {}  # of the log that is checked now: the newest seal that each witness has cosigned, and when
        self.workspaces = set()  # that were checked
        self.prunings = []  # that were read: (position, digest of the export that holds what was dropped)

    @staticmethod
    def by_policy(policy, anchors, complete):
        trust = Trust([key for _, key in policy.logs], anchors, complete, [*policy.witnesses.values()])
        needed, members = policy.groups.get(policy.quorum, (1, (policy.quorum,)))
        last = (None, 0, ()) if policy.quorum == b"none" else (None, needed, members)
        trust.names, trust.groups = policy.witnesses, [*((name, *group) for name, group in policy.groups.items()), last]
        trust.called = f"members of the quorum {policy.quorum.decode(errors='replace')}"
        trust.logs = {parse_origin(name)[1] for name, _ in policy.logs} or None
        return trust

    def saw(self, workspace):
        self.workspace = workspace
        self.workspaces.add(workspace)

    def require_log(self):
        """The log that was checked is one of the policy's."""
        known = self.logs is None or self.workspace is None or self.workspace in self.logs
        require(known, "key_not_given", f"the policy lists no log of {self.workspace}")

    def note_witnesses(self, seal, code="seal_signature"):
        """Notes which witnesses have cosigned a seal that is one of the log's."""
        try:
            times = {(name, key): seal.cosigned_by(name, key) for name, kind, key in self.witnesses if kind == ED25519}
        except Tampered as problem:
            require(False, code, str(problem))
        for witness, time in times.items():
            if time is not None and seal.size and seal.size >= self.witnessed.get(witness, (0, 0))[0]:
                self.witnessed[witness] = (seal.size, time)

    def require_witnesses(self):
        """What the witnesses have cosigned, in words; the next log is counted by itself."""
        seen, self.witnessed = self.witnessed, {}
        unchecked = ", ".join(name for name, kind, _ in self.witnesses if kind == ML_DSA_44)
        unchecked = f"; not checked, since their cosignatures are ML-DSA-44: {unchecked}" if unchecked else ""
        met = {name for name, (called, _, key) in self.names.items() if (called, key) in seen}
        for name, needed, members in self.groups:
            found = sum(member in met for member in members)
            met |= {name} if found >= needed else set()
        count = f"{found} of the {needed} required {self.called} have cosigned a seal of this log"
        require(found >= needed, "witness_missing", count + unchecked)
        words = ", ".join(f"{name} through event {size - 1} at {utc(time)}" for (name, _), (size, time) in seen.items())
        return f". Witnessed: {words or 'by none'}{unchecked}" if words or unchecked else ""

    def with_later(self, keys):
        """The given keys, and those of a log after the first that was given."""
        first = next((at for at, key in enumerate(keys) if key in self.keys), len(keys))
        return [*self.keys, *keys[first + 1 :]]

    def unknown(self, why):
        """Says that events may be missing; with --complete that is why nothing is established."""
        require(not self.complete, "completeness_unknown", f"completeness cannot be established: {why}")
        return f"Completeness cannot be established: {why}"

    def is_damaged(self, anchor):
        """Whether a kept seal has a wrong signature of a given key."""
        try:
            return anchor.signed_by_any(self.keys) and False
        except Tampered:
            return True

    def anchor(self, log):
        """Every kept seal of a whole log must be of its beginning, or be named by a restore. Returns the last event under one."""
        through, open_questions = None, []
        for seal in sorted(self.anchors, key=lambda one: one.size):
            if seal.workspace != log.workspace:
                continue
            if self.is_damaged(seal):
                open_questions.append(DAMAGED)
            elif not log.is_lost(seal):
                why = log.epochs.why(seal)
                require(seal.size <= len(log.hashes), *why("seal_beyond_log", "the log is shorter than the kept seal says"), seal.size - 1)
                root = tree_root(map(bytes.fromhex, log.hashes[: seal.size]))
                require(root == seal.root, *why("anchor_mismatch", "the log is not the one of the kept seal"), seal.size - 1)
                self.note_witnesses(seal, "seal_missing")
                through = seal.size - 1 if seal.size else through
        return through, open_questions


DAMAGED = ("seal_missing", "the kept seal is damaged: its signature is wrong")
FOREIGN = ("seal_missing", "the kept seal is of another workspace")
ANOTHER = ("seal_missing", "the kept seal is another one than the export was made under")


class Epochs:
    """The origin in force at each size of the tree, and the restores that began it."""

    def __init__(self):
        self.origins, self.restores, self.keys = [[0, None]], [], []  # (size, origin), (seq, details), (seq, digest)

    def note(self, seq, operation, said):
        """Notes a key or a restore. Returns what is wrong with the epoch that a restore begins, or None."""
        if operation != "log.restore":
            self.keys.append((seq, said.get("signing_key")))
            if seq == 0:
                self.origins[0][1] = said.get("origin")
            return None
        now = self.origins[-1]
        self.restores.append((seq, said, now))
        problem = epoch_problem(seq, said, now[1], self.keys and self.keys[-1][1])
        if problem is None:
            now[1] = said["previous_origin"]
            self.origins.append([seq + 1, said["origin"]])
        return problem

    def why(self, seal):
        """How to report that the log does not continue a kept seal: a declared restore can be why."""
        over = [
            seq
            for seq, said, ended in self.restores
            if seq < seal.size and ended[1] in (None, seal.origin)
        ]
        if not over:
            return lambda code, words: (code, words)
        return lambda _, words: ("rolled_back", f"{words}: the log was restored from a backup at seq {over[0]}, and events are gone")

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
        return next((seq for seq, said, _ in self.restores if head in (said.get("lost_seals") or [])), None)


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


# Operations of events that say how the log is sealed. They are read under every vocabulary.
SEALING = ("workspace.create", "seal.rotate_key", "log.restore")


class Log:
    """The chains of a log, followed event by event in order of seq."""

    def __init__(self, whole, agent=None, from_start=False, number=VOCABULARY):
        self.whole, self.agent, self.from_start = whole, agent, from_start  # whether every chain must begin with its first event
        self.first_seq, self.next_seq, self.workspace, self.heads, self.hashes = None, None, None, {}, []
        self.number, self.announced = number, None  # of the vocabulary in force; what events here announced last
        self.newer_from, self.opaque = None, False  # the first event under a number that is not known; whether one had an unknown envelope
        self.pruned = 0  # events before this one may be there as leaves of the tree alone
        self.kept = None  # what the pruning states to have kept
        self.firsts = {}  # the first event of each agent, where it is here
        self.blanks, self.erasures = [], []  # events without details, and what accounts for them
        self.later = []  # erasures after the last event: (ranges, proved)
        self.keys = []  # (seq, details) of events that name a sealing key
        self.restores = []  # (seq, time, workspaces that the backup lacked) of the restores that events declare
        self.made, self.deleted = {}, set()  # what the log of the installation says of workspaces: the hashes of their first events, by id
        self.of_installation, self.first_time = False, ""  # whether it is that log; when its first event was recorded
        self.first_operations = []  # one more than the making of a workspace records
        self.premises = Premises(not whole)
        self.heads_said = None, {"count": 0, "root": sha256()}, None  # the newest event about heads: seq, details, time
        self.known_heads = {}  # the stored heads of workspaces
        self.last_time = ""  # of the last event
        self.stating = []  # events that state rows of this file, with their details, None where these are gone
        self.roots, self.roots_again, self.roots_left = [], 0, 0  # state roots: (seq, details); how many were computed again, and how many not
        self.lacking = set()  # the positions of changes without details, until an erasure names them
        self.epochs, self.lost = Epochs(), []  # its origins; the restores that name a kept seal as lost

    @property
    def is_newer(self):
        return self.number > VOCABULARY

    def take_number(self, event, said):
        """The genesis announces the first number, and is of it; later announcements are of the number before."""
        seq, number = event["seq"], (said or {}).get("vocabulary")
        good = is_count(number) and number > 0
        if seq == 0 and good:
            self.number = self.announced = number
        if self.is_newer and self.newer_from is None:
            self.newer_from = seq
        if seq == 0 or not announces(event):
            return
        form = not self.is_newer or (good and event["actor"] == "system" and set(said) == {"vocabulary"})
        require(form, "vocabulary_invalid", f"seq {seq}: the announcement of a vocabulary has not its form", seq)
        if not self.is_newer:
            check_form(event, said, self.premises.installation)
        require(number == self.number + 1, "vocabulary_invalid", f"seq {seq}: the log announces another vocabulary than the next one", seq)

    def add_leaf(self, canonical, stored_hash):
        """An event with an unknown envelope, or after one: nothing but its bytes can be checked."""
        self.opaque, value = True, sha256(b"\0", canonical)
        require(value == stored_hash, "hash_mismatch", "the hash of an event is not the one of its bytes", self.next_seq)
        self.hashes.append(value)
        self.next_seq += 1

    def add(self, canonical, details_text, salt, stored_hash, later=tuple):
        """The next event. `later` returns the numbers of those after it, where they may be out of order."""
        event, value = self.read_body(canonical, stored_hash)
        seq, agent, place = event["seq"], event["agent_id"], event["agent_seq"]
        if self.next_seq is not None:
            require(seq >= self.next_seq, "seq_repeated", f"seq {seq}: expected {self.next_seq}", seq)
            if seq > self.next_seq and self.whole:
                # Where a missing event comes later, the events are out of order.
                code = "seq_repeated" if any(self.next_seq <= one < seq for one in later()) else "seq_gap"
                raise Tampered(code, f"seq {seq}: expected {self.next_seq}", seq)
        self.next_seq = seq + 1
        self.first_seq = seq if self.first_seq is None else self.first_seq
        genesis = (event["operation"], agent, place, event["previous_hash"], event["result"]) == ("workspace.create", None, 1, ZEROS, "ok")
        require(genesis if seq == 0 else event["operation"] != "workspace.create", "genesis_invalid", f"seq {seq}: the genesis is not where it belongs", seq)
        said = self.read_details(event, details_text, salt)
        require(self.whole or agent == self.agent, "wrong_agent", f"seq {seq}: another agent", seq)
        before = self.heads.get(agent)
        if before is not None or self.from_start:
            before = before or (0, ZEROS)
            require(place == before[0] + 1, "agent_seq_gap", f"seq {seq}: does not follow in its chain", seq)
            require(event["previous_hash"] == before[1], "link_broken", f"seq {seq}: does not follow in its chain", seq)
        require((place == 1) == (event["previous_hash"] == ZEROS), "link_broken", f"seq {seq}: a chain begins wrongly", seq)
        self.take_number(event, said)
        if not self.is_newer:
            self.premises.take(event, said)
        if (event["operation"], agent, event["result"]) == ("log.restore", None, "ok"):
            said = load_json(details_text) if details_text else {}
            last = (seq - 1, self.hashes[-1] if self.hashes else None)
            named = (said.get("head_seq"), said.get("head_hash"))
            known = said.get("head_seq") is not None and self.whole and self.hashes
            require(not known or named == last, "restore_invalid", f"seq {seq}: restored from another log", seq)
        self.note_epoch(event, details_text)
        if details_text is None:
            self.blanks.append(seq)
        elif (event["operation"], event["result"]) in ERASING and not self.is_newer:
            self.erasures.append((seq, load_json(details_text)))
            check_erasure(*self.erasures[-1])
        if seq > 0 and announces(event):
            self.number = self.announced = said["vocabulary"]
        self.heads[agent] = (place, value)
        if place == 1:
            self.firsts[agent] = seq
        self.hashes.append(value)
        return event

    def check_blanks(self):
        """Every event without details must be named by a later erasure."""
        blanks, named = set(self.blanks), []
        for seq, said in self.erasures:
            named += check_erasure(seq, said)
        if self.whole and self.first_seq is not None:
            positions = (seq for first, end in named for seq in range(max(first, self.first_seq), end + 1))
            restored = [seq for seq in positions if seq not in blanks]
            require(not restored, "details_restored", f"details that an erasure destroyed are there again, of seq {sorted(restored)[:5]}")
        covered = lambda seq, ranges: any(first <= seq <= end for first, end in ranges)
        sure = named + [one for ranges, proved in self.later if proved for one in ranges]
        unsure = [one for ranges, proved in self.later if not proved for one in ranges]
        unproved = [seq for seq in sorted(blanks) if not covered(seq, sure) and covered(seq, unsure)]
        missing = [seq for seq in sorted(blanks) if not covered(seq, sure + unsure)]
        if self.newer_from is not None:  # what erased them may be an event whose meaning is not known
            return unproved + missing
        require(not missing, "details_missing", f"details are gone, and no erasure names the events: seq {missing[:5]}", missing[0] if missing else None)
        return unproved

    def read(self, canonical, details_text, salt, stored_hash):
        """An event by itself: its form, its hash, its details."""
        event, value = self.read_body(canonical, stored_hash)
        said = self.read_details(event, details_text, salt)
        if not self.is_newer:
            check_form(event, said, None)
        return event, value

    def read_body(self, canonical, stored_hash):
        try:
            event = load_json(canonical)
            require(check_event(event) == canonical, "event_malformed", "the bytes are not in canonical form")
        except (ValueError, TypeError, RecursionError):
            raise Tampered("event_malformed", "the bytes are no event") from None
        seq, value = event["seq"], sha256(b"\0", canonical)
        require(value == stored_hash, "hash_mismatch", f"seq {seq}: the hash is not the one of the bytes", seq)
        self.workspace = self.workspace or event["workspace_id"]
        require(event["workspace_id"] == self.workspace, "wrong_workspace", f"seq {seq}: another workspace", seq)
        return event, value

    def read_details(self, event, details_text, salt):
        seq = event["seq"]
        require((details_text is None) == (salt is None), "details_mismatch", f"seq {seq}: details are half erased", seq)
        if details_text is None:
            fixed = announces(event) or ((event["agent_id"], event["result"]) == (None, "ok") and event["operation"] in SEALING)
            erasable = event["operation"] in ERASABLE or (self.is_newer and not fixed)
            require(erasable, "details_missing", f"seq {seq}: details that nothing can erase are gone", seq)
            return None
        good = isinstance(salt, str) and re.fullmatch("[0-9a-f]{32}", salt) and isinstance(details_text, str)
        require(good, "details_mismatch", f"seq {seq}: not a salt", seq)
        commitment = sha256(bytes.fromhex(salt), details_text.encode(errors="surrogateescape"))
        require(commitment == event["details_commitment"], "details_mismatch", f"seq {seq}: details do not fit", seq)
        try:
            said = load_json(details_text)
            good = isinstance(said, dict) and jcs(said) == details_text and is_text(details_text)
        except (Tampered, ValueError, RecursionError):
            good = False
        require(good, "details_malformed", f"seq {seq}: details are not canonical", seq)
        return said

    def keep(self, canonical, details_text, salt, stored_hash):
        """An event from the pruned part of the log: it has to be the leaf of its place."""
        value = sha256(b"\0", canonical)
        event, _ = self.read_body(canonical, value)
        seq, agent, place = event["seq"], event["agent_id"], event["agent_seq"]
        require(self.hashes[seq] == value, "hash_mismatch", f"seq {seq}: not the leaf of its place in the tree", seq)
        require(stored_hash == value, "row_mismatch", f"seq {seq}: a column beside the event says something else", seq)
        said = self.read_details(event, details_text, salt)
        self.take_number(event, said)
        if not self.is_newer:
            check_form(event, said, None)
        if seq > 0 and announces(event):
            self.number = self.announced = said["vocabulary"]
        before = self.heads.get(agent, (0, ZEROS))
        require(place > before[0], "agent_seq_gap", f"seq {seq}: out of order in its chain", seq)
        if place == before[0] + 1:
            require(event["previous_hash"] == before[1], "link_broken", f"seq {seq}: does not follow in its chain", seq)
        self.heads[agent] = (place, value)
        if place == 1:
            self.firsts[agent] = seq
        self.note_epoch(event, details_text)
        return event

    def note_epoch(self, event, details_text):
        operation, own = event["operation"], (event["agent_id"], event["result"]) == (None, "ok")
        if own and operation in SEALING:
            problem = self.epochs.note(event["seq"], operation, load_json(details_text))
            require(not problem, "restore_invalid", f"seq {event['seq']}: {problem}", event["seq"])

    def check_origin(self, seal, whole=True):
        require(not self.epochs.is_foreign(seal, whole), "seal_origin", "a seal is of another epoch: its origin was not in force at its size")

    def is_lost(self, seal, whole=True):
        """Whether a kept seal is of an earlier origin and named by a restore. One that is not named is a fork."""
        if not self.epochs.is_foreign(seal, whole):
            return False
        restore = self.epochs.naming(seal)
        code = "seal_beyond_log" if seal.size > len(self.hashes) and whole else "seal_origin"
        words = "the kept seal is not of this log, since its origin was not in force at its size"
        require(restore is not None, *self.epochs.why(seal)(code, words), seal.size - 1)
        self.lost.append(restore)
        return True

    def check_lost(self, through):
        """What a restore says of kept seals counts only under a seal by a trusted key: others could have added it."""
        uncovered = [seq for seq in self.lost if through is None or seq > through]
        require(not uncovered, "rolled_back", f"the restore at seq {uncovered} names the kept seal, and no seal by a trusted key covers the restore")

    def summary(self):
        bodies = f", with bodies from seq {self.pruned} on" if self.pruned else ""
        epochs = ""
        for (seq, said, _), (_, origin) in zip(self.epochs.restores, self.epochs.origins[1:]):
            name = f", from there on sealed as {origin}" if "origin" in said else ""
            epochs += f", restored from a backup at seq {seq}{name}"
        if self.lost:
            epochs += f", {len(self.lost)} kept seals are over lost events and named at seq {sorted(set(self.lost))}"
        return f"{self.workspace}: {len(self.hashes)} events{bodies}, {len(self.heads)} chains{epochs}"


WHITE = " \t\r\n"
TIME = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,3})?Z"
FORMAT = "governd.audit-export/1"
MEMBERS = {"format", "vocabulary", "workspace_id", "agent_id", "start_time", "end_time", "exported_at", "event_count", "before", "after",
           "binding", "proof", "seal", "public_key"}
OPTIONAL = {"erasures", "keys", "restores"}


def announces(event):
    """Whether an event announces the number of a vocabulary."""
    operation = "workspace.create" if event["seq"] == 0 else "log.vocabulary"
    return (event["operation"], event["agent_id"], event["result"]) == (operation, None, "ok")


def has_newer_envelope(canonical):
    """Whether bytes name a later format of events."""
    return re.search(rb'"format":"governd\.audit/([2-9]|[1-9][0-9]+)"', canonical) is not None


NEWER = "events are under a greater vocabulary than is known here, so what they did was not checked, nor the rows that they may have changed"


def is_count(value):
    return type(value) is int and 0 <= value < 2**53


def is_hash(value):
    return isinstance(value, str) and re.fullmatch("[0-9a-f]{64}", value) is not None


def is_hashes(value):
    return isinstance(value, list) and len(value) <= 128 and all(map(is_hash, value))


def has(value, *members):
    return isinstance(value, dict) and set(value) == set(members)


KNOWN = read_operations()


def check_header(header):
    """The members of a header and their types."""
    known = isinstance(header, dict) and header.get("format") == FORMAT
    later = isinstance(header, dict) and re.fullmatch("governd[.]audit-export/[1-9][0-9]*", str(header.get("format")))
    require(known or not later, "newer_format", "an export of a later format than is known here")
    require(known, "not_evidence", "not an export of a known format")
    require(MEMBERS <= set(header) <= MEMBERS | OPTIONAL, "event_malformed", "the header has not the members of a header")
    texts = [header["workspace_id"], header["exported_at"]]
    texts += [header[name] for name in ("agent_id", "start_time", "end_time", "seal", "public_key") if header[name] is not None]
    good = all(isinstance(text, str) for text in texts) and is_count(header["event_count"])
    good &= is_count(header["vocabulary"]) and header["vocabulary"] > 0
    proof = header["proof"]
    good &= isinstance(header["after"], dict) and isinstance(header["binding"], dict)
    good &= header["before"] is None or isinstance(header["before"], dict)
    good &= proof is None or has(proof, "path", "binding") or has(proof, "before", "after", "binding")
    require(good and (proof is None or all(map(is_hashes, proof.values()))), "event_malformed", "a member of the header has the wrong type")
    if "erasures" in header:
        check_erasures(header["erasures"])
    require("keys" not in header or is_key_chain(header["keys"]), "event_malformed", "the announcements of keys are not in order")
    require("restores" not in header or are_restores(header["restores"]), "event_malformed", "the restores are not in order")


def are_restores(value):
    """Whether a value has the form of the restores that an export shows."""
    return isinstance(value, list) and len(value) > 0 and all(
        has(one, "event", "path") and isinstance(one["event"], dict) and is_hashes(one["path"]) for one in value
    )


def check_erasures(value):
    good = has(value, "events", "seal") and (value["seal"] is None or isinstance(value["seal"], str))
    good = good and isinstance(value["events"], list) and all(
        has(one, "event", "path") and isinstance(one["event"], dict) and (one["path"] is None or is_hashes(one["path"]))
        for one in value["events"]
    )
    require(good, "event_malformed", "the erasures are not in order")


def is_text(text):
    """Whether all of it was UTF-8."""
    return not re.search("[\udc80-\udcff]", text)


def read_ndjson(lines):
    """The header, the events, and the trailer or why there is none."""
    try:
        header = load_json(lines[0])
        require(is_text(lines[0]) and header.pop("type") == "header", "not_evidence", "no header")
    except (Tampered, ValueError):
        raise Undetermined("not_evidence", "not an export: its first line cannot be read") from None
    check_header(header)
    require("erasures" not in header, "event_malformed", "the header has not the members of a header")
    events = []
    for number, line in enumerate(lines[1:], 2):
        try:
            value = load_json(line)
        except ValueError:
            return header, events, "the export is incomplete, or a line cannot be read"
        if not is_text(line):
            return header, events, "a line of the export is not UTF-8"
        require(isinstance(value, dict), "event_malformed", "a line is no object")
        kind = value.get("type")
        require(kind in ("event", "trailer"), "event_malformed", "a line is neither an event nor the trailer")
        if kind == "trailer":
            good = has({"erasures": 0, **value}, "type", "event_count", "head", "erasures") and is_count(value["event_count"])
            require(good and (value["head"] is None or is_hash(value["head"])), "event_malformed", "the trailer is not in order")
            if "erasures" in value:
                check_erasures(value["erasures"])
            require(not "".join(lines[number:]).strip(WHITE), "event_malformed", "something follows the trailer")
            return header, events, value
        del value["type"]
        events.append(value)
    return header, events, "the export is incomplete: its trailer is missing"


def read_document(text):
    """The members of a json export but its events; these; and why its end is missing, or None.

    It is read member by member and event by event, because an export that was cut off may be altered before that.
    """
    decoder = json.JSONDecoder(**JSON_FORM)
    header, events, at, last_before = {}, [], 0, None  # `last_before`: the members before the events

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
        try:
            found, end = decoder.raw_decode(text, at)
        except RecursionError:
            raise Tampered("event_malformed", TOO_DEEP) from None
        require(is_text(text[at:end]), "export_incomplete", "this is not UTF-8")
        at = end
        return found

    def members():
        nonlocal at, last_before
        skip("{")
        named = set()
        while True:
            name = value()
            require(isinstance(name, str), "export_incomplete", "not JSON")
            require(name not in named, "event_malformed", "a member is there twice")
            named.add(name)
            skip(":")
            if name != "events":
                header[name] = value()
            else:
                require("agent_id" in header, "export_incomplete", "the events stand before the agent_id")
                last_before = set(header)
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
        require(header.get("format") == FORMAT, "not_evidence", "not an export")
        raise
    except (ValueError, RecursionError, Undetermined):
        return header, events, "not an export, or not all of it"
    require(last_before is None or "vocabulary" not in header or "vocabulary" in last_before, "export_incomplete", "the events stand before the vocabulary")
    require("format" in header, "not_evidence", "not an export")
    check_header(header)
    require(not text[at:].strip(WHITE), "event_malformed", "something follows the end of the export")
    return header, events, None


def check_export(text, trust):
    lines = text.split("\n")
    try:
        ndjson = "type" in json.loads(lines[0]).keys()
    except (ValueError, AttributeError, RecursionError):
        ndjson = False
    header, events, trailer = read_ndjson(lines) if ndjson else read_document(text)
    if isinstance(trailer, str):
        findings = Findings()
        with findings.section():
            check_part(header, events)
        findings.problems.append(Undetermined("export_incomplete" if ndjson or events else "not_evidence", trailer))
        findings.finish()
    whole = header["agent_id"] is None
    log = Log(whole, header["agent_id"], number=first_number(header, events))
    bodies = feed(log, events)
    require(not events or log.workspace == header["workspace_id"], "wrong_workspace", "another workspace than stated")
    trust.saw(header["workspace_id"])
    head = log.hashes[-1] if log.hashes else None
    require(not ndjson or trailer["head"] == head, "head_mismatch", "another end than stated")
    require(not log.opaque, "newer_vocabulary", NEWER)
    counts = {header["event_count"], (trailer if ndjson else header)["event_count"]}
    bound = read_bound(header, "ndjson" if ndjson else "json")
    check_bound(header, bound, bodies, log)
    check_number(header, bound, log)
    require(counts == {len(events)}, "export_count", "the number of events is wrong")
    said = check_bound_seal(header, bound, bodies, log, trust, (trailer if ndjson else header).get("erasures"))
    return f"{log.summary()}, {said}"


def first_number(header, events):
    """The number of the vocabulary that is in force before the first event: an announcement is of the number before it."""
    for event in events:
        if isinstance(event, dict) and {"seq", "operation", "agent_id", "result"} <= set(event) and announces(event):
            number = event["details"].get("vocabulary") if isinstance(event.get("details"), dict) else None
            return max(number - 1, 1) if is_count(number) else VOCABULARY
    return header.get("vocabulary", VOCABULARY)


def check_number(header, bound, log):
    """The number that an export states is that of its event, and of its events as far as they announce it."""
    number, at_end = header["vocabulary"], header["agent_id"] is None and bound.after["seq"] == bound.event["seq"]
    fits = log.announced is None or (number == log.announced if at_end else number >= log.announced)
    require(fits and bound.said["vocabulary"] == number, "vocabulary_invalid", "the export states another vocabulary than its events")


def feed(log, events):
    """Adds events as they are shown; returns their bodies."""
    bodies = []
    for at, event in enumerate(events):
        later = lambda: [one.get("seq") for one in events[at:] if isinstance(one, dict) and is_count(one.get("seq"))]
        require(isinstance(event, dict) and {"details", "details_salt", "hash"} <= set(event), "event_malformed", "not an event")
        if log.opaque or (log.is_newer and has_newer_envelope(jcs({"format": event.get("format")}).encode())):
            body = {name: value for name, value in event.items() if name not in ("details", "details_salt", "hash")}
            log.add_leaf(jcs(body).encode(), event["hash"])
            continue
        bodies.append(log.add(*stored(event), later=later))
    return bodies


def stored(shown):
    """The canonical bytes, the details, the salt and the hash of a shown event."""
    event = {**shown}
    try:
        details, salt, value = event.pop("details"), event.pop("details_salt"), event.pop("hash")
        text = None if details is None else jcs(details)
        (text or "").encode()  # no lone surrogates
        good = isinstance(details, (dict, type(None))) and isinstance(value, str)
        good = good and (salt is None or re.fullmatch("[0-9a-f]{32}", salt))
        require(good, "event_malformed", "not an event")
        return check_event(event), text, salt, value
    except (ValueError, TypeError, KeyError, RecursionError):
        raise Tampered("event_malformed", "not an event") from None


def check_part(header, events):
    """An export without its end: what is there must hold by itself."""
    agent, number = header.get("agent_id"), header.get("vocabulary", VOCABULARY)
    log = Log(agent is None, agent, number=first_number(header, events) if is_count(number) else VOCABULARY)
    feed(log, events)


class Bound:
    """The event of an export, and the events on both sides of the exported ones."""

    def __init__(self, header):
        try:
            self.event, self.hash = Log(False, number=header["vocabulary"]).read(*stored(header["binding"]))
            self.said = header["binding"]["details"]
            self.after, self.before, self.before_hash = header["after"], header["before"], None
            self.after_hash = sha256(b"\0", check_event(self.after))
            if self.before is not None:
                self.before_hash = sha256(b"\0", check_event(self.before))
        except Tampered as problem:
            raise Tampered("export_window", f"what the export says of itself is not in order: {problem}") from None


def is_edge(value):
    return value is None or (
        has(value, "seq", "agent_seq", "hash") and is_count(value["seq"]) and is_count(value["agent_seq"]) and is_hash(value["hash"])
    )


EXPORT_OPTIONS = {"scope", "start_time", "end_time", "pruned_before", *STATED, "workload", "on_behalf_of", "authorised_by", "policies_version"}


def read_bound(header, form):
    """Reads the event of an export and compares it with the header."""
    bound = Bound(header)
    event, said = bound.event, bound.said
    needed = {"format", "event_count", "first", "last", "tree_root", "restores", "vocabulary"}
    good = (event["operation"], event["result"]) == ("audit.export", "ok") and isinstance(said, dict)
    require(good and needed <= set(said) and is_count(said["vocabulary"]), "export_window", "it is not the event of an export")
    more = set(said) if said["vocabulary"] > VOCABULARY else EXPORT_OPTIONS
    require(set(said) <= needed | more, "export_window", "it is not the event of an export")
    good = said.get("scope") == ("workspace" if event["agent_id"] is None else None) and is_count(said["event_count"])
    good &= is_edge(said["first"]) and is_edge(said["last"]) and is_hash(said["tree_root"]) and is_count(said.get("pruned_before", 0))
    good &= is_count(said["restores"]) and all(isinstance(said.get(name, ""), str) for name in STATED)
    good &= simple("parties")(said.get("on_behalf_of", []))
    workload = said.get("workload", {"issuer": "", "subject": ""})
    good &= has(workload, "issuer", "subject") and all(isinstance(value, str) for value in workload.values())
    session = said.get("authorised_by", {"session_id": "", "second_factor": None, "second_factor_at": None})
    good &= has(session, "session_id", "second_factor", "second_factor_at") and isinstance(session["session_id"], str)
    good = good and all(isinstance(session[name], (str, type(None))) for name in ("second_factor", "second_factor_at"))
    require(good, "export_window", "it is not the event of an export")
    own = [(event[name], header[name]) for name in ("workspace_id", "agent_id")]
    own += [(said.get(name), header[name]) for name in ("start_time", "end_time", "event_count")]
    own += [(event["timestamp"], header["exported_at"]), (said["format"], form)]
    require(all(one == other for one, other in own), "export_window", "the event of the export describes another export")
    return bound


def check_bound(header, bound, bodies, log):
    """The events are those that the event of the export states, and there are no others in the window."""
    event, said, agent = bound.event, bound.said, header["agent_id"]
    edge = lambda at: {**{name: bodies[at][name] for name in ("seq", "agent_seq")}, "hash": log.hashes[at]} if bodies else None
    require((said["first"], said["last"]) == (edge(0), edge(-1)), "export_window", "the events are not the ones that the event of the export states")
    beside = [bound.after] + ([bound.before] if bound.before else [])
    good = all(one["workspace_id"] == header["workspace_id"] and agent in (None, one["agent_id"]) for one in beside)
    # The exported events follow the one before them, and the one after follows them.
    steps = [(bound.before, bound.before_hash, bodies[0] if bodies else bound.after)]
    steps += [(bodies[-1], log.hashes[-1], bound.after)] if bodies else []
    for previous, value, following in steps:
        if agent is None:
            good &= following["seq"] == (previous["seq"] if previous else -1) + 1
        else:
            place = (previous["agent_seq"] + 1, value) if previous else (1, ZEROS)
            good &= (following["agent_seq"], following["previous_hash"]) == place
    at_end = bound.after["seq"] == event["seq"]
    good &= bound.after["seq"] <= event["seq"] and (not at_end or bound.after_hash == bound.hash)
    require(good, "export_window", "the events before and after the exported ones are not the ones beside them")
    start, end = window_of(header)
    outside = lambda one: one["timestamp"] < start or one["timestamp"] >= end
    pruned = said.get("pruned_before", 0)
    require((bodies[0] if bodies else bound.after)["seq"] >= pruned, "export_window", "the export holds events that were pruned")
    before_fits = bound.before is None or bound.before["seq"] < pruned or outside(bound.before)
    require(before_fits, "export_window", "the event before the first one belongs to the export, and is not in it")
    require(at_end or outside(bound.after), "export_window", "the event after the last one belongs to the export, and is not in it")
    require(not bodies or not outside(bodies[0]), "export_window", "the first event is outside the header's times")
    require(not bodies or not outside(bodies[-1]), "export_window", "the last event is outside the header's times")
    if agent is None and bodies and log.first_seq == 0 and len(bodies) == event["seq"]:
        root = tree_root(map(bytes.fromhex, log.hashes)).hex()
        require(root == said["tree_root"], "export_window", "the log before the event of the export is not the one that it states")


def compare_root(anchor, root, own, log, trust):
    """Compares a kept seal with a root that the events have, or that the export's `own` seal has. False when it is lost."""
    whole = own is None
    if log.epochs.is_foreign(anchor, whole) and log.epochs.naming(anchor) is not None:
        return not log.is_lost(anchor, whole)
    foreign = log.epochs.is_foreign(anchor, whole) or (own is not None and own.origin != anchor.origin)
    why = log.epochs.why(anchor)
    require(not foreign, *why("seal_origin", "the kept seal is of another epoch"), anchor.size - 1)
    require(root == anchor.root, *why("anchor_mismatch", "the log is not the one of the kept seal"), anchor.size - 1)
    trust.note_witnesses(anchor, "seal_missing")
    return True


def require_answers(open_questions):
    """Raises what keeps the answer from being established."""
    if open_questions:
        raise Undetermined(open_questions[0][0], "; ".join(words for _, words in open_questions))


def check_bound_seal(header, bound, bodies, log, trust, erasures):
    event, said, open_questions = bound.event, bound.said, []
    if log.newer_from is not None:
        open_questions.append(("newer_vocabulary", NEWER))
    if header["vocabulary"] > VOCABULARY:
        open_questions.append(("newer_format", f"the export states vocabulary {header['vocabulary']}, and {VOCABULARY} is known here"))
    seal, keys = read_own_seal(header), []
    require(seal is None or header["public_key"], "seal_invalid", "there is a seal, and no key that signed it")
    if "keys" in header:
        keys = read_key_chain(header["keys"], header["workspace_id"], header["vocabulary"])
        last_key = header["public_key"] and read_key(header["public_key"])  # a restore gives it another name
        require(last_key == keys[-1], "seal_invalid", "the announcements of keys do not lead to the export's key")
    whole = header["start_time"] is None and header["end_time"] is None
    all_here = whole and header["agent_id"] is None and log.first_seq == 0
    restores, stated = header.get("restores"), said.get("restores")
    if seal is not None and not all_here:
        count = len(restores or [])
        require(count == stated, "export_window", f"the export shows {count} restores, and its event states {stated}")
        restores = restores or []
    if restores is not None:
        take_restores(restores, header, log, seal)
    if seal is None:
        words, sealed = "unsealed: its holder could have made all of it", False
        if trust.keys:
            open_questions.append(("seal_missing", "the export has no seal for the given key"))
    else:
        require(seal.size == event["seq"] + 1, "seal_invalid", "the export's seal does not end with the event of the export")
        check_bound_proof(header, bound, log, seal)
        named = {fingerprint for _, fingerprint in log.epochs.keys} if all_here else set()
        stranger = bool(named) and fingerprint_of(keys[0] if keys else read_key(header["public_key"])) not in named
        require(not stranger, "seal_signature", "the export's seal is by no key that its own events name", seal.size - 1)
        words, sealed = check_own_seal(header, seal, trust, open_questions, keys)
    shown = restores is not None and is_trusted(header, log, trust, sealed, keys)
    if seal is not None:
        log.check_origin(seal, all_here or restores is not None)
    is_log, last, proved = whole and header["agent_id"] is None, log.next_seq - 1 if bodies else event["seq"], None
    if sealed:
        proved = last
    run = log.hashes + [bound.after_hash]
    for anchor in kept_seals(trust, header["workspace_id"], open_questions):
        if shown and log.is_lost(anchor, False):
            continue
        if is_log and anchor.size > event["seq"] + 1:
            if not (all_here and log.is_lost(anchor, True)):
                why = log.epochs.why(anchor)
                raise Tampered(*why("seal_beyond_log", "the export ends before the kept seal does"), anchor.size - 1)
            continue
        if header["agent_id"] is None and log.first_seq == 0 and anchor.size <= len(run if is_log else log.hashes):
            root, own = tree_root(map(bytes.fromhex, run[: anchor.size])), None
        elif seal is not None and anchor.size == seal.size:
            root, own = seal.root, seal
        else:
            open_questions.append(ANOTHER)
            continue
        if compare_root(anchor, root, own, log, trust):
            through = min(anchor.size - 1, last)
            proved = through if proved is None else max(proved, through)
    log.check_lost(seal.size if shown else last if is_trusted(header, log, trust, sealed, keys) else None)
    # What an event under a greater number erased is not known.
    erasures = None if header["vocabulary"] > VOCABULARY else erasures
    open_questions += take_erasures(header, erasures, log, last, seal, trust.with_later(keys))
    unproved = log.check_blanks()
    if unproved:
        open_questions.append(("erasure_outside", f"no seal covers the erasure of details yet: seq {unproved[:5]}"))
    require_answers(open_questions)
    if proved is None:
        return f"{words}. {trust.unknown('no seal that could be checked says where the log ends')}"
    pruned = said.get("pruned_before", 0)
    if whole and not pruned:
        return f"{words}. Complete through event {proved if header['agent_id'] is None else event['seq'] - 1}, sealed"
    number = "seq" if header["agent_id"] is None else "agent_seq"
    held = f"events {bodies[0][number]} to {bodies[-1][number]}" if bodies else "no events"
    times = "" if whole else f", all from {header['start_time'] or 'the beginning'} until {header['end_time'] or 'the end'}"
    return f"{words}. Partial: {held}{times}" + (f"; events before event {pruned} were pruned" if pruned else "")


def take_restores(restores, header, log, seal):
    """All restores of the log, which an export that does not hold all events shows beside them."""
    keys, log.epochs, last = log.epochs.keys, Epochs(), -1
    for one in restores:
        try:
            event, value = Log(False, number=header["vocabulary"]).read(*stored(one["event"]))
        except Tampered as problem:
            raise Tampered("export_window", f"a restore is not one of the sealed log: {problem}") from None
        seq, said, path = event["seq"], one["event"]["details"], [bytes.fromhex(text) for text in one["path"]]
        good = (event["operation"], event["agent_id"], event["result"]) == ("log.restore", None, "ok") and said is not None
        good = good and event["workspace_id"] == header["workspace_id"] and last < seq and seal and seq < seal.size
        good = good and path_root(bytes.fromhex(value), seq, seal.size, path) == seal.root
        require(good, "export_window", "a restore is not one of the sealed log")
        problem = log.epochs.note(seq, event["operation"], said)
        require(not problem, "restore_invalid", f"seq {seq}: {problem}", seq)
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
    require(good and root == seal.root, "proof_invalid", "the events are not the ones that were sealed")


def take_erasures(header, erasures, log, last, own, keys):
    """Erasures after the last event, which account for details that are missing; returns open questions."""
    if erasures is None:
        return []
    try:
        seal = None if erasures["seal"] is None else Seal(erasures["seal"])
    except (ValueError, Problem):
        raise Tampered("seal_invalid", "the seal over the erasures is not in order") from None
    require(not seal or seal.workspace == header["workspace_id"], "seal_invalid", "the seal over the erasures is of another workspace")
    keys = keys or ([read_key(header["public_key"])] if header["public_key"] else [])
    signed = bool(seal and own and seal.signed_by_any(keys))
    for one in erasures["events"]:
        try:
            event, value = Log(False).read(*stored(one["event"]))
            details = one["event"]["details"]
            good = (event["operation"], event["result"]) in ERASING and log.hashes and event["seq"] > last
            good = good and event["workspace_id"] == header["workspace_id"] and header["agent_id"] in (None, event["agent_id"])
            require(good, "export_window", "an erasure is not one of this log after the last event")
            check_erasure(event["seq"], details)
        except Tampered as problem:
            raise Tampered("export_window", str(problem)) from None
        included = False
        if seal and one["path"] is not None:
            path = [bytes.fromhex(value) for value in one["path"]]
            included = event["seq"] < seal.size and path_root(bytes.fromhex(value), event["seq"], seal.size, path) == seal.root
            require(included, "proof_invalid", "an erasure is not in the sealed log")
        log.later.append((details["erased"], included and signed))
    return []


def check_erasure(seq, said):
    """The ranges of positions that an erasure names."""
    require(is_count(said.get("events")), "details_invalid", f"seq {seq}: not the details of an erasure")
    ranges, last = said.get("erased"), -1
    good = isinstance(ranges, list) and all(isinstance(one, list) and len(one) == 2 and all(map(is_count, one)) for one in ranges)
    require(good, "details_invalid", f"seq {seq}: not the positions of an erasure")
    for first, end in ranges:
        require(last < first <= end < seq, "details_invalid", f"seq {seq}: not the positions of an erasure")
        last = end
    version = said.get("version")
    one = version is None or (said.get("entries") == 0 and ranges == [[version.get("seq")] * 2])
    require(one, "details_invalid", f"seq {seq}: not the version that the erasure is about")
    positions = sum(end - first + 1 for first, end in ranges)
    require(positions == said["events"], "details_invalid", f"seq {seq}: not the positions of an erasure")
    return ranges


def comparable(time):
    seconds, _, decimals = time[:-1].partition(".")
    return f"{seconds}.{decimals:0<3}Z"


def window_of(header):
    """The start and the end time of an export, in the form of events."""
    start, end = header["start_time"], header["end_time"]
    good = all(time is None or re.fullmatch(TIME, time, re.ASCII) for time in (start, end))
    require(good, "export_window", "the start or end time is not a time")
    return "" if start is None else comparable(start), "~" if end is None else comparable(end)


def read_own_seal(header):
    """The seal that an export carries; the key that came with it must have signed it."""
    if header["seal"] is None:
        require(header.get("proof") is None and header["public_key"] is None, "seal_invalid", "there is a proof or a key, and no seal")
        return None
    try:
        seal, key = Seal(header["seal"]), header["public_key"] and read_own_key(header["public_key"])
        require(seal.workspace == header["workspace_id"], "seal_invalid", "the export's seal is of another workspace")
    except (ValueError, Problem):
        raise Tampered("seal_invalid", "the seal or its key is not in order") from None
    require(not key or seal.signed_by(key), "seal_signature", "the key that came with the seal did not sign it")
    return seal


def kept_seals(trust, workspace_id, open_questions):
    """Yields the kept seals of a workspace that can be used, the smallest first. The others are open questions."""
    for anchor in sorted(trust.anchors, key=lambda one: one.size):
        if anchor.workspace != workspace_id:
            open_questions.append(FOREIGN)
        elif trust.is_damaged(anchor):
            open_questions.append(DAMAGED)
        else:
            yield anchor


def check_own_seal(header, seal, trust, open_questions, keys=()):
    """What is known of an export's seal, in words, and whether a given key signed it."""
    try:
        return seal.check(header["workspace_id"], trust, keys), bool(trust.keys)
    except Undetermined as question:
        open_questions.append((question.code, str(question)))
        return str(question), False


def is_trusted(header, log, trust, sealed, keys=()):
    """Whether a given key leads to the export's seal, or without one the key that the genesis names."""
    if trust.keys or not header["public_key"]:
        return sealed
    first = keys[0] if keys else read_key(header["public_key"])
    return [(0, fingerprint_of(first))] == [key for key in log.epochs.keys if key[0] == 0]


def utc(seconds):
    """A time as text; years beyond 9999 have none."""
    return datetime.fromtimestamp(min(seconds, 253402300799), timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


def read_receipt(text):
    """The event, the keys, the index, the path and the seal of a receipt."""
    head, found, seal = text.partition("\n\n")
    lines = head.split("\n")
    good = found and 2 < len(lines) <= 3 + 63 and lines[1].startswith("extra ") and re.fullmatch("index (0|[1-9][0-9]{0,15})", lines[2])
    require(good, "not_evidence", "not a receipt")
    try:
        seal, extra = Seal(seal), load_json(unbase64(lines[1][6:]).decode())
        path = [unbase64(line, 32) for line in lines[3:]]
        chain, number = extra.pop("keys", None), extra.pop("vocabulary", None)
        if "leaf" in extra:  # the exact texts that are hashed
            require(has(extra, "leaf", "details", "details_salt"), "not_evidence", "not a receipt")
            leaf, details, salt = extra["leaf"].encode(), extra["details"], extra["details_salt"]
            require(details is None or jcs(load_json(details)) == details, "not_evidence", "not a receipt")
            value = sha256(b"\0", leaf)
        else:
            leaf, details, salt, value = stored(extra)
        good = isinstance(value, str) and is_count(number) and number > 0 and check_event(load_json(leaf)) == leaf
        good = good and (salt is None or re.fullmatch("[0-9a-f]{32}", salt)) and type(details) in (str, type(None))
        require(good, "not_evidence", "not a receipt")
    except (Problem, ValueError, TypeError, AttributeError, RecursionError):
        raise Undetermined("not_evidence", "the receipt is not in order") from None
    return (leaf, details, salt, value), (chain, number), int(lines[2][6:]), path, seal


def check_receipt(text, trust):
    texts, *rest = read_receipt(text)
    index, said = check_sealed("receipt", texts, *rest, trust)
    said += "" if texts[1] is not None else ". Not covered: the details of the event, which are not in this receipt"
    return f"{trust.workspace}: event {index}, {said}. Partial: event {index} of {rest[-1].size}"


def check_sealed(kind, texts, announced, index, path, seal, trust, more=lambda event, said: None):
    """An event with its way to a seal, and what else `more` requires of it. Returns its position, and by whom it is sealed."""
    chain, number = announced
    leaf = load_json(texts[0])
    trust.saw(leaf["workspace_id"])
    keys = [] if chain is None else read_key_chain(chain, leaf["workspace_id"], number)
    try:
        led = not keys or seal.signed_by(keys[-1])
    except Tampered:
        led = False
    require(led, "seal_invalid", f"the announcements of keys do not lead to the {kind}'s seal")
    given = trust.with_later(keys)
    signed = None  # whether a key signed it that a given one leads to; None when none is named
    if trust.keys:
        seal_of_given = [key for key in given if any((seal.origin, key_id(seal.origin, key)) == (name, data[:4]) for name, data in seal.signatures)]
        if seal_of_given:
            seal.signed_by(seal_of_given[0])
            signed = True
    try:
        log = Log(False, leaf["agent_id"], number=number)
        event, value = log.read_body(*texts[::3])
        said = log.read_details(event, *texts[1:3])
        root = path_root(bytes.fromhex(value), index, seal.size, path)
        good = index == event["seq"] and seal.workspace == log.workspace and index < seal.size and root == seal.root
        require(good, "proof_invalid", "the proof does not lead from the event to the seal")
    except Tampered as problem:
        raise Tampered("proof_invalid", str(problem), leaf["seq"]) from None
    if number <= VOCABULARY:
        check_form(event, said, None)
    trust.note_witnesses(seal)
    kept = [one for one in trust.anchors if (one.origin, one.size) == (seal.origin, seal.size)]  # others cannot be compared
    same = all(trust.is_damaged(one) or one.root == seal.root for one in kept)
    require(same, "anchor_mismatch", "the events are not the ones of the kept seal", leaf["seq"])
    require(number <= VOCABULARY, "newer_format", f"the {kind} states vocabulary {number}, and {VOCABULARY} is known here")
    more(event, said)
    require(trust.keys, "key_not_given", f"a {kind} is checked with the public key: give it with --public-key")
    require(signed, "key_not_given", not_their_key(trust, {fingerprint_of(key) for key in keys}))
    for one in kept:
        require(not trust.is_damaged(one), *DAMAGED)
        trust.note_witnesses(one, "seal_missing")
    return index, "sealed with the given key" if seal.signed_by_any(trust.keys) else "sealed with a key that the given key leads to"


PROOF_FORMAT = "governd.proof/1"
PROOF_BEGINS = re.compile(r'\s*\{\s*"format"\s*:\s*"governd\.proof/')
PROOF_MEMBERS = ("format", "vocabulary", "workspace_id", "claim", "agent_id", "key", "prefix", "root", "root_path", "seal", "keys", "first",
                 "before", "entries", "after", "left", "right", "digest")
LEAF_MEMBERS, CONTENT_MEMBERS = ("agent_id", "key", "value_digest", "version"), ("salt", "value", "metadata")


def read_proof(text):
    """A proof of what was stored: exactly its members."""
    proof = load_json(text)
    good = has(proof, *PROOF_MEMBERS) and proof["format"] == PROOF_FORMAT and isinstance(proof["workspace_id"], str) and is_agent(proof["agent_id"])
    require(good, "not_evidence", "it does not have exactly the members of a proof")
    key, prefix = proof["key"], proof["prefix"]
    about = {"held": prefix is None and key is not None, "absent": (key is None) != (prefix is None), "complete": key is None}
    good = isinstance(proof["claim"], str) and about.get(proof["claim"]) and isinstance(key, (str, type(None)))
    good = good and (prefix is None or (isinstance(prefix, str) and prefix)) and isinstance(proof["seal"], str)
    good = good and isinstance(proof["root"], dict) and isinstance(proof["keys"], (list, type(None)))
    good = good and is_count(proof["vocabulary"]) and proof["vocabulary"] > 0 and is_count(proof["first"])
    good = good and is_hash(proof["digest"]) and is_hashes(proof["root_path"]) and len(proof["root_path"]) <= 63
    good = good and all(is_hashes(proof[name]) and len(proof[name]) <= 126 for name in ("left", "right"))
    good = good and all(proof[name] is None or is_leaf(proof[name]) for name in ("before", "after")) and isinstance(proof["entries"], list)
    good = good and (all(is_leaf(leaf) for leaf in proof["entries"]) or all(is_valued(leaf) for leaf in proof["entries"]))
    require(good, "not_evidence", "it does not have exactly the members of a proof")
    return proof


def is_agent(value):
    return isinstance(value, str) and bool(re.fullmatch(PATTERNS["agent"], value))


def is_leaf(leaf, *more):
    good = has(leaf, *LEAF_MEMBERS, *more) and is_agent(leaf["agent_id"]) and isinstance(leaf["key"], str)
    return good and is_hash(leaf["value_digest"]) and is_count(leaf["version"])


def is_valued(leaf):
    good = is_leaf(leaf, *CONTENT_MEMBERS) and isinstance(leaf["value"], str) and isinstance(leaf["metadata"], dict)
    return good and isinstance(leaf["salt"], str) and bool(re.fullmatch("[0-9a-f]{32}", leaf["salt"]))


def place_of(leaf):
    return leaf["agent_id"].encode(), leaf["key"].encode()


def side_of(proof, leaf):
    """Where a leaf is: before what the proof is about, in it, or behind it."""
    start = proof["prefix"] or "" if proof["key"] is None else proof["key"]
    if leaf["agent_id"] == proof["agent_id"] and (leaf["key"].startswith(start) if proof["key"] is None else leaf["key"] == start):
        return "in"
    return "before" if place_of(leaf) < (proof["agent_id"].encode(), start.encode()) else "after"


def run_of(proof):
    """The neighbouring leaves that a proof shows."""
    return [leaf for leaf in (proof["before"], *proof["entries"], proof["after"]) if leaf is not None]


def require_claim(proof, seal, workspace, state):
    """The entries prove what the file claims of the state with this root and this number of entries."""
    def need(condition, words):
        require(condition, "proof_invalid", words)

    entries, first, count, claim, run = proof["entries"], proof["first"], state["count"], proof["claim"], run_of(proof)
    places = [place_of(leaf) for leaf in run]
    others = {name: proof[name] for name in PROOF_MEMBERS if name != "digest"}
    digest = sha256(jcs({**others, "entries": sha256(jcs(entries).encode())}).encode())
    need(digest == proof["digest"], "the proof is not as it was made: it has another digest")
    need(proof["workspace_id"] == workspace, "the proof is of another workspace than its event")
    need(len({(name, data[:4]) for name, data in seal.signatures}) == len(seal.signatures), "a signature line of the seal is there twice")
    sides = all(side_of(proof, leaf) == "in" for leaf in entries)
    sides = sides and all(proof[name] is None or side_of(proof, proof[name]) == name for name in ("before", "after"))
    need(sides, "an entry is not in its place beside what the proof is about")
    need(all(one < other for one, other in zip(places, places[1:])), "the entries are not in their order")
    for leaf in entries:
        content = {name: leaf.get(name) for name in ("key", "metadata", "value")}
        need("value" not in leaf or digest_of(leaf["salt"], jcs(content)) == leaf["value_digest"], "a value is not the one of its digest")
    if claim == "held":
        need(len(run) == len(entries) == 1, "the proof does not show the one entry that it is about")
    else:
        need(claim == "complete" or not entries, "there is an entry where none is claimed to be")
        need(proof["before"] or first == 0, "the entry before those that the proof is about is missing")
        need(proof["after"] or first + len(run) >= count, "the entry behind those that the proof is about is missing")
    hashes = [leaf_of(*(leaf[name] for name in LEAF_MEMBERS)) for leaf in run]
    root = None
    with contextlib.suppress(ValueError):  # another number of hashes than there are subtrees
        around = [[bytes.fromhex(one) for one in proof[name]] for name in ("left", "right")]
        root = range_root(first, hashes, count, *around).hex() if first + len(hashes) <= count else None
    need(root == state["root"], "the entries are not those of the state root")


def check_proof(text, trust):
    try:
        text.encode()
        proof = read_proof(text)
        texts, seal = stored(proof["root"]), Seal(proof["seal"])
        [place_of(leaf) for leaf in run_of(proof)]  # no lone surrogates
    except (Problem, ValueError, TypeError, RecursionError):
        raise Undetermined("not_evidence", "the proof is not in order") from None

    moments = []

    def more(event, said):
        good = event["operation"] == "state.root" and event["agent_id"] is None and said is not None
        require(good, "proof_invalid", "the event is not that of a state root, or lacks its details", event["seq"])
        require_claim(proof, seal, event["workspace_id"], said)
        moments.append(said["seq"])

    event, path = load_json(texts[0]), [bytes.fromhex(one) for one in proof["root_path"]]
    index, said = check_sealed("proof", texts, (proof["keys"], proof["vocabulary"]), event["seq"], path, seal, trust, more)
    name = lambda text: json.dumps(text, ensure_ascii=False)
    agent, many = proof["agent_id"], len(proof["entries"])
    under = f" under {name(proof['key'])}" if proof["key"] is not None else f" whose key begins with {name(proof['prefix'])}" if proof["prefix"] else ""
    words = {"held": f"{agent} had an entry{under}", "absent": f"{agent} had no entry{under}",
             "complete": f"the {many} entries of the file were all that {agent} had{under}"}[proof["claim"]]
    for side, where in (("before", "before"), ("after", "behind")):
        words += f"; {where} it is {name(proof[side]['key'])} of {proof[side]['agent_id']}" if proof[side] else ""
    kept = any((one.origin, one.size) == (seal.origin, seal.size) for one in trust.anchors)
    rests = "the witnesses named here" if trust.witnessed else "the seal that was given" if kept else "the daemon's clock alone"
    moment = f"right after event {moments[0]}, by the state root that was recorded at {event['timestamp']}, event {index}, {said}"
    return f"{trust.workspace}: {proof['claim']}: {words}. Moment: {moment}. Its time rests on {rests}"


def read_beside(path, size=-1):
    """The bytes of a file that is part of the evidence; None without one. Whoever opens what is no file may wait for ever."""
    try:  # A daemon that ends may remove it between any two of these steps.
        regular = stat.S_ISREG(path.stat().st_mode)
        require(regular, "evidence_unreadable", f"{path.name} is no regular file")
        with path.open("rb") as file:
            return file.read(size)
    except FileNotFoundError:
        return None


def log_header(path):
    """The header of the write-ahead log beside a database; None without one."""
    return read_beside(Path(f"{path}-wal"), 32) or None


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
    journal = Path(f"{path}-journal")
    hot = read_beside(journal, 1) not in (None, b"", b"\0")
    require(not hot, "evidence_unreadable", "a rollback journal (-journal) is beside it, so that opening it changes it")
    with tempfile.TemporaryDirectory() as scratch:
        target = Path(scratch, "evidence.db")
        for attempt in range(20):
            if copy_once(path, target):
                break
            time.sleep(0.05)
        else:
            raise Undetermined("evidence_unreadable", "the file is written to so often that no consistent copy could be made: try again")
        if target.stat().st_size > 0:  # SQLite overlooks the header of a database whose log holds another one
            with opened(target, "immutable=1", any_size=log_header(target) is not None) as db:
                db.execute("PRAGMA schema_version")
        with opened(target) as db:
            yield db


@contextlib.contextmanager
def opened(target, access="mode=ro", any_size=False):
    """A private copy, opened so that nothing writes to it. `any_size`: its header may count pages that the file lacks."""
    db = sqlite3.connect(f"{Path(target).as_uri()}?{access}", uri=True)
    db.text_factory = lambda text: text.decode(errors="surrogateescape")
    try:
        if not any_size:
            db.execute("PRAGMA schema_version")  # fails where the header counts pages that the file lacks, which is let pass below
        db.execute("PRAGMA writable_schema = ON")  # to read also a schema that SQLite does not accept
        yield db
    except sqlite3.Error as error:
        raise Undetermined("evidence_unreadable", f"not a database of governd ({error})") from None
    finally:
        db.close()


def check_workspace(path, trust, logs=None, seals=None, workspace=None, head=None):
    """`seals`: the file of seals beside the databases. It is read before the database, so it is not ahead of it."""
    filed = (read_beside(seals) or b"").decode(errors="surrogateescape") if seals else ""
    require(path.is_file(), "evidence_unreadable", "it is no regular file")
    with copied(path) as db:
        try:
            return check_database(db, trust, [] if logs is None else logs, filed, workspace, head)
        except (Tampered, Several) as found:
            problems = getattr(found, "problems", [found])
            if not any(isinstance(problem, Tampered) for problem in problems):
                raise
            if filed and Path(f"{path.resolve()}-wal").exists() and is_short(db, trust, workspace, problems):
                raise Undetermined("copied_while_written", SHORT) from None
            if is_mixed(db, problems):
                raise Undetermined("copied_while_written", MIXED) from None
            raise


SHORT = ("its file of seals, or its recorded head, covers more events than the log has: either they were copied after the database, "
         "while a daemon wrote to it, or the log's end was cut off: copy the log of the installation first, then the seals, then the "
         "databases, or use governd backup")


def is_short(db, trust, workspace, problems):
    """Whether only the seals of the file or its head contradict the log, as those do that were copied after it."""
    later = {("seal_beyond_log", True), ("seal_beyond_log", False), ("workspace_behind_head", True)}
    if any((problem.code, problem.seq is None) not in later for problem in problems if isinstance(problem, Tampered)):
        return False
    try:
        check_database(db, trust, [], "", workspace)
    except (Tampered, Several) as found:
        return not any(isinstance(problem, Tampered) for problem in getattr(found, "problems", [found]))
    except Undetermined:
        pass
    return True


MIXED = ("the copy was made while a daemon wrote to it, and the database and its log (-wal) are of different moments: copy the "
         ".db before its -wal, and both again if the first 32 bytes of the -wal changed meanwhile, or use governd backup")
# What pages of different moments look like. An event or a seal that is wrong by itself is none of it.
OF_SEVERAL_ROWS = {"seq_gap", "agent_seq_gap", "head_mismatch", "seal_beyond_log", "details_missing", "details_restored", "row_mismatch",
                   "schema_mismatch", "content_orphan", "content_mismatch", "content_unprovable", "content_stale", "content_changed",
                   "content_missing", "row_added", "row_missing", "row_changed", "operation_impossible"}


def is_mixed(db, problems):
    """Whether what was found is explained by a database and a log that were copied at different moments, while a daemon
    wrote (docs/audit-format.md, "Copies of different moments")."""
    path = next(file for _, name, file in db.execute("PRAGMA database_list") if name == "main")
    ends = commit_ends(f"{path}-wal")
    if ends is None or any(problem.code not in OF_SEVERAL_ROWS for problem in problems if isinstance(problem, Tampered)):
        return False
    with tempfile.TemporaryDirectory(dir=Path(path).parent) as scratch:

        def at(state, look):
            """What a look at the database after so many transactions of its log finds; None if it cannot be read."""
            with tempfile.TemporaryDirectory(dir=scratch) as place:
                target = Path(place, "evidence.db")
                shutil.copy(path, target)
                if state > 0:
                    shutil.copy(f"{path}-wal", f"{target}-wal")
                    os.truncate(f"{target}-wal", ends[state - 1])
                with contextlib.suppress(Undetermined), opened(target, "mode=ro" if state else "immutable=1") as db:
                    return look(db)

        head = lambda state: at(state, end_of)
        alone, now = head(0), head(len(ends))
        if now is None or not all_hold(db):
            return False
        if alone is None:
            return True
        if alone > now:  # no event of one state is another one in the other
            one, other = at(0, hashes_of), at(len(ends), hashes_of)
            return one is not None and other is not None and all(other.get(seq, value) == value for seq, value in one.items())
        # Most tampering is told by this alone: no transaction of the log recorded an event.
        schema = lambda db: db.execute("PRAGMA schema_version").fetchone()
        if alone == now and not (all(map(is_of_late_seal, problems)) and at(0, schema) == at(len(ends), schema)):
            return not at(0, is_of_one_moment)
        low, first = 0, len(ends)  # the first state whose log ends behind the one of the database
        while alone < now and first - low > 1:
            middle = (low + first) // 2
            low, first = (low, middle) if (head(middle) or alone) > alone else (middle, first)
        before = at(0 if alone == now else first - 1, problems_of)
        if before is None or not all(map(is_of_seals, before)):
            return not at(0, is_of_one_moment)
        return at(first, problems_of) != []


def is_of_late_seal(problem):
    """Whether a problem is what a seal of another moment looks like."""
    of_index = problem.code == "schema_mismatch" and problem.message.startswith("table seals: ")
    return problem.code == "seal_beyond_log" or of_index


def is_of_seals(problem):
    """Whether a problem is about seals, which are stored without an event."""
    return problem.code == "seal_beyond_log" or problem.message.startswith(("table seals:", "table tiles:", STORED_TREE))


# The columns of an event: those that its canonical text follows from, with the workspace of `head`, and what is beside it.
EVENT_COLUMNS = {
    "seq": int, "actor": str, "agent_id": str, "agent_seq": int, "blocked_by": str, "config_version": int, "details_commitment": bytes,
    "random": bytes, "operation": str, "previous_hash": bytes, "result": str, "time": int, "hash": bytes, "details": str, "details_salt": bytes,
}
EVENTS = f"SELECT {', '.join(EVENT_COLUMNS)}, (SELECT workspace_id FROM head) FROM events"


def raw(value):
    """The bytes of any value of a column."""
    return value if isinstance(value, bytes) else str(value).encode(errors="surrogateescape")


def event_in(values):
    """The canonical bytes, the details, the salt and the hash of a stored event; and whether each column is of its type.

    What is no member of an event stays in the text, which then is none.
    """
    row = dict(zip([*EVENT_COLUMNS, "workspace_id"], values))
    number = lambda name: row[name] if type(row[name]) is int else 0
    text = lambda name, start="": None if row[name] is None else start + raw(row[name]).decode("latin-1")
    event = {
        "actor": text("actor"), "agent_id": text("agent_id"), "agent_seq": number("agent_seq"), "blocked_by": text("blocked_by"),
        "config_version": text("config_version", "v"), "details_commitment": raw(row["details_commitment"]).hex(),
        "format": "governd.audit/1", "id": event_id(row["seq"], raw(row["random"])), "operation": text("operation"),
        "previous_hash": raw(row["previous_hash"]).hex(), "result": text("result"), "seq": row["seq"],
        "timestamp": shown_time(row["time"]), "workspace_id": text("workspace_id"),
    }
    canonical = json.dumps(event, separators=(",", ":"))  # the members are in order, and texts that need escapes are none of an event
    details = None if row["details"] is None else raw(row["details"]).decode(errors="surrogateescape")
    salt = None if row["details_salt"] is None else raw(row["details_salt"]).hex()
    optional = NULLABLE | {"details", "details_salt"}
    typed = all(type(row[name]) is kind or (row[name] is None and name in optional) for name, kind in EVENT_COLUMNS.items())
    return (canonical.encode(), details, salt, raw(row["hash"]).hex()), typed


def event_id(seq, random):
    """The id of an event; empty when its random bytes are not 8."""
    value = seq << 64 | int.from_bytes(random, "big")
    return "aud_" + "".join(BASE32[value >> at & 31] for at in range(125, -1, -5)) if len(random) == 8 else ""


def shown_time(ms):
    """A time in milliseconds as events write it; empty outside the years 0 to 9999."""
    if type(ms) is not int or not -62_167_219_200_000 <= ms < 253_402_300_800_000:
        return ""
    # datetime begins with the year 1, and 400 years have 146,097 days.
    shift = 400 if ms < -62_135_596_800_000 else 0
    at = datetime(1970, 1, 1) + timedelta(milliseconds=ms, days=146_097 * (shift // 400))
    return f"{at.year - shift:04}-{at:%m-%dT%H:%M:%S}.{ms % 1000:03}Z"


def commit_ends(path):
    """Where the transactions of a write-ahead log end, in bytes; None for what is no log."""
    if not Path(path).exists():
        return None
    ends, at = [], 32
    with open(path, "rb") as log:
        header = log.read(32)
        size = 24 + int.from_bytes(header[8:12], "big")
        if len(header) < 32 or header[:3] != b"\x37\x7f\x06" or header[3] & ~1 != 0x82 or size < 512:
            return None
        while log.seek(at) == at:
            frame = log.read(24)
            if len(frame) < 24 or frame[8:16] != header[16:24]:
                break
            at += size
            if any(frame[4:8]):
                ends.append(at)
    return ends


def end_of(db):
    """The last event of a state, by the hash in its head if that is there."""
    by_hash = "SELECT seq FROM events NOT INDEXED WHERE hash = head.hash LIMIT 1"
    row = db.execute(f"SELECT coalesce(({by_hash}), seq) FROM head").fetchone()
    return row[0] if row and type(row[0]) is int else None


def hashes_of(db):
    return dict(db.execute("SELECT seq, hash FROM events NOT INDEXED"))


def problems_of(db):
    """What is wrong with a state; None when nothing is established of it."""
    try:
        check_database(db, Trust(), [])
    except (Tampered, Several) as found:
        return getattr(found, "problems", [found])
    return []


def is_of_one_moment(db):
    """Whether a database has the last event that it should have, and each index what its table has."""
    with contextlib.suppress(Problem):
        check_pages(db)
        with contextlib.suppress(Undetermined):  # the text of an index that cannot be computed says nothing of moments
            check_indexes(db)
        return db.execute("SELECT seq FROM head").fetchone() == db.execute("SELECT max(seq) FROM events NOT INDEXED").fetchone()
    return False


def all_hold(db):
    """Whether each event holds by itself; not when a changed schema keeps them from being read."""
    with contextlib.suppress(Tampered, sqlite3.Error):
        return all(Log(False).read(*event_in(row)[0]) for row in db.execute(EVENTS))
    return False


# SHA-256 over the sorted objects of the schema (type, name, table, text, with 0 behind each): for each number that the
# file gives its schema, and for derived data, which is there only where it is needed.
SCHEMAS = {13: "9e304a4cd63bd36e20ac0f31a29bddb44c6512766fdfefbcde3db01a226d026c"}
DERIVED = {
    "kept_rows": "f29f2152261ecafe7b34e23eefb7ffe8ed4edec37cae90999cc013b6fd88ef1f",
    "entries_by_age": "dc2ab4a6a82f4ac6880124c2edfe90693f2ae372a0104b065c48c7772b55d0ac",
    "search_(agents|rows|rows_by_key|terms|texts(_.*)?)": "0ba8c5887abd79dd5450fddabe95d53a93be4ecc2d4526d24f8476c2b84ce718",
    "(sqlite_autoindex_)?search_(vectors.*|embedding)": "a61078b5b1d59c3f64834d46772ecfffdd26b9fd15de49090308aa0c19fc04ea",
}
OWN_TABLES = {  # that SQLite makes for itself
    "CREATE TABLE sqlite_stat1(tbl,idx,stat)",
    "CREATE TABLE sqlite_stat4(tbl,idx,neq,nlt,ndlt,sample)",
    "CREATE TABLE sqlite_sequence(name,seq)",
}


def check_pages(db):
    """Damaged pages say nothing: rows may be missing, or be read from the wrong bytes. A file of another schema is not looked at."""
    version = db.execute("PRAGMA user_version").fetchone()[0]
    require(version <= max(SCHEMAS), "newer_schema", "a newer governd wrote this file")
    require(version == 0 or version >= min(SCHEMAS), "not_evidence", "a build of governd from before 0.1.0 wrote this file")
    messages = []
    with contextlib.suppress(sqlite3.OperationalError):  # where a row breaks the check, its table is looked at later
        for (message,) in db.execute("PRAGMA quick_check"):
            messages.append(message)
    damage = next((message.split("\n")[1] for message in messages if message.startswith("*** in database")), None)
    require(damage is None, "evidence_unreadable", f"the database is damaged or cut off: it cannot be read to its end ({damage})")


def check_schema(db):
    """The schema must be the one that governd makes."""
    rows = [row for row in db.execute("SELECT type, name, tbl_name, sql FROM sqlite_schema") if row[3] not in OWN_TABLES]
    version = db.execute("PRAGMA user_version").fetchone()[0]
    groups = {}
    for row in rows:
        group = next((form for form in DERIVED if re.fullmatch(form, row[1] or "")), None)
        groups.setdefault(group, []).append("".join(f"{value or ''}\0" for value in row))
    for group, objects in groups.items():
        expected = SCHEMAS.get(version) if group is None else DERIVED[group]
        same = sha256("".join(sorted(objects)).encode(errors="surrogateescape")) == expected
        require(same, "schema_mismatch", "the schema was changed: an object of it is missing, added or has another text")
    require(None in groups, "schema_mismatch", "the schema was changed: its tables are missing")


NUMBERS = {"events": "seq", "agents": "first_seq", "configs": "version", "checkpoints": "as_of_seq", "entries": "id", "seals": "id"}


def check_numbers(db):
    """The numbers that rows are read by are integers that JSON can hold. The log says nothing of ids."""
    for table, column in NUMBERS.items():
        outside = f"{column} > {2**53 - 1} OR {column} < {1 - 2**53 if column == 'id' else 0}"
        found = db.execute(f"SELECT 1 FROM {table} WHERE {outside} LIMIT 1").fetchone()
        require(found is None, "row_mismatch", f"{table}: a row has a number that no row of a log can have")


def check_indexes(db):
    """Every index must hold what its table holds. Derived data of FTS5 is left to the check of the whole file."""
    found = []
    for name, sql in db.execute("SELECT name, sql FROM sqlite_schema WHERE type = 'table'").fetchall():
        if not is_typed("id", name) or not is_typed("id", sql):  # the schema is compared elsewhere
            continue
        if sql.startswith("CREATE VIRTUAL TABLE") or name.startswith("search_texts_"):
            continue
        try:
            quoted = name.replace("'", "''")
            messages = [message for (message,) in db.execute(f"PRAGMA integrity_check('{quoted}')")]
        # An index on JSON that is malformed, one whose text is none, or no table has that name.
        except (sqlite3.OperationalError, UnicodeDecodeError) as error:
            messages = [] if str(error).startswith("no such table") else [str(error)]
        found += [(name, message) for message in messages if message != "ok"]
    about_rows = lambda message: re.search(r" index \S+$| value in \S+$|^CHECK constraint", message)
    for name, message in sorted(found, key=lambda one: bool(about_rows(one[1]))):
        require(False, "schema_mismatch" if about_rows(message) else "evidence_unreadable", f"table {name}: {message}")


OF_ROWS = re.compile("(row|schema)_mismatch$|content_|workspace_missing$|row_(added|missing|changed)$|operation_impossible$")


class Findings:
    """The problems of one piece of evidence. What a section finds does not keep others from being looked at."""

    def __init__(self):
        self.problems = []

    @contextlib.contextmanager
    def section(self):
        try:
            yield
        except Problem as problem:
            self.problems.append(problem)

    @property
    def tampered(self):
        return any(isinstance(problem, Tampered) for problem in self.problems)

    def finish(self):
        """Raises the problems. Where the log itself is wrong, that is why no seal fits it; where rows are, it is not."""
        wrong = any(isinstance(problem, Tampered) and not OF_ROWS.match(problem.code) for problem in self.problems)
        kept = [problem for problem in self.problems if not wrong or problem.code != "seal_missing"]
        if kept:
            raise Several(kept)


class Several(Exception):
    """Problems that were found together."""

    def __init__(self, problems):
        super().__init__("; ".join(map(str, problems)))
        self.problems = problems


def check_database(db, trust, logs, filed="", workspace=None, head_said=None):
    """Checks a workspace, which its place may name. `head_said`: its head in the log of the installation: (size, hash, time)."""
    try:
        return check_tables(db, trust, logs, filed, workspace, head_said)
    except (sqlite3.DatabaseError, ValueError, KeyError, TypeError, IndexError, AttributeError):
        check_indexes(db)  # where no page is damaged, an index or a table does not hold what it must
        raise


def check_tables(db, trust, logs, filed, workspace, head_said):
    """What an earlier problem explains is not looked at."""
    known = db.execute("SELECT 1 FROM sqlite_schema WHERE name IN ('events', 'head', 'agents')").fetchone()
    require(known, "not_evidence", "this database is no workspace of governd")
    encoding = db.execute("PRAGMA encoding").fetchone()[0]
    require(encoding == "UTF-8", "encoding_unknown", f"the database's texts are in {encoding}, and governd writes UTF-8")
    check_pages(db)
    check_schema(db)
    check_numbers(db)
    findings, head = Findings(), db.execute("SELECT one, workspace_id, format, vocabulary, seq, hash FROM head").fetchall()
    with findings.section():
        log, history = read_log(db, trust, head)
        know_erased(db, history)
        logs.append(log)
        trust.saw(log.workspace)
        place = workspace in (None, log.workspace)
        require(place, "wrong_workspace", "the file stands in the place of another workspace")
    findings.finish()
    with findings.section():
        last = len(log.hashes) - 1, bytes.fromhex(log.hashes[-1])
        fits = head == [(1, log.workspace, "governd.audit/1", log.announced, *last)]
        require(fits, "head_mismatch", "the log does not end at its head", len(log.hashes) - 1)
    findings.finish()
    anchored, said, by_key = None, "", None
    with findings.section():
        anchored, questions = trust.anchor(log)
        require_answers(questions)
    before = len(findings.problems)
    with findings.section():
        check_stored_keys(db, log)
    keyed = len(findings.problems) == before
    if not any(problem.code in LOG_CODES for problem in findings.problems):
        said, by_key = check_seals(db, log, trust, filed, findings, keyed)
    if not findings.tampered:
        with findings.section():
            found = db.execute("SELECT count(*) FROM seal_keys").fetchone()[0]
            require(found == len(log.keys), "content_orphan", "a sealing key is stored that no event names")
    if not findings.tampered:
        with findings.section():
            check_tiles(db, log.hashes)
    if log.newer_from is not None:
        # An event whose meaning is not known may have changed any row but those that follow from the events' envelopes.
        findings.problems.append(Undetermined("newer_vocabulary", NEWER, log.newer_from))
        with findings.section():
            check_agent_rows(db, log, {})
    elif not any(problem.code in LOG_CODES for problem in findings.problems):
        agents, tables = check_rows(db, log, history, findings)
        with findings.section():
            check_stated_rows(db, log, findings)
        with findings.section():
            check_heads(db, log)
    if not any(problem.code in LOG_CODES for problem in findings.problems):
        with findings.section():
            check_own_head(log, head_said)
    if not findings.tampered and log.newer_from is None:
        with findings.section():
            check_wholes(db, log, history, agents, tables)
    if log.roots and not findings.tampered:
        said += f". State roots: {log.roots_again} computed again" + (f", {log.roots_left} not recomputed" if log.roots_left else "")
    if not findings.tampered:
        with findings.section():
            check_indexes(db)
    if not findings.tampered:
        with findings.section():
            check_last_seals(log)
    findings.finish()
    by_key = by_key if trust.keys else None
    for table, what in NOT_EVIDENCE.items():
        if db.execute(f"SELECT 1 FROM {table}").fetchone():
            said += f". Not covered: {table} ({what})"
    if db.execute("SELECT 1 FROM sqlite_schema WHERE name IN ('search_texts', 'search_vectors') AND type = 'table'").fetchone():
        said += ". Not covered: search indexes (what a search finds, and in which order)"
    covered = [through for through in (anchored, by_key) if through is not None]
    if not covered:
        return f"{log.summary()}, {said}. {trust.unknown('no seal that could be checked says where the log ends')}"
    if log.pruned:
        return f"{log.summary()}, {said}. Partial: events {log.pruned} to {max(covered)}; those before were pruned"
    return f"{log.summary()}, {said}. Complete through event {max(covered)}, sealed"


def check_last_seals(log):
    """The last seal that a restore names is of this log, where it is not over lost events."""
    for seq, said, _ in log.epochs.restores:
        last = said.get("last_seal")
        if last and last["size"] <= seq:
            root = tree_root(map(bytes.fromhex, log.hashes[: last["size"]])).hex()
            require(root == last["root"], "restore_invalid", f"seq {seq}: the last seal that the restore names is not of this log", seq)


# Problems of a log whose end is missing, so that rows name events that are not there.
LOG_CODES = {"rolled_back", "anchor_mismatch", "seal_beyond_log"}


def read_log(db, trust, head):
    """All events of a workspace, in order, and of those with an effect on stored rows the details."""
    log, history = Log(True, from_start=True), {}
    log.pruned = log.next_seq = pruned_before(db)
    log.hashes = [leaf.hex() for leaf in leaves_before(db, log.pruned)]
    prunings, kept, dropped = [0], [], 0
    for row in db.execute(f"{EVENTS} ORDER BY seq"):
        texts, typed = event_in(row)
        event = log.keep(*texts) if row[0] < log.pruned else log.add(*texts)
        operation, result, seq, log.last_time = event["operation"], event["result"], event["seq"], event["timestamp"]
        require(typed, "row_mismatch", f"seq {seq}: a column is not of its type", seq)
        details = texts[1]
        if len(log.first_operations) <= len(MAKING):
            log.first_operations.append(operation)
        if seq == 0:
            log.of_installation, log.first_time = event["actor"] == "system", event["timestamp"]
        history[seq] = effect_of(event, details if not log.is_newer or announces(event) else None)
        if operation in ROW_OPERATIONS and result == "ok":
            log.stating.append((event, load_json(details) if details is not None else None))
        if operation == "installation.heads" and result == "ok":
            log.heads_said = seq, load_json(details) if details is not None else None, event["timestamp"]
        if result != "ok" or details is None:
            continue
        said = load_json(details)
        if operation == "log.restore" and event["agent_id"] is None:
            left_out = said.get("workspaces_left_out")
            log.restores.append((seq, event["timestamp"], {*map(str, left_out)} if isinstance(left_out, list) else set()))
        if operation == "state.root":
            log.roots.append((seq, said))
        if operation == "installation.add_workspace":
            log.made[said.get("for_workspace_id")] = said.get("genesis")
        if operation == "installation.delete_workspace":
            log.deleted.add(said.get("for_workspace_id"))
            log.made.pop(said.get("for_workspace_id"), None)
        if operation in ("workspace.create", "seal.rotate_key") or (operation == "log.restore" and "origin" in said):
            log.keys.append((seq, said))
        if operation == "audit.prune":
            prunings.append(said.get("before_seq", 0))
            kept.append((said.get("before_seq", 0), -seq, said.get("kept")))
            dropped += said["events"] if is_count(said.get("events")) else 0
            if is_hash(said.get("export_digest")):
                trust.prunings.append((said["before_seq"], said["export_digest"]))
    sealed = not log.hashes and not head and db.execute("SELECT max(size) FROM seals").fetchone()[0]
    require(not sealed, "seal_beyond_log", "the log is empty, and seals of it are there")
    require(log.hashes, "head_mismatch" if head else "log_empty", "the log is empty")
    log.first_seq = log.pruned
    log.check_blanks()
    require(max(prunings) == log.pruned, "details_mismatch", "no event says that the beginning of the log was pruned")
    _, seq, said = max(kept, default=(0, 0, None), key=lambda one: one[:2])
    if log.pruned:
        require(states_kept(said), "details_mismatch", "a pruning does not state what it kept", -seq)
        log.kept = Kept(-seq, said)
        numbers = "".join(f"{seq}\n" for seq in history if seq < log.pruned)
        require(sha256(numbers.encode()) == said["events_digest"], "seq_gap", "the events from before the pruning are not those that it states to have kept", -seq)
    gone = log.pruned - sum(seq < log.pruned for seq in history) - dropped
    require(gone <= 0, "seq_gap", f"{gone} events are gone that the prunings kept")
    return log, history


def states_kept(said):
    counts, digests = ("events", "versions", "checkpoints"), ("events_digest", "rows_digest")
    return isinstance(said, dict) and all(is_count(said.get(name)) for name in counts) and all(is_hash(said.get(name)) for name in digests)


class Kept:
    """What the newest pruning kept, as its event states it."""

    def __init__(self, seq, said):
        self.seq, self.said, self.rows = seq, said, []

    def read(self, db):
        """Reads the stored list of the kept rows, which must be the one of the event."""
        there = db.execute("SELECT 1 FROM sqlite_schema WHERE name = 'kept_rows'").fetchone()
        rows = db.execute("SELECT id, event_seq, created_seq, live_from, live_to FROM kept_rows ORDER BY id").fetchall() if there else []
        lines = "".join(" ".join("-" if one is None else str(one) for one in row) + "\n" for _, *row in rows)
        good = [row[0] for row in rows] == [*range(1, len(rows) + 1)] and sha256(lines.encode()) == self.said["rows_digest"]
        good = good and there and len(rows) == self.said["versions"] + self.said["checkpoints"]
        require(good, "row_mismatch", "the list of the rows that a pruning kept is not the one that its event states", self.seq)
        self.rows = [row[1:] for row in rows]


# What an operation does to stored rows.
EFFECTS = {"data.write": "put", "data.delete": "end", "data.delete_prefix": "end_prefix", "data.expire": "expire",
           "data.erase": "erase", "quarantine.set": "set_aside", "quarantine.release": "release", "config.update": "config", "config.rollback": "config",
           "policies.update": "config",
           "checkpoint.create": "checkpoint", "checkpoint.delete": "remove", "checkpoint.restore": "restore"}
# Operations that need a present entry under the key, or the prefix, that they name; with not_found there is none.
SEEKING = ("data.read", "data.read_full", "data.delete", "data.delete_prefix")


class Effect:
    """An event with what it did to stored rows. `said` is None where the details are erased, or not in form."""

    def __init__(self, event, kind, said):
        self.seq, self.agent, self.kind, self.said = event["seq"], event["agent_id"], kind, said
        self.sought, self.found = None, False  # the key or the prefix of an operation that needs an entry, and whether there was one
        self.recall = None  # what a read lists as returned: its details
        self.is_erased = False  # whether it is a write whose version was erased alone, so that only its key is known
        self.version, self.timestamp = event["config_version"], event["timestamp"]
        self.sees = not event["actor"].startswith(("key_", "wid_"))  # programs do not see what is set aside

    @functools.cached_property
    def time(self):
        return moment(self.timestamp)


def effect_of(event, details):
    kind = EFFECTS.get(event["operation"])
    if kind is not None and event["result"] != ("allowed" if kind == "put" else "ok"):
        kind = None
    seeks = event["operation"] in SEEKING and event["result"] in ("ok", "not_found")
    said = load_json(details) if (kind or seeks) and details is not None else None
    effect = Effect(event, kind, said if said is not None and kind and states(kind, said) else None)
    if seeks and said is not None and "undone" not in said and is_of_present(said):
        effect.sought, effect.found = said, event["result"] == "ok"
    if details is not None and '"returned":[' in details:
        shown = load_json(details)
        of = {"agent_id": event["agent_id"], "operation": event["operation"]}
        effect.recall = {**of, **shown} if event["operation"] == "dashboard.view" else {**shown, **of}
    return effect


def know_erased(db, history):
    """Writes whose version was erased alone: the key is that of another event, which the erasure names."""
    erasures = [effect.said for effect in history.values() if effect.kind == "erase" and effect.said]
    versions = {said["version"]["seq"]: said["version"] for said in erasures if "version" in said}
    for seq, version in versions.items():
        passed, at = {seq}, version["key_of"]
        while at in versions and at not in passed:
            passed.add(at)
            at = versions[at]["key_of"]
        row = db.execute("SELECT details FROM events WHERE seq = ?", (at,)).fetchone() if at is not None else None
        key = load_json(row[0]).get("key") if row and row[0] is not None else None
        effect = history.get(seq)
        if key is None or effect is None or effect.kind != "put":
            continue
        effect.is_erased, effect.said = True, {"key": key, "value_digest": None}
        if version["expires_at"] is not None:
            effect.said["expires_at"] = version["expires_at"]


def states(kind, said):
    """Whether details state what an effect of this kind did."""
    text = lambda *names: all(isinstance(said.get(name), str) for name in names)
    count = lambda *names: all(is_count(said.get(name)) for name in names)
    if kind == "put":
        return text("key", "value_digest") and ("expires_at" not in said or is_moment(said["expires_at"]))
    if kind == "end":
        return text("key")
    if kind == "end_prefix":
        return text("prefix") and count("count")
    if kind == "expire":
        return count("count", "through")
    if kind == "erase":
        return count("entries", "versions", "events")
    if kind in ("set_aside", "release"):
        return isinstance(said.get("versions"), list) and bool(said["versions"]) and all(map(is_count, said["versions"]))
    if kind == "config":
        return text("version", "config_digest") and isinstance(said.get("rolled_back_from"), (str, type(None)))
    if kind == "checkpoint":
        good = text("checkpoint_id") and count("as_of_seq", "entry_count") and isinstance(said.get("metadata"), dict)
        return good and isinstance(said.get("label", 0), (str, type(None)))
    if kind == "remove":
        return text("checkpoint_id")
    good = text("checkpoint_id", "safety_checkpoint_id") and count("safety_entry_count", "entries_restored", "entries_removed")
    return good and ("config_version" not in said or text("config_version", "config_digest"))


def is_moment(value):
    """Whether a value is a time as events write it."""
    with contextlib.suppress(ValueError, OverflowError):
        whole = isinstance(value, str) and re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", value)
        return bool(whole and datetime.fromisoformat(value.replace("Z", "+00:00")))
    return False


class Asides:
    """What is set aside, at every position of the log, of all agents."""

    def __init__(self, history, pruned):
        self.spans = {}  # by the position of the write: the events that set it aside, and those that released it
        for effect in history.values():
            if effect.kind not in ("set_aside", "release") or effect.said is None:
                continue
            possible, ends, seq = True, effect.kind == "release", effect.seq
            for written in effect.said["versions"]:
                spans = self.spans.setdefault(written, [])
                aside, write = bool(spans) and spans[-1][1] is None, history.get(written)
                stored = write.kind == "put" if write else written < pruned
                possible = possible and written < seq and aside == ends and (stored or ends)
                if ends and aside:
                    spans[-1][1] = seq
                elif not ends and not aside:
                    spans.append([seq, None])
            words = "releases what is not set aside" if ends else "sets aside what is no stored version, or is set aside already"
            require(possible, "operation_impossible", f"seq {seq}: the operation {words}", seq)

    def has(self, written, seq):
        """Whether a version was set aside right before an event."""
        return any(begin < seq and (end is None or seq <= end) for begin, end in self.spans.get(written, ()))

    def by(self, written):
        """The event that has set a version aside in the end."""
        spans = self.spans.get(written)
        return spans[-1][0] if spans and spans[-1][1] is None else None


class Agent:
    """What the file stores of an agent, and what the log says of it beyond single keys."""

    def __init__(self, name, floor):
        self.name, self.configs, self.checkpoints, self.entries = name, [], [], []
        self.floor = floor  # of the workspace's policies: the events that made them, in order, each with its days or None
        self.history = {}  # days of history by config version
        self.asides = None  # what is set aside, of all agents
        self.begins = 0  # of the versions that ended before this event, only those that checkpoints see are stored
        self.begun = 0  # the same, as far as the log is read
        self.versions = 0  # versions that there are at most, as far as the log is read
        self.made = 0  # config versions
        self.left = 0  # checkpoints made and not removed, safety checkpoints included
        self.existing = {}  # checkpoints by id, as far as the log is read: positions
        self.uncertain = False  # details that are needed to count are erased
        self.last_removal = -1  # the newest event that removed entries from checkpoints
        self.unknown = []  # restores that cannot be followed
        self.first_sweep = float("inf")
        self.swept = -1  # entries written before this time may have been removed as expired
        self.ended = -1  # entries that end by themselves at this time or before may have been removed
        self.ending = False  # whether any entry ended or ends by itself, as far as the log is read
        self.retention = {}  # days by config version
        self.open = False  # whether it is not known which entries there are
        self.blanks, self.keys = set(), {}  # the positions of writes without details; the keys of the others
        self.blank_writes, self.restored = 0, 0  # writes without details, entries that restores brought back
        self.swept_cutoff, self.swept_until = -1, -1  # what sweeps so far may have removed, by age and by its own end
        self.version = None  # of the config in force, as far as the log is read
        self.swept_at, self.last_sweep = -1, -1  # when the newest sweep was, and the position of the newest event that may have swept
        self.lost = False  # whether a restore cannot be followed, so that it is not known which entries there are

    def cutoff(self, version, seq, time):
        """Entries written before this time were expired under a config, at a position and time; -1: none."""
        floor = [days for made, days, _ in self.floor if made < seq][-1:]
        return max(-1 if days is None else max(-1, time - days * 86_400_000) for days in (self.retention.get(version), *floor))

    def cutoff_at(self, effect):
        """The same at an event; a restore goes by the config before it and by the one after it."""
        after = (effect.said or {}).get("config_version") if effect.kind == "restore" else None
        return max(self.cutoff(effect.version, effect.seq, effect.time), self.cutoff(after, effect.seq, effect.time))

    @property
    def retains(self):
        """Whether anything ever expires by its age."""
        return bool(self.retention) or any(days is not None for _, days, _ in self.floor)

    def keeps(self, effect):
        """Whether a version that an event ends is kept as history: under the larger days of config and workspace, or 30."""
        floor = [days for made, _, days in self.floor if made < effect.seq][-1:]
        days = [one for one in (self.history.get(effect.version), *floor) if one is not None]
        return max(days, default=30) > 0

    def fresh(self, effect, time, expires):
        """Whether an entry was not gone at an event: by its retention, or by itself."""
        return time >= self.cutoff_at(effect) and (expires is None or expires > effect.time)

    def exists(self, effect, written, time, expires):
        """Whether an entry existed for the actor of an event: not gone, and not set aside, which people see."""
        return self.fresh(effect, time, expires) and (effect.sees or not self.asides.has(written, effect.seq))

    def may_be_removed(self, time, expires):
        """Whether a sweep may have removed an entry."""
        return time < self.swept or (expires is not None and expires <= self.ended)

    def seen(self, positions, begin, end):
        """Whether one of these positions sees what was present from `begin` until before `end`."""
        return any(begin <= at and (end is None or at < end) for at in positions)

    def is_uncertain(self, begin, end):
        """Whether the log leaves open what became of a version that was present from `begin` to `end`."""
        return any(begin <= at and (end is None or at <= end) for at in self.unknown)

    def take(self, effect):
        """Takes the next effect; returns the position that a restore brings back, and False when it changes no entry."""
        said, kind = effect.said, effect.kind
        if kind == "checkpoint":
            self.add_checkpoint(said and said["checkpoint_id"], effect.seq)
        elif kind == "remove":
            self.left -= 1
            self.uncertain |= said is None
            self.existing.pop(said and said["checkpoint_id"], None)
        elif kind in ("expire", "erase"):
            self.swept_at = effect.time if kind == "expire" else self.swept_at
            # Where nothing expires, a sweep dropped history alone.
            if kind == "erase" or self.retains or self.ending or self.blank_writes:
                self.last_removal = effect.seq
                if kind == "expire":
                    self.sweep(effect)
        elif kind == "restore":
            position = False
            if said is not None and said["entries_restored"] + said["entries_removed"] == 0:
                # It may still have ended expired entries, which it does not count.
                if self.retains or self.ending:
                    self.sweep(effect)
            else:
                position = self.existing.get(said and said["checkpoint_id"])
                # What a restore does depends on the entries before it: after one that is not known, none is.
                if position is None or self.unknown:
                    self.unknown.append(effect.seq)
                    position, self.open, self.lost = None, True, True
            self.restored += said["entries_restored"] if said else 0
            self.add_checkpoint(said and said["safety_checkpoint_id"], effect.seq - 1)
            return position
        return False

    def sweep(self, effect):
        self.first_sweep = min(self.first_sweep, effect.seq)
        self.last_sweep = effect.seq
        self.swept_cutoff = max(self.swept_cutoff, self.cutoff_at(effect))
        self.swept_until = max(self.swept_until, effect.time)

    def is_in_state(self, cutoff, now, begin, time, expires):
        """Whether a version counts for the root of a state: it had not expired then, and no sweep may have removed it before."""
        swept = begin < self.last_sweep and self.may_be_swept(time, expires)
        return not swept and time >= cutoff and (expires is None or expires > now)

    def may_be_swept(self, time, expires):
        """Whether a sweep so far may have removed an entry."""
        return time < self.swept_cutoff or (expires is not None and expires <= self.swept_until)

    def require_possible(self, effect, present):
        """What an operation says of the entries that it found must fit the events before it."""
        begun = self.begun
        if effect.kind == "expire" and effect.said is not None:
            self.begun = effect.said["through"]
            good = begun <= self.begun <= effect.seq
            require(good, "operation_impossible", f"seq {effect.seq}: its position is not between that of the sweep before and its own", effect.seq)
        if self.open:
            return
        possible, sought, exists = True, effect.sought, lambda one: self.exists(effect, one[0], *one[3:])
        if sought and "key" in sought:
            one = present.get(sought["key"])
            there = one is not None and exists(one)
            possible = there if effect.found else not there or self.may_be_swept(*one[3:])
        elif sought and "prefix" in sought:
            under = [one for key, one in present.items() if key.startswith(sought["prefix"]) and exists(one)]
            sure = sum(not self.may_be_swept(*one[3:]) for one in under)
            possible = sure <= sought.get("count", 0) <= len(under) + self.blank_writes
        elif effect.kind == "expire" and effect.said is not None:
            held = self.versions + self.restored + self.blank_writes
            possible = (self.retains or self.ending or self.blank_writes or self.begun > begun) and effect.said["count"] <= held
            self.versions = max(0, self.versions - effect.said["count"])
        require(possible, "operation_impossible", f"seq {effect.seq}: the entries before it are not as the operation states", effect.seq)

    def add_checkpoint(self, name, position):
        self.left += 1
        if name is None:
            self.uncertain = True
        else:
            self.existing[name] = position


def check_rows(db, log, history, findings):
    """Each row beside the events against the events that it names. Returns the agents and all rows."""
    agents, tables, before = {}, {}, len(findings.problems)  # agents by their first events, which name them in the file
    with findings.section():
        check_agent_rows(db, log, agents)
    for table, columns in TABLES.items():
        names = columns.split()
        tables[table] = [dict(zip(names, row)) for row in db.execute(f"SELECT {', '.join(names)} FROM {table}")]
        for row in tables[table]:
            if row["agent"] in agents:
                getattr(agents[row["agent"]], table).append(row)
    for table, order, check in CHECKS if len(findings.problems) == before else ():
        with findings.section():
            for agent in agents.values():
                for row in getattr(agent, table):
                    typed = all(is_typed(name, value, table) for name, value in row.items())
                    require(typed, "row_mismatch", f"table {table}: a column is not of its type", integer_of(row[order]))
                getattr(agent, table).sort(key=lambda row: row[order])
                for place, row in enumerate(getattr(agent, table), 1):
                    check(agent, row, place, history)
    return agents, tables


TEXT_COLUMNS, OPTIONAL_COLUMNS = {"id", "config", "label", "metadata", "key", "value", "salt"}, {"rolled_back_from", "config_version", "label", "live_to", "expires_at", "quarantined"}


def is_typed(name, value, table=None):
    """Whether a column holds an integer, a text in UTF-8 or bytes, or NULL where that is allowed."""
    if value is None:
        return name in OPTIONAL_COLUMNS
    if (table, name) == ("entries", "salt"):
        return type(value) is bytes
    return type(value) is str and is_text(value) if name in TEXT_COLUMNS else type(value) is int


def integer_of(value):
    return value if type(value) is int else None


TABLES = {
    "configs": "agent version config salt created_seq rolled_back_from",
    "checkpoints": "agent id as_of_seq event_seq config_version entry_count label metadata",
    "entries": "agent key value metadata salt written_seq created_seq live_from live_to created_at updated_at expires_at quarantined",
}


def check_agent_rows(db, log, agents):
    met, floor = set(), []
    for agent, first in db.execute("SELECT agent_id, first_seq FROM agents ORDER BY first_seq"):
        good = agent in log.heads and agent not in met
        require(good, "row_mismatch", "a row of an agent that has no events, or a second one", first)
        require(log.firsts.get(agent, first) == first, "row_mismatch", "the row of an agent does not name its first event", first)
        met.add(agent)
        agents[first] = Agent(agent, floor)
        if log.kept:
            agents[first].last_removal = log.kept.seq
    missing = [agent for agent in log.heads if agent not in met]
    require(not missing, "content_missing", "the row of an agent that has events is gone", log.firsts.get(missing[0]) if missing else None)


# Tables that are written without events.
NOT_EVIDENCE = {
    "answers": "what a repeated request is answered",
    "key_use": "when each key was last used",
    "session_use": "when each session was last used",
    "directory": "which workspaces each account has ever joined",
    "sink_workspaces": "which workspaces have sinks",
    "devices": "which browsers signed in before",
    "sink_positions": "how far each sink has come",
}

# Tables of rows that events state: the key, the columns that events state, the member that has the digest of the others, and these.
# `#` marks a column of integers, and `?` one that may be NULL.
ROW_TABLES = {
    "keys": ("id", "digest label? scope agents? networks? expires_at#? created_seq# ended_seq#? replaced_by?", None, ""),
    "members": ("account_id", "role issuer? joined_seq# role_seq#", None, ""),
    "invitations": ("id", "digest role label? expires_at# created_seq# ended_seq#? used_by?", None, ""),
    "workloads": ("id", "", "workload_digest", "issuer subject"),
    "workspace": ("id", "second_factor_since#? issuer_only#?", None, ""),
    "workspaces": ("id", "name genesis founder? added_seq# deleted_seq#?", None, ""),
    "accounts": ("id", "created_seq# link_id?", "account_digest", "codes email name password password_changed_at# totp_secret? totp_since#? totp_step#"),
    "passkeys": ("id", "account_id host created_seq# used_seq#?", "credential_digest", "counter# credential_id name public_key"),
    "identities": ("id", "account_id linked_seq# multi_factor#", "identity_digest", "issuer subject"),
    "links": ("id", "digest kind account_id? second_factor_ends# expires_at# created_seq# ended_seq#? used_by?", None, ""),
    "sessions": ("id", "account_id created_seq# expires_at# second_factor?", "session_digest", "address digest issuer_session? user_agent"),
    "sinks": ("id", "type format filter include_details# start enabled# created_seq#", "settings_digest", "ca? client_certificate? secrets url"),
}
OF_ACCOUNT = {"passkeys", "identities", "sessions"}  # whose rows belong to an account
OWN_ACCOUNT = {"account.change_password", "account.rename", "account.begin_totp", "account.confirm_totp", "account.disable_totp", "account.renew_codes"}
ROW_OPERATIONS = {"workspace.create", "workspace.change", "workload.begin", "member.invite", "member.uninvite", "member.join", "member.change", "member.remove",
                  "key.create", "key.rotate", "key.change", "key.revoke", "sink.create", "sink.change", "sink.rotate", "sink.remove",
                  "installation.add_workspace", "installation.delete_workspace", "account.create", "account.sign_in", "account.end_sessions",
                  "account.reset_password", "account.add_passkey", "account.remove_passkey", "account.link_identity", "account.unlink_identity",
                  "account.erase", "account.require_issuer", "account.link", "account.unlink", *OWN_ACCOUNT}


def typed_columns(names):
    """By name, whether a column is of integers, and whether it may be NULL."""
    return {name.rstrip("#?"): ("#" in name, "?" in name) for name in names.split()}


def row_changes(event, said):
    """The rows that an event states: (table, key, kind, columns, the details that may have a digest)."""
    if event["operation"].startswith("account."):
        yield from account_changes(event, said)
        return
    operation, seq = event["operation"], event["seq"]
    account, invitation = said.get("account_id"), said.get("invitation_id")
    joined = {"issuer": said.get("issuer"), "joined_seq": seq, "role_seq": seq}
    if operation == "workspace.create":
        yield "workspace", event["workspace_id"], "add", {"second_factor_since": None, "issuer_only": None}, {}
        if said.get("owner") is not None:
            yield "members", said["owner"], "add", joined | {"role": "owner"}, {}
    elif operation == "workspace.change":
        yield "workspace", event["workspace_id"], "set", {"second_factor_since": moment(said.get("second_factor_since"))}, {}
    elif operation == "installation.add_workspace":
        row = {"name": said.get("name"), "genesis": said.get("genesis"), "founder": account, "added_seq": seq, "deleted_seq": None}
        yield "workspaces", said.get("for_workspace_id"), "add", row, {}
    elif operation == "installation.delete_workspace":
        yield "workspaces", said.get("for_workspace_id"), "set", {"deleted_seq": seq}, {}
    elif operation == "member.invite":
        row = {"digest": said.get("link_digest"), "role": said.get("role"), "label": said.get("label"), "expires_at": moment(said.get("expires_at"))}
        yield "invitations", invitation, "add", row | {"created_seq": seq, "ended_seq": None, "used_by": None}, {}
    elif operation == "member.uninvite":
        yield "invitations", invitation, "set", {"ended_seq": seq}, {}
    elif operation == "member.join":
        if invitation is not None:
            yield "invitations", invitation, "set", {"ended_seq": seq, "used_by": account}, {}
        yield "members", account, "add", joined | {"role": said.get("role")}, {}
    elif operation == "member.change":
        yield "members", account, "set", {"role": said.get("role"), "role_seq": seq}, {}
    elif operation == "member.remove":
        yield "members", account, "remove", {}, {}
    elif operation == "workload.begin":
        yield "workloads", said.get("workload_id"), "add", {}, said
    elif operation == "key.rotate":
        old = {"expires_at": moment(said.get("replaced_expires_at")), "replaced_by": said.get("key_id")}
        yield "keys", said.get("replaces"), "set", old, {}
    if operation in ("key.create", "key.rotate"):
        row = {name: said[name] for name in ("label", "scope") if name in said}
        row |= {name: said[name] and jcs(said[name]) for name in ("agents", "networks") if name in said}
        row |= {"expires_at": moment(said["expires_at"])} if "expires_at" in said else {}
        row |= {"digest": said.get("key_digest"), "created_seq": seq, "ended_seq": None, "replaced_by": None}
        yield "keys", said.get("key_id"), "add", row, {}
    elif operation == "key.change":
        yield "keys", said.get("key_id"), "set", {"networks": said.get("networks") and jcs(said["networks"])}, {}
    elif operation == "key.revoke":
        yield "keys", said.get("key_id"), "set", {"ended_seq": seq}, {}
    elif operation == "sink.remove":
        yield "sinks", said.get("sink_id"), "remove", {}, {}
    elif operation.startswith("sink."):
        row = {name: said[name] for name in ("format", "include_details", "enabled") if name in said}
        row = {name: int(value) if isinstance(value, bool) else value for name, value in row.items()}
        row |= {"filter": jcs(said["filter"])} if "filter" in said else {}
        if operation == "sink.create":
            row |= {name: jcs(said[name]) if name == "start" else said[name] for name in ("type", "start") if name in said} | {"created_seq": seq}
        yield "sinks", said.get("sink_id"), "add" if operation == "sink.create" else "set", row, said


def account_changes(event, said):
    """The rows that an event of the log of the installation about an account states."""
    operation, seq, account = event["operation"], event["seq"], said.get("account_id")
    identity, passkey, link = said.get("identity_id"), said.get("passkey_id"), said.get("link_id")
    linked = {"account_id": account, "linked_seq": seq, "multi_factor": 0}
    if operation == "account.create":
        yield "accounts", account, "add", {"created_seq": seq, "link_id": link or said.get("invitation_id")}, said
        if link is not None:
            yield "links", link, "set", {"ended_seq": seq, "used_by": account}, {}
        if identity is not None:
            yield "identities", identity, "add", linked, said
    elif operation == "account.link":
        row = {"digest": said.get("link_digest"), "kind": said.get("kind"), "account_id": account}
        row |= {"second_factor_ends": int(said["second_factor_ends"]), "expires_at": moment(said.get("expires_at"))}
        yield "links", link, "add", row | {"created_seq": seq, "ended_seq": None, "used_by": None}, {}
    elif operation == "account.unlink":
        yield "links", link, "set", {"ended_seq": seq}, {}
    elif operation == "account.erase":
        if said["operator"]:
            yield "members", account, "remove", {}, {}
        for one in said["links"]:
            yield "links", one, "remove", {}, {}
    elif operation == "account.require_issuer":
        yield "workspace", event["workspace_id"], "set", {"issuer_only": int(said["only"])}, {}
    elif operation == "account.reset_password":
        yield "links", link, "set", {"ended_seq": seq, "used_by": account}, {}
    elif operation == "account.link_identity":
        yield "identities", identity, "add", linked, said
    elif operation == "account.unlink_identity":
        yield "identities", identity, "remove", {}, {}
    elif operation == "account.add_passkey":
        yield "passkeys", passkey, "add", {"account_id": account, "host": said.get("host"), "created_seq": seq, "used_seq": None}, said
    elif operation == "account.remove_passkey":
        yield "passkeys", passkey, "remove", {}, {}
    for table, names in (("sessions", "sessions"), ("sessions", "sessions_ended"), ("passkeys", "passkeys_ended")):
        for one in said.get(names, []):
            yield table, one, "remove", {}, {}
    if operation == "account.sign_in":
        row = {"account_id": account, "created_seq": seq, "expires_at": moment(said.get("expires_at")), "second_factor": said.get("second_factor")}
        yield "sessions", said.get("session_id"), "add", row, said
        if passkey is not None:
            yield "passkeys", passkey, "set", {"used_seq": seq}, said
        if identity is not None:
            yield "identities", identity, "set", {"multi_factor": int(said["multi_factor"])} if "multi_factor" in said else {}, {}
    if operation != "account.create" and "account_digest" in said:
        yield "accounts", account, "set", {}, said


def may_change(event, said, table, columns, row):
    """Whether an event may change a row so, as the events before it left it."""
    if table == "members" and event["operation"] != "account.erase":  # who has the role that the event says
        return row["role"] == said["role_before" if event["operation"] == "member.change" else "role"]
    if table in OF_ACCOUNT:
        return row["account_id"] == said["account_id"]
    if table == "workspaces":
        return row["deleted_seq"] is None
    if table not in ("keys", "invitations", "links") or event["operation"] == "account.erase":
        return True
    in_force = row["expires_at"] is None or row["expires_at"] > moment(event["timestamp"])
    if table == "invitations":  # the new member gets its role, before it expires
        return row["ended_seq"] is None and ("used_by" not in columns or (in_force and row["role"] == said["role"]))
    if table == "links":  # it is of the right kind, and has not expired
        kind, own = ("setup", None) if event["operation"] == "account.create" else ("reset", said.get("account_id"))
        return row["ended_seq"] is None and ("used_by" not in columns or (in_force and row["kind"] == kind and own in (None, row["account_id"])))
    # Only a revocation is also of a key that has expired.
    return row["ended_seq"] is None and ("ended_seq" in columns or in_force) and ("replaced_by" not in columns or row["replaced_by"] is None)


def is_cell(columns, name, value):
    """Whether a column of these may have a value."""
    integer, nullable = columns[name]
    if value is None:
        return nullable
    return type(value) is int if integer else type(value) is str and is_text(value)


def stated_rows(log):
    """The rows that the events leave, by table and key: (columns, digest, the last event). And whether some are unknown."""
    rows, unknown, blanks, erased = {table: {} for table in ROW_TABLES}, False, [], []
    for event, said in log.stating:
        seq = event["seq"]
        if said is None and event["operation"] in ERASABLE:  # of an account that was erased: its rows went with the details
            blanks += [seq] if seq < log.pruned else []  # check_blanks looks at the others
            continue
        if said is None:
            unknown = True
            continue
        erased += check_erasure(seq, said) if event["operation"] == "account.erase" else []
        for table, key, kind, columns, given in row_changes(event, said):
            _, names, named, _ = ROW_TABLES[table]
            digest, own, types = given.get(named), rows[table], typed_columns(names)
            whole = kind != "add" or columns.keys() == types.keys() and (digest is not None or named is None)
            typed = isinstance(key, str) and all(is_cell(types, *column) for column in columns.items()) and isinstance(digest, (str, type(None)))
            require(whole and typed, "details_invalid", f"seq {seq}: the details do not state the row that was changed", seq)
            fits = (key in own) == (kind != "add")
            fits = fits and (kind == "add" or may_change(event, said, table, columns, own[key][0]))
            require(fits or unknown, "operation_impossible", f"seq {seq}: the row of {table} was not there, was there before, or was not as it must be", seq)
            if kind == "remove":
                own.pop(key, None)
            elif kind == "add" or key in own:
                before, known, _ = own.get(key, ({}, None, 0))
                own[key] = before | columns, digest or known, seq
    gone = [seq for seq in blanks if not any(first <= seq <= end for first, end in erased)]
    require(not gone, "details_missing", f"details are gone, and no erasure names the events: seq {gone[:5]}", gone[0] if gone else None)
    return rows, unknown


def check_stated_rows(db, log, findings):
    """The rows that events state against those that are stored, table by table."""
    expected, unknown = stated_rows(log)
    for table in ROW_TABLES:
        with findings.section():
            check_stated_table(db, table, expected[table], unknown)


def check_stated_table(db, table, expected, unknown):
    """The rows of one table. `unknown`: details are gone that may have stated others."""
    key, names, _, bound = ROW_TABLES[table]
    types = typed_columns(" ".join([key, names, bound, "salt" if bound else ""]))
    columns = list(types)
    rows = [dict(zip(columns, row)) for row in db.execute(f"SELECT {', '.join(columns)} FROM {table}")]
    there = {row[key] for row in rows}
    gone = [one for one in expected if one not in there]
    require(not gone, "row_missing", f"{table} {gone[:1]}: a row that an event states is gone", expected[gone[0]][2] if gone else None)
    for row in rows:
        stated, digest, seq = expected.get(row[key], (None, None, None))
        require(stated is not None or unknown, "row_added", f"{table} {row[key]!r}: no event of the log states this row")
        if stated is None:
            continue
        typed = all(is_cell(types, *column) for column in row.items())
        same = typed and all(row[name] == value for name, value in stated.items())
        require(same, "row_changed", f"{table} {row[key]}: the row is not as its events state it, last in seq {seq}", seq)
        if not bound:
            continue
        salt = bytes.fromhex(row["salt"]) if re.fullmatch("[0-9a-f]{32}", row["salt"], re.ASCII) else None
        given = jcs({name: row[name] for name in typed_columns(bound)}).encode()
        bound_as_said = salt is not None and sha256(salt, given) == digest
        require(bound_as_said, "row_changed", f"{table} {row[key]}: {' '.join(typed_columns(bound))} do not have the digest that seq {seq} or an event before it states", seq)


def check_heads(db, log):
    """The stored heads of all workspaces against the newest event about them."""
    seq, said, _ = log.heads_said
    rows = db.execute("SELECT workspace_id, size, hash FROM heads ORDER BY workspace_id").fetchall()
    require(said is not None, "content_unprovable", "the details that state the root of the heads are gone", seq)
    require(len(rows) >= said["count"], "row_missing", "there are fewer heads than the log states", seq)
    require(len(rows) <= said["count"], "row_added", "there are more heads than the log states", seq)
    good = all(isinstance(name, str) and re.fullmatch("ws_[0-7][0-9a-hjkmnp-tv-z]{25}", name) and type(size) is int and 0 < size < 2**53 and is_hash(value) for name, size, value in rows)
    words = "the heads are not those of which the log states the root"
    require(good, "row_changed", words, seq)
    leaves = [hashlib.sha256(b"\0" + name.encode() + size.to_bytes(8, "big") + bytes.fromhex(value)).digest() for name, size, value in rows]
    require(tree_root(leaves).hex() == said["root"], "row_changed", words, seq)
    log.known_heads = {name: (size, value, log.heads_said[2]) for name, size, value in rows}


def check_own_head(log, head):
    """A workspace against its head in the log of the installation, unless it declares a restore that is newer."""
    if head is None:
        return
    size, value, time = head
    if log.restores and log.restores[-1][0] < size and log.restores[-1][1] >= time:
        return
    words = f"the log of the installation recorded {size} events of {log.workspace}, and "
    require(size <= len(log.hashes), "workspace_behind_head", words + "the log does not have them")
    require(log.hashes[size - 1] == value, "workspace_behind_head", words + "the last of them is another one", size - 1)


STORED_TREE = "the stored tree is not the one of the events"


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
    require(stored == expected, "row_mismatch", STORED_TREE)


def numbered(version):
    return None if version is None else f"v{version}"


def digest_of(salt, text):
    """The digest of what a row holds, under the salt in the row, bytes or hex; None if that is not a salt."""
    salt = salt.hex() if isinstance(salt, bytes) else salt
    return sha256(bytes.fromhex(salt), text.encode(errors="surrogateescape")) if re.fullmatch("[0-9a-f]{32}", salt) else None


def check_config(agent, row, place, history):
    version, seq = row["version"], row["created_seq"]
    require(version == place, "content_missing", f"stored configs have a gap before v{version}", seq)
    effect = history.get(seq)
    good = effect and effect.agent == agent.name and effect.kind in ("config", "restore")
    good = good and (effect.version or "v0") == f"v{version - 1}" and effect.said
    if good:
        name = "config_version" if effect.kind == "restore" else "version"
        stated = (effect.said.get(name), effect.said.get("config_digest"), effect.said.get("rolled_back_from"))
        letter = "p" if agent.name is None else "v"  # the workspace's own versions are those of its policies
        good = stated == (f"{letter}{version}", digest_of(row["salt"], row["config"]), numbered(row["rolled_back_from"]))
    require(good, "content_mismatch", f"stored config v{version} is not what event {seq} made", seq)
    policies = load_json(row["config"]).get("policies")
    retention, days = (days_of(policies, name) for name in ("retention_days", "history_days"))
    if agent.name is None:
        agent.floor.append((seq, retention, days))
        return
    for kept, value in ((agent.retention, retention), (agent.history, days)):
        if value is not None:
            kept[f"v{version}"] = value


def days_of(policies, name):
    days = policies.get(name) if isinstance(policies, dict) else None
    return days if isinstance(days, (int, float)) and not isinstance(days, bool) else None


def check_checkpoint(agent, row, _, history):
    seq = row["event_seq"]
    effect = history.get(seq)
    good = effect and effect.agent == agent.name and effect.kind in ("checkpoint", "restore")
    require(good, "content_orphan", "a stored checkpoint names an event that did not make it", seq)
    said, row["time"] = effect.said, effect.time
    require(said, "content_unprovable", "the details of the event that made a checkpoint are erased", seq)
    if effect.kind == "restore":  # a safety checkpoint holds the state before the restore
        stated = (said["safety_checkpoint_id"], seq - 1, said["safety_entry_count"], None, "{}")
    else:
        stated = (said["checkpoint_id"], said["as_of_seq"], said["entry_count"], said["label"], jcs(said["metadata"]))
    stored = tuple(row[name] for name in ("id", "as_of_seq", "entry_count", "label", "metadata"))
    good = stated == stored and numbered(row["config_version"]) == effect.version
    good = good and (effect.kind == "restore" or row["as_of_seq"] == seq)
    require(good, "content_mismatch", "a stored checkpoint is not what its event made", seq)


def check_entry(agent, row, _, history):
    """A stored version by itself: what it holds, where its key began, and from when to when it was present."""
    seq, key = row["written_seq"], row["key"]
    own = lambda at, *kinds: (effect := history.get(at)) and effect.agent == agent.name and effect.kind in kinds and effect or None
    about = lambda effect: effect.said and effect.said["key"] == key
    written = own(seq, "put")
    require(written, "content_orphan", f"event {seq} did not write a stored entry", seq)
    require(written.said and not written.is_erased, "content_unprovable", "the details of the event that wrote a stored entry are erased", seq)
    # The hashed text is put together from the columns as they stand, so that each byte of them counts.
    text = f'{{"key":{jcs(key)},"metadata":{row["metadata"]},"value":{row["value"]}}}'
    try:
        load_json(row["metadata"])
        good = about(written) and written.said["value_digest"] == digest_of(row["salt"], text)
    except (Tampered, ValueError, RecursionError):
        good = False
    require(good, "content_mismatch", f"a stored entry is not what event {seq} wrote", seq)
    require(row["updated_at"] == written.time, "content_mismatch", "a stored entry has another time than its event", seq)
    good = row["expires_at"] == moment(written.said.get("expires_at"))
    require(good, "content_mismatch", "a stored entry ends at another time than its event says", seq)
    created = own(row["created_seq"], "put")
    good = created and row["created_seq"] <= seq and about(created)
    require(good, "content_orphan", f"event {row['created_seq']} did not create the key of a stored entry", seq)
    require(row["created_at"] == created.time, "content_mismatch", "a stored entry has another time of creation than its event", seq)
    begin, end = row["live_from"], row["live_to"]
    restore = own(begin, "restore")
    good = begin == seq or (begin > seq and restore and (restore.said is None or restore.said["entries_restored"] > 0))
    require(good, "content_orphan", f"event {begin} neither wrote nor restored a stored entry", seq)
    if end is None:
        return
    ended = own(end, "put", "end", "end_prefix", "restore")
    good = end > begin and ended
    if good and ended.kind == "end_prefix":
        good = ended.said is None or key.startswith(ended.said["prefix"])
    elif good and ended.kind != "restore":
        good = about(ended)
    require(good, "content_orphan", f"event {end} could not end a stored entry", seq)


CHECKS = (("configs", "version", check_config), ("checkpoints", "event_seq", check_checkpoint), ("entries", "written_seq", check_entry))


def check_wholes(db, log, history, agents, tables):
    """The rows of each table as a whole: none is missing, and none is there again."""
    by_name = {agent.name: agent for agent in agents.values()}
    if log.kept:
        log.kept.read(db)
    for effect in history.values():
        agent = by_name.get(effect.agent)
        # Sweeps remove expired entries, and so do restores that count none.
        counted = effect.kind == "restore" and effect.said and effect.said["entries_restored"] + effect.said["entries_removed"]
        if agent and effect.kind == "expire" and effect.said:
            agent.begins = effect.said["through"]
        if agent and effect.kind in ("expire", "restore") and not counted:
            if agent.retains:
                agent.swept = max(agent.swept, agent.cutoff_at(effect))
            if not log.kept or effect.seq > log.kept.seq:
                agent.ended = max(agent.ended, effect.time)
    for agent in by_name.values():
        agent.positions = [row["as_of_seq"] for row in agent.checkpoints]
    count_configs(history, by_name)
    asides = Asides(history, log.pruned)
    for agent in by_name.values():
        agent.asides = asides
        for row in agent.entries:
            good = row["quarantined"] == asides.by(row["written_seq"])
            require(good, "content_mismatch", "a stored entry is marked as set aside, or is not, other than the events say", row["written_seq"])
    # Only now, since what was expired follows from the retention of each version.
    left, newest = replay(log, history, by_name)
    for agent in agents.values():
        more = len(agent.configs) != agent.made and not agent.uncertain
        require(not more, "content_orphan", f"{len(agent.configs)} config versions are stored where the log leaves {agent.made}")
    require_owners("configs", agents, tables)
    for agent in agents.values():
        stored = len(agent.checkpoints)
        code = "content_missing" if stored < agent.left else "content_orphan"
        require(stored == agent.left, code, f"{stored} checkpoints are stored where the log leaves {agent.left}")
        same = {row["id"] for row in agent.checkpoints} == set(agent.existing)
        counted = not agent.uncertain and stored == agent.left
        require(same or not counted, "content_mismatch", "the stored checkpoints are not those that the log leaves")
    require_owners("checkpoints", agents, tables)
    for agent in agents.values():
        check_entry_set(log, history, agent, left.get(agent.name, {}), newest.get(agent.name, {}))
    require_owners("entries", agents, tables)
    for agent in agents.values():
        check_checkpoint_counts(agent)
    newest = "SELECT entries FROM events WHERE events.agent_id IS agents.agent_id ORDER BY agent_seq DESC LIMIT 1"
    for first, count in db.execute(f"SELECT first_seq, ({newest}) FROM agents").fetchall():
        live = sum(row["live_to"] is None for row in agents[first].entries)
        good = type(count) is int and count == live
        require(good, "row_mismatch", "the row of an agent's newest event has another number of entries than the agent", first)


def count_configs(history, agents):
    """Every version of a config is kept, also when the log was pruned."""
    for effect in history.values():
        if effect.kind == "config" or (effect.kind == "restore" and "config_version" in (effect.said or {})):
            agents[effect.agent].made += 1
    for agent in agents.values():
        stored, made = len(agent.configs), agent.made
        require(stored >= made, "content_missing", f"{stored} config versions are stored where the log leaves {made}")


def require_owners(table, agents, tables):
    known = sum(len(getattr(agent, table)) for agent in agents.values())
    require(known == len(tables[table]), "content_orphan", f"rows of {table} belong to no agent of this workspace")


def check_entry_set(log, history, agent, left, newest):
    """All stored versions of an agent against those that the log leaves."""
    brought, stored = {}, {}
    for row in agent.entries:
        begin, end = row["live_from"], row["live_to"]
        kept = end is None or end >= agent.begins or agent.seen(agent.positions, begin, end)
        require(kept, "content_orphan", "an ended entry is kept that no checkpoint sees, and that ended before the history begins", row["written_seq"])
        if begin != row["written_seq"]:
            brought[begin] = brought.get(begin, 0) + 1
        if not agent.may_be_removed(row["updated_at"], row["expires_at"]) and not agent.is_uncertain(begin, end):
            name = version_name(agent, row["key"], row["written_seq"], begin, row["created_seq"], end)
            stored[name] = stored.get(name, 0) + 1
    for seq, count in brought.items():
        said = history[seq].said
        require(said is None or count <= said["entries_restored"], "content_mismatch", "more stored entries say that a restore brought them back than it did")
    for row in agent.entries:  # also where the newest entry may be gone, because it expired
        later = newest.get(row["key"], -1)
        fresh = row["live_to"] is not None or later <= row["live_from"]
        require(fresh, "content_stale", f"a stored entry is older than what event {later} wrote", row["written_seq"])
    require(stored == left, "content_changed", "the stored entries of an agent are, as a whole, not those that the log leaves")


def read_position(said, otherwise):
    """The position right after which the state was that a read saw."""
    return said["as_of"]["seq"] if "as_of" in said else said.get("read_seq", otherwise)


def require_there(effect, agent, lives, start):
    """The versions that a read lists as returned were there in the state that was read. Of what an erasure or a pruning took, nobody knows."""
    said, lives, known = effect.recall, lives.get(effect.recall["agent_id"], {}), agent is not None
    checkpoints = [agent.existing.get(said[name]) for name in ("checkpoint_id", "to") if known and name in said]
    other = [] if len(checkpoints) == 2 or said["operation"] == "checkpoint.read" else [read_position(said, effect.seq - 1)]
    moments = [at for at in [*checkpoints, *other] if at is not None]
    for written in said["returned"]:
        aside = known and not effect.sees and agent.asides.has(written, said.get("read_seq", effect.seq - 1) + 1)
        require(not aside, "operation_impossible", f"seq {effect.seq}: the operation states that it returned a version that was set aside then", effect.seq)
        kept = lambda at, end: end is None or at < end or (said["operation"] == "data.versions" and end >= agent.begun)
        there = any(begin <= at and kept(at, end) for begin, end in lives.get(written, ()) for at in moments)
        unknown = agent.open if written in lives else written <= start or (known and written in agent.blanks)
        words = "the operation states that it returned a version that was not there then"
        require(there or unknown, "operation_impossible", f"seq {effect.seq}: {words}", effect.seq)
        one = said.get("key") and lives.get(written) and agent.keys.get(written)
        require(not one or one == said["key"], "operation_impossible", f"seq {effect.seq}: {words}", effect.seq)


def version_name(agent, key, written, begin, created, end):
    """A version's whole life. Where its key began is left out when the log does not tell."""
    known = begin < agent.first_sweep and (not agent.unknown or begin < agent.unknown[0])
    return (key, written, begin, end, created if known else None)


def check_checkpoint_counts(agent):
    """Each checkpoint sees as many entries as there were when it was made."""
    for row in agent.checkpoints:
        at = row["as_of_seq"]
        cutoff = agent.cutoff(numbered(row["config_version"]), row["event_seq"], row["time"])
        counted = sum(
            entry["live_from"] <= at and (entry["live_to"] is None or entry["live_to"] > at) and entry["updated_at"] >= cutoff
            and (entry["expires_at"] is None or entry["expires_at"] > row["time"])
            for entry in agent.entries
        )
        require(counted <= row["entry_count"], "content_mismatch", "a checkpoint sees more entries than there were when it was made")
        lost = counted < row["entry_count"] and agent.last_removal < at
        require(not lost, "content_missing", "a checkpoint sees fewer entries than there were when it was made")


def replay(log, history, agents):
    """
    Replays the log. Returns, by agent, the versions that must be stored, as far as the log determines them, and the
    position at which the newest version of each key begins.
    """
    states, left = {}, {}
    lives = {}  # by agent and the position of the write: when each version was there
    start = log.kept.seq if log.kept else -1
    begin_with_kept(log, history, agents, states, left, lives)
    roots = Roots(log, history, agents, states, start)
    for effect in (effect for effect in history.values() if effect.kind or effect.sought or effect.recall):
        roots.reach(effect.seq)
        if effect.kind == "config" or (effect.kind == "restore" and "config_version" in (effect.said or {})):
            agents[effect.agent].version = effect.said["config_version" if effect.kind == "restore" else "version"]
        if effect.seq <= start:
            continue
        roots.take(effect)
        # What was there before a pruning is known only as far as it was kept.
        if effect.recall and read_position(effect.recall, start + 1) > start:
            require_there(effect, agents.get(effect.recall["agent_id"]), lives, start)
        if not (effect.kind or effect.sought) or effect.kind in ("set_aside", "release"):
            continue
        agent = agents[effect.agent]
        living = lives.setdefault(effect.agent, {})
        present, past = states.setdefault(effect.agent, ({}, {}))
        said, seq = effect.said, effect.seq
        agent.require_possible(effect, present)

        def end(key, keeps, gone=False):
            written, begin, created, time, expires = present.pop(key)
            living[written][-1][1] = seq
            seen = agent.seen(agent.existing.values(), begin, seq)
            agent.versions -= not (keeps or seen or gone)  # of one that is gone, a sweep may have removed the row before
            stored = (keeps or seen) and (seq >= agent.begins or agent.seen(agent.positions, begin, seq))
            if stored and not agent.may_be_removed(time, expires) and not history[written].is_erased:
                left.setdefault(agent.name, []).append((key, written, begin, created, seq))
            if seen:  # a restore may bring it back
                past.setdefault(key, []).append((written, begin, created, time, seq, expires))

        if effect.kind == "put" and said is not None:
            key, created, expires = said["key"], seq, moment(said.get("expires_at"))
            agent.ending |= expires is not None
            agent.versions += 1
            if key in present:
                # An entry that does not exist for who writes: the next write of its key creates a new one.
                fresh = agent.fresh(effect, *present[key][3:])
                if agent.exists(effect, present[key][0], *present[key][3:]):
                    created = present[key][2]
                end(key, fresh and agent.keeps(effect), not fresh)
            present[key] = (seq, seq, created, effect.time, expires)
            living[seq], agent.keys[seq] = [[seq, None]], key
        elif effect.kind == "end" and said is not None:
            if said["key"] in present:
                end(said["key"], agent.keeps(effect))
        elif effect.kind is None:
            continue
        elif effect.kind == "erase" and said and "version" in said:
            agent.take(effect)
            for key, versions in past.items():  # no restore brings it back
                past[key] = [one for one in versions if one[0] != said["version"]["seq"]]
        elif effect.kind == "end_prefix" and said is not None:
            for key in [key for key in present if key.startswith(said["prefix"]) and agent.exists(effect, present[key][0], *present[key][3:])]:
                end(key, agent.keeps(effect))
        else:
            agent.blank_writes += effect.kind == "put"
            agent.blanks |= {seq} if effect.kind == "put" else set()
            agent.open |= effect.kind == "end_prefix"
            position = agent.take(effect)
            if position is None:
                present.clear()
            elif position is not False:
                restore(agent, present, past, end, position, effect, living)
    roots.reach(float("inf"))
    for name, (present, _) in states.items():
        agent = agents[name]
        for key, (written, begin, created, time, expires) in present.items():
            if not agent.may_be_removed(time, expires):
                left.setdefault(name, []).append((key, written, begin, created, None))
    newest = {name: {key: one[1] for key, one in present.items()} for name, (present, _) in states.items()}
    found = {}
    for name, versions in left.items():
        agent, counts = agents[name], found.setdefault(name, {})
        for key, written, begin, created, to in versions:
            if not agent.is_uncertain(begin, to):
                one = version_name(agent, key, written, begin, created, to)
                counts[one] = counts.get(one, 0) + 1
    return found, newest


MOST_LEAVES = 1_000_000  # of all state roots that are computed again; the newest roots count first


class Roots:
    """The state roots that a log states, computed again while it is replayed."""

    def __init__(self, log, history, agents, states, start):
        self.log, self.history, self.agents, self.states = log, history, agents, states
        known = [one for one in log.roots if one[1]["seq"] > start and one[1]["seq"] in history]
        counts = list(itertools.accumulate(said["count"] for _, said in reversed(known)))
        newest = sum(count <= MOST_LEAVES for count in counts) or 1
        self.due = sorted(known[-newest:], key=lambda one: one[1]["seq"])
        log.roots_left = len(log.roots) - len(self.due)

    def take(self, effect):
        """Follows changes whose details are gone, until an erasure names them."""
        if effect.kind and effect.said is None:
            self.log.lacking.add(effect.seq)
        if effect.kind == "erase" and effect.said:
            erased = effect.said.get("erased", [])
            self.log.lacking = {seq for seq in self.log.lacking if not any(first <= seq <= last for first, last in erased)}

    def reach(self, seq):
        """Computes those of states before an event."""
        while self.due and self.due[0][1]["seq"] < seq:
            at, said = self.due.pop(0)
            leaves = self.leaves(said["seq"])
            if leaves is None:
                self.log.roots_left += 1
                continue
            self.log.roots_again += 1
            good = len(leaves) == said["count"] and tree_root(leaves).hex() == said["root"]
            require(good, "operation_impossible", f"seq {at}: the event states another root of all entries than the events before it leave", at)

    def leaves(self, seq):
        """The hashes of the leaves of the state after an event; None when the log does not tell them."""
        if self.log.lacking or any(self.agents[name].lost for name in self.states if name is not None):
            return None
        time, leaves = self.history[seq].time, []
        for name in sorted(name for name in self.states if name is not None):
            agent, present = self.agents[name], self.states[name][0]
            now = max(time, agent.swept_at)
            cutoff = agent.cutoff(agent.version, seq + 1, now)
            for key in sorted(present, key=str.encode):
                written, begin, _, *ends = present[key]
                if agent.is_in_state(cutoff, now, begin, *ends):
                    if self.history[written].is_erased:
                        return None
                    leaves.append(leaf_of(name, key, self.history[written].said["value_digest"], written))
        return leaves


def leaf_of(agent, key, digest, version):
    """The hash of an entry's leaf in the tree of a state."""
    return hashlib.sha256(b"\0" + jcs({"agent_id": agent, "key": key, "value_digest": digest, "version": version}).encode()).digest()


def begin_with_kept(log, history, agents, states, left, lives):
    """Begins with the versions and checkpoints that the pruning kept."""
    rows = log.kept.rows if log.kept else []
    blanks = set()
    for seq, created, begin, end in rows:
        effect = history[seq]
        agent = agents[effect.agent]
        agent.ending |= effect.kind == "put" and "expires_at" in (effect.said or {})
        present, past = states.setdefault(effect.agent, ({}, {}))
        if created is not None and effect.said is not None:
            lives.setdefault(effect.agent, {}).setdefault(seq, []).append([begin, end])
            agent.keys[seq] = effect.said["key"]
        blanks |= {seq} if effect.is_erased else set()
        if created is None:
            restored = effect.kind == "restore"
            agent.add_checkpoint(effect.said["safety_checkpoint_id" if restored else "checkpoint_id"], seq - restored)
        elif effect.said is None:
            blanks.add(seq)
            log.lacking.add(seq)
            agent.blank_writes += 1
        elif end is None:
            agent.versions += 1
            present[effect.said["key"]] = (seq, begin, created, effect.time, moment(effect.said.get("expires_at")))
        else:
            expires = moment(effect.said.get("expires_at"))
            agent.versions += 1
            past.setdefault(effect.said["key"], []).append((seq, begin, created, effect.time, end, expires))
            stored = end >= agent.begins or agent.seen(agent.positions, begin, end)
            if stored and not agent.may_be_removed(effect.time, expires) and not effect.is_erased:
                left.setdefault(agent.name, []).append((effect.said["key"], seq, begin, created, end))
    for effect in history.values() if blanks else ():
        if effect.kind == "erase":
            for first, last in (effect.said or {}).get("erased", []):
                blanks = {seq for seq in blanks if not first <= seq <= last}
    named = "the details of an event that a pruning kept for a stored row are gone, and no erasure names it"
    require(not blanks, "details_missing", named, min(blanks, default=None))


def restore(agent, present, past, end, position, effect, living):
    """Brings back the entries of a position. An entry that the position saw, or that is the same, stays."""
    for key in [*present, *(key for key in past if key not in present)]:
        now = present.get(key)
        if now is not None and now[1] <= position:
            continue
        wanted = next((one for one in past.get(key, []) if one[1] <= position < one[4] and agent.exists(effect, one[0], one[3], one[5])), None)
        if now is not None and wanted is not None and agent.exists(effect, now[0], *now[3:]) and wanted[0] == now[0]:
            continue
        if now is not None:
            end(key, True)
        if wanted is not None:
            agent.versions += 1
            written, _, created, time, _, expires = wanted
            present[key] = (written, effect.seq, created, time, expires)
            living[written].append([effect.seq, None])


def pruned_before(db):
    """The first position that a pruned log still has, as its own events state it; they are checked with all others."""
    said = db.execute("SELECT details ->> '$.before_seq' FROM events WHERE operation = 'audit.prune' AND agent_id IS NULL")
    return max([before for (before,) in said if type(before) is int], default=0)


def leaves_before(db, size):
    """The leaf hashes of the pruned events, read from the tiles of the tree."""
    for tile in range(size // 256):
        row = db.execute("SELECT hashes FROM tiles WHERE level = 0 AND tile = ?", (tile,)).fetchone()
        good = row is not None and isinstance(row[0], bytes) and len(row[0]) == 256 * 32
        require(good, "row_mismatch", f"tile {tile} of the tree is gone")
        yield from (row[0][at : at + 32] for at in range(0, 256 * 32, 32))


def all_seals(db, filed):
    """The stored seals, and those of the file of seals that are not stored, in the order in which they are compared."""
    rows = db.execute("SELECT size, note FROM seals ORDER BY id").fetchall()
    stored = [(size, Seal(note)) for size, note in rows]
    require(all(seal.size == size for size, seal in stored), "seal_invalid", "a stored seal has another size than its row")
    known = {seal.text for _, seal in stored}
    notes, rest = split_seals(filed)
    # A crash may cut the last record. It is stored, too, because a seal is stored before it is filed.
    cut_off = any(note.encode().startswith(rest.encode(errors="surrogateescape")) for _, note in rows)
    end = "the file of seals ends with something that is no seal, and is not the beginning of a stored one"
    require(not rest or cut_off, "seal_invalid", end)
    merged = [seal for _, seal in stored]
    at = 0
    for seal in (seal for seal in map(Seal, notes) if seal.text not in known):
        while at < len(merged) and merged[at].size <= seal.size:
            at += 1
        merged.insert(at, seal)
        at += 1
    return merged


def roots_at(hashes, sizes):
    """The roots of the tree at these sizes."""
    wanted, roots, stack = set(sizes), {}, []
    for size in range(len(hashes) + 1):
        if size in wanted:
            roots[size] = fold([value for _, value in stack])
        if size < len(hashes):
            stack.append((1, bytes.fromhex(hashes[size])))
            while len(stack) > 1 and stack[-2][0] == stack[-1][0]:
                (width, left), (_, right) = stack[-2:]
                stack[-2:] = [(2 * width, node(left, right))]
    return roots


def check_seals(db, log, trust, filed, findings, keyed):
    """The seals of a log, in words, and the last event under one by a trusted key. `keyed`: the stored keys are right."""
    covered = [None]  # the last event under a seal by a trusted key
    try:
        said = check_stored_seals(db, log, trust, filed, covered)
    except Problem as problem:
        said, found = "", problem
    else:
        found = None
    try:
        log.check_lost(covered[0])
    except Tampered as lost:  # the log as a whole: other seals over it say nothing new
        findings.problems.append(lost)
        found = None if found and found.code in ("seal_beyond_log", "root_mismatch") else found
    # What a seal is by itself, a wrong key explains.
    if found and (keyed or found.code in ("seal_beyond_log", "root_mismatch")):
        findings.problems.append(found)
    return said, covered[0]


def check_stored_seals(db, log, trust, filed, covered):
    """Trust passes from the given key to every key that the log names under a seal by a trusted one."""
    seals, keys = all_seals(db, filed), {fingerprint_of(key): key for key in trust.keys}
    for (text,) in db.execute("SELECT verifier_key FROM seal_keys"):
        with contextlib.suppress(Problem, ValueError, TypeError, AttributeError):
            key = read_key(text)
            keys[fingerprint_of(key)] = key
    from_size = {}  # from which size on a key that the log names may sign
    for seq, said in log.keys:
        from_size.setdefault(said.get("signing_key"), seq + 1 if seq else 0)
    given = {fingerprint_of(key) for key in trust.keys}
    trusted = given or {said.get("signing_key") for seq, said in log.keys if seq == 0}
    roots = roots_at(log.hashes, [seal.size for seal in seals])
    through, own = None, False  # the last event under any seal; whether the last one by a trusted key is by a given one
    for seal in seals:
        size = seal.size
        at = size - 1 if size else None
        require(through is None or size > through, "seal_invalid", "the seals are not in order", at)
        require(seal.workspace == log.workspace, "seal_invalid", "a seal is of another workspace", at)
        able = [name for name in trusted | set(from_size) if from_size.get(name, 0) <= size]
        signers = set()
        try:
            signers = {name for name in able if name in keys and seal.signed_by(keys[name])}
        except Tampered as problem:
            raise Tampered(problem.code, str(problem), at) from None
        require(size <= len(log.hashes), "seal_beyond_log", "the log is shorter than a seal of it", at)
        require(roots[size] == seal.root, "root_mismatch", f"the first {size} events are not the ones that were sealed", at)
        unsigned = signers or not from_size or any(name not in keys for name in able)
        require(unsigned, "seal_signature", f"the seal over {size} events is signed by no key that this log names", at)
        log.check_origin(seal)
        through = size - 1
        trust.note_witnesses(seal)
        if signers & trusted:
            covered[0], own = through, bool(signers & given)
            trusted = trusted | {name for name, start in from_size.items() if start <= size}
    require(through is not None or not trust.keys, "seal_missing", "there is no seal for the given key")
    if through is None:
        return "unsealed: its holder could have made all of it"
    if not trust.keys:
        return f"sealed through seq {through} (by whom is not established: no key was given)"
    require(covered[0] is not None, "seal_missing", not_their_key(trust, set(from_size)))
    return f"sealed with {'the given key' if own else 'a key that the given key leads to'} through seq {covered[0]}"


def check_stored_keys(db, log):
    """The stored sealing keys are those that events name."""
    found = dict(db.execute("SELECT announced_seq, verifier_key FROM seal_keys"))
    for seq, said in log.keys:
        require(seq in found, "content_missing", f"the sealing key that seq {seq} names is gone", seq)
        try:
            key = read_key(found[seq])
        except (ValueError, TypeError, AttributeError, Undetermined):
            raise Tampered("content_mismatch", f"seq {seq}: the stored sealing key is damaged", seq) from None
        same = fingerprint_of(key) == said.get("signing_key") and found[seq] == verifier_key(said.get("origin"), key)
        require(same, "content_mismatch", f"seq {seq} names another sealing key than the stored one", seq)


def moment(value):
    """A time as rows have it, in milliseconds; None and what is not stated stay."""
    return round(datetime.fromisoformat(value.replace("Z", "+00:00")).timestamp() * 1000) if isinstance(value, str) else value


def check_directory(root, trust):
    """What is found of every workspace of a data directory, the log of the installation first, which says which others there are.
    installation.json is no evidence: it only tells where to look for that log."""
    place = lambda workspace: root / "workspaces" / f"{workspace}.db"
    require((root / "workspaces").is_dir(), "not_evidence", "this directory is not a data directory of governd")
    named, is_copy = read_pointer(root / "installation.json")
    # A node's copies are brought up to date one by one, when they are used; what has no copy is on the server.
    holds_copies = is_copy and not (root / "manifest.json").exists()
    files = sorted(name[:-3] for name in os.listdir(root / "workspaces") if name.endswith(".db"))
    installation = None if holds_copies else find_installation(named, files, place)
    # Seals are read first: those of a workspace that is made meanwhile come after its file. Without the log of the
    # installation, it is no whole directory: somebody may have taken some of the files.
    seals = os.listdir(root / "seals") if installation is not None and (root / "seals").exists() else []
    ids = {name[:-4] for name in seals if re.fullmatch(r"ws_[0-9a-z]{26}\.log", name)} | {*files}
    logs, heads, found = {}, {}, {}
    is_part = installation is None and not (root / "installation.json").exists()  # only some of the files

    def read(workspace, trust, logs):
        """Says what is found of a workspace. Its log is put into `logs`, also when something else is wrong with the file."""
        own, path = [], place(workspace)
        require(path.exists(), "workspace_missing", "the data directory knows this workspace, but its file is missing")
        try:
            return check_workspace(path, trust, own, root / "seals" / f"{workspace}.log", workspace, heads.get(workspace))
        finally:
            logs.update({workspace: log for log in own})

    def check_one(workspace):
        def check():
            explain_missing(root, workspace, [log for one, log in logs.items() if found[one]["verdict"] == "verified"])
            said = read(workspace, trust, logs)
            return f"{said}. {WITHOUT_INSTALLATION}" if is_part else said
        found[workspace] = judge(place(workspace), check, trust)

    teller = None  # the log of the installation, if it agrees with itself
    if installation is not None:
        check_one(installation)
        said = found[installation]
        # A log that agrees with itself says which workspaces there are, even if no seal of it leads to a given key.
        agrees = said["verdict"] == "verified" or {problem["code"] for problem in said["problems"]} == {"seal_missing"}
        teller = logs[installation] if agrees and logs[installation].of_installation else None
    if teller is not None:
        heads.update(teller.known_heads)
        ids = (ids | teller.made.keys() | heads.keys()) - teller.deleted
    require(ids or found, "not_evidence", "this data directory has no workspaces")
    for workspace in sorted(ids - {installation}, key=lambda one: (not place(one).exists(), one)):
        check_one(workspace)
    if installation is None and not holds_copies and not is_part:
        for workspace in filter(lambda one: place(one).exists(), found):
            words = f"no log of the installation is here that says that {workspace} was made"
            add_problem(found[workspace], Tampered("workspace_unknown", words))
    if teller is not None:

        def again():
            newest = {}
            with contextlib.suppress(Problem, Several, OSError, ValueError, KeyError, TypeError, IndexError, AttributeError, RecursionError):
                read(installation, Trust(), newest)
            return newest.get(installation, teller)

        require_known({one: source for one, source in found.items() if one != installation and place(one).exists()}, logs, teller, again)
    return [*found.values(), *([judge(root, lambda: require(False, "node_copies", COPIES), trust)] if holds_copies else [])]


MAKING = {"workspace.create", "key.create", "installation.heads", "seal.rotate_key"}  # what making a workspace records, each once
MADE_LATER = "it was made after the newest event of the log of the installation: copy the directory again, or use governd backup"
MAKING_CUT_OFF = "it holds nothing but the making of a workspace, which the log of the installation does not name: start the daemon, which removes what was cut off"


def is_making(log):
    """Whether a log has nothing but the making of its workspace, so that nobody ever had its key."""
    return len({*log.first_operations}) == len(log.hashes) and MAKING.issuperset(log.first_operations)


def is_blank(path):
    """Whether a file has no tables, or no event."""
    with contextlib.suppress(Problem, OSError, sqlite3.Error), copied(Path(path)) as db:
        if db.execute("SELECT count(*) FROM sqlite_schema").fetchone() == (0,):
            return True
        return db.execute("SELECT count(*) FROM events").fetchone() == (0,)
    return False


def require_known(found, logs, teller, again):
    """Says of each workspace that has a file whether the log of the installation names it. One that was made meanwhile is in that
    log now, or was copied after it."""
    is_named = lambda log, workspace: workspace in log.made or workspace in log.deleted
    newest = teller if all(is_named(teller, one) for one in found) else again()
    for workspace, source in found.items():
        log = logs.get(workspace)
        if not is_named(teller, workspace) and not is_named(newest, workspace):
            is_later = log is not None and log.first_time > newest.last_time
            if is_later or log is not None and is_making(log):
                words = MADE_LATER if is_later else MAKING_CUT_OFF
                if source["verdict"] == "verified":
                    add_problem(source, Undetermined("copied_while_written", words))
            elif source["verdict"] == "undetermined" and is_blank(source["path"]):
                source["problems"].clear()
                add_problem(source, Undetermined("copied_while_written", MAKING_CUT_OFF))
            else:
                add_problem(source, Tampered("workspace_unknown", f"no log of the installation says that {workspace} was made"))
        elif log is not None and teller.made.get(workspace, log.hashes[0]) != log.hashes[0]:
            add_problem(source, Tampered("workspace_unknown", f"the log of the installation names another first event of {workspace}"))


def explain_missing(root, workspace, logs):
    """Raises what is known of a workspace without a file, which is no tampering if a backup lacked it."""
    if (root / "workspaces" / f"{workspace}.db").exists():
        return
    words = "its file is missing: the backup was made without it, as manifest.json says, which nobody signs"
    require(workspace not in left_out_of(root / "manifest.json"), "workspace_left_out", words)
    restored = set().union(*(left_out for log in logs for _, _, left_out in log.restores))
    words = "its file is missing: the backup that was restored lacked it, as a log.restore event says"
    require(workspace not in restored, "workspace_left_out", words)


def left_out_of(manifest):
    """The workspaces that a backup says it lacks; none for what is no backup, or says so in another form."""
    try:
        said = load_json((read_beside(manifest) or b"").decode())["left_out"]
        good = all(isinstance(one["reason"], str) and re.fullmatch("ws_[0-7][0-9a-hjkmnp-tv-z]{25}", one["workspace_id"]) for one in said)
        return {one["workspace_id"] for one in said} if good else set()
    except (OSError, ValueError, KeyError, TypeError, Problem):
        return set()


def read_pointer(path):
    """Which workspace is the log of the installation, None where that is not said; and whether the files are copies of what is on
    a server."""
    try:
        said = load_json((read_beside(path) or b"").decode())
        named, engine = said["installation_id"], said["engine"]
        good = re.fullmatch("ws_[0-7][0-9a-hjkmnp-tv-z]{25}", named) and engine in ("embedded", "libsql-server")
        return (named, engine == "libsql-server") if good else (None, False)
    except (OSError, ValueError, KeyError, TypeError, Problem):
        return None, False


def find_installation(named, files, place):
    """The log of the installation: the one that installation.json names, or if that is gone or another file, the first file that looks
    like it."""
    if named in files and is_of_installation(place(named)) is not False:
        return named
    return next((one for one in files if is_of_installation(place(one))), None if named in files else named)


def is_of_installation(path):
    """Whether a file is the log of an installation, by its first event; None when it cannot be read."""
    try:
        with copied(path) as db:
            return db.execute("SELECT operation, actor FROM events WHERE seq = 0").fetchall() == [("workspace.create", "system")]
    except (Undetermined, OSError):
        return None


COPIES = "this is the data directory of a node, whose copies alone prove nothing about all workspaces"
WITHOUT_INSTALLATION = "Not covered: the log of the installation is not part of this (which workspaces there are)"


def add_problem(source, problem):
    """Adds a problem to what was found of a piece of evidence."""
    source["problems"].append({"code": problem.code, "seq": problem.seq, "message": problem.message})
    source["text"] = "; ".join(one["message"] for one in source["problems"])
    source["verdict"] = "tampered" if isinstance(problem, Tampered) or source["verdict"] == "tampered" else "undetermined"


def judge(path, check, trust=None):
    """What is found of one piece of evidence. `trust` asks for its witnesses."""
    problems, words = [], ""
    if trust is not None:
        trust.witnessed, trust.workspace = {}, None
    try:
        words = check()
    except Several as several:
        problems = several.problems
    except Problem as problem:
        problems = [problem]
    except OSError as error:
        problems = [Undetermined("evidence_unreadable", str(error))]
    except (ValueError, KeyError, TypeError, IndexError, AttributeError, RecursionError):
        problems = [Undetermined("evidence_unreadable", "it is not in the form that it should have")]
    for ask in () if trust is None else (trust.require_log, trust.require_witnesses):
        try:
            words += ask() or ""
        except Undetermined as problem:
            problems = [*problems, problem]
    verdict = 1 if any(isinstance(problem, Tampered) for problem in problems) else 2 if problems else 0
    return {
        "path": str(path),
        "verdict": VERDICTS[verdict],
        "problems": [{"code": problem.code, "seq": problem.seq, "message": problem.message} for problem in problems],
        "text": "; ".join(problem.message for problem in problems) or words,
    }


VERDICTS = ("verified", "tampered", "undetermined")
SAID = {"verified": "holds", "tampered": "TAMPERED", "undetermined": "cannot be established"}


def check_file(path, trust):
    data = path.read_bytes()
    # Encrypted databases have a part of the header in plain.
    require(data.startswith(b"SQLite format 3\0") or data[21:24] != b"@  ", "evidence_unreadable", "it is encrypted, or its beginning is damaged")
    if data.startswith(b"SQLite format 3\0"):
        return f"{check_workspace(path, trust)}. {WITHOUT_INSTALLATION}"
    text = data.decode(errors="surrogateescape")  # bytes after the end need not be text
    if text.startswith("c2sp.org/tlog-proof@v1\n"):
        return check_receipt(data.decode(errors="replace"), trust)
    if PROOF_BEGINS.match(text):
        return check_proof(text, trust)
    return check_export(text, trust)


def check(path, trust):
    """What is found of all evidence at a path."""
    if not path.is_dir():
        return [judge(path, lambda: check_file(path, trust), trust)]
    found = []
    try:
        found += check_directory(path, trust)
    except (Problem, OSError, ValueError) as problem:
        def fail():
            raise problem
        found.append(judge(path, fail, trust))
    return found


def ask_for_seals(sources, workspaces, anchors):
    """At least one of the given seals must be of a workspace that was checked."""
    if not anchors or any(seal.workspace in workspaces for seal in anchors):
        return
    words = "the given seal belongs to another workspace, so it cannot be compared"
    for source in sources:
        if all(problem["code"] != "seal_missing" for problem in source["problems"]):
            add_problem(source, Undetermined("seal_missing", words))


def main():
    options = argparse.ArgumentParser(description="Checks governd's audit log.")
    options.add_argument("--public-key", metavar="KEY", action="append", default=[])
    options.add_argument("--seal", metavar="FILE", action="append", default=[])
    options.add_argument("--witness-key", metavar="KEY", action="append", default=[])
    options.add_argument("--witness-quorum", metavar="N", type=int)
    options.add_argument("--policy", metavar="FILE")
    options.add_argument("--complete", action="store_true", help="require proof that no event is missing")
    options.add_argument("--json", action="store_true", help="print the result for programs")
    options.add_argument("files", metavar="FILE", nargs="+", type=Path)
    given = options.parse_args()
    try:
        trust = read_trust(given)
    except (Problem, OSError, ValueError) as problem:
        words = f"the keys, a seal or the policy cannot be read: {problem}"
        print(json.dumps({"verdict": "undetermined", "exit_code": 2, "sources": [], "error": words}) if given.json else words)
        return 2
    sources = [source for path in given.files for source in check(path, trust)]
    ask_for_seals(sources, trust.workspaces, trust.anchors)
    verdicts = {source["verdict"] for source in sources}
    worst = 1 if "tampered" in verdicts else 2 if "undetermined" in verdicts else 0
    files = {sha256(path.read_bytes()): path for path in given.files if trust.prunings and path.is_file()}
    prunings = [
        {"before_seq": before, "export_digest": digest, "export": str(files[digest]) if digest in files else None}
        for before, digest in trust.prunings
    ]
    report = {"verdict": VERDICTS[worst], "exit_code": worst, "sources": sources, "prunings": prunings}
    if given.json:
        print(json.dumps(report))
        return worst
    print("".join(lines_of(report)), end="")
    return worst


def lines_of(report):
    """The report as it is read."""
    for source in report["sources"]:
        yield f"{source['path']}: {SAID[source['verdict']]}. {source['text']}.\n"
    for one in report["prunings"]:
        named = f"{one['export']}, as the pruning names it" if one["export"] else f"not given: the export with SHA-256 {one['export_digest']}"
        yield f"what was pruned before event {one['before_seq']}: {named}\n"


def read_trust(given):
    seals = [seal for name in given.seal for seal in read_seals(Path(name).read_bytes().decode())]
    if given.policy is not None:
        alone = not given.public_key and not given.witness_key and given.witness_quorum is None
        require(alone, "usage", "--policy stands for the keys, the witnesses and the quorum")
        return Trust.by_policy(Policy(Path(given.policy).read_bytes()), seals, given.complete)
    text_of = lambda key: Path(key).read_text() if Path(key).is_file() else key
    keys, witnesses = [read_key(text_of(key)) for key in given.public_key], [read_witness(text_of(key)) for key in given.witness_key]
    require(len({key for _, _, key in witnesses}) == len(witnesses), "usage", "two witnesses have the same key")
    require(0 <= (given.witness_quorum or 0) <= len(witnesses), "usage", "the quorum is larger than the number of witnesses")
    return Trust(keys, seals, given.complete, witnesses, given.witness_quorum)


if __name__ == "__main__":
    sys.exit(main())
