/** The rsyslog of Debian as a receiver: over TLS, with a client's certificate asked for. */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
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

  #configuration(): string {
    const { directory } = this;
    return `
global(
  workDirectory="${directory.path}"
  defaultNetstreamDriver="gtls"
  defaultNetstreamDriverCAFile="${directory.join("cert.pem")}"
  defaultNetstreamDriverCertFile="${directory.join("cert.pem")}"
  defaultNetstreamDriverKeyFile="${directory.join("key.pem")}"
  maxMessageSize="64k"
)
module(load="imtcp" StreamDriver.Name="gtls" StreamDriver.Mode="1" StreamDriver.AuthMode="x509/certvalid")
input(type="imtcp" address="127.0.0.1" port="${this.#port}" listenPortFileName="${directory.join("port")}")
template(name="line" type="string"
  string="%pri% %timereported:::date-rfc3339% %app-name% %procid% %msgid%%msg:::sp-if-no-1st-sp%%msg%\\n")
action(type="omfile" file="${directory.join("received")}" template="line")
`;
  }
}

async function accepts(port: number): Promise<boolean> {
  try {
    (await Bun.connect({ hostname: "127.0.0.1", port, socket: { data() {} } })).end();
    return true;
  } catch {
    return false;
  }
}
