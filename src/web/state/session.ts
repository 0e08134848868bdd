/** Who is signed in. It is loaded from the daemon at each start and never stored in the browser. */
import { effect, signal } from "@preact/signals";
import { createContext } from "preact";
import { useContext } from "preact/hooks";
import { ask, isCode, WorkspaceApi, whenSignedOut } from "../api/client.ts";
import { type ApiProblem, asProblem } from "../api/problem.ts";
import { returned } from "../api/reach.ts";
import type { SignedIn } from "../api/types.ts";
import { forgetVisits } from "./visits.ts";

type SessionState =
  | { kind: "unknown" }
  | { kind: "out" }
  | { kind: "failed"; problem: ApiProblem }
  /** `ended`: the daemon has ended the session, so the page that it was used on waits until the user signs in again. */
  | ({ kind: "in"; ended?: true } & SignedIn);

export const session = signal<SessionState>({ kind: "unknown" });

/** Loads who is signed in. */
export async function loadSession(): Promise<void> {
  try {
    session.value = { kind: "in", ...(await ask<SignedIn>("/account")) };
  } catch (error) {
    if (isCode(error, "unauthenticated")) markEnded();
    else if (session.value.kind !== "in") session.value = { kind: "failed", problem: asProblem(error) };
  }
}

/** Starts the session that signing in returned. */
export function beginSession(signedIn: SignedIn): void {
  session.value = { kind: "in", ...signedIn };
}

/** Ends the session at the daemon and here. */
export async function signOut(): Promise<void> {
  await ask("/account/sign-out", { method: "POST" });
  session.value = { kind: "out" };
}

/** Changes what is known about the account that is signed in. */
export function updateSession(change: (signedIn: SignedIn) => Partial<SignedIn>): void {
  if (session.value.kind === "in") session.value = { ...session.value, ...change(session.value) };
}

/** How often somebody signed in again on a page whose session had ended. What it shows is loaded again then. */
export const resumed = signal(0);

/** Begins a session after one has ended. The same person keeps the page; another person gets the start page. */
export function resumeSession(signedIn: SignedIn): void {
  const isSame = session.value.kind === "in" && session.value.account.id === signedIn.account.id;
  if (!isSame) location.assign("/");
  beginSession(signedIn);
  resumed.value++;
}

function markEnded(): void {
  session.value = session.value.kind === "in" ? { ...session.value, ended: true } : { kind: "out" };
}

whenSignedOut(markEnded);

returned.subscribe((times) => {
  if (times > 0 && session.peek().kind === "failed") void loadSession();
});

effect(() => {
  if (session.value.kind === "out") forgetVisits();
});

/** The workspace of a page, and what the user may do there. */
export interface WorkspaceAccess {
  id: string;
  name: string;
  api: WorkspaceApi;
  /** The path of its requests to `/account`. */
  account: string;
  /** Whether it is the log of the installation. */
  isInstallation: boolean;
  /** May change agents and their data. */
  canWrite: boolean;
  /** May see stored values. */
  canRead: boolean;
  /** May manage members and keys. */
  canManage: boolean;
  /** Members need a second factor to use it. */
  requiresSecondFactor: boolean;
  /** Whether the user has no second factor, so that the workspace cannot be used. */
  locked: boolean;
}

/** Returns the workspace with this id, or the log of the installation; null when the user is not a member. */
export function accessTo(workspaceId: string): WorkspaceAccess | null {
  if (session.value.kind !== "in") return null;
  const { workspaces, installation } = session.value;
  const isInstallation = installation?.id === workspaceId;
  const workspace = isInstallation ? installation : workspaces.find(({ id }) => id === workspaceId);
  if (workspace == null) return null;
  const { id, name, role, locked, requires_second_factor: requiresSecondFactor } = workspace;
  const trusted = role !== "auditor";
  const rights = { canWrite: trusted, canRead: trusted, canManage: role === "owner" };
  const factor = { requiresSecondFactor, locked };
  const account = `/account/workspaces/${id}`;
  return { id, name, isInstallation, api: new WorkspaceApi(id), account, ...rights, ...factor };
}

/** The workspace of the page around a component, null on pages that belong to none. */
export const AccessContext = createContext<WorkspaceAccess | null>(null);

/** Returns the workspace of the page, for the pages of a workspace. */
export function useAccess(): WorkspaceAccess {
  const access = useContext(AccessContext);
  if (access === null) throw new Error("this page belongs to no workspace");
  return access;
}
