/** Links between the pages, and what the code says of them, lead to a heading that is there; files that a page names exist. */
import { expect, test } from "bun:test";
import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { FAILURE_CODES } from "../src/failure.ts";

const ROOT = join(import.meta.dir, "..");
const PAGES = ["*.md", "docs/**/*.md"].flatMap((glob) => [...new Bun.Glob(glob).scanSync(ROOT)]);
/** The pages for developers name files; in the others a path may be an example. */
const FOR_DEVELOPERS = PAGES.filter((page) => /^(ARCHITECTURE|CONTRIBUTING|docs\/internals\/.*)\.md$/.test(page));
const SOURCES = ["src/**/*.ts", "src/**/*.tsx", "scripts/**/*.ts", "tools/*.py", "deploy/**/*", "test/**/*.ts"]
  .flatMap((glob) => [...new Bun.Glob(glob).scanSync(ROOT)])
  .concat("install.sh", "Dockerfile");
const FENCED = /^ *```.*?^ *```/gms;

const textOf = (path: string) => readFileSync(join(ROOT, path), "utf8");
const headingsOf = (page: string) =>
  [
    ...textOf(page)
      .replace(FENCED, "")
      .matchAll(/^#+ (.*)$/gm),
  ].map(([, heading = ""]) => heading.replaceAll("`", ""));

/** The anchor that a renderer such as GitHub's gives to a heading. */
const anchorOf = (heading: string) =>
  heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N} _-]/gu, "")
    .replaceAll(" ", "-");

test("docs/troubleshooting.md has every code of a command that fails, and no other", () => {
  const [line = ""] =
    /^`--json` shows a stable code for each of them: .*$/m.exec(textOf("docs/troubleshooting.md")) ?? [];
  const codes = [...line.matchAll(/`([a-z_]+)`/g)].map(([, code]) => code);
  expect(codes.sort()).toEqual([...FAILURE_CODES].sort());
});

test.each(PAGES)("the links of %s", (page) => {
  const links = [
    ...textOf(page)
      .replace(FENCED, "")
      .matchAll(/\]\(([^)\s]+)\)/g),
  ].map(([, link = ""]) => link);
  const lost = links.filter((link) => {
    if (/^[a-z]+:/.test(link)) return false;
    const [path = "", anchor] = link.split("#");
    const target = path === "" ? page : join(dirname(page), path);
    if (!existsSync(join(ROOT, target))) return true;
    return anchor !== undefined && !headingsOf(target).map(anchorOf).includes(anchor);
  });
  expect(lost).toEqual([]);
});

test.each(FOR_DEVELOPERS)("the files that %s names", (page) => {
  const named = [
    ...textOf(page)
      .replace(FENCED, "")
      .matchAll(/`((?:src|test|scripts|tools|bench|sql)\/[^`\s*…]+)`/g),
  ];
  expect(named.map(([, path = ""]) => path).filter((path) => !existsSync(join(ROOT, path)))).toEqual([]);
});

test("pages and sections that the code names", () => {
  const lost = SOURCES.flatMap((source) => {
    const text = textOf(source);
    const pages = [...text.matchAll(/\bdocs\/[a-z/-]+\.md\b/g)].map(([page]) => page);
    const sections = [
      ...[...text.matchAll(/"([^"\n]+)" in (docs\/[a-z/-]+\.md)/g)].map(([, section, page]) => ({ section, page })),
      ...[...text.matchAll(/(docs\/[a-z/-]+\.md), "([^"\n]+)"/g)].map(([, page, section]) => ({ section, page })),
    ];
    return [
      ...pages.filter((page) => !existsSync(join(ROOT, page))),
      ...sections.filter(({ section = "", page = "" }) => !headingsOf(page).includes(section)),
    ].map((what) => ({ source, what }));
  });
  expect(lost).toEqual([]);
});
