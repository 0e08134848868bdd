/**
 * The heads of all workspaces, which the log of the installation records. A seal of that one log then shows when a
 * workspace vanished, or was set back to before the recorded heads, even with everything that belongs to it.
 */
import { SHA256 } from "bun";
import { CompactRange, HASH_BYTES } from "../../log/merkle.ts";
import { hexOf } from "../../log/rows.ts";

/** How far the log of a workspace has come. */
export interface WorkspaceHead {
  workspaceId: string;
  /** The number of its events. */
  size: number;
  /** The hash of its last event, hex. */
  hash: string;
}

/** What an event states of all heads: their number, and the root of the tree over them, hex. */
export interface HeadsFacts {
  count: number;
  root: string;
}

/** `ws_` and 26 characters. */
const ID_BYTES = 29;
const LEAF_BYTES = 1 + ID_BYTES + 8 + HASH_BYTES;

/** The tree (RFC 6962) over the heads of all workspaces, to be added in the order of their ids. */
export class HeadsTree {
  readonly #range = new CompactRange();
  readonly #leaf = Buffer.alloc(LEAF_BYTES);

  add({ workspaceId, size, hash }: WorkspaceHead): void {
    this.#leaf.write(workspaceId, 1, ID_BYTES, "latin1");
    this.#leaf.writeBigUInt64BE(BigInt(size), 1 + ID_BYTES);
    this.#leaf.write(hash, 1 + ID_BYTES + 8, HASH_BYTES, "hex");
    this.#range.append(SHA256.hash(this.#leaf) as Uint8Array);
  }

  facts(): HeadsFacts {
    return { count: this.#range.end, root: hexOf(this.#range.root()) };
  }
}

/** What an event states of no workspaces. */
export const NO_HEADS: HeadsFacts = new HeadsTree().facts();
