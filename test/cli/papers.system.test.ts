import { beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { mkdirSync, writeFileSync } from "node:fs";
import { DEFINITIONS, flagOf, variableOf } from "../../src/settings/definitions.ts";
import { PROCESS_TEST_MS, temporaryDirectory } from "../temporary.ts";
import { governd } from "./governd.ts";

setDefaultTimeout(PROCESS_TEST_MS);

const temporary = temporaryDirectory();
const scripts: Record<"bash" | "zsh" | "fish" | "man", string> = {
  bash: temporary.join("governd.bash"),
  zsh: temporary.join("_governd"),
  fish: temporary.join("governd.fish"),
  man: temporary.join("governd.1"),
};
const text: Record<string, string> = {};

beforeAll(async () => {
  for (const [name, file] of Object.entries(scripts)) {
    const { code, out } = await governd(name === "man" ? ["man"] : ["completions", name]);
    expect(code).toBe(0);
    text[name] = out;
    writeFileSync(file, out);
  }
  mkdirSync(temporary.join("here"));
  writeFileSync(temporary.join("here", "two words.db"), "");
});

const hasProgram = (name: string) => Bun.which(name) !== null;

interface Ran {
  code: number;
  out: string;
  err: string;
}

function run(command: string[], cwd = temporary.path): Ran {
  const { exitCode, stdout, stderr } = Bun.spawnSync(command, {
    cwd,
    env: { PATH: process.env.PATH, HOME: temporary.path, LC_ALL: "C.UTF-8" },
    stdout: "pipe",
    stderr: "pipe",
  });
  return { code: exitCode, out: stdout.toString(), err: stderr.toString() };
}

/** Returns what bash offers for the last of these words, which are split as on its command line. */
function bashOffers(...words: string[]): string[] {
  const quoted = ["governd", ...words].map((word) => `'${word}'`).join(" ");
  const script = `source '${scripts.bash}'; COMP_WORDS=(${quoted}); COMP_CWORD=${words.length}; _governd; printf '%s\\n' "\${COMPREPLY[@]}"`;
  const { code, out, err } = run(["bash", "--norc", "-c", script], temporary.join("here"));
  expect({ code, err }).toEqual({ code: 0, err: "" });
  return out.split("\n").filter((line) => line !== "");
}

describe("completion in bash", () => {
  test("offers commands, and commands of commands", () => {
    expect(bashOffers("se")).toEqual(["serve"]);
    expect(bashOffers("key", "")).toEqual(expect.arrayContaining(["create", "list", "rotate", "revoke"]));
    expect(bashOffers("key", "cr")).toEqual(["create"]);
    expect(bashOffers("completions", "")).toEqual(expect.arrayContaining(["bash", "zsh", "fish"]));
  });

  test("offers the options of the command that is typed", () => {
    expect(bashOffers("serve", "--print")).toEqual(["--print-settings"]);
    expect(bashOffers("key", "create", "--label", "list", "--sc")).toEqual(["--scope"]);
    expect(bashOffers("verify", "--print")).toEqual([]);
  });

  test("offers the values that an option lists", () => {
    expect(bashOffers("serve", "--tls", "")).toEqual(["auto", "files", "off"]);
    expect(bashOffers("serve", "--tls", "=", "o")).toEqual(["off"]);
    expect(bashOffers("serve", "--tls", "=")).toEqual(["auto", "files", "off"]);
    expect(bashOffers("key", "create", "--scope", "a")).toEqual(["agent", "auditor"]);
  });

  test("offers files where a file belongs, and nothing for free text", () => {
    expect(bashOffers("verify", "two")).toEqual(["two words.db"]);
    expect(bashOffers("serve", "--data-dir", "t")).toEqual(["two words.db"]);
    expect(bashOffers("serve", "--listen", "")).toEqual([]);
  });
});

describe("completion in other shells", () => {
  test.skipIf(!hasProgram("fish"))("fish offers the same", () => {
    const offers = (line: string) => {
      const { code, out, err } = run(["fish", "--no-config", "-c", `source ${scripts.fish}; complete -C '${line}'`]);
      expect({ code, err }).toEqual({ code: 0, err: "" });
      return out
        .split("\n")
        .filter((found) => found !== "")
        .map((found) => found.split("\t")[0]);
    };
    expect(offers("governd ser")).toEqual(["serve"]);
    expect(offers("governd key cr")).toEqual(["create"]);
    expect(offers("governd key create --sc")).toEqual(["--scope"]);
    expect(offers("governd serve --tls ")).toEqual(["auto", "files", "off"]);
    expect(offers("governd verify --print")).toEqual([]);
  });

  test.skipIf(!hasProgram("zsh"))("zsh takes the script, in both ways of loading it", () => {
    expect(run(["zsh", "-n", scripts.zsh])).toEqual({ code: 0, out: "", err: "" });
    const load = `autoload -Uz compinit; compinit -u -D; source ${scripts.zsh}; print $_comps[governd]`;
    expect(run(["zsh", "-f", "-c", load])).toEqual({ code: 0, out: "_governd\n", err: "" });
    const found = `fpath=(${temporary.path} $fpath); autoload -Uz compinit; compinit -u -D; print $_comps[governd]`;
    expect(run(["zsh", "-f", "-c", found])).toEqual({ code: 0, out: "_governd\n", err: "" });
  });

  test("every shell knows every flag of every setting", () => {
    for (const { name } of DEFINITIONS) {
      expect(text.bash).toContain(flagOf(name));
      expect(text.zsh).toContain(`${flagOf(name)}=[`);
      expect(text.fish).toContain(`-l ${flagOf(name).slice(2)} `);
    }
  });
});

describe("the manual page", () => {
  test("has every setting's variable and every command", () => {
    for (const { name } of DEFINITIONS) expect(text.man).toContain(variableOf(name));
    for (const command of ["serve", "key create", "verify", "health", "account link"]) {
      expect(text.man).toContain(`.SS "${command}"`);
    }
  });

  test.skipIf(!hasProgram("groff"))("is free of warnings and of raw macros", () => {
    const { code, out, err } = run(["groff", "-ww", "-man", "-Tutf8", "-P-c", "-P-b", "-P-u", scripts.man]);
    expect({ code, err }).toEqual({ code: 0, err: "" });
    expect(out).toContain("--print-settings");
    expect(out).not.toMatch(/^\s*\.(SH|SS|TP|PP)/m);
  });
});

test("an unknown shell is a mistake in usage", async () => {
  const { code, err } = await governd(["completions", "tcsh"]);
  expect(code).toBe(2);
  expect(err).toContain("bash, zsh, fish");
});
