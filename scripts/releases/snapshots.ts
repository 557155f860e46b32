/** The documents of each release in `docs/releases/<version>/`, and the breaking changes since the last one. */
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { buildSchema, findBreakingChanges } from "graphql";
import { readSdl } from "../../src/api/graphql/sdl.ts";
import { createOpenApiDocument } from "../../src/api/rest/openapi/documents.ts";
import { acceptedChanges } from "./accepted-changes.ts";
import { listApiChanges, type ApiDocument } from "./openapi-changes.ts";

const RELEASES = new URL("../../docs/releases/", import.meta.url);

/** What a release promises: the partner API and the GraphQL schema. */
export interface Snapshot {
  "openapi.json": ApiDocument & { info: { version: string } };
  "schema.graphql": string;
}

const FILES = ["openapi.json", "schema.graphql"] as const;

/** Returns the documents of the working tree. */
export function currentSnapshot(): Snapshot {
  return {
    "openapi.json": structuredClone<object>(createOpenApiDocument(null)) as Snapshot["openapi.json"],
    "schema.graphql": readSdl(),
  };
}

export function readSnapshot(version: string): Snapshot {
  const read = (name: string): string => readFileSync(new URL(`${version}/${name}`, RELEASES), "utf8");
  return {
    "openapi.json": JSON.parse(read("openapi.json")) as Snapshot["openapi.json"],
    "schema.graphql": read("schema.graphql"),
  };
}

/** Writes the snapshot of a release. Throws if it exists: a release never changes. */
export function writeSnapshot(version: string, snapshot: Snapshot): void {
  const folder = new URL(`${version}/`, RELEASES);
  if (existsSync(folder)) throw new Error(`docs/releases/${version} exists: a release never changes`);
  mkdirSync(folder, { recursive: true });
  for (const name of FILES) {
    const content = snapshot[name];
    const text = typeof content === "string" ? content : `${JSON.stringify(content, null, 2)}\n`;
    writeFileSync(new URL(name, folder), text);
  }
}

/** Returns the versions that have a snapshot, oldest first. */
export function listReleases(): string[] {
  const versions: string[] = readdirSync(RELEASES);
  return versions.toSorted(compareVersions);
}

/** Compares `1.0.0-rc` and `1.0.0` by Semantic Versioning: a pre-release comes before its release. */
export function compareVersions(left: string, right: string): number {
  const [[core, pre], [otherCore, otherPre]] = [left, right].map((version) => {
    const [numbers = "", ...suffix] = version.split("-");
    return [numbers, suffix.join("-")] as const;
  }) as [readonly [string, string], readonly [string, string]];
  const order = core.localeCompare(otherCore, "en", { numeric: true });
  if (order !== 0 || pre === otherPre) return order;
  if (pre === "" || otherPre === "") return pre === "" ? 1 : -1;
  return pre.localeCompare(otherPre, "en", { numeric: true });
}

/** Returns the breaking changes of GraphQL as sentences. */
export function listSdlChanges(released: string, current: string): string[] {
  const changes = findBreakingChanges(buildSchema(released), buildSchema(current));
  return changes.map(({ type, description }) => `${type}: ${description}`);
}

/** Returns the breaking changes from `released` to `current` that are not accepted, each with the file that it is in. */
export function listBreakingChanges(released: Snapshot, current: Snapshot): string[] {
  return [
    ...listApiChanges(released["openapi.json"], current["openapi.json"])
      .filter((each) => !acceptedChanges.some(({ pattern }) => pattern.exec(each)?.[0] === each))
      .map((each) => `openapi.json: ${each}`),
    ...listSdlChanges(released["schema.graphql"], current["schema.graphql"]).map(
      (each) => `schema.graphql: ${each}`,
    ),
  ];
}
