/** The SDL in two parts, for code generators: what partners' API keys can use, and the rest, for operators and the console. */
import { type RequestHandler, Router } from "express";
import { Kind, parse, print, visit, type DefinitionNode, type ObjectTypeDefinitionNode } from "graphql";
import { scopes } from "../../api-keys/api.ts";
import { isAllowed } from "../../operations/admit.ts";
import { operations, rootAccess } from "../../operations/all.ts";
import type { AccessSubject, ReadAccess } from "../../operations/operation.ts";
import { addRoute } from "../add-route.ts";
import { readSdl } from "./sdl.ts";

const ROOTS: ReadonlySet<string> = new Set(["Query", "Mutation", "Subscription"]);

/** A key with all scopes. */
const partner: AccessSubject = {
  organizationId: "any",
  organizationType: "agent",
  actor: { type: "key", id: "any" },
  keyId: "any",
  scopes,
};

/** Returns the routes of both parts, at `path`. They need no key: the guide has the same content. */
export function sdlRoutes(path: string): Router {
  const router = Router({ caseSensitive: true });
  // Created by the first request, because most processes never get one.
  let parts: ReturnType<typeof sdlParts> | undefined;
  const send =
    (file: keyof ReturnType<typeof sdlParts>): RequestHandler =>
    (_request, response) => {
      parts ??= sdlParts();
      response.setHeader("Cache-Control", "no-cache");
      response.type("text/plain").send(parts[file]);
    };
  for (const file of ["schema.graphql", "schema.operator.graphql"] as const)
    addRoute(router, { path: `${path}/${file}`, name: `${path}/${file}` }, { get: [send(file)] });
  return router;
}

function isRoot(definition: DefinitionNode): definition is ObjectTypeDefinitionNode {
  return definition.kind === Kind.OBJECT_TYPE_DEFINITION && ROOTS.has(definition.name.value);
}

function toText(definitions: readonly DefinitionNode[]): string {
  return `${print({ kind: Kind.DOCUMENT, definitions })}\n`;
}

/** The operators' part extends the partners' part: both together are the schema. */
function sdlParts() {
  const { definitions } = parse(readSdl());
  const roots = definitions.filter(isRoot);
  const others = definitions.filter((definition) => !isRoot(definition));
  const forPartners = partnerFields();
  const withFields = (keep: (name: string) => boolean) =>
    roots.map((root) => ({ ...root, fields: root.fields?.filter(({ name }) => keep(name.value)) ?? [] }));
  const partnerRoots = withFields((name) => forPartners.has(name));
  const used = typesOf(partnerRoots, others);
  const isUsed = (definition: DefinitionNode): boolean =>
    !("name" in definition) || definition.name === undefined || used.has(definition.name.value);
  const extensions = withFields((name) => !forPartners.has(name))
    .filter(({ fields }) => fields.length > 0)
    .map(({ description: _description, ...root }) => ({
      ...root,
      kind: Kind.OBJECT_TYPE_EXTENSION as const,
    }));
  return {
    "schema.graphql": toText([...others.filter(isUsed), ...partnerRoots]),
    "schema.operator.graphql": toText([...extensions, ...others.filter((definition) => !isUsed(definition))]),
  };
}

/** Returns the names of the root fields that an API key of a partner can use. */
function partnerFields(): Set<string> {
  const mutations = operations.map(({ name, graphql, access }) => [graphql?.field ?? name, access] as const);
  const all: (readonly [string, ReadAccess])[] = [...mutations, ...Object.entries(rootAccess)];
  return new Set(all.filter(([, access]) => isAllowed(access, partner)).map(([name]) => name));
}

/** Returns the names of the types that `roots` use, directly or not. Of an interface, only the types that are used elsewhere too. */
function typesOf(roots: readonly DefinitionNode[], definitions: readonly DefinitionNode[]): Set<string> {
  const names = new Set<string>();
  const add = (node: DefinitionNode): unknown =>
    visit(node, {
      NamedType({ name: { value } }) {
        if (names.has(value)) return;
        names.add(value);
        for (const each of definitions) if ("name" in each && each.name?.value === value) add(each);
      },
    });
  for (const root of roots) add(root);
  return names;
}
