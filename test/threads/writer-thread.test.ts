/** The main thread's end of a workspace thread: what it sends, and when. */
import { expect, test } from "bun:test";
import type { Reply } from "../../src/core/writer/contract.ts";
import { AMPLE } from "../../src/serve/threads/descriptors.ts";
import { ThreadGauges } from "../../src/serve/threads/gauges.ts";
import { KnownHeads } from "../../src/serve/threads/known-heads.ts";
import { recordedOf, type ToWriter } from "../../src/serve/threads/messages.ts";
import { type Rejection, WriterThread } from "../../src/serve/threads/writer-thread.ts";
import { DiskSpace } from "../../src/store/disk-space.ts";
import { nextTurn } from "../../src/timer.ts";
import { anybody } from "../support/open-workspace.ts";
import { poolOptions } from "../support/pool-options.ts";

/** A message with the turn of the event loop in which it was sent. */
interface Sent {
  turn: number;
  message: ToWriter;
}

/** A thread that only notes what it is sent, and is not started again when it dies. */
class Recording {
  readonly sent: Sent[] = [];
  turn = 0;
  die = () => {};
  readonly thread: WriterThread;

  constructor() {
    const options = {
      ...poolOptions("/nowhere", { kind: "pem", pem: "" }, { onFailure: () => {} }),
      gauges: new ThreadGauges().memory,
      heads: new KnownHeads().memory,
      space: DiskSpace.ample().memory,
      open: AMPLE,
      behind: 0,
    };
    this.thread = new WriterThread(
      options,
      { onFailure: () => {} },
      {
        start: (_entry, _options, onMessage: (message: never) => void, onEnd) => {
          this.die = () => onEnd(null);
          const tell = (message: unknown) => onMessage(JSON.stringify(message) as never);
          return {
            postMessage: (text) => {
              const message = JSON.parse(text as string) as ToWriter;
              this.sent.push({ turn: this.turn, message });
              if (message.kind === "close") tell({ kind: "closed" });
            },
          };
        },
        timer: () => () => {},
      },
    );
  }

  /** Submits a batch whose parts are sent ahead in so many lists. */
  submit(lists: number): Promise<Reply | Rejection> {
    const partTexts = Array.from({ length: lists }, (_, i) => `[${i}]`);
    const input = { agentId: "a", atomic: true, parts: [] };
    return new Promise((resolve) => {
      this.thread.submit({ name: "data.batch", input, principal: anybody("ws"), partTexts }, undefined, resolve);
    });
  }

  async turns(count: number): Promise<void> {
    for (let i = 0; i < count; i++) {
      await nextTurn();
      this.turn += 1;
    }
  }
}

test("no two lists of parts of one turn, and each operation behind its own", async () => {
  const recording = new Recording();
  for (const lists of [5, 3]) void recording.submit(lists);
  await recording.turns(20);
  const turns = recording.sent.filter(({ message }) => message.kind === "parts").map(({ turn }) => turn);
  expect(turns.length).toBe(8);
  expect(new Set(turns).size).toBe(8);
  const seen = new Map<number, number>();
  for (const { message } of recording.sent) {
    if (message.kind === "parts") seen.set(message.id, (seen.get(message.id) ?? 0) + 1);
    if (message.kind !== "operations") continue;
    for (const { id } of recordedOf(message.asked)) expect(seen.get(id)).toBe(id === 1 ? 5 : 3);
  }
});

test("a thread that closes gets what was taken first", async () => {
  const recording = new Recording();
  void recording.submit(4);
  await recording.thread.close();
  const kinds = recording.sent.map(({ message }) => message.kind).join(" ");
  expect(kinds).toBe("parts parts parts parts operations close");
});

test("a thread that died gets no more of what it had begun to get", async () => {
  const recording = new Recording();
  const told = recording.submit(8);
  while (recording.sent.length < 3) await recording.turns(1);
  recording.die();
  expect(await told).toBe("crashed");
  await recording.turns(20);
  expect(recording.sent.length).toBe(3);
});

test("whoever asks is named once in a message, and each operation and event arrives with whose it is", async () => {
  const recording = new Recording();
  const [one, other] = [anybody("ws_1"), { ...anybody("ws_2"), actor: "key_2" }];
  const taken = [one, other, one, other, one].map((principal, i) => {
    const request = { name: "data.read", input: { agentId: "a", key: `k${i}` }, principal } as const;
    return recording.thread.submit(request, undefined, () => {});
  });
  const event = { operation: "key.revoke", actor: "cli", details: {} } as never;
  taken.push(recording.thread.record("ws_3", event, () => {}));
  expect(taken).toEqual(taken.map(() => null));
  await recording.turns(10);
  const asked = recording.sent.flatMap(({ message }) => (message.kind === "operations" ? message.asked : []));
  const named = asked.flatMap(({ principal }) => (principal === undefined ? [] : [principal]));
  expect(named).toEqual([one, other]);
  const arrived = recordedOf(asked).toSorted((a, b) => a.id - b.id);
  expect(arrived.map(({ workspaceId }) => workspaceId)).toEqual(["ws_1", "ws_2", "ws_1", "ws_2", "ws_1", "ws_3"]);
  const whose = arrived.map((each) => ("principal" in each ? each.principal : null));
  expect(whose).toEqual([one, other, one, other, one, null]);
});
