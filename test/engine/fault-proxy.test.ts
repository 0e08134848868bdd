/** The failing network of tests does to requests what it says. */
import { expect, test } from "bun:test";
import { eventually } from "../eventually.ts";
import { SEED } from "../seed.ts";
import { Seeded } from "../seeded.ts";
import { FAULTS, type FaultKind, FaultProxy, randomFaults } from "../support/fault-proxy.ts";

/** A server that counts what it sees of each body, and says it back in pieces. */
function echo() {
  const seen = new Map<string, number>();
  const server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    async fetch(request) {
      const text = await request.text();
      seen.set(text, (seen.get(text) ?? 0) + 1);
      const pieces = new ReadableStream({
        async start(controller) {
          controller.enqueue(new TextEncoder().encode(text.slice(0, 10)));
          await Bun.sleep(1);
          controller.enqueue(new TextEncoder().encode(text.slice(10)));
          controller.close();
        },
      });
      return new Response(request.url.endsWith("/pieces") ? pieces : text);
    },
  });
  return { url: server.url.href, seen, [Symbol.dispose]: () => void server.stop(true) };
}

const LATE_MS = 30;

async function met(kind: FaultKind) {
  using server = echo();
  await using proxy = await FaultProxy.start(server.url, () => ({ kind, ms: LATE_MS }));
  const body = `${kind} ${"x".repeat(5000)}`;
  const begun = performance.now();
  const answer = await fetch(`${proxy.url}/whole`, { method: "POST", body })
    .then((response) => response.text())
    .then((text) => (text === body ? "answered" : "another answer"))
    .catch(() => "reset");
  const isLate = performance.now() - begun >= LATE_MS - 1;
  if (kind === "repeat_request") await eventually("it arrives again", () => server.seen.get(body) === 2);
  return { answer, isLate, seen: server.seen.get(body) ?? 0, counted: proxy.counts[kind] };
}

const EXPECTED: Record<FaultKind, { answer: string; isLate?: boolean; seen: number }> = {
  pass: { answer: "answered", seen: 1 },
  lose_request: { answer: "reset", isLate: true, seen: 0 },
  delay_request: { answer: "answered", isLate: true, seen: 1 },
  repeat_request: { answer: "answered", seen: 2 },
  cut_request: { answer: "reset", seen: 0 },
  delay_answer: { answer: "answered", isLate: true, seen: 1 },
  lose_answer: { answer: "reset", isLate: true, seen: 1 },
  cut_answer: { answer: "reset", seen: 1 },
};

for (const kind of FAULTS)
  test(`${kind}: ${EXPECTED[kind].answer}, seen ${EXPECTED[kind].seen} times`, async () => {
    expect(await met(kind)).toMatchObject({ ...EXPECTED[kind], counted: 1 });
  });

test("what passes is as it was, in pieces or whole, many requests on few connections", async () => {
  using server = echo();
  await using proxy = await FaultProxy.start(server.url);
  const bodies = Array.from({ length: 40 }, (_, at) => `${at} ${"ä".repeat(at * 997)}`);
  const answers = await Promise.all(
    bodies.map(async (body, at) => {
      const path = at % 2 === 0 ? "/pieces" : "/whole";
      return (await fetch(proxy.url + path, { method: "POST", body })).text();
    }),
  );
  expect(answers).toEqual(bodies);
  expect(proxy.counts.pass).toBe(40);
});

test("a cut network answers nothing until it is mended", async () => {
  using server = echo();
  await using proxy = await FaultProxy.start(server.url);
  const reached = () =>
    fetch(proxy.url).then(
      () => true,
      () => false,
    );
  expect(await reached()).toBe(true);
  proxy.cut();
  expect(await reached()).toBe(false);
  proxy.mend();
  expect(await reached()).toBe(true);
});

test("the same seed makes the same faults", () => {
  const choices = () => {
    const choose = randomFaults(new Seeded(SEED), 0.5, 100);
    return Array.from({ length: 200 }, () => choose("POST /"));
  };
  const first = choices();
  expect(choices()).toEqual(first);
  expect(new Set(first.map(({ kind }) => kind))).toEqual(new Set(FAULTS));
});
