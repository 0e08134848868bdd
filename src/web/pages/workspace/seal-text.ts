/** The text of a seal: C2SP tlog-checkpoint, https://c2sp.org/tlog-checkpoint. */

export interface SealText {
  origin: string;
  /** How many events it covers. */
  size: number;
  root: string;
}

export function parseSeal(text: string): SealText {
  const [origin = "", size = "0", root = ""] = text.split("\n");
  return { origin, size: Number(size), root };
}
