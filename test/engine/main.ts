/** `npm run test:server -- [FILE …]`: runs what must have the same outcome on both engines, on a libSQL server. */
import { ON_BOTH, onServer } from "./both.ts";

const named = process.argv.slice(2);
const child = onServer(named.length === 0 ? ON_BOTH : named, "inherit");
process.exitCode = await child.exited;
