/** What an executable or a shared library says of the machine that it is for. */

/** ELF `e_machine` (System V ABI) and Mach-O `cputype` (mach/machine.h). */
const ELF_MACHINES: Record<number, string> = { 62: "x64", 183: "arm64" };
const MACH_O_CPUS: Record<number, string> = { 16777223: "x64", 16777228: "arm64" };
const ELF_MAGIC = 0x7f454c46;
const MACH_O_64_MAGIC = 0xfeedfacf;

/** `linux x64 glibc`, `linux arm64 musl`, `darwin arm64`, …: from the headers and what it is linked to. */
export function platformOf(bytes: Buffer): string {
  if (bytes.readUInt32BE(0) === ELF_MAGIC) {
    const cpu = ELF_MACHINES[bytes.readUInt16LE(18)] ?? "unknown";
    // The loaders carry the names; of the libraries, musl's is libc.so and glibc's libc.so.6.
    const musl = bytes.includes("ld-musl-") || bytes.includes("\0libc.so\0");
    const glibc = bytes.includes("ld-linux-") || bytes.includes("libc.so.6\0");
    return `linux ${cpu} ${musl ? "musl" : glibc ? "glibc" : "unknown"}`;
  }
  if (bytes.readUInt32LE(0) === MACH_O_64_MAGIC) return `darwin ${MACH_O_CPUS[bytes.readUInt32LE(4)] ?? "unknown"}`;
  return "unknown";
}
