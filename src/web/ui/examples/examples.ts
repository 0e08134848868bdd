/** Commands to copy: first requests with a key that was just made. */
import programs from "./programs.json";

/** Where a command is run: the daemon's address, and its own certificate authority; null for another's certificate. */
export interface Daemon {
  origin: string;
  caFile: string | null;
}

/** Returns a text as one word of a shell. */
const quoted = (text: string): string => (/^[\w./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`);

/** The body of the request, in JSON and in Python. */
const NOTE = '{"agent_id": "assistant", "key": "notes/1", "value": "Hello."}';

/** Returns a complete curl command that stores a note for an agent called `assistant`. */
export function curlExample({ origin, caFile }: Daemon, apiKey: string, value = "Hello."): string {
  const lines = [
    `curl ${origin}/v1/data/write \\`,
    ...(caFile === null ? [] : [`  --cacert ${quoted(caFile)} \\`]),
    `  -H "X-API-Key: ${apiKey}" \\`,
    '  -H "Content-Type: application/json" \\',
    `  -d '${NOTE.replace("Hello.", value)}'`,
  ];
  return lines.join("\n");
}

/** Returns the lines that connect Claude Code to the memory of an agent called `assistant`. */
export function mcpExample({ origin, caFile }: Daemon, apiKey: string): string {
  const lines = [
    ...(caFile === null ? [] : [`export NODE_EXTRA_CA_CERTS=${quoted(caFile)}`]),
    `claude mcp add --transport http governd ${origin}/v1/mcp/agents/assistant \\`,
    `  --header "Authorization: Bearer ${apiKey}"`,
  ];
  return lines.join("\n");
}

/** Puts values into the places of a program that have their names. */
const filled = (lines: readonly string[], values: Readonly<Record<string, string>>): string =>
  lines.join("\n").replace(/\{(origin|note|authority)\}/g, (_, name: string) => values[name] ?? "");

/** Returns a program in Python, without packages, that stores the same note. The key is in its environment. */
function pythonExample({ origin, caFile }: Daemon): string {
  const authority = caFile === null ? "" : `cafile=${JSON.stringify(caFile)}`;
  return filled(programs.python, { origin, note: NOTE, authority });
}

/** Returns a program in TypeScript for Node that stores the same note. The key is in its environment. */
function typeScriptExample({ origin, caFile }: Daemon): string {
  const first = caFile === null ? [] : [`// NODE_EXTRA_CA_CERTS=${quoted(caFile)} node first.ts`];
  return filled([...first, ...programs.typescript], { origin, note: NOTE });
}

/** How the key is called in the environment. */
const KEY = "$GOVERND_API_KEY";

/** First requests, by what makes them. */
export const EXAMPLES: readonly (readonly [name: string, of: (daemon: Daemon) => string])[] = [
  ["curl", (daemon) => curlExample(daemon, KEY)],
  ["Python", pythonExample],
  ["TypeScript", typeScriptExample],
  ["MCP", (daemon) => mcpExample(daemon, KEY)],
];
