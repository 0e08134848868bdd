/**
 * Sends bytes from a process of its own, and prints what comes. A client in the daemon's process would react to the
 * end of a connection before the daemon goes on.
 */
import { exchangeRaw } from "../support/raw.ts";

const { port, text, ...options } = JSON.parse(process.argv[2] as string);
await Bun.write(Bun.stdout, await exchangeRaw(port, text, options));
