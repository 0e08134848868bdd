/** Commands to copy: first requests with a key that was just made. */

/** Returns a complete curl command that stores a note for an agent called `assistant`. */
export function curlExample(origin: string, apiKey: string): string {
  const lines = [
    `curl ${origin}/v1/data/write \\`,
    "  --cacert governd-data/tls/ca.crt \\",
    `  -H "X-API-Key: ${apiKey}" \\`,
    '  -H "Content-Type: application/json" \\',
    `  -d '{"agent_id": "assistant", "key": "notes/1", "value": "Hello."}'`,
  ];
  return lines.join("\n");
}

/** Returns the lines that connect Claude Code to the memory of an agent called `assistant`. */
export function mcpExample(origin: string, apiKey: string): string {
  const lines = [
    "export NODE_EXTRA_CA_CERTS=$PWD/governd-data/tls/ca.crt",
    `claude mcp add --transport http governd ${origin}/v1/mcp/agents/assistant \\`,
    `  --header "Authorization: Bearer ${apiKey}"`,
  ];
  return lines.join("\n");
}
