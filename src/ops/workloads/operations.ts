/**
 * The operations on workloads: a workspace gives each a random id when it first acts there. So nobody who has only the
 * events can guess from an actor whose token it sent.
 */
import { findWorkload } from "../../core/rows/access/workloads.ts";
import { changedRows, type Lookup, type OperationsOf, type Run, unchanged } from "../../core/writer/operation.ts";
import { boundDigest, ROW_TABLES } from "../../log/row-effects.ts";

const begin: Run<"workload.begin"> = async (reader, context, { issuer, subject }) => {
  const known = await findWorkload(reader, issuer, subject);
  if (known !== undefined) return unchanged(JSON.stringify({ id: known, audit_id: null }));
  const id = context.ids.next("wid");
  const contents = { issuer, subject, salt: context.newSalt() };
  const details = { workload_id: id, workload_digest: boundDigest(ROW_TABLES.workloads, contents) };
  const body = JSON.stringify({ id, audit_id: context.auditId });
  return changedRows("workload.begin", context, details, body, { contents: { workloads: contents } });
};

/** Answers with the id of a workload; null when it has not acted in the workspace yet. */
export const showWorkload: Lookup<"workload.find"> = async (reader, _, { issuer, subject }) => ({
  ...{ kind: "json", status: 200 },
  body: JSON.stringify((await findWorkload(reader, issuer, subject)) ?? null),
});

export const workloadOperations: OperationsOf<"workload"> = { "workload.begin": { run: begin } };
