/** Makes small logs for the tests: what a daemon would have written, without one. */

import { idOf } from "../../src/ids.ts";
import type { JsonObject } from "../../src/json.ts";
import { AUDIT_FORMAT, type AuditResult, canonicalEvent } from "../../src/log/event.ts";
import { eventHash, saltedDigest, valueDigest, ZERO_HASH } from "../../src/log/hash.ts";
import { canonicalJson } from "../../src/log/jcs.ts";
import type { StoredEvent } from "../../src/log/rows.ts";

export const WORKSPACE = "ws_01h455vb4pex5vsknk084sn02q";
/** Of the digests in details. */
const SALT = "5a".repeat(16);
const ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz";

export interface NewEvent {
  agent: string | null;
  operation: string;
  result?: AuditResult;
  details?: JsonObject;
  blockedBy?: string;
  configVersion?: string;
  actor?: string;
}

/** An event with nothing erased, all in text. */
export type SampleEvent = StoredEvent & { canonical: string; details: string; salt: string; hash: string };

/** A number as the 26 characters of a TypeID. */
export function typeId(prefix: string, number: number): string {
  let text = "";
  for (let rest = number, place = 0; place < 26; place++, rest = Math.floor(rest / 32)) {
    text = ALPHABET[rest % 32] + text;
  }
  return `${prefix}_${text}`;
}

/** The id of an event at a position, with a number for its random part. */
export function auditId(seq: number, random = seq + 1): string {
  const bytes = new DataView(new ArrayBuffer(16));
  bytes.setBigUint64(0, BigInt(seq));
  bytes.setBigUint64(8, BigInt(random));
  return idOf("aud", new Uint8Array(bytes.buffer));
}

/** A log that grows in memory. Everything in it is determined by what is appended. */
export class SampleLog {
  readonly events: SampleEvent[] = [];
  readonly heads = new Map<string | null, { agent_seq: number; hash: string }>();
  /** The config in force, by agent. */
  readonly versions = new Map<string | null, string>();

  constructor(
    readonly workspaceId: string = WORKSPACE,
    genesis: JsonObject = {},
  ) {
    const details = {
      format: AUDIT_FORMAT,
      name: "sample",
      origin: `test.example/${workspaceId}`,
      owner: null,
      signing_key: "ab".repeat(32),
      vocabulary: 1,
      workspace_id: workspaceId,
      ...genesis,
    };
    this.append({ agent: null, operation: "workspace.create", actor: "cli", details });
  }

  /** The greatest number that an event announces. */
  get vocabulary(): number {
    const announced = this.events.map(({ canonical, details }) => {
      const isAnnouncement = /"operation":"(workspace\.create|log\.vocabulary)"/.test(canonical);
      return isAnnouncement ? Number(JSON.parse(details).vocabulary) : 1;
    });
    return Math.max(...announced);
  }

  /** Returns a log that has the same events and grows by itself. */
  copy(): this {
    const own = { events: [...this.events], heads: new Map(this.heads), versions: new Map(this.versions) };
    return Object.assign(Object.create(Object.getPrototypeOf(this)), this, own);
  }

  append(event: NewEvent): number {
    const seq = this.events.length;
    const head = this.heads.get(event.agent) ?? { agent_seq: 0, hash: ZERO_HASH };
    const details = event.details ?? {};
    const salt = Buffer.alloc(16);
    salt.writeUInt32BE(seq, 12);
    const canonical = canonicalEvent({
      actor: event.actor ?? typeId("key", 7),
      agent_id: event.agent,
      agent_seq: head.agent_seq + 1,
      blocked_by: event.blockedBy ?? null,
      config_version: event.configVersion ?? this.versions.get(event.agent) ?? null,
      details_commitment: saltedDigest(salt, canonicalJson(details)),
      format: AUDIT_FORMAT,
      id: auditId(seq),
      operation: event.operation,
      previous_hash: head.hash,
      result: event.result ?? "ok",
      seq,
      timestamp: new Date(Date.UTC(2026, 0, 1) + seq * 1000).toISOString(),
      workspace_id: this.workspaceId,
    });
    const hash = eventHash(canonical);
    this.heads.set(event.agent, { agent_seq: head.agent_seq + 1, hash });
    this.events.push({ canonical, details: canonicalJson(details), salt: salt.toString("hex"), hash, seq });
    return seq;
  }

  write(agent: string, key: string, value: string, metadata: JsonObject = {}): number {
    const details = { key, value_digest: valueDigest(SALT, key, canonicalJson(metadata), canonicalJson(value)) };
    return this.append({ agent, operation: "data.write", result: "allowed", details });
  }

  configure(agent: string, version: string, config: JsonObject): number {
    const details = { version, config_digest: saltedDigest(SALT, canonicalJson(config)) };
    const seq = this.append({ agent, operation: "config.update", details });
    this.versions.set(agent, version);
    return seq;
  }
}

/** A log with `count` events of a few agents, of all kinds that the verifier checks. */
export function sampleLog(count = 24, agents = ["alpha", "beta", "gamma"]): SampleLog {
  const log = new SampleLog();
  for (const agent of agents) log.configure(agent, "v1", { policies: { block_pii: true }, model: "m" });
  while (log.events.length < count) {
    const seq = log.events.length;
    const agent = agents[seq % agents.length] as string;
    if (seq % 7 === 3) log.append({ agent, operation: "data.read", details: { key: `k${seq}` } });
    else if (seq % 7 === 5) {
      log.append({
        agent,
        operation: "data.write",
        result: "blocked",
        blockedBy: "policy:block_pii",
        details: { findings: [] },
      });
    } else log.write(agent, `key/${seq}`, `value ${seq} é`, { source: "test", confidence: 0.5 });
  }
  return log;
}
