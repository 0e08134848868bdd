/** Commands to copy: first requests with a key that was just made. */

/** Where a command is run: the daemon's address, and its own certificate authority; null for another's certificate. */
export interface Daemon {
  origin: string;
  caFile: string | null;
}

/** Returns a text as one word of a shell. */
const quoted = (text: string): string => (/^[\w./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`);

/** Returns a complete curl command that stores a note for an agent called `assistant`. */
export function curlExample({ origin, caFile }: Daemon, apiKey: string): string {
  const lines = [
    `curl ${origin}/v1/data/write \\`,
    ...(caFile === null ? [] : [`  --cacert ${quoted(caFile)} \\`]),
    `  -H "X-API-Key: ${apiKey}" \\`,
    '  -H "Content-Type: application/json" \\',
    `  -d '{"agent_id": "assistant", "key": "notes/1", "value": "Hello."}'`,
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
