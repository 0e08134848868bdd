/** A real browser against a daemon that runs as a process of its own. */
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Browser, type BrowserContext, type BrowserContextOptions, chromium } from "playwright-core";
import { type RunningDaemon, type RunOptions, startGovernd } from "../../cli/governd.ts";

/** Where Debian, and others, put it. */
const CHROMIUM_PLACES = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];

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

function launch(): Promise<Browser> {
  if (chromiumPath === undefined) throw new Error("no Chromium here: install Debian's package chromium");
  return chromium.launch({ executablePath: chromiumPath, args: FLAGS, headless: true });
}

/** How long a test waits for something to appear before it says what is missing. */
const PATIENCE_MS = 15_000;

/** A daemon in a fresh directory and a browser before it. */
export class Stage implements AsyncDisposable {
  private constructor(
    readonly daemon: RunningDaemon,
    readonly browser: Browser,
    readonly directory: string,
  ) {}

  static async open(options: RunOptions = {}): Promise<Stage> {
    const directory = mkdtempSync(join(tmpdir(), "governd-web-"));
    const daemon = await startGovernd(join(directory, "data"), [], options);
    return new Stage(daemon, await launch(), directory);
  }

  get url(): string {
    return this.daemon.url;
  }

  get dataDir(): string {
    return join(this.directory, "data");
  }

  /** A person's browser window, with its own cookies. */
  async person(options: BrowserContextOptions = {}): Promise<BrowserContext> {
    // The daemon's own authority is not the browser's; that it is the right one, other tests hold.
    const context = await this.browser.newContext({
      ignoreHTTPSErrors: true,
      baseURL: this.url,
      ...options,
    });
    context.setDefaultTimeout(PATIENCE_MS);
    return context;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.browser.close();
    await this.daemon.stop();
    rmSync(this.directory, { recursive: true, force: true });
  }
}
