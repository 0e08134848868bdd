/** Applies changed settings to a running daemon. */

import { SerialQueue } from "../../core/serial-queue.ts";
import { messageOf } from "../../failure.ts";
import type { SettingName, Settings } from "../../settings/definitions.ts";
import { type Reread, reread } from "../../settings/reread.ts";
import type { Logger } from "./logger.ts";

/** A part of the daemon that can apply settings while it runs. */
export interface Applies {
  apply(reread: Reread): Promise<void>;
}

export class Reload {
  /** Reloads run one after another, since signals may come faster than settings are applied. */
  readonly #queue = new SerialQueue();

  /** `parts` apply settings in this order, even when nothing changed, since the files that settings name may have. */
  constructor(
    private inForce: Settings,
    private readonly parts: readonly Applies[],
    private readonly logger: Pick<Logger, "info" | "warn" | "error">,
  ) {}

  /** Applies the settings that were read, and logs which apply at once and which need a restart. */
  run(found: Settings): Promise<void> {
    return this.#queue.run(async () => {
      const next = reread(this.inForce, found);
      this.inForce = next.settings;
      for (const part of this.parts) {
        await part
          .apply(next)
          .catch((error) => this.logger.error("cannot apply new settings", { reason: messageOf(error) }));
      }
      const list = (names: Iterable<SettingName>) => ({ settings: [...names].join(", ") });
      if (next.changed.size > 0) this.logger.info("new settings are in force", list(next.changed));
      if (next.waiting.length > 0) this.logger.warn("new settings apply from the next start", list(next.waiting));
    });
  }
}

/** A part that some settings define. It is replaced when one of them changes. */
export class Replaceable<T extends AsyncDisposable> implements Applies, AsyncDisposable {
  private constructor(
    private readonly names: readonly SettingName[],
    private readonly make: (settings: Settings) => Promise<T | null>,
    private part: T | null,
  ) {}

  /** Makes the part. @param make returns null when the settings do not define one */
  static async of<T extends AsyncDisposable>(
    names: readonly SettingName[],
    settings: Settings,
    make: (settings: Settings) => Promise<T | null>,
  ): Promise<Replaceable<T>> {
    return new Replaceable(names, make, await make(settings));
  }

  /** The part in use; null when there is none. */
  get current(): T | null {
    return this.part;
  }

  async apply({ settings, changed }: Reread): Promise<void> {
    if (!this.names.some((name) => changed.has(name))) return;
    await this[Symbol.asyncDispose]();
    this.part = await this.make(settings);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.part?.[Symbol.asyncDispose]();
    this.part = null;
  }
}
