/** State files, which record a command's progress with the file beside them. */
import { existsSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { Failure } from "../../failure.ts";

export class StateFile<S extends object> {
  constructor(
    private readonly path: string,
    /** The options that a continued run must share with the interrupted one. */
    private readonly request: object,
  ) {}

  /**
   * Returns the state that an interrupted run left; null without one.
   * @throws {Failure} `usage` for a state although `resume` is false, for none although it is true, or for other
   *   options
   */
  read(resume: boolean): S | null {
    if (!existsSync(this.path)) {
      if (resume) throw new Failure("usage", `There is nothing to resume: ${this.path} does not exist.`);
      return null;
    }
    if (!resume) {
      const message = `An earlier run was interrupted: --resume continues it. To start over, remove ${this.path}.`;
      throw new Failure("usage", message);
    }
    const { request, state } = JSON.parse(readFileSync(this.path, "utf8")) as { request: object; state: S };
    if (JSON.stringify(request) === JSON.stringify(this.request)) return state;
    throw new Failure("usage", `The interrupted run had other options. To start over, remove ${this.path}.`);
  }

  write(state: S): void {
    writeFileSync(`${this.path}.tmp`, JSON.stringify({ request: this.request, state }));
    renameSync(`${this.path}.tmp`, this.path);
  }

  remove(): void {
    rmSync(this.path, { force: true });
  }
}
