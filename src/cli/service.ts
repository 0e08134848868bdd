/** What answers the requests: the workspaces, and the HTTP application before them. */
import type { Authenticator } from "../control/authenticator.ts";
import type { ControlDatabase } from "../control/database.ts";
import type { DataDirectory } from "../datadir/layout.ts";
import type { Clock } from "../ids.ts";
import type { Settings } from "../settings/schema.ts";
import type { Serve } from "./listener.ts";
import type { Logger } from "./logger.ts";

/** Everything that a service is made of. */
export interface ServiceParts {
  settings: Settings;
  directory: DataDirectory;
  control: ControlDatabase;
  authenticator: Authenticator;
  clock: Clock;
  logger: Logger;
}

/** Opens ports that answer the API. Disposing of it finishes what is under way and closes the workspaces. */
export interface Service extends AsyncDisposable {
  serve: Serve;
}

export async function openService(_parts: ServiceParts): Promise<Service> {
  return {
    serve: (address, certificate) => {
      const server = Bun.serve({
        hostname: address.host,
        port: address.port,
        ...(certificate ? { tls: { cert: certificate.cert, key: certificate.key } } : {}),
        fetch: () => new Response("ok"),
      });
      return { port: server.port ?? address.port, stop: (now) => server.stop(now) };
    },
    async [Symbol.asyncDispose]() {},
  };
}
