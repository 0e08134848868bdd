/** The sinks of a workspace as its file has them: the rows that events state, and how far each has come. */
import { KeyUnusable, SecretKey } from "../../core/datadir/secret-key.ts";
import type { SinkError, SinkProgress, SinkSettings, SinkStart, SinkType } from "../../sink.ts";
import type { Reader, Transaction } from "../../store/transaction.ts";
import type { SinkConfig, SinkSecrets } from "./config.ts";

export interface StoredSink extends SinkSettings, SinkProgress {
  id: string;
  type: SinkType;
  start: SinkStart;
  /** The position of the event that made it. */
  createdSeq: number;
  createdAt: string;
  createdBy: string;
  /** The secrets as encrypted JSON. */
  secrets: string;
  /** Changes whenever a setting does, but not with the progress. */
  revision: string;
}

/** SQL: a text that is another one after every change of a sink. Its salt stands for what the salt binds. */
const REVISION = "json_array(s.format, s.filter, s.include_details, s.enabled, s.salt)";

const SELECT = `SELECT s.id, s.type, s.format, s.filter, s.include_details, s.start, s.enabled, s.created_seq, s.url, s.ca,
  s.client_certificate, s.secrets, ${REVISION}, e.timestamp, e.actor, p.position, p.delivered_at, p.last_error
  FROM sinks s JOIN events e ON e.seq = s.created_seq LEFT JOIN sink_positions p ON p.id = s.id`;

type Row = [
  id: string,
  type: SinkType,
  format: SinkSettings["format"],
  filter: string,
  includeDetails: number,
  start: string,
  enabled: number,
  createdSeq: number,
  url: string,
  ca: string | null,
  clientCertificate: string | null,
  secrets: string,
  revision: string,
  createdAt: string,
  createdBy: string,
  position: number | null,
  deliveredAt: number | null,
  lastError: string | null,
];

function sinkOf(row: Row): StoredSink {
  const [
    id,
    type,
    format,
    filter,
    includeDetails,
    start,
    enabled,
    createdSeq,
    url,
    ca,
    clientCertificate,
    secrets,
    revision,
    createdAt,
    createdBy,
    position,
    deliveredAt,
    lastError,
  ] = row;
  return {
    ...{ id, type, url, format, filter: JSON.parse(filter), includeDetails: includeDetails === 1 },
    ...{ start: JSON.parse(start), enabled: enabled === 1, ca, clientCertificate, createdSeq, createdAt, createdBy },
    ...{ secrets, revision, position, deliveredAt },
    lastError: lastError === null ? null : (JSON.parse(lastError) as SinkError),
  };
}

/** Returns the sinks of the workspace, the oldest first. */
export async function listSinks(reader: Reader): Promise<StoredSink[]> {
  return (await reader.all<Row>(`${SELECT} ORDER BY s.created_seq`)).map(sinkOf);
}

export async function findSink(reader: Reader, id: string): Promise<StoredSink | undefined> {
  const row = await reader.get<Row>(`${SELECT} WHERE s.id = ?`, [id]);
  return row && sinkOf(row);
}

/** Whether a sink is as it was read. */
export async function isUnchanged(reader: Reader, { id, revision }: Pick<StoredSink, "id" | "revision">) {
  return (await reader.value<string>(`SELECT ${REVISION} FROM sinks s WHERE s.id = ?`, [id])) === revision;
}

/** The progress of a sink, to be stored. */
export type SinkPosition = SinkProgress & { id: string };

/** Stores the progress of sinks, without an event, and drops that of sinks that were removed. */
export async function storePositions(tx: Transaction, positions: readonly SinkPosition[]): Promise<void> {
  for (const { id, position, deliveredAt, lastError } of positions) {
    const error = lastError === null ? null : JSON.stringify(lastError);
    await tx.run("INSERT OR REPLACE INTO sink_positions (id, position, delivered_at, last_error) VALUES (?, ?, ?, ?)", [
      id,
      position,
      deliveredAt,
      error,
    ]);
  }
  await tx.run("DELETE FROM sink_positions WHERE id NOT IN (SELECT id FROM sinks)");
}

/** Encrypts the secrets of sinks. */
export class SinkKey {
  readonly #key: SecretKey;

  constructor({ sinkKey }: { sinkKey: string }) {
    this.#key = new SecretKey(sinkKey);
  }

  /**
   * Encrypts the secrets of a sink. The first call creates the key's file.
   * @param isFirst whether the workspace has no other sinks
   * @throws {KeyUnusable} when the file is missing although there are secrets that it encrypted
   */
  encrypt(id: string, secrets: SinkSecrets, isFirst = false): string {
    if (isFirst && !this.#key.exists) this.#key.create();
    return this.#key.encrypt(id, JSON.stringify(secrets));
  }

  /** @throws {KeyUnusable} */
  decrypt({ id, secrets }: Pick<StoredSink, "id" | "secrets">): SinkSecrets {
    return JSON.parse(this.#key.decrypt(id, secrets)) as SinkSecrets;
  }

  /** Whether the key decrypts the secrets of a sink. */
  reads(sink: Pick<StoredSink, "id" | "secrets">): boolean {
    try {
      this.decrypt(sink);
      return true;
    } catch (error) {
      if (error instanceof KeyUnusable) return false;
      throw error;
    }
  }

  /** Returns a sink with its secrets, to deliver to it. @throws {KeyUnusable} */
  configOf(sink: StoredSink, workspaceId: string): SinkConfig {
    const { id, type, url, format, filter, includeDetails, start, createdSeq, ca, clientCertificate } = sink;
    const settings = { id, workspaceId, type, url, format, filter, includeDetails, start, createdSeq };
    return { ...settings, ca, clientCertificate, ...this.decrypt(sink) };
  }
}
