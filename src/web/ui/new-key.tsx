/** A key that is shown this once, and a first request with it. */
import { CopyBlock } from "./copy.tsx";

/** A request that works at once: it stores a note for an agent called `assistant`. */
export function curlExample(origin: string, apiKey: string, authority: boolean): string {
  const lines = [
    `curl ${origin}/v1/data/write \\`,
    ...(authority ? ["  --cacert governd-data/tls/ca.crt \\"] : []),
    `  -H "X-API-Key: ${apiKey}" \\`,
    '  -H "Content-Type: application/json" \\',
    `  -d '{"agent_id": "assistant", "key": "notes/1", "value": "Hello."}'`,
  ];
  return lines.join("\n");
}

export function NewKey({ apiKey }: { apiKey: string }) {
  return (
    <div class="stack">
      <p class="callout callout-warn">
        <strong>This key is shown only now.</strong> Put it where your agent finds it, such as a secret store,
        and nowhere public.
      </p>
      <CopyBlock label="API key" text={apiKey} />
      <p>A first request with it. The daemon's own certificate authority is in its data directory:</p>
      <CopyBlock label="curl command" text={curlExample(location.origin, apiKey, true)} />
    </div>
  );
}
