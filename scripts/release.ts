/**
 * `bun run release --key FILE [--url URL] [--target NAME]… [--from DIR] [--out DIR] [--no-packages]`: copies the
 * results of `bun run build` into one directory, in the layout of a published release, which `install.sh` reads:
 *
 *   governd-<target>…  governd-<target>.cdx.json…  install.sh  LICENSE  NOTICE  SHA256SUMS  SHA256SUMS.sig
 *   governd_<version>_<architecture>.deb…  governd-<version>-1.<architecture>.rpm…
 *
 * The packages are made for Linux with glibc, by dpkg-deb and rpmbuild (Debian's packages dpkg and rpm);
 * `--no-packages` leaves them out. Packages of the same commit and the same binary are the same bytes.
 * The key is an Ed25519 private key in PEM (`openssl genpkey -algorithm ed25519`). The signature is the plain
 * one over the bytes of SHA256SUMS (RFC 8032), which `openssl pkeyutl -verify -rawin` checks. The
 * public key and the URL are written into install.sh.
 */
import { createHash, createPrivateKey, createPublicKey, type KeyObject, sign } from "node:crypto";
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { hostTarget, TARGETS, type Target } from "./build/targets.ts";
import { makeDeb } from "./packages/deb.ts";
import { makeRpm } from "./packages/rpm.ts";

const ROOT = join(import.meta.dir, "..");
const DIST = join(ROOT, "dist");
const PROGRAM_MODE = 0o755;
const ALSO = ["LICENSE", "NOTICE"];

const { values } = parseArgs({
  options: {
    key: { type: "string" },
    url: { type: "string", default: "" },
    target: { type: "string", multiple: true },
    from: { type: "string", default: DIST },
    out: { type: "string", default: join(DIST, "release") },
    "no-packages": { type: "boolean", default: false },
  },
});
if (!values.key) throw new Error("--key is needed: the private key that the release is signed with");
const key = readKey(values.key);
const out = resolve(values.out);
mkdirSync(out, { recursive: true });
if (readdirSync(out).length > 0) throw new Error(`${out} is not empty: a release is made in one piece`);

for (const target of values.target ?? Object.keys(TARGETS)) addProgram(target);
for (const file of ALSO) copyFileSync(join(ROOT, file), join(out, file));
writeFileSync(join(out, "install.sh"), installer(key, values.url));
chmodSync(join(out, "install.sh"), PROGRAM_MODE);

const sums = readdirSync(out)
  .sort()
  .map((name) => `${digestOf(join(out, name))}  ${name}\n`)
  .join("");
writeFileSync(join(out, "SHA256SUMS"), sums);
writeFileSync(join(out, "SHA256SUMS.sig"), sign(null, Buffer.from(sums), key));
process.stdout.write(`${sums}\n${out}\nsigned by ${publicKeyOf(key)}\n`);

function readKey(path: string): KeyObject {
  const read = createPrivateKey(readFileSync(path));
  if (read.asymmetricKeyType !== "ed25519") throw new Error(`${path} is not an Ed25519 key`);
  return read;
}

function addProgram(target: string): void {
  if (!(target in TARGETS)) throw new Error(`no target ${target}: choose among ${Object.keys(TARGETS).join(", ")}`);
  const built = join(resolve(values.from), target === hostTarget() ? "governd" : `governd-${target}`);
  if (!existsSync(built)) throw new Error(`there is no ${built}: bun run build --target ${target}`);
  const program = join(out, `governd-${target}`);
  copyFileSync(built, program);
  chmodSync(program, PROGRAM_MODE);
  copyFileSync(`${built}.cdx.json`, `${program}.cdx.json`);
  if (!values["no-packages"] && isPackaged(target)) addPackages(program, TARGETS[target] as Target);
}

/** Whether a platform has packages: those of distributions that use glibc. */
function isPackaged(target: string): boolean {
  return target.startsWith("linux-") && !target.endsWith("-musl");
}

function addPackages(program: string, { cpu }: Target): void {
  const scratch = mkdtempSync(join(tmpdir(), "governd-packages-"));
  try {
    makeDeb(program, cpu, scratch, out);
    makeRpm(program, cpu, scratch, out);
  } finally {
    rmSync(scratch, { recursive: true });
  }
}

/** Returns install.sh with the release's URL and key in their two lines. */
function installer(signer: KeyObject, url: string): string {
  if (url !== "" && !/^https:\/\/[^\s"\\$`]+$/.test(url)) throw new Error("--url must be an https address");
  let script = readFileSync(join(ROOT, "install.sh"), "utf8");
  for (const [name, value] of [
    ["RELEASE_URL", url.replace(/\/$/, "")],
    ["RELEASE_PUBLIC_KEY", publicKeyOf(signer)],
  ]) {
    const line = `\n${name}=""\n`;
    if (script.split(line).length !== 2) throw new Error(`install.sh has no line ${name}=""`);
    script = script.replace(line, () => `\n${name}="${value}"\n`);
  }
  return script;
}

/** SubjectPublicKeyInfo (RFC 8410) in base64, one line. */
function publicKeyOf(signer: KeyObject): string {
  return createPublicKey(signer).export({ type: "spki", format: "der" }).toString("base64");
}

function digestOf(path: string): string {
  return createHash("sha256").update(readFileSync(path)).digest("hex");
}
