/** Compares the rows that events state ({@link ROW_TABLES}) with those that are stored. */

import type { JsonObject } from "../../json.ts";
import { covers, recordedEffect, type SeqRange } from "../../log/effects.ts";
import type { AuditEventBody } from "../../log/event.ts";
import {
  boundDigest,
  type Cells,
  type RowChange,
  type RowTable,
  type RowTableName,
  rowChanges,
  rowTables,
} from "../../log/row-effects.ts";
import { isErasable } from "../../operations.ts";
import type { Reader } from "../../store/transaction.ts";
import type { SqlValue } from "../../store/values.ts";
import { pages } from "../../store/walk.ts";
import { RowForm } from "../columns.ts";
import { UNNAMED_BLANK } from "../events/details.ts";
import type { LogVerifier } from "../events/log-verifier.ts";

const ROWS_AT_ONCE = 500;

/** A row as the events so far leave it. */
interface StatedRow {
  cells: Cells;
  digest: string | null;
  /** The last event that changed it. */
  seq: number;
}

export class StatedRows {
  readonly #tables = new Map<RowTableName, Map<string, StatedRow>>(rowTables.map(([table]) => [table, new Map()]));
  /** Events of which it is not known what they changed. */
  readonly #unknown: number[] = [];
  /** Events without details before {@link before}, and the positions whose details went with accounts. */
  readonly #blanks: number[] = [];
  readonly #erased: SeqRange[] = [];

  /** @param before the position up to which the log is pruned; from it on, `Blanks` compares details with erasures */
  constructor(
    private readonly report: LogVerifier["report"],
    private readonly before: number,
  ) {}

  /** Applies an event with the effect `rows`, in the order of the log. `details` is null when they are erased or not genuine. */
  add(event: AuditEventBody, details: JsonObject | null): void {
    const { seq } = event;
    // Of an account that was erased: its rows went with the details.
    if (details === null && isErasable(event.operation)) return void (seq < this.before && this.#blanks.push(seq));
    if (details === null) return void this.#unknown.push(seq);
    const effect = recordedEffect(event, details);
    if (effect.kind === "rows") this.#erased.push(...effect.erased);
    const changes = rowChanges(event, details);
    if (changes === null) {
      this.#unknown.push(seq);
      this.report("details_invalid", event.agent_id, seq, "the details do not state the rows that the event changed");
      return;
    }
    for (const change of changes) {
      if (this.#apply(change, seq) || this.#unknown.length > 0) continue;
      const message = `the row of ${change.table} that the event changed was not there, or not as it must be`;
      this.report("operation_impossible", event.agent_id, seq, message);
    }
  }

  /** Returns false when the change does not fit the row. */
  #apply({ table, key, kind, columns, digest, fits }: RowChange, seq: number): boolean {
    const rows = this.#tables.get(table) as Map<string, StatedRow>;
    const row = rows.get(key);
    const isFit = row === undefined || fits === undefined || fits(row.cells);
    if (kind === "remove") return rows.delete(key) && isFit;
    if (kind === "set" && row === undefined) return false;
    rows.set(key, { cells: { ...row?.cells, ...columns }, digest: digest ?? row?.digest ?? null, seq });
    return isFit && (kind === "set" || row === undefined);
  }

  /** Compares every row, after the last event. */
  async compare(reader: Reader): Promise<void> {
    for (const seq of this.#blanks) {
      if (!covers(this.#erased, seq)) this.report("details_missing", null, seq, UNNAMED_BLANK);
    }
    for (const [table, facts] of rowTables) await this.#compareTable(reader, table, facts);
  }

  async #compareTable(reader: Reader, table: RowTableName, facts: RowTable): Promise<void> {
    const missing = new Map(this.#tables.get(table));
    const { key, columns, bound } = facts;
    const form = new RowForm("t", {
      ...columns,
      ...bound?.columns,
      ...(bound && { salt: "text" as const }),
      [key]: "text",
    });
    const sql = `SELECT t.rowid, ${form.sql} FROM ${table} t WHERE t.rowid > ? ORDER BY t.rowid LIMIT ${ROWS_AT_ONCE}`;
    const read = (after: number) => reader.all<[number, ...SqlValue[]]>(sql, [after]);
    for await (const page of pages(Number.MIN_SAFE_INTEGER, ROWS_AT_ONCE, read, ([rowid]) => rowid)) {
      for (const [, ...values] of page) {
        const { row, parts }: { row: Cells | null; parts: Partial<Cells> } = form.read(values);
        const id = typeof parts[key] === "string" ? parts[key] : null;
        const stated = id === null ? undefined : missing.get(id);
        if (id !== null) missing.delete(id);
        const problem = problemOf(facts, stated, row);
        if (problem !== null) this.#report(problem[0], table, id, stated, problem[1]);
      }
    }
    for (const [id, stated] of missing) {
      this.#report("row_missing", table, id, stated, `a row of ${table} that an event states is gone`);
    }
  }

  #report(
    code: "row_added" | "row_missing" | "row_changed",
    table: RowTableName,
    key: string | null,
    stated: StatedRow | undefined,
    message: string,
  ): void {
    const names = [...(stated === undefined ? [] : [stated.seq]), ...this.#unknown];
    this.report(code, null, stated?.seq ?? null, message, { table, key, names });
  }
}

/** Returns what is wrong with a stored row; null for nothing. `row` is null when a column is not of its type. */
function problemOf(
  facts: RowTable,
  stated: StatedRow | undefined,
  row: Cells | null,
): ["row_added" | "row_changed", string] | null {
  if (stated === undefined) return ["row_added", "a row is stored that no event states"];
  if (row === null) return ["row_changed", "a row has a column that is not of its type"];
  const wrong = Object.keys(stated.cells).filter((name) => row[name] !== stated.cells[name]);
  if (wrong.length > 0) return ["row_changed", `a row differs from what its events state: ${wrong.join(", ")}`];
  const { bound } = facts;
  if (bound === undefined || boundDigest(facts, row) === stated.digest) return null;
  const names = Object.keys(bound.columns).join(", ");
  return ["row_changed", `the columns of a row do not have the digest that its event states: ${names}`];
}
