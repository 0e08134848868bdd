/** Elysia over TLS with the schema of a governed write, and nothing behind it: what HTTP alone costs. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Elysia, t } from "elysia";

const tlsDir = join(process.argv[2] as string, "tls");
const body = t.Object({
  agent_id: t.String({ minLength: 1, maxLength: 128 }),
  key: t.String({ minLength: 1, maxLength: 512 }),
  value: t.String(),
  metadata: t.Optional(t.Record(t.String(), t.Unknown())),
});
const answer = { allowed: true, audit_id: `aud_${"0".repeat(26)}`, message: "Stored." };

const app = new Elysia()
  .post("/v1/data/write", () => answer, { body })
  .listen({
    hostname: "127.0.0.1",
    port: 0,
    tls: {
      cert: readFileSync(join(tlsDir, "server.crt"), "utf8"),
      key: readFileSync(join(tlsDir, "server.key"), "utf8"),
    },
  });
console.log(`https://127.0.0.1:${app.server?.port}`);
