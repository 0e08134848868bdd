/** The thread that screens, without the thread: how much it takes at once. */
import { expect, test } from "bun:test";
import type { QueryResult, ReaderThread } from "../../src/serve/threads/reader-thread.ts";
import { ScreeningThread } from "../../src/serve/threads/screening-thread.ts";
import { anybody } from "../support/open-workspace.ts";

/** Returns a way to ask for batches of so many characters in so many lists, what was asked of the thread, and its answers. */
function screening() {
  const asked: { partTexts?: readonly string[] }[] = [];
  const answers: ((result: QueryResult) => void)[] = [];
  const query = (request: { partTexts?: readonly string[] }) => {
    asked.push(request);
    return new Promise<QueryResult>((resolve) => answers.push(resolve));
  };
  const thread = new ScreeningThread(() => ({ query }) as unknown as ReaderThread);
  const ask = (characters: number, lists = 1) => {
    const partTexts = Array.from({ length: lists }, () => " ".repeat(characters));
    const input = { agentId: "a", atomic: true, parts: [] };
    return thread.screenAhead({ name: "data.batch", input, principal: anybody("ws"), partTexts });
  };
  return { asked, answers, ask };
}

test("batches are screened ahead up to a length, and again when some are done", async () => {
  const { asked, answers, ask } = screening();
  const taken = [ask(100_000), ask(100_000), ask(100_000)];
  expect(taken.map((one) => one === null)).toEqual([false, false, true]);
  expect(asked.length).toBe(2);
  answers[0]?.({ found: "[]" });
  expect(await taken[0]).toBe("[]");
  expect(ask(100_000)).not.toBeNull();
});

test("a batch in several lists is not screened ahead, and neither is one without any", () => {
  const { asked, ask } = screening();
  expect([ask(10, 2), ask(10, 0)]).toEqual([null, null]);
  expect(asked).toEqual([]);
});

test("a thread that cannot screen has no result, and takes more later", async () => {
  const { answers, ask } = screening();
  for (let round = 0; round < 5; round++) {
    const result = ask(200_000);
    answers[round]?.(round % 2 === 0 ? "overloaded" : { reply: {} as never });
    expect(await result).toBeNull();
  }
});
