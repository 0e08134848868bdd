/** Sinks in the control database. */

import type { SinkSecrets } from "../../../follow/sinks/config.ts";
import type { SinkError, SinkProgress, SinkSettings, SinkStart, SinkType } from "../../../sink.ts";
import type { Connection } from "../../../store/connection.ts";
import type { SqlValue } from "../../../store/values.ts";
import { SecretKey } from "../../directory/secret-key.ts";
import { Table } from "../../directory/table.ts";

export interface SinkRecord extends SinkSettings, SinkProgress {
  id: string;
  workspaceId: string;
  type: SinkType;
  start: SinkStart;
  /** The secrets as encrypted JSON. */
  secrets: string;
  createdAt: number;
  createdBy: string;
}

const SETTINGS = {
  url: "url",
  format: "format",
  filter: { column: "filter", as: "json" },
  includeDetails: { column: "include_details", as: "boolean" },
  enabled: { column: "enabled", as: "boolean" },
  ca: "ca",
  clientCertificate: "client_certificate",
} as const;

const PROGRESS = {
  position: "position",
  deliveredAt: "delivered_at",
  lastError: { column: "last_error", as: "json" },
} as const;

export const SINKS = new Table<SinkRecord>("sinks", {
  id: "id",
  workspaceId: "workspace_id",
  type: "type",
  ...SETTINGS,
  start: { column: "start", as: "json" },
  secrets: "secrets",
  createdAt: "created_at",
  createdBy: "created_by",
  ...PROGRESS,
});

/** A change of a sink by an act. */
type SinkChange = Partial<SinkSettings & Pick<SinkRecord, "secrets">>;

const OF_ID = "id = ?";

/** Returns the sinks of a workspace, or all, the oldest first. */
export function listSinks(connection: Connection, workspaceId?: string): SinkRecord[] {
  const [where, parameters] = workspaceId === undefined ? ["", []] : ["WHERE workspace_id = ?", [workspaceId]];
  return SINKS.list(connection, `${where} ORDER BY created_at, id`, parameters);
}

export const findSink = (connection: Connection, id: string): SinkRecord | undefined =>
  SINKS.find(connection, `WHERE ${OF_ID}`, [id]);

/** Changes a sink. Reports whether it exists. */
export const changeSink = (connection: Connection, { id, set }: { id: string; set: SinkChange }): boolean =>
  SINKS.update(connection, changedColumns(set), OF_ID, [id]);

/** Returns the columns that a change sets. */
export function changedColumns(set: SinkChange): Record<string, SqlValue> {
  const { filter, includeDetails, enabled, clientCertificate, ...others } = set;
  const columns: Record<string, SqlValue | undefined> = {
    ...others,
    filter: filter && JSON.stringify(filter),
    include_details: includeDetails === undefined ? undefined : Number(includeDetails),
    enabled: enabled === undefined ? undefined : Number(enabled),
    client_certificate: clientCertificate,
  };
  return Object.fromEntries(Object.entries(columns).filter(([, value]) => value !== undefined) as [string, SqlValue][]);
}

/** Stores the progress of a sink. Does nothing if the sink was removed meanwhile. */
export function storeProgress(connection: Connection, id: string, progress: SinkProgress): void {
  const { position, deliveredAt: delivered_at, lastError } = progress;
  const last_error = lastError === null ? null : JSON.stringify(lastError satisfies SinkError);
  SINKS.update(connection, { position, delivered_at, last_error }, OF_ID, [id]);
}

/** Encrypts the secrets of sinks. */
export class SinkKey {
  readonly #key: SecretKey;

  constructor({ sinkKey }: { sinkKey: string }) {
    this.#key = new SecretKey(sinkKey);
  }

  /**
   * Encrypts the secrets of a sink. The first call creates the key's file.
   * @throws {KeyUnusable} when the file is missing although secrets of other sinks exist
   */
  encrypt(connection: Connection, id: string, secrets: SinkSecrets): string {
    if (!this.#key.exists && SINKS.find(connection, "LIMIT 1", []) === undefined) this.#key.create();
    return this.#key.encrypt(id, JSON.stringify(secrets));
  }

  /** @throws {KeyUnusable} */
  decrypt({ id, secrets }: Pick<SinkRecord, "id" | "secrets">): SinkSecrets {
    return JSON.parse(this.#key.decrypt(id, secrets)) as SinkSecrets;
  }
}
