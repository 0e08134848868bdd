/** All metrics of one daemon. Workspaces are named only when few can be; agents and keys are never named. */
import { Registry } from "prom-client";
import type { AnchorLag } from "../../follow/anchors/queue.ts";
import type { RequestMeter } from "../http/pipeline/request-meter.ts";
import { anchorFamilies } from "./anchors.ts";
import { Families } from "./family.ts";
import { processFamilies } from "./process.ts";
import { requestFamilies } from "./requests.ts";
import { type SinkLag, sinkFamilies } from "./sinks.ts";
import { type StorageDirectories, StorageMeter, storageFamilies, type Timed } from "./storage.ts";
import { type WorkspaceSource, workspaceFamilies } from "./workspaces.ts";

/** The sources of the numbers. */
export interface MetricsSources extends WorkspaceSource, Timed {
  requests: RequestMeter;
  anchors: { readonly lags: AnchorLag[] };
  sinks: { readonly lags: readonly SinkLag[] };
  directory: StorageDirectories;
  /** Called when the numbers of a family cannot be read. */
  onError(family: string, error: unknown): void;
}

export class Metrics implements Disposable {
  readonly #registry = new Registry();
  readonly #process: Disposable;
  #scrape: Promise<string> | null = null;

  constructor(sources: MetricsSources) {
    const families = new Families(this.#registry, sources.onError);
    requestFamilies(families, sources.requests);
    workspaceFamilies(families, sources);
    anchorFamilies(families, sources.anchors, sources.clock);
    sinkFamilies(families, sources.sinks);
    storageFamilies(families, new StorageMeter(sources.directory), sources);
    this.#process = processFamilies(families, Math.round(sources.clock() - process.uptime() * 1_000));
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
    this.#process[Symbol.dispose]();
  }
}
