/** A real browser against a daemon that runs as a process of its own. */
import { createHash, X509Certificate } from "node:crypto";
import { once } from "node:events";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { connect } from "node:tls";
import { type Browser, type BrowserContext, type BrowserContextOptions, chromium } from "playwright-core";
import { type RunningDaemon, type RunOptions, startGovernd } from "../../cli/governd-process.ts";
import { PATIENCE_MS, PROCESS_TEST_MS } from "../../patience.ts";
import { inMemory } from "../../temporary.ts";

/**
 * Where Debian, and others, put it. The headless shell is the same engine without the window: it starts in a quarter of the
 * processor time and half of the memory.
 */
const CHROMIUM_PLACES = [
  "/usr/bin/chromium-headless-shell",
  "/usr/bin/chromium",
  "/usr/bin/chromium-browser",
  "/usr/bin/google-chrome",
];

/** It runs as root in a container, and is to speak with nobody but the daemon. */
const FLAGS = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];

const chromiumPath = CHROMIUM_PLACES.find((path) => existsSync(path));

/** Whether tests in a browser can run here; `.ci/run` sees to it that they do. */
export const hasChromium = chromiumPath !== undefined;

function launch(trusted: string): Promise<Browser> {
  if (chromiumPath === undefined) throw new Error("no Chromium here: install Debian's package chromium");
  const args = [...FLAGS, `--ignore-certificate-errors-spki-list=${trusted}`];
  return chromium.launch({ executablePath: chromiumPath, args, headless: true });
}

/** The digest of the key in the daemon's certificate, once its own authority has vouched for it. */
async function keyDigest({ url, ready }: RunningDaemon): Promise<string> {
  const { hostname, port } = new URL(url);
  const ca = ready.ca_file === null ? undefined : readFileSync(ready.ca_file);
  const socket = connect({ host: hostname, port: Number(port), ...(ca === undefined ? {} : { ca }) });
  try {
    await once(socket, "secureConnect");
    const { raw } = socket.getPeerCertificate();
    const spki = new X509Certificate(raw).publicKey.export({ type: "spki", format: "der" });
    return createHash("sha256").update(spki).digest("base64");
  } finally {
    socket.destroy();
  }
}

/** For a test in a browser, which does many things one after another: `setDefaultTimeout(BROWSER_TEST_MS)`. */
export const BROWSER_TEST_MS = 2 * PROCESS_TEST_MS;

/** A daemon in a fresh directory and a browser before it. */
export class Stage implements AsyncDisposable {
  private constructor(
    readonly daemon: RunningDaemon,
    readonly browser: Browser,
    readonly directory: string,
  ) {}

  /** `prepare` fills the data directory before the daemon starts. */
  static async open(options: RunOptions = {}, prepare?: (dataDir: string) => Promise<unknown>): Promise<Stage> {
    const directory = mkdtempSync(join(inMemory(), "governd-web-"));
    await prepare?.(join(directory, "data"));
    const daemon = await startGovernd(join(directory, "data"), [], options);
    return new Stage(daemon, await launch(await keyDigest(daemon)), directory);
  }

  get url(): string {
    return this.daemon.url;
  }

  get dataDir(): string {
    return join(this.directory, "data");
  }

  /** A person's browser window, with its own cookies. */
  async person(options: BrowserContextOptions = {}): Promise<BrowserContext> {
    // The daemon's own authority is not the browser's, but its key is trusted from the start. To ignore
    // the error of each connection (`ignoreHTTPSErrors`) restarts each one, and sometimes Chromium gives up
    // (ERR_TOO_MANY_RETRIES).
    const context = await this.browser.newContext({ baseURL: this.url, ...options });
    context.setDefaultTimeout(PATIENCE_MS);
    return context;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.browser.close();
    await this.daemon.stop();
    rmSync(this.directory, { recursive: true, force: true });
  }
}
