/**
 * Scenarios: one request each, its answer, exactly which events it appends, and exactly which tables of the workspace
 * it changes.
 */
import { expect, test } from "bun:test";
import { eventFacts } from "../../src/operations.ts";
import { assertDeclaresHeaders, documentsAuditId } from "../http/support/openapi.ts";
import { type Answered, type Client, methodOf, type Sent } from "./client.ts";
import type { TestWorkspace } from "./daemon.ts";
import { changedTables, type SeenEvent } from "./workspace-view.ts";

/** What a scenario works with. */
export interface Scene {
  /** An agent of this scenario alone, which begins with the first operation on it. */
  agent: string;
  client: Client;
  workspace: TestWorkspace;
  /** What `given` returned, for the request and its checks. */
  // biome-ignore lint/suspicious/noExplicitAny: each scenario knows what it left
  made: any;
}

export interface Scenario {
  name: string;
  /** Runs before the request; its events and changes do not count. */
  given?: (scene: Scene) => Promise<unknown>;
  request: (scene: Scene) => Sent;
  status: number;
  /** The code of the problem document. */
  code?: string;
  param?: string;
  /**
   * The events appended, in order: `<chain> <operation> <result>`, where the chain is `agent` for the
   * scenario's agent, `-` for the workspace's own, or another agent's id.
   */
  appends: readonly string[];
  /** The tables whose rows change; `agents` means an agent that begins or its count of entries. */
  changes?: readonly ("agents" | "configs" | "entries" | "checkpoints")[];
  /** Members that the answer's body must have. */
  body?: object | ((scene: Scene) => object);
  /** The exact details of the last event appended. */
  details?: object | ((scene: Scene, answered: Answered) => object);
  check?: (scene: Scene, answered: Answered) => unknown;
}

let agents = 0;

/** An agent id that no other test uses. */
export const freshAgent = (): string => `agent-${++agents}`;

/** Runs scenarios as tests, one after another in one workspace. */
export function scenarios(workspace: () => TestWorkspace, table: readonly Scenario[]): void {
  for (const scenario of table) test(scenario.name, () => play(workspace(), scenario));
}

async function play(workspace: TestWorkspace, scenario: Scenario): Promise<void> {
  const { view, client } = workspace;
  const scene: Scene = { agent: freshAgent(), client, workspace, made: undefined };
  scene.made = await scenario.given?.(scene);
  const headBefore = view.head;
  const dumpBefore = view.dump();

  const sent = scenario.request(scene);
  const answered = await client.send(sent);

  const appended = view.eventsAfter(headBefore);
  const wanted = scenario.appends.map((line) => line.replace(/^agent /, `${scene.agent} `));
  expect({ status: answered.status, appended: appended.map((event) => event.line), text: answered.text }).toEqual({
    status: scenario.status,
    appended: wanted,
    text: answered.text,
  });
  for (const event of appended) expectErasable(event, sent);
  expect(changedTables(dumpBefore, view.dump())).toEqual([...(scenario.changes ?? [])].sort());
  expect(answered.headers.get("x-audit-id")).toBe(appended.at(-1)?.id ?? null);
  assertDeclaresHeaders(methodOf(sent), sent.path, answered.status, answered.headers);
  if (appended.length > 0) expect(documentsAuditId(methodOf(sent), sent.path, answered.status)).toBe(true);
  expect(answered.headers.get("x-request-id")).toMatch(/^[A-Za-z0-9._-]{1,128}$/);
  if (answered.status >= 400) expectProblem(answered, scenario);
  if (scenario.code === "version_conflict") expectFittingWords(answered, sent);
  const { body, details } = scenario;
  if (body !== undefined)
    expect(structuredClone(answered.json)).toMatchObject(typeof body === "function" ? body(scene) : body);
  if (details !== undefined) {
    const exact = typeof details === "function" ? details(scene, answered) : details;
    expect(structuredClone(appended.at(-1)?.details)).toEqual(exact as Record<string, unknown>);
  }
  await scenario.check?.(scene, answered);
}

/** Checks that a conflict says whether the thing exists, when that is what the condition is about. */
function expectFittingWords({ json }: Answered, { query, body, headers }: Sent): void {
  const { if_version: version } = { ...query, ...(body as object | undefined) } as Record<string, unknown>;
  const isAgainstAny = version === null || version === "null" || headers?.["if-none-match"] === "*";
  const words = isAgainstAny ? /asks for no / : /has another version|(is|are) not th/;
  expect(json.detail).toMatch(json.current_version === null ? /there (is|are) none|has none/ : words);
}

/** Checks that a key or prefix in the details of an event is in a member where an erasure looks for it. */
function expectErasable({ operation, agentId, details }: SeenEvent, { query, body }: Sent): void {
  const sent = { ...query, ...(body as object | undefined) } as Record<string, unknown>;
  const isOfAgent = agentId !== null || details?.agent_id !== undefined;
  for (const [member, value] of Object.entries(isOfAgent ? (details ?? {}) : {})) {
    const isKey = value !== "" && (value === sent.key || value === sent.prefix);
    if (isKey || member === "key" || member === "prefix")
      expect([operation, ...(eventFacts(operation)?.erasedBy ?? [])]).toContain(member);
  }
}

function expectProblem(answered: Answered, scenario: Scenario): void {
  expect(answered.headers.get("content-type")).toBe("application/problem+json");
  const problem = {
    type: `urn:governd:problem:${scenario.code}`,
    title: expect.any(String),
    status: scenario.status,
    detail: expect.any(String),
    code: scenario.code,
    request_id: answered.headers.get("x-request-id"),
    ...(scenario.param === undefined ? {} : { param: scenario.param }),
  };
  // A copy: the runner's matcher writes into what it is given.
  expect(structuredClone(answered.json)).toMatchObject(problem);
  if (scenario.param === undefined) expect(answered.json.param).toBeUndefined();
  expect(answered.json.detail.length).toBeGreaterThan(10);
}
