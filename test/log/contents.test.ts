import { describe, expect, test } from "bun:test";
import type { JsonObject } from "../../src/json.ts";
import { configDigest, valueDigest } from "../../src/log/hash.ts";
import {
  type EntryVersion,
  entryClaims,
  type StoredCheckpoint,
  type StoredContent,
  type StoredHead,
} from "../../src/log/rows.ts";
import { LogVerifier } from "../../src/log/verify.ts";
import { SampleLog, typeId } from "./sample.ts";

const AGENT = "alpha";
const time = (seq: number): number => Date.UTC(2026, 0, 1) + seq * 1000;

/** A small history with everything that a workspace file can hold. */
function history() {
  const log = new SampleLog();
  log.configure(AGENT, "v1", { a: 1 }); // 1
  const write = (key: string, value: string): number =>
    log.append({
      agent: AGENT,
      operation: "data.write",
      result: "allowed",
      details: { key, value_digest: valueDigest(key, {}, value) },
    });
  write("k/1", "one"); // 2
  write("k/2", "two"); // 3
  const label = "before";
  const create = (id: string, entries: number): number =>
    log.append({
      agent: AGENT,
      operation: "checkpoint.create",
      configVersion: "v1",
      details: {
        checkpoint_id: id,
        as_of_seq: log.events.length,
        entry_count: entries,
        label,
        metadata: { n: 1 },
      },
    });
  create(typeId("cp", 1), 2); // 4
  write("k/1", "uno"); // 5
  log.append({ agent: AGENT, operation: "data.delete_prefix", details: { prefix: "k/2", count: 1 } }); // 6
  create(typeId("cp", 2), 1); // 7
  log.append({ agent: AGENT, operation: "checkpoint.delete", details: { checkpoint_id: typeId("cp", 2) } }); // 8
  const config: JsonObject = { a: 1 };
  log.append({
    agent: AGENT,
    operation: "checkpoint.restore",
    configVersion: "v1",
    details: {
      checkpoint_id: typeId("cp", 1),
      safety_checkpoint_id: typeId("cp", 3),
      safety_entry_count: 1,
      config_version: "v2",
      config_digest: configDigest(config),
      rolled_back_from: "v1",
    },
  }); // 9
  const entry = (
    key: string,
    value: string,
    writtenSeq: number,
    liveFrom: number,
    liveTo: number | null,
  ): EntryVersion => ({
    agentId: AGENT,
    key,
    value: JSON.stringify(value),
    metadata: "{}",
    writtenSeq,
    createdSeq: key === "k/1" ? 2 : 3,
    liveFrom,
    liveTo,
    createdAt: time(key === "k/1" ? 2 : 3),
    updatedAt: time(writtenSeq),
  });
  const entries = [
    entry("k/1", "one", 2, 2, 5),
    entry("k/2", "two", 3, 3, 6),
    entry("k/1", "uno", 5, 5, 9),
    entry("k/1", "one", 2, 9, null),
    entry("k/2", "two", 3, 9, null),
  ];
  const checkpoint = (
    id: number,
    seq: number,
    asOfSeq: number,
    entryCount: number,
    label: string | null,
    metadata: string,
  ): StoredCheckpoint => ({
    kind: "checkpoint",
    seq,
    agentId: AGENT,
    checkpointId: typeId("cp", id),
    asOfSeq,
    entryCount,
    configVersion: "v1",
    label,
    metadata,
  });
  const others: StoredContent[] = [
    { kind: "config", seq: 1, agentId: AGENT, version: "v1", config: '{"a":1}', rolledBackFrom: null },
    { kind: "config", seq: 9, agentId: AGENT, version: "v2", config: '{"a":1}', rolledBackFrom: "v1" },
    checkpoint(1, 4, 4, 2, label, '{"n":1}'),
    checkpoint(3, 9, 8, 1, null, "{}"),
  ];
  const heads: StoredHead[] = [null, AGENT].map((agentId) => {
    const { agent_seq: agentSeq, hash } = log.heads.get(agentId) as { agent_seq: number; hash: string };
    const agent = agentId === null ? 0 : 1;
    return { agentId, firstSeq: agent, agentSeq, hash, liveEntries: agent * 2 };
  });
  return { log, entries, others, heads };
}

const { log, entries, others, heads } = history();

function check(rows: EntryVersion[] = entries, rest: StoredContent[] = others, stored: StoredHead[] = heads) {
  const verifier = new LogVerifier({ scope: "workspace", start: "beginning", contents: true });
  const contents = [...rows.flatMap(entryClaims), ...rest].sort((a, b) => a.seq - b.seq);
  verifier.add(log.events, contents);
  verifier.compareHeads(stored);
  return verifier.finish();
}

const codes = (report: ReturnType<typeof check>): string[] => report.problems.map(({ code }) => code);

describe("a whole workspace against its log", () => {
  test("holds as it was written", () => {
    expect(check()).toMatchObject({ valid: true, problems: [] });
  });

  test.each(Object.keys(entries[0] as EntryVersion) as (keyof EntryVersion)[])(
    "any change of an entry's %s is found",
    (member) => {
      const others: Record<keyof EntryVersion, unknown[]> = {
        agentId: ["beta", null],
        key: ["k/3", "k/2x"],
        value: ['"x"', "{", "null"],
        metadata: ['{"x":1}', "[", "null"],
        writtenSeq: [0, 1, 4, 6, 7, 1000],
        createdSeq: [0, 1, 4, 6, 9, 1000],
        liveFrom: [0, 1, 4, 7, 1000],
        liveTo: [0, 1, 4, 7, 8, 1000],
        createdAt: [0, time(1)],
        updatedAt: [0, time(1)],
      };
      for (const [at, row] of entries.entries()) {
        for (const value of others[member]) {
          if (row[member] === value) continue;
          expect([at, value, check(entries.with(at, { ...row, [member]: value })).valid]).toEqual([
            at,
            value,
            false,
          ]);
        }
      }
    },
  );

  test("any change of a config or a checkpoint is found", () => {
    for (const [at, row] of others.entries()) {
      for (const [member, value] of Object.entries(row)) {
        if (member === "kind") continue;
        for (const other of [null, "x", 7, typeId("cp", 9), '{"b":1}']) {
          if (other === value) continue;
          const changed = { ...row, [member]: other } as StoredContent;
          expect([at, member, other, check(entries, others.with(at, changed)).valid]).toEqual([
            at,
            member,
            other,
            false,
          ]);
        }
      }
    }
  });

  test("what is gone is missed: a live entry, a config, a checkpoint, a head", () => {
    for (const [at, row] of entries.entries()) {
      if (row.liveTo === null) expect(codes(check(entries.toSpliced(at, 1)))).toEqual(["content_missing"]);
    }
    for (const at of others.keys())
      expect(codes(check(entries, others.toSpliced(at, 1)))).toEqual(["content_missing"]);
    for (const at of heads.keys())
      expect(codes(check(entries, others, heads.toSpliced(at, 1)))).toEqual(["head_mismatch"]);
  });

  test("a deleted checkpoint that is stored again is found", () => {
    const again: StoredContent = {
      ...(others[2] as StoredCheckpoint),
      checkpointId: typeId("cp", 2),
      seq: 7,
      asOfSeq: 7,
      entryCount: 1,
    };
    expect(codes(check(entries, [...others, again]))).toEqual(["content_missing"]);
  });

  test("any change of a head is found", () => {
    for (const [at, head] of heads.entries()) {
      for (const change of [
        { agentId: "beta" },
        { firstSeq: 3 },
        { agentSeq: 2 },
        { hash: "0".repeat(64) },
        { liveEntries: 5 },
      ]) {
        expect(check(entries, others, heads.with(at, { ...head, ...change })).valid).toBe(false);
      }
    }
  });

  test("the log's own head: seq and hash", () => {
    const verifier = new LogVerifier({ scope: "workspace", start: "beginning", contents: false });
    verifier.add(log.events.slice(0, -1));
    const report = verifier.finish({ lastSeq: 9, head: log.events[9]?.hash ?? null });
    expect(codes(report)).toEqual(["head_mismatch"]);
    expect(report.chainIntact).toBe(false);
  });
});
