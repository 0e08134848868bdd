/** All metrics of one daemon. Workspaces are named only when few can be; agents and keys are never named. */
import { Registry } from "prom-client";
import type { AnchorLag } from "../anchors/queue.ts";
import type { RequestMeter } from "../http/pipeline/request-meter.ts";
import { anchorFamilies } from "./anchors.ts";
import { Families } from "./family.ts";
import { LoopLag, processFamilies } from "./process.ts";
import { requestFamilies } from "./requests.ts";
import { type Moments, type StorageDirectories, StorageMeter, storageFamilies } from "./storage.ts";
import { type WorkspaceCounts, type WorkspaceSource, workspaceFamilies } from "./workspaces.ts";

/** Where the numbers come from. */
export interface MetricsSources {
  requests: RequestMeter;
  pool: WorkspaceSource;
  counts: WorkspaceCounts;
  anchors(): AnchorLag[];
  directories: StorageDirectories;
  moments: Moments;
  clock(): number;
  monotonicMs(): number;
  /** Called when the numbers of a family cannot be read. */
  onError(family: string, error: unknown): void;
}

export class Metrics implements Disposable {
  readonly #registry = new Registry();
  readonly #lag = new LoopLag();
  #scrape: Promise<string> | null = null;

  constructor(sources: MetricsSources) {
    const families = new Families(this.#registry, sources.onError);
    requestFamilies(families, sources.requests);
    workspaceFamilies(families, sources.pool, sources.counts, sources.clock);
    anchorFamilies(families, sources.anchors, sources.clock);
    const storage = new StorageMeter(sources.directories, sources.monotonicMs);
    storageFamilies(families, storage, sources.moments);
    const upMs = process.uptime() * 1_000;
    processFamilies(families, this.#lag, Math.round(sources.clock() - upMs));
  }

  get contentType(): string {
    return this.#registry.contentType;
  }

  /** Returns all metrics as text. Concurrent calls share one result. */
  text(): Promise<string> {
    this.#scrape ??= this.#registry.metrics().finally(() => {
      this.#scrape = null;
    });
    return this.#scrape;
  }

  [Symbol.dispose](): void {
    this.#lag[Symbol.dispose]();
  }
}
