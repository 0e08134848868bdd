/** The rsyslog of Debian as a receiver, as docs/siem.md configures it. */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { eventually } from "../eventually.ts";
import type { TemporaryDirectory } from "../temporary.ts";

const PROGRAM = Bun.which("rsyslogd") ?? (existsSync("/usr/sbin/rsyslogd") ? "/usr/sbin/rsyslogd" : null);
/** Whether it and its driver for TLS are there. */
export const HAS_RSYSLOG =
  PROGRAM !== null && [...new Bun.Glob("*/rsyslog/lmnsd_gtls.so").scanSync("/usr/lib")].length > 0;

/** A message as rsyslog understood it. */
export interface Received {
  pri: number;
  timestamp: string;
  app: string;
  procid: string;
  msgid: string;
  text: string;
}

export class Rsyslog implements AsyncDisposable {
  #process: Bun.Subprocess | null = null;
  /** Its first start chooses it. */
  #port = 0;

  private constructor(private readonly directory: TemporaryDirectory) {}

  static async start(directory: TemporaryDirectory, { key, cert }: { key: string; cert: string }): Promise<Rsyslog> {
    writeFileSync(directory.join("key.pem"), key);
    writeFileSync(directory.join("cert.pem"), cert);
    const rsyslog = new Rsyslog(directory);
    await rsyslog.start();
    return rsyslog;
  }

  get url(): string {
    return `tls://localhost:${this.#port}`;
  }

  /** All that it wrote, in order. */
  get received(): Received[] {
    const file = this.directory.join("received");
    const lines = existsSync(file) ? readFileSync(file, "utf8").split("\n").slice(0, -1) : [];
    return lines.map((line) => {
      const [, pri, timestamp = "", app = "", procid = "", msgid = "", text = ""] =
        /^(\d+) (\S+) (\S+) (\S+) (\S+) ?(.*)$/.exec(line) ?? [];
      return { pri: Number(pri), timestamp, app, procid, msgid, text };
    });
  }

  async start(): Promise<void> {
    const path = this.directory.join("rsyslog.conf");
    writeFileSync(path, this.#configuration());
    const pid = this.directory.join("pid");
    this.#process = Bun.spawn([PROGRAM as string, "-n", "-f", path, "-i", pid], {
      stdio: ["ignore", "ignore", Bun.file(this.directory.join("errors"))],
    });
    const port = this.directory.join("port");
    await eventually("rsyslog listens", () => existsSync(port) && readFileSync(port, "utf8").trim() !== "");
    this.#port = Number(readFileSync(port, "utf8"));
    await eventually("rsyslog accepts connections", () => accepts(this.#port));
  }

  async stop(signal: NodeJS.Signals = "SIGTERM"): Promise<void> {
    this.#process?.kill(signal);
    await this.#process?.exited;
    this.#process = null;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop("SIGKILL");
  }

  /** What the action of docs/siem.md wrote: a line for each event. */
  get written(): string {
    return readFileSync(this.directory.join("governd.ndjson"), "utf8");
  }

  /** The configuration of docs/siem.md, with this test's paths, which also writes how it understood each message. */
  #configuration(): string {
    const { directory } = this;
    const shown = /^```\n(# \/etc\/rsyslog\.d\/governd\.conf.*?)^```$/ms.exec(readFileSync(PAGE, "utf8"))?.[1] ?? "";
    const places: readonly (readonly [string, string])[] = [
      ["global(", `global(workDirectory="${directory.path}"`],
      ["/etc/rsyslog.d/tls/ca.pem", directory.join("cert.pem")],
      ["/etc/rsyslog.d/tls/server.pem", directory.join("cert.pem")],
      ["/etc/rsyslog.d/tls/server.key", directory.join("key.pem")],
      ["/var/log/governd.ndjson", directory.join("governd.ndjson")],
      ['port="6514"', `address="127.0.0.1" port="${this.#port}" listenPortFileName="${directory.join("port")}"`],
      ["ruleset(name", `${LINE}ruleset(name`],
      [
        ' template="governd") }',
        ` template="governd") action(type="omfile" file="${directory.join("received")}" template="line") }`,
      ],
    ];
    return places.reduce((text, [from, to]) => {
      if (!text.includes(from)) throw new Error(`docs/siem.md no longer has ${from}`);
      return text.replace(from, to);
    }, shown);
  }
}

const PAGE = join(import.meta.dir, "../../docs/siem.md");

const LINE = `template(name="line" type="string"
  string="%pri% %timereported:::date-rfc3339% %app-name% %procid% %msgid%%msg:::sp-if-no-1st-sp%%msg%\\n")
`;

async function accepts(port: number): Promise<boolean> {
  try {
    (await Bun.connect({ hostname: "127.0.0.1", port, socket: { data() {} } })).end();
    return true;
  } catch {
    return false;
  }
}
