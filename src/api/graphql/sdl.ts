/** Reads the SDL from `schema/*.graphql`. */
import { readdirSync, readFileSync } from "node:fs";

const SCHEMA_FOLDER = new URL("../../../schema/", import.meta.url);

export function readSdl(): string {
  const names = readdirSync(SCHEMA_FOLDER).filter((name) => name.endsWith(".graphql"));
  return names
    .toSorted()
    .map((name) => readFileSync(new URL(name, SCHEMA_FOLDER), "utf8"))
    .join("\n");
}
