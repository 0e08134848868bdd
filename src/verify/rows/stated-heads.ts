/** Compares the stored heads of workspaces with what the newest `installation.heads` states of them. */

import { type HeadsFacts, HeadsTree, NO_HEADS } from "../../core/heads/tree.ts";
import { HASH_FORM } from "../../details.ts";
import { isId } from "../../ids.ts";
import type { RecordedEffect } from "../../log/effects.ts";
import type { Reader } from "../../store/transaction.ts";
import type { SqlValue } from "../../store/values.ts";
import { RowForm } from "../columns.ts";
import type { LogVerifier } from "../events/log-verifier.ts";

const HASH = new RegExp(`^${HASH_FORM}$`);

export class StatedHeads {
  /** The newest event, and what it states; null when its details are gone. */
  #newest: { seq: number | null; facts: HeadsFacts | null } = { seq: null, facts: NO_HEADS };

  constructor(private readonly report: LogVerifier["report"]) {}

  /** Adds an event, in the order of the log. */
  add(seq: number, effect: RecordedEffect): void {
    this.#newest = { seq, facts: effect.kind === "heads" ? effect : null };
  }

  /** Compares all rows, after the last event. */
  async compare(reader: Reader): Promise<void> {
    const { seq, facts } = this.#newest;
    const form = new RowForm("t", { workspace_id: "text", size: "integer", hash: "text" });
    const rows = await reader.all<SqlValue[]>(`SELECT ${form.sql} FROM heads t ORDER BY workspace_id`);
    const row = { table: "heads", key: null, whole: true, names: seq === null ? [] : [seq] };
    if (facts === null) {
      this.report("content_unprovable", null, seq, "the details that state the root of the heads are gone", row);
      return;
    }
    const tree = new HeadsTree();
    let isWellFormed = true;
    for (const values of rows) {
      const { workspace_id: workspaceId, size, hash } = form.read(values).row ?? {};
      if (!isWorkspaceId(workspaceId) || !isSize(size) || !isHash(hash)) isWellFormed = false;
      else tree.add({ workspaceId, size, hash });
    }
    const { count, root } = tree.facts();
    if (rows.length !== facts.count) {
      const code = rows.length < facts.count ? "row_missing" : "row_added";
      this.report(code, null, seq, `there are ${rows.length} heads, and the log states ${facts.count}`, row);
    } else if (!isWellFormed || count !== facts.count || root !== facts.root) {
      this.report("row_changed", null, seq, "the heads are not those of which the log states the root", row);
    }
  }
}

const isWorkspaceId = (value: unknown): value is string => typeof value === "string" && isId("ws", value);
const isHash = (value: unknown): value is string => typeof value === "string" && HASH.test(value);
const isSize = (value: unknown): value is number => typeof value === "number" && value > 0;
