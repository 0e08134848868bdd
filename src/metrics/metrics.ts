/** All families of one daemon. Names of workspaces appear only where few can; of agents and keys, never. */
import { Registry } from "prom-client";
import type { AnchorLag } from "../anchors/queue.ts";
import type { RequestMeter } from "../http/pipeline/request-meter.ts";
import { anchorFamilies } from "./anchors.ts";
import { Families } from "./family.ts";
import { LoopLag, processFamilies } from "./process.ts";
import { requestFamilies } from "./requests.ts";
import { type Moments, storageFamilies } from "./storage.ts";
import { type StorageDirectories, StorageMeter } from "./storage-sizes.ts";
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
  /** Told of a family that could not be put together. */
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

  /** Everything as text. Several who ask at once get the same. */
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
