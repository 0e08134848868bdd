/** The official clients of both generations of MCP, each at an endpoint of a daemon. */
import {
  Client as StatelessClient,
  StreamableHTTPClientTransport as StatelessTransport,
} from "@modelcontextprotocol/client";
import { Client as OlderClient } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport as OlderTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { ElicitRequestSchema } from "@modelcontextprotocol/sdk/types.js";
import type { Client as Api } from "../support/client.ts";

/** The result of a call, of either client. */
export interface ToolResult {
  // biome-ignore lint/suspicious/noExplicitAny: tests look into results of every form
  structuredContent: any;
  content: { type: string; text?: string }[];
  isError?: boolean;
}

/** What the tests use of a client. */
export interface McpClient extends AsyncDisposable {
  // biome-ignore lint/suspicious/noExplicitAny: as above
  tools(): Promise<any[]>;
  call(name: string, args?: Record<string, unknown>): Promise<ToolResult>;
  // biome-ignore lint/suspicious/noExplicitAny: as above
  templates(): Promise<any[]>;
  read(uri: string): Promise<{ contents: { uri: string; mimeType?: string; text?: string }[] }>;
}

/** What connects a client. */
export interface Connecting {
  /** Of the endpoint, below the daemon's URL. */
  path?: string;
  /** What a person answers when a tool asks; without it the client cannot ask. */
  answer?: (message: string) => { action: "accept" | "decline" | "cancel"; content?: { confirm: boolean } };
  /** The only headers that it adds; its API key by default. */
  only?: Record<string, string>;
}

const INFO = { name: "test-client", version: "9.8" };
/** What the audit trail says of these clients. */
export const CLIENT = "test-client/9.8";

function transportOptions({ apiKey, ca }: Api, { only = { "x-api-key": apiKey } }: Connecting) {
  return {
    requestInit: { headers: only },
    fetch: (url: string | URL, init?: RequestInit) => fetch(url, { ...init, tls: { ca } } as RequestInit),
  };
}

/** The client of 2026-07-28. */
export async function statelessClient(api: Api, connecting: Connecting = {}): Promise<McpClient> {
  const { path = "/v1/mcp", answer } = connecting;
  const capabilities = answer === undefined ? {} : { elicitation: { form: {} } };
  const client = new StatelessClient(INFO, { capabilities, versionNegotiation: { mode: { pin: "2026-07-28" } } });
  if (answer !== undefined) {
    client.setRequestHandler("elicitation/create", async ({ params }) => answer(params.message) as never);
  }
  await client.connect(new StatelessTransport(new URL(api.url + path), transportOptions(api, connecting)));
  return {
    tools: async () => (await client.listTools()).tools,
    call: async (name, args = {}) => (await client.callTool({ name, arguments: args })) as unknown as ToolResult,
    templates: async () => (await client.listResourceTemplates()).resourceTemplates,
    read: async (uri) => (await client.readResource({ uri })) as never,
    [Symbol.asyncDispose]: () => client.close(),
  };
}

/** A client of the versions with `initialize`, by default of the newest of them. */
export async function olderClient(api: Api, connecting: Connecting = {}): Promise<McpClient> {
  const { path = "/v1/mcp", answer } = connecting;
  const client = new OlderClient(INFO, { capabilities: answer === undefined ? {} : { elicitation: {} } });
  if (answer !== undefined) {
    client.setRequestHandler(ElicitRequestSchema, async ({ params }) => answer(params.message) as never);
  }
  await client.connect(new OlderTransport(new URL(api.url + path), transportOptions(api, connecting)) as never);
  return {
    tools: async () => (await client.listTools()).tools,
    call: async (name, args = {}) => (await client.callTool({ name, arguments: args })) as unknown as ToolResult,
    templates: async () => (await client.listResourceTemplates()).resourceTemplates,
    read: async (uri) => (await client.readResource({ uri })) as never,
    [Symbol.asyncDispose]: () => client.close(),
  };
}

export const GENERATIONS = { "2026-07-28": statelessClient, "2025-11-25": olderClient } as const;
