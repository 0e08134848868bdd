/**
 * Requests to the daemon, with the session's cookie. Scripts cannot read the cookie, and the dashboard stores no loaded
 * data in the browser.
 */
import { ApiProblem, problemOf, unreachable } from "./problem.ts";
import { noteAway } from "./reach.ts";
import type { Page } from "./types.ts";

export type Query = Record<string, string | number | boolean | null | undefined>;

/** One request. */
export interface Ask {
  method?: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  query?: Query;
  body?: unknown;
  headers?: Record<string, string>;
  /** The workspace of a `/v1` request. */
  workspace?: string;
  signal?: AbortSignal | undefined;
}

/** Called when the daemon says that the session has ended. */
let onSignedOut: () => void = () => {};

export function whenSignedOut(listener: () => void): void {
  onSignedOut = listener;
}

/** Returns the address of a request. Empty parameters are left out. */
export function address(path: string, query: Query = {}): string {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined && value !== null && value !== "") parameters.set(name, String(value));
  }
  return parameters.size === 0 ? path : `${path}?${parameters}`;
}

/**
 * Sends a request and returns its response, with the body unread.
 * @throws {ApiProblem} when the daemon refuses the request or does not respond.
 */
export async function send(path: string, ask: Ask = {}): Promise<Response> {
  const { method = ask.body === undefined ? "GET" : "POST", signal = null } = ask;
  const headers: Record<string, string> = { accept: "application/json", ...ask.headers };
  if (ask.body !== undefined) headers["content-type"] = "application/json";
  if (ask.workspace !== undefined) headers["x-workspace-id"] = ask.workspace;
  let response: Response;
  try {
    response = await fetch(address(path, ask.query), {
      method,
      headers,
      signal,
      credentials: "same-origin",
      cache: "no-store",
      redirect: "error",
      body: ask.body === undefined ? null : JSON.stringify(ask.body),
    });
  } catch (error) {
    if (isAbort(error)) throw error;
    noteAway();
    throw unreachable();
  }
  if (response.ok) return response;
  const problem = await problemOf(response);
  if (problem.code === "unauthenticated") onSignedOut();
  throw problem;
}

/** Sends a request and returns the JSON of its response, null when there is no body. */
export async function ask<T>(path: string, request: Ask = {}): Promise<T> {
  const response = await send(path, request);
  return response.status === 204 ? (null as T) : ((await response.json()) as T);
}

/** Reports whether an error only means that the request was aborted. */
export const isAbort = (error: unknown): boolean => error instanceof DOMException && error.name === "AbortError";

/** Reports whether an error is a problem with this code. */
export const isCode = (error: unknown, code: string): error is ApiProblem =>
  error instanceof ApiProblem && error.code === code;

/** Returns the result of a request; null when it fails with this code. */
export async function orNull<T>(code: string, request: Promise<T>): Promise<T | null> {
  try {
    return await request;
  } catch (error) {
    if (isCode(error, code)) return null;
    throw error;
  }
}

/** The `/v1` API as one of the user's workspaces. */
export class WorkspaceApi {
  constructor(readonly workspaceId: string) {}

  ask<T>(path: string, request: Ask = {}): Promise<T> {
    return ask<T>(path, { ...request, workspace: this.workspaceId });
  }

  send(path: string, request: Ask = {}): Promise<Response> {
    return send(path, { ...request, workspace: this.workspaceId });
  }

  /** The pages of a list. */
  async *pages<T>(path: string, query: Query, signal?: AbortSignal): AsyncGenerator<Page<T>> {
    let cursor: string | null = null;
    do {
      const page: Page<T> = await this.ask<Page<T>>(path, { query: { ...query, cursor }, signal });
      yield page;
      cursor = page.next_cursor;
    } while (cursor !== null);
  }
}

/** A path segment. */
export const segment = (text: string): string => encodeURIComponent(text);
