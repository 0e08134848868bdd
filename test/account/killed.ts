/** A process that acts on accounts and workspaces beside a daemon, and kills itself at a given moment. */
import { join } from "node:path";
import { serverOfDirectory } from "../support/engine.ts";

const SOURCE = join(import.meta.dir, "../../src");

/** When the process kills itself: before or after its nth write to the log of a workspace. */
export interface Moment {
  at: "before" | "after";
  nth: number;
}

/** In the middle of making a workspace: its log has no event but the first. */
export const HALFWAY = "halfway";

/** Runs `what` in the process, with `parts` of the functions about accounts. Returns its exit code. */
export function killed(dataDir: string, moment: Moment | typeof HALFWAY, what: string): Promise<number> {
  const { at, nth } = moment === HALFWAY ? { at: "after", nth: 1 } : moment;
  const program = `
    import { Attempts } from ${JSON.stringify(join(SOURCE, "ops/accounts/attempts.ts"))};
    import { Passwords } from ${JSON.stringify(join(SOURCE, "ops/accounts/passwords.ts"))};
    import { rename } from ${JSON.stringify(join(SOURCE, "ops/accounts/sign-in.ts"))};
    import { foundWorkspace } from ${JSON.stringify(join(SOURCE, "ops/accounts/membership.ts"))};
    import { signUp } from ${JSON.stringify(join(SOURCE, "ops/accounts/sign-up.ts"))};
    import { createWorkspace } from ${JSON.stringify(join(SOURCE, "ops/directory/administration.ts"))};
    import { deleteWorkspace } from ${JSON.stringify(join(SOURCE, "ops/directory/deletion.ts"))};
    import { Installation } from ${JSON.stringify(join(SOURCE, "ops/directory/installation.ts"))};
    import { fileJournal } from ${JSON.stringify(join(SOURCE, "ops/directory/journal.ts"))};
    import { dataDirectory } from ${JSON.stringify(join(SOURCE, "core/datadir/layout.ts"))};
    import { sealKeySource } from ${JSON.stringify(join(SOURCE, "core/datadir/seal-key.ts"))};
    import { IdSource, RandomPool, systemClock as clock } from ${JSON.stringify(join(SOURCE, "ids.ts"))};
    import { membershipParts } from ${JSON.stringify(join(import.meta.dir, "../support/members.ts"))};
    const server = ${JSON.stringify(serverOfDirectory(dataDir))};
    const directory = dataDirectory(${JSON.stringify(dataDir)}, null, server);
    const files = fileJournal(directory);
    let left = ${nth};
    const die = () => process.kill(process.pid, "SIGKILL");
    const dying = (work) => async (...words) => {
      left--;
      if (left === 0 && ${at === "before"}) die();
      if (${moment === HALFWAY}) words[1] = null;
      const done = await work(...words).catch((error) => { if (left === 0) die(); throw error; });
      if (left === 0) die();
      return done;
    };
    const journal = { ...files, create: dying(files.create), record: dying(files.record) };
    const random = new RandomPool();
    const installation = await Installation.open(directory);
    const access = membershipParts(directory, installation);
    access.workspaces.change = dying(access.workspaces.change);
    const parts = {
      ...access, journal, clock, random, ids: new IdSource(clock, random), signup: "invite", issuerOnly: false,
      passwords: new Passwords(random), attempts: new Attempts(() => performance.now()),
    };
    await ${what};
    process.exit(0);`;
  return Bun.spawn([process.execPath, "-e", program]).exited;
}
