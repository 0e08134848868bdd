/**
 * The thread that screens large texts before the operations that store them go to the threads of their workspaces.
 * Workspaces take turns, one text each. It is started when first needed.
 */

import type { OperationRequest } from "../../core/writer/contract.ts";
import { LARGE_TEXT, screenedCharacters } from "../../core/writer/large-text.ts";
import type { OperationInputs, OperationName } from "../../operations.ts";
import type { QueryResult, ReaderThread } from "./reader-thread.ts";

/** The most texts that may wait, and their most total length, UTF-16 units. */
const MAX_WAITING = 512;
const MAX_WAITING_CHARACTERS = 64 * 1024 * 1024;

/** Returns the length of the text in an operation that policies screen, UTF-16 units. */
function charactersOf(input: OperationInputs[OperationName]): number {
  if ("parts" in input) return input.parts.reduce((sum, part) => sum + charactersOf(part.input), 0);
  if (!("value" in input)) return 0;
  return screenedCharacters(input);
}

/** Whether an operation brings back stored texts, which policies screen again. */
const restoresData = (input: OperationInputs[OperationName]): boolean => "restoreData" in input && input.restoreData;

export class ScreeningThread {
  #thread: ReaderThread | null = null;
  /** The waiting screenings by workspace, in the order of their turns. */
  readonly #waiting = new Map<string, (() => Promise<void>)[]>();
  #count = 0;
  #characters = 0;
  #isWorking = false;

  constructor(private readonly start: () => ReaderThread) {}

  /** Reports whether an operation is screened on this thread. */
  static isFor({ input }: Pick<OperationRequest, "input">): boolean {
    if ("parts" in input) return input.parts.some(ScreeningThread.isFor);
    return restoresData(input) || charactersOf(input) >= LARGE_TEXT;
  }

  /**
   * Returns the decision, which the operation is performed with; for a composite operation, one decision for each part.
   * @param isWhole whether small texts of the parts are screened, too
   */
  async screen(request: OperationRequest, isWhole: boolean): Promise<QueryResult> {
    const characters = charactersOf(request.input);
    if (this.#count >= MAX_WAITING || this.#characters + characters > MAX_WAITING_CHARACTERS) return "overloaded";
    this.#count += 1;
    this.#characters += characters;
    try {
      if ("parts" in request.input) return await this.#screenParts(request, request.input.parts, isWhole);
      // A restore reads its texts itself and takes turns with whatever else is asked, so it does not wait for a turn.
      return await (restoresData(request.input) ? this.#query(request) : this.#screen(request));
    } finally {
      this.#count -= 1;
      this.#characters -= characters;
    }
  }

  /** Screens the parts one after another, so that other workspaces have their turns between them. */
  async #screenParts(
    request: OperationRequest,
    parts: readonly Pick<OperationRequest, "name" | "input">[],
    isWhole: boolean,
  ) {
    const found: string[] = [];
    for (const part of parts) {
      const isScreened = ScreeningThread.isFor(part) || (isWhole && "value" in part.input);
      const result = isScreened ? await this.#screen({ ...request, ...part }) : { found: "null" };
      if (typeof result === "string" || !("found" in result)) return result;
      found.push(result.found);
    }
    return { found: `[${found.join(",")}]` };
  }

  #screen(request: OperationRequest): Promise<QueryResult> {
    const { promise, resolve, reject } = Promise.withResolvers<QueryResult>();
    const { workspaceId } = request.principal;
    const waiting = this.#waiting.get(workspaceId) ?? [];
    waiting.push(() => this.#query(request).then(resolve, reject));
    this.#waiting.set(workspaceId, waiting);
    void this.#work();
    return promise;
  }

  #query(request: OperationRequest): Promise<QueryResult> {
    this.#thread ??= this.start();
    return this.#thread.query(request);
  }

  async #work(): Promise<void> {
    if (this.#isWorking) return;
    this.#isWorking = true;
    for (;;) {
      const [next] = this.#waiting;
      if (next === undefined) break;
      const [workspaceId, [screen, ...rest]] = next;
      this.#waiting.delete(workspaceId);
      if (rest.length > 0) this.#waiting.set(workspaceId, rest);
      await screen?.();
    }
    this.#isWorking = false;
  }

  /** Closes the thread's connection to a workspace, unless it is in use. */
  forget(workspaceId: string): void {
    this.#thread?.forget(workspaceId);
  }

  async close(): Promise<void> {
    await this.#thread?.close();
  }
}
