/** Numbers as text. */

const plain = new Intl.NumberFormat("en");

export const count = (n: number): string => plain.format(n);

/** Returns a number with its noun: "1 entry", "2 entries". */
export const counted = (n: number, one: string, many = `${one}s`): string =>
  `${plain.format(n)} ${n === 1 ? one : many}`;

const UNITS = ["bytes", "KiB", "MiB", "GiB", "TiB"];

/** Returns a size in binary units: "1.4 MiB". */
export function size(bytes: number): string {
  let amount = bytes;
  let unit = 0;
  while (amount >= 1024 && unit < UNITS.length - 1) {
    amount /= 1024;
    unit++;
  }
  if (unit === 0) return counted(bytes, "byte");
  return `${amount < 10 ? amount.toFixed(1) : Math.round(amount)} ${UNITS[unit]}`;
}
