/** Editing something that has versions: nothing is saved over a version that the editor has not seen. */
import { useEffect, useState } from "preact/hooks";
import { isCode } from "../api/client.ts";
import type { AuditEvent, JsonObject } from "../api/types.ts";
import { useAskBeforeUnload } from "../ui/leave.ts";
import { say } from "../ui/notices.tsx";
import { type Action, useAction, useEvents } from "./load.ts";
import { session, useAccess } from "./session.ts";

/** One version; `version` is null for the state before the first one. */
export interface AnyVersion {
  version: string | null;
  created_at: string | null;
  created_by: string | null;
}

/** The edited object: `V` is a version of it, `D` its form as a draft. */
export interface Editable<V extends AnyVersion, D> {
  /** The path of `GET` and `PUT`. */
  path: string;
  draftOf(version: V): D;
  /** Returns the body to send. @throws {ApiProblem} when something typed cannot be sent */
  bodyOf(draft: D): JsonObject;
  /** Returns the content of a version, in the form of a body. */
  contentOf(version: V): JsonObject;
  /** Returns the version that an event put in force; null for other events. */
  inForceAfter(event: AuditEvent): string | null;
}

export interface Editor<V extends AnyVersion, D> {
  what: Editable<V, D>;
  /** The version that the draft started from. */
  base: V;
  draft: D;
  setDraft(draft: D): void;
  changed: boolean;
  /** A version that somebody else saved since. */
  newer: string | null;
  /** Saves over this version, which must be the one in force. Null: there must be none. */
  save: Action<[over: string | null]>;
  /** The version in force, after 412; null while no conflict is known. */
  theirs: V | null;
  /** Loads the version in force in place of the draft. */
  take: Action<[]>;
  /** Starts from a version, without what was typed. */
  start(from: V): void;
}

/** Unsaved drafts, each with the version that it started from. They outlive the page, but not the browser's tab. */
const unsaved = new Map<string, { base: unknown; draft: unknown }>();

export function useEditor<V extends AnyVersion, D>(
  what: Editable<V, D>,
  current: V,
  onSaved: (saved: V) => void,
): Editor<V, D> {
  const { id, api } = useAccess();
  const key = `${session.value.kind === "in" ? session.value.account.id : ""} ${id} ${what.path}`;
  const [kept] = useState(() => unsaved.get(key) as { base: V; draft: D } | undefined);
  const [base, setBase] = useState(kept?.base ?? current);
  const [draft, setDraft] = useState<D>(() => kept?.draft ?? what.draftOf(current));
  const [newer, setNewer] = useState<string | null>(base.version === current.version ? null : current.version);
  const [theirs, setTheirs] = useState<V | null>(null);
  useEvents((event) => {
    const version = what.inForceAfter(event);
    if (version !== null && version !== base.version) setNewer(version);
  });
  const start = (from: V) => {
    setBase(from);
    setDraft(what.draftOf(from));
    setNewer(null);
    setTheirs(null);
  };
  const save = useAction(async (over: string | null) => {
    const headers: Record<string, string> = over === null ? { "if-none-match": "*" } : { "if-match": `"${over}"` };
    try {
      const saved = await api.ask<V>(what.path, { method: "PUT", body: what.bodyOf(draft), headers });
      onSaved(saved);
      start(saved);
      say(`Version ${saved.version}`, "is saved and in force. Its policies apply to every write from now on.");
    } catch (error) {
      if (isCode(error, "version_conflict")) setTheirs(await api.ask<V>(what.path));
      throw error;
    }
  });
  const take = useAction(async () => {
    const found = await api.ask<V>(what.path);
    onSaved(found);
    start(found);
    save.clear();
  });
  const changed = JSON.stringify(draft) !== JSON.stringify(what.draftOf(base));
  useEffect(() => {
    // It was loaded again.
    if (current.version === base.version) return;
    if (changed) setNewer(current.version);
    else start(current);
  }, [current.version]);
  useEffect(() => {
    if (changed) unsaved.set(key, { base, draft });
    else unsaved.delete(key);
  }, [changed, key, base, draft]);
  useAskBeforeUnload(changed);
  return { what, base, draft, setDraft, changed, newer, save, theirs, take, start };
}
