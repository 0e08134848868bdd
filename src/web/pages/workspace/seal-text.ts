/** Returns how many events a seal covers, from its text: C2SP tlog-checkpoint, https://c2sp.org/tlog-checkpoint. */
export const sealSize = (text: string): number => Number(text.split("\n")[1] ?? 0);
