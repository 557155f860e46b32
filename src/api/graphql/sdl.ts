/** Reads the SDL from `schema/`: what a partner's API key can use, and in `operator/` the rest, for operators and the console. */
import { readdirSync, readFileSync } from "node:fs";
import { type RequestHandler, Router } from "express";
import { isEnumType, isIntrospectionType, type GraphQLSchema } from "graphql";
import { addRoute } from "../add-route.ts";

const SCHEMA_FOLDER = new URL("../../../schema/", import.meta.url);

/** The operators' part extends the partners' part. */
const parts = { "schema.graphql": "", "schema.operator.graphql": "operator/" } as const;

function readPart(file: keyof typeof parts): string {
  const folder = new URL(parts[file], SCHEMA_FOLDER);
  const names = readdirSync(folder).filter((name) => name.endsWith(".graphql"));
  return names
    .toSorted()
    .map((name) => readFileSync(new URL(name, folder), "utf8"))
    .join("\n");
}

export function readSdl(): string {
  return `${readPart("schema.graphql")}\n${readPart("schema.operator.graphql")}`;
}

/** Returns the routes of both parts, at `path`. They need no key: the guide has the same content. */
export function sdlRoutes(path: string): Router {
  const router = Router({ caseSensitive: true });
  for (const file of Object.keys(parts) as (keyof typeof parts)[]) {
    const text = readPart(file);
    const send: RequestHandler = (_request, response) => {
      response.setHeader("Cache-Control", "no-cache");
      response.type("text/plain").send(text);
    };
    addRoute(router, `${path}/${file}`, { get: [send] });
  }
  return router;
}

/** Between the two parts of an enum's value; elsewhere `_`. */
const separators: Readonly<Record<string, string>> = {
  JobEventType: ".",
  WebhookEventType: ".",
  Scope: ":",
};

/**
 * Returns, for each enum of the schema, its values inside the server by their names. Resolvers take and return the services' own
 * values, such as `in_progress` for IN_PROGRESS.
 */
export function enumValues(schema: GraphQLSchema): Record<string, Record<string, string>> {
  const enums = Object.values(schema.getTypeMap()).filter(isEnumType);
  return Object.fromEntries(
    enums
      .filter((type) => !isIntrospectionType(type))
      .map((type) => {
        const names = type.getValues().map(({ name }) => name);
        return [type.name, Object.fromEntries(names.map((name) => [name, innerValue(type.name, name)]))];
      }),
  );
}

function innerValue(type: string, name: string): string {
  // The job service has the same names for group keys.
  if (type === "JobGroupKey") return name;
  return name.toLowerCase().replace("_", separators[type] ?? "_");
}
