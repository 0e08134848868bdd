/**
 * Sends the parts of a large composite operation to the workspace's thread in several messages before the operation's
 * own, so that neither thread makes, copies or reads all of them at once.
 */

import type { OperationRequest } from "../../core/writer/contract.ts";
import type { CompositeName, OperationInputs } from "../../operations.ts";
import { ownTurn } from "../../timer.ts";
import { type OperationBatch, type Query, type Recorded, recordedOf } from "./messages.ts";

type Parts = OperationInputs[CompositeName]["parts"];

/** The length of each list of parts, UTF-16 units. */
const PIECE = 256 * 1024;

/**
 * Returns parts as JSON lists of about {@link PIECE}, or of one longer part. Yields to the event loop between the
 * lists.
 */
export async function partTexts(parts: Parts): Promise<string[]> {
  const lists: string[] = [];
  let texts: string[] = [];
  let length = 0;
  for (const part of parts) {
    const text = JSON.stringify(part);
    texts.push(text);
    length += text.length;
    if (length < PIECE) continue;
    lists.push(`[${texts.join(",")}]`);
    await ownTurn();
    texts = [];
    length = 0;
  }
  if (texts.length > 0) lists.push(`[${texts.join(",")}]`);
  return lists;
}

/** Returns the input of a composite operation as JSON, with these parts. */
export const inputText = (input: OperationRequest["input"], parts = "[]"): string =>
  `${JSON.stringify({ ...input, parts: undefined }).slice(0, -1)},"parts":${parts}}`;

/** Returns a query with its parts in its input. */
export function withParts({ partTexts, ...query }: Query): Query {
  if (partTexts !== undefined)
    query.input = {
      ...query.input,
      parts: partTexts.flatMap((text) => JSON.parse(text) as Parts),
    } as typeof query.input;
  return query;
}

/** Parts that have arrived, and whose operation has not. */
export class PartsAhead {
  readonly #parts = new Map<number, Parts[number][]>();

  /** @param id of the operation */
  add(id: number, parts: Parts): void {
    this.#parts.getOrInsertComputed(id, (): Parts[number][] => []).push(...parts);
  }

  /** Returns the operations and the events. Adds to an operation the parts that arrived before it. */
  complete(asked: readonly OperationBatch[]): Recorded[] {
    const operations = recordedOf(asked);
    for (const operation of this.#parts.size === 0 ? [] : operations) {
      const parts = this.#parts.get(operation.id);
      if (parts === undefined || !("input" in operation) || !("parts" in operation.input)) continue;
      operation.input.parts = parts;
      this.#parts.delete(operation.id);
    }
    return operations;
  }
}
