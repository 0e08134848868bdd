import { describe, expect, test } from "bun:test";
import { Logger, type LogSink, logStyle } from "../../src/serve/daemon/logger.ts";

const NOW = Date.UTC(2026, 0, 2, 3, 4, 5, 6);

/** Keeps what is written. If it is slow, a write does not end until it is released. */
class Kept implements LogSink {
  text = "";
  release: (() => void) | null = null;

  constructor(readonly slow = false) {}

  write(text: string): Promise<void> {
    this.text += text;
    if (!this.slow) return Promise.resolve();
    return new Promise((resolve) => {
      this.release = resolve;
    });
  }

  get lines(): string[] {
    return this.text.split("\n").filter(Boolean);
  }
}

function logger(sink: LogSink, format: "text" | "json" = "json", level: "debug" | "info" | "warn" | "error" = "info") {
  return new Logger({ level, format, clock: () => NOW, sink });
}

describe("the log", () => {
  test("is one JSON object a line", async () => {
    const sink = new Kept();
    {
      await using log = logger(sink);
      log.info("request", { status: 200, route: "/v1/x", none: null });
      log.error("two\nlines");
    }
    expect(sink.lines.map((line) => JSON.parse(line))).toEqual([
      { time: "2026-01-02T03:04:05.006Z", level: "info", message: "request", status: 200, route: "/v1/x", none: null },
      { time: "2026-01-02T03:04:05.006Z", level: "error", message: "two\nlines" },
    ]);
  });

  test("as text quotes what is not plain", async () => {
    const sink = new Kept();
    {
      await using log = logger(sink, "text");
      log.warn("careful", { path: "/a/b", reason: 'no "x"\n', count: 2, absent: undefined });
    }
    expect(sink.text).toBe('2026-01-02T03:04:05.006Z WARN  careful path=/a/b reason="no \\"x\\"\\n" count=2\n');
  });

  test("leaves out what is less severe than its level", async () => {
    const sink = new Kept();
    {
      await using log = logger(sink, "json", "warn");
      log.debug("a");
      log.info("b");
      log.warn("c");
      expect([log.writes("info"), log.writes("error")]).toEqual([false, true]);
    }
    expect(sink.lines.map((line) => JSON.parse(line).message)).toEqual(["c"]);
  });

  test("drops and counts lines when nobody reads, rather than filling memory", async () => {
    const sink = new Kept(true);
    const log = logger(sink);
    log.info("first");
    const flushed = log.flush();
    const long = "x".repeat(1024);
    for (let i = 0; i < 10_000; i++) log.info("flood", { long });
    sink.release?.();
    await flushed;
    const ended = log[Symbol.asyncDispose]();
    sink.release?.();
    await ended;
    const messages = sink.lines.map((line) => JSON.parse(line));
    const dropped = messages.find(({ message }) => message.startsWith("log lines were dropped"));
    const written = messages.filter(({ message }) => message === "flood").length;
    expect(messages[0].message).toBe("first");
    expect(dropped.lines + written).toBe(10_000);
    expect(sink.text.length).toBeLessThan(5 * 1024 * 1024);
  });

  test("does not delay the end when nobody reads", async () => {
    const log = logger(new Kept(true));
    log.info("unread");
    // The sink never accepts it, so this would never end.
    await log[Symbol.asyncDispose]();
  });

  test("changes its level and its form while it is used", async () => {
    const sink = new Kept();
    const log = logger(sink);
    log.restyle({ level: "warn", format: "text" });
    log.info("left out");
    log.warn("kept", { n: 1 });
    await log.flush();
    expect(sink.text).toMatch(/^\S+ WARN {2}kept n=1\n$/);
  });

  test("is text on a terminal by default", () => {
    const format = (log_format: "auto" | "json", terminal: boolean) =>
      logStyle({ log_level: "info", log_format }, terminal).format;
    expect([format("auto", true), format("auto", false), format("json", true)]).toEqual(["text", "json", "json"]);
  });
});
