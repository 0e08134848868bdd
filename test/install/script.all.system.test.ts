/** install.sh without root: where it puts things, what it refuses, and what it takes for a release. */
import { afterEach, beforeAll, beforeEach, describe, expect, setDefaultTimeout, test } from "bun:test";
import { generateKeyPairSync } from "node:crypto";
import { chmodSync, copyFileSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { hostTarget } from "../../scripts/build/targets.ts";
import { governd } from "../cli/governd.ts";
import { GOVERND } from "../cli/governd-process.ts";
import { type Ended, ended } from "../ended.ts";
import { PROCESS_TEST_MS, temporaryDirectory } from "../temporary.ts";

setDefaultTimeout(PROCESS_TEST_MS);

const ROOT = join(import.meta.dir, "../..");
const INSTALLER = join(ROOT, "install.sh");
const TARGET = hostTarget();
/** The shells that are here of those that it is for. */
const SHELLS = [["sh"], ["busybox", "sh"]].filter(([name]) => Bun.which(name as string));
const canCheckSignatures = (() => {
  if (!Bun.which("openssl")) return false;
  const { stdout, stderr } = Bun.spawnSync(["openssl", "pkeyutl", "-help"]);
  return `${stdout}${stderr}`.includes("-rawin");
})();

let temporary: ReturnType<typeof temporaryDirectory>;
let home: string;

beforeEach(() => {
  temporary = temporaryDirectory();
  home = temporary.join("home");
  mkdirSync(home);
});
afterEach(() => temporary[Symbol.dispose]());

/** What an installer runs of a program. */
const ASKED = ["version", "man", "completions bash", "completions zsh", "completions fish"];
const answers = new Map<string, string>();

/** A program that is governd from the source; those of different notes are different files. */
function realProgram(path: string, note = "real"): string {
  const words = GOVERND.map((word) => `'${word}'`).join(" ");
  // Bun keeps transpiled files in the home directory; they must not land in the one that the test checks.
  return write(path, note, `HOME='${process.env.HOME ?? "/"}' exec ${words} "$@"`);
}

/** A program that prints what governd prints when an installer runs it, in a fraction of the time. */
function program(path: string, note = "one"): string {
  const cases = ASKED.map((words) => `'${words}') cat <<'END'\n${answers.get(words)}END\n;;`);
  return write(path, note, `case "$*" in\n${cases.join("\n")}\n*) exit 2 ;;\nesac`);
}

function write(path: string, note: string, script: string): string {
  writeFileSync(path, `#!/bin/sh\n# ${note}\n${script}\n`);
  chmodSync(path, 0o755);
  return path;
}

beforeAll(async () => {
  for (const words of ASKED) answers.set(words, (await governd(words.split(" "))).out);
});

async function install(words: readonly string[], { shell = ["sh"], script = INSTALLER } = {}): Promise<Ended> {
  const child = Bun.spawn([...shell, script, ...words], {
    cwd: temporary.path,
    env: { PATH: process.env.PATH ?? "", HOME: home },
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
  });
  return ended(child);
}

const installed = () => join(home, ".local/bin/governd");
const noteOf = (path: string) => /# (\w+)/.exec(readFileSync(path, "utf8"))?.[1];
/** What lies under a directory, by path. */
const filesUnder = (path: string) =>
  readdirSync(path, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(path.length + 1))
    .sort();

describe.each(SHELLS.map((shell) => [shell.join(" "), shell] as const))("install.sh in %s", (_, shell) => {
  test("installs for one user, upgrades, rolls back and removes", async () => {
    const one = program(temporary.join("one"));
    const first = await install(["--user", "--binary", one], { shell });
    expect({ code: first.code, err: first.err }).toEqual({ code: 0, err: "" });
    expect(first.out).toContain(`governd 0.1.0 is installed: ${installed()}\n`);
    expect(first.out).toContain("is not in PATH");
    expect(filesUnder(home)).toEqual([
      ".local/bin/governd",
      ".local/share/bash-completion/completions/governd",
      ".local/share/fish/vendor_completions.d/governd.fish",
      ".local/share/man/man1/governd.1",
      ".local/share/zsh/site-functions/_governd",
    ]);
    expect(readFileSync(join(home, ".local/share/man/man1/governd.1"), "utf8")).toStartWith(".TH GOVERND 1");

    const again = await install(["--user", "--binary", one], { shell });
    expect({ code: again.code, old: existsSync(`${installed()}.old`) }).toEqual({ code: 0, old: false });
    expect(again.out).toContain("is installed already");

    const two = program(temporary.join("two"), "two");
    const upgrade = await install(["--user", `--binary=${two}`], { shell });
    expect(upgrade.out).toContain("--rollback puts it back");
    expect([noteOf(installed()), noteOf(`${installed()}.old`)]).toEqual(["two", "one"]);

    expect((await install(["--user", "--rollback"], { shell })).code).toBe(0);
    expect([noteOf(installed()), noteOf(`${installed()}.old`)]).toEqual(["one", "two"]);

    const removal = await install(["--user", "--uninstall"], { shell });
    expect(removal).toMatchObject({ code: 0, out: `Removed ${installed()}.\n` });
    expect(filesUnder(home)).toEqual([]);
    expect((await install(["--user", "--uninstall"], { shell })).code).toBe(1);
  });

  test("puts nothing in place that does not run here", async () => {
    const one = program(temporary.join("one"));
    await install(["--user", "--binary", one], { shell });
    const foreign = temporary.join("foreign");
    writeFileSync(foreign, "\u007fELF of another machine");
    const { code, err } = await install(["--user", "--binary", foreign], { shell });
    expect(code).toBe(1);
    expect(err).toContain("does not run on this machine; nothing was changed");
    expect(noteOf(installed())).toBe("one");
    expect(readdirSync(join(home, ".local/bin"))).toEqual(["governd"]);
  });

  test("explains what is wrong with its options", async () => {
    const mistakes: [string[], number, string][] = [
      [["--nonsense"], 2, "there is no option --nonsense"],
      [["--binary"], 2, "--binary needs a value"],
      [["--user=x"], 2, "--user takes no value"],
      [["--binary", "x", "--download"], 2, "not both"],
      [["--user", "--service"], 2, "leave out --user"],
      [["--prefix", "relative"], 2, "absolute path"],
      [["--prefix", "/with space"], 2, "without spaces"],
      [["--user", "--binary", "missing"], 1, "there is no file missing"],
      [["--user", "--download"], 1, "give --url"],
      [["--user", "--download", "--url", "ftp://x"], 1, "must begin with https://"],
      [["--user", "--download", "--url", "https://governd.invalid"], 1, "give --public-key"],
      [["--user", "--rollback"], 1, "nothing to roll back to"],
    ];
    for (const [words, code, message] of mistakes) {
      const ran = await install(words, { shell });
      expect({ words, code: ran.code, out: ran.out }).toEqual({ words, code, out: "" });
      expect(ran.err).toContain(message);
    }
    expect(filesUnder(home)).toEqual([]);
    expect((await install(["--help"], { shell })).out).toStartWith("Usage: sh install.sh");
  });
});

test("the digest that is known from elsewhere must be the binary's", async () => {
  const one = realProgram(temporary.join("one"));
  const digest = new Bun.CryptoHasher("sha256").update(readFileSync(one)).digest("hex");
  const wrong = await install(["--user", "--binary", one, "--sha256", "0".repeat(64)]);
  expect({ code: wrong.code, there: existsSync(installed()) }).toEqual({ code: 1, there: false });
  expect((await install(["--user", "--binary", one, "--sha256", digest])).code).toBe(0);
  expect(readFileSync(join(home, ".local/share/man/man1/governd.1"), "utf8")).toBe(answers.get("man") as string);
});

describe.skipIf(!canCheckSignatures)("a release", () => {
  /** A key pair; the private one as the file that releases are signed with. */
  function keyFile(name: string): string {
    const path = temporary.join(name);
    const { privateKey } = generateKeyPairSync("ed25519");
    writeFileSync(path, privateKey.export({ type: "pkcs8", format: "pem" }));
    return path;
  }

  /** Makes a release with the script that makes real ones. */
  function release(name: string, key: string, ...words: string[]): string {
    const built = temporary.join(`${name}-built`);
    const out = temporary.join(name);
    mkdirSync(built);
    program(join(built, "governd"), name);
    writeFileSync(join(built, "governd.cdx.json"), "{}\n");
    const { exitCode, stderr } = Bun.spawnSync(
      [
        process.execPath,
        "scripts/release.ts",
        "--key",
        key,
        "--target",
        TARGET,
        "--from",
        built,
        "--out",
        out,
        "--no-packages",
        ...words,
      ],
      { cwd: ROOT, stdout: "ignore", stderr: "pipe" },
    );
    if (exitCode !== 0) throw new Error(stderr.toString());
    return out;
  }

  const serving = (directory: string) =>
    Bun.serve({
      port: 0,
      hostname: "127.0.0.1",
      fetch: async ({ url }) => {
        const file = Bun.file(join(directory, new URL(url).pathname));
        return (await file.exists()) ? new Response(file) : new Response(null, { status: 404 });
      },
    });

  test("is downloaded and checked by the key in its own install.sh", async () => {
    const directory = release("genuine", keyFile("key"), "--url", "https://releases.example.org/governd/");
    const script = join(directory, "install.sh");
    expect(readFileSync(script, "utf8")).toContain('\nRELEASE_URL="https://releases.example.org/governd"\n');
    using server = serving(directory);
    const { code, out, err } = await install(["--user", "--download", "--url", `${server.url}`], { script });
    expect({ code, err }).toEqual({ code: 0, err: "" });
    expect(out).toContain("is installed");
    expect(noteOf(installed())).toBe("genuine");
  });

  test("lies beside install.sh, without a network", async () => {
    const directory = release("carried", keyFile("key"));
    expect((await install(["--user"], { script: join(directory, "install.sh") })).code).toBe(0);
    expect(noteOf(installed())).toBe("carried");
    writeFileSync(join(directory, `governd-${TARGET}`), "#!/bin/sh\necho governd 6.6.6\n");
    const { code, err } = await install(["--user"], { script: join(directory, "install.sh") });
    expect(code).toBe(1);
    expect(err).toContain("is not the file that was released");
  });

  test("is refused when any part of it is another's", async () => {
    const key = keyFile("key");
    const directory = release("genuine", key);
    const other = release("other", keyFile("other-key"));
    const script = join(directory, "install.sh");
    using server = serving(directory);
    const attempt = async (...words: string[]) => {
      const { code, err } = await install(["--user", "--download", "--url", `${server.url}`, ...words], { script });
      expect({ code, installed: existsSync(installed()) }).toEqual({ code: 1, installed: false });
      return err;
    };
    const otherKey = /^RELEASE_PUBLIC_KEY="(.+)"$/m.exec(
      readFileSync(join(other, "install.sh"), "utf8"),
    )?.[1] as string;
    expect(await attempt("--public-key", otherKey)).toContain("is not by the key that was given");
    expect(await attempt("--public-key", "nonsense")).toContain("neither a file nor an Ed25519 key");

    copyFileSync(join(other, `governd-${TARGET}`), join(directory, `governd-${TARGET}`));
    expect(await attempt()).toContain("is not the file that was released");
    copyFileSync(join(other, "SHA256SUMS"), join(directory, "SHA256SUMS"));
    expect(await attempt()).toContain("is not by the key that was given");
    copyFileSync(join(other, "SHA256SUMS.sig"), join(directory, "SHA256SUMS.sig"));
    expect(await attempt()).toContain("is not by the key that was given");
    writeFileSync(join(directory, "SHA256SUMS.sig"), "");
    expect(await attempt()).toContain("is not by the key that was given");
  });

  test("takes the public key as a file too", async () => {
    const key = keyFile("key");
    const directory = release("genuine", key);
    const publicKey = temporary.join("release.pub");
    Bun.spawnSync(["openssl", "pkey", "-in", key, "-pubout", "-out", publicKey]);
    using server = serving(directory);
    const words = ["--user", "--download", "--url", `${server.url}`, "--public-key", publicKey];
    expect((await install(words)).code).toBe(0);
  });

  test("is not signed by a key of another kind, nor made over what is there", () => {
    const rsa = temporary.join("rsa");
    const { privateKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
    writeFileSync(rsa, privateKey.export({ type: "pkcs8", format: "pem" }));
    expect(() => release("rsa-release", rsa)).toThrow("is not an Ed25519 key");
    mkdirSync(temporary.join("full"));
    writeFileSync(temporary.join("full", "letter.txt"), "");
    expect(() => release("full", keyFile("key"))).toThrow("is not empty");
  });
});

test.skipIf(!Bun.which("shellcheck"))("shellcheck has nothing to say", () => {
  const { exitCode, stdout } = Bun.spawnSync(["shellcheck", INSTALLER]);
  expect({ exitCode, said: stdout.toString() }).toEqual({ exitCode: 0, said: "" });
});
