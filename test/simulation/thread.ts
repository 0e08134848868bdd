/** A workspace thread in this process. Both ends of its channel are the real code; the channel itself is simulated. */
import { RandomPool } from "../../src/ids.ts";
import type { ThreadOptions } from "../../src/serve/threads/messages.ts";
import { isOfReplies } from "../../src/serve/threads/reply-text.ts";
import type { Spawning } from "../../src/serve/threads/supervised.ts";
import { WorkspaceThread } from "../../src/serve/threads/workspace-thread.ts";
import type { Seeded } from "../seeded.ts";
import type { SimulatedDisk } from "./disk.ts";
import type { SimulatedTime } from "./time.ts";

export interface Channel {
  /** The probabilities that a message is overtaken by a later one, and that it is lost. */
  overtaken: number;
  lost: number;
}

type Deliver = (text: string) => void;

export class SimulatedThreads implements Spawning {
  readonly #time: SimulatedTime;
  readonly #disk: SimulatedDisk;
  readonly #random: Seeded;
  readonly #channel: Channel;
  #workedMs = 0;
  #toThread: string[] = [];
  #toMain: string[] = [];
  #thread: WorkspaceThread | null = null;
  #onMessage: Deliver = () => {};
  #onEnd: (error: unknown) => void = () => {};

  constructor(time: SimulatedTime, disk: SimulatedDisk, random: Seeded, channel: Channel) {
    this.#time = time;
    this.#disk = disk;
    this.#random = random;
    this.#channel = channel;
  }

  get timer(): Spawning["timer"] {
    return this.#time.timer;
  }

  get running(): boolean {
    return this.#thread !== null;
  }

  /** The number of messages that are sent and not yet delivered. */
  get inFlight(): number {
    return this.#toThread.length + this.#toMain.length;
  }

  readonly start: Spawning["start"] = (_entry, options, onMessage, onEnd) => {
    const workspacesDir = this.#disk.directory;
    const { heads } = this.#disk;
    const own: ThreadOptions = {
      ...options,
      workspacesDir,
      heads,
      sealing: { ...options.sealing, sealsDir: workspacesDir },
    };
    const cancels: (() => void)[] = [];
    const isCurrent = () => this.#thread === thread;
    const thread: WorkspaceThread = new WorkspaceThread(own, {
      clock: this.#time.clock,
      // Work takes time now and then, so that it yields to others in its middle.
      monotonicMs: () => {
        if (this.#random.chance(0.1)) this.#workedMs += 6;
        return this.#workedMs;
      },
      timer: (ms, work) => {
        const cancel = this.#time.timer(ms, () => isCurrent() && work());
        cancels.push(cancel);
        return cancel;
      },
      random: new RandomPool((bytes) => this.#random.fill(bytes)),
      post: (text) => {
        if (isCurrent()) this.#toMain.push(text);
      },
      openFile: this.#disk.open,
      onClosed: () => this.end(null),
    });
    this.#thread = thread;
    this.#onMessage = onMessage as Deliver;
    this.#onEnd = (error) => {
      for (const cancel of cancels) cancel();
      onEnd(error);
    };
    this.#toMain.push(JSON.stringify({ kind: "ready" }));
    return {
      postMessage: (message) => {
        if (isCurrent()) this.#toThread.push(String(message));
      },
    };
  };

  /** Ends the thread, which loses its running operations and all messages. `error` is why; null for a regular end. */
  end(error: unknown): void {
    if (this.#thread === null) return;
    this.#thread = null;
    this.#toThread = [];
    this.#toMain = [];
    this.#onEnd(error);
  }

  /** Loses no more messages. */
  repair(): void {
    this.#channel.lost = 0;
  }

  /** Delivers a message, if there is one. */
  deliver(): void {
    const queue = this.#random.chance(0.5) ? this.#toThread : this.#toMain;
    if (queue.length === 0) return;
    const place = this.#random.chance(this.#channel.overtaken) ? this.#random.below(queue.length) : 0;
    const [text] = queue.splice(place, 1) as [string];
    const mayBeLost = queue === this.#toThread || isOfReplies(text);
    if (mayBeLost && this.#random.chance(this.#channel.lost)) return;
    if (queue === this.#toThread) this.#thread?.receive(text);
    else this.#onMessage(text);
  }
}
