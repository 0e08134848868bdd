/** Parses the paths of tiles (https://c2sp.org/tlog-tiles, section "Merkle Tree"). */
import { TILE_WIDTH } from "../../log/tiles.ts";

/**
 * The number of a tile in groups of three digits, with an x before all but the last; and the width of a partial tile.
 */
const NUMBER_AND_WIDTH = /^((?!x000)(?:x\d{3}\/)*\d{3})(?:\.p\/([1-9]\d{0,2}))?$/;
const LEVEL = /^(?:\d|[1-5]\d|6[0-3])$/;

/** Returns the number and the width of a bundle of entries; null when the path is not valid. */
export function parseBundlePath(path: string): { index: number; width: number } | null {
  const [, number = "", width] = NUMBER_AND_WIDTH.exec(path) ?? [];
  const index = Number(number.replaceAll(/[x/]/g, ""));
  if (number === "" || !Number.isSafeInteger((index + 1) * TILE_WIDTH)) return null;
  if (width === undefined) return { index, width: TILE_WIDTH };
  return Number(width) < TILE_WIDTH ? { index, width: Number(width) } : null;
}

/** Returns the level, the number and the width of a tile of hashes; null when the path is not valid. */
export function parseTilePath(level: string, path: string): { level: number; index: number; width: number } | null {
  const tile = LEVEL.test(level) ? parseBundlePath(path) : null;
  return tile && { level: Number(level), ...tile };
}
