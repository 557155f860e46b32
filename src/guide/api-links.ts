/** Links from a section of the guide to what it explains: operations in the Swagger UI at `/docs`, and root fields of GraphQL. */
import { posix } from "node:path";
import { isObjectType, type GraphQLSchema } from "graphql";
import { operationsOf } from "../api/rest/openapi/operations.ts";
import { escapeHtml } from "../core/escape-html.ts";
import { operationSections, rootFieldSections, tagSections, type GuideSection } from "./api-sections.ts";
import { referenceFiles } from "./contents.ts";
import type { Page } from "./pages.ts";
import { typeSections } from "./type-sections.ts";

export interface ApiLink {
  section: GuideSection;
  /** `GET`, `event`, `query` and others. */
  kind: string;
  name: string;
  target: { docs: string } | { file: string; id: string };
}

/** The parts of an OpenAPI document that links need. */
export interface OpenApiOperations {
  paths?: Readonly<Record<string, object>>;
  webhooks?: Readonly<Record<string, object>>;
}

interface Operation {
  operationId: string;
  tags: string[];
}

/** Returns a link for each operation, webhook and tag of the document. Throws if one has no section. */
export function operationLinks({ paths, webhooks }: OpenApiOperations): ApiLink[] {
  const links = operationsOf<Operation>(paths).map(
    ({
      method,
      path,
      operation: {
        operationId,
        tags: [tag = ""],
      },
    }) => ({
      tag,
      section: sectionOf(operationSections, operationId),
      kind: method,
      name: `/v1${path}`,
      target: { docs: `docs#/${tag}/${operationId}` },
    }),
  );
  const events = operationsOf<Operation>(webhooks).map(({ path, operation: { operationId } }) => ({
    section: sectionOf(operationSections, operationId),
    kind: "event",
    name: path,
    target: { docs: `docs#/webhooks/${operationId}` },
  }));
  const tags = [...new Set(links.map(({ tag }) => tag))].map((tag) => ({
    section: sectionOf(tagSections, tag),
    kind: "REST",
    name: tag,
    target: { docs: `docs#/${tag}` },
  }));
  return [...tags, ...links, ...events];
}

/** Returns a link for each root field that the guide explains. Throws if a name in `rootFieldSections` is no root field. */
export function rootFieldLinks(schema: GraphQLSchema): ApiLink[] {
  const roots = [
    ["query", schema.getQueryType(), referenceFiles.queries],
    ["mutation", schema.getMutationType(), referenceFiles.mutations],
    ["subscription", schema.getSubscriptionType(), referenceFiles.subscriptions],
  ] as const;
  return Object.entries(rootFieldSections).map(([id, section]) => {
    const root = roots.find(([, type]) => isObjectType(type) && id in type.getFields());
    if (!root) throw new Error(`The GraphQL schema has no root field ${id}, which the guide explains`);
    const [kind, , file] = root;
    return { section, kind, name: id, target: { file, id } };
  });
}

/** Returns the section of each type in `typeSections`. Throws if the schema has no such type. */
export function explainedTypes(schema: GraphQLSchema): Pick<ApiLink, "section" | "name">[] {
  return Object.entries(typeSections).map(([name, section]) => {
    if (!schema.getType(name))
      throw new Error(`The GraphQL schema has no type ${name}, which the guide explains`);
    return { section, name };
  });
}

function sectionOf(sections: Readonly<Record<string, GuideSection>>, name: string): GuideSection {
  const section = sections[name];
  if (!section) throw new Error(`src/guide/api-sections.ts has no section that explains ${name}`);
  return section;
}

/** Throws if the guide lacks the section of a link. */
export function checkSections(
  links: readonly Pick<ApiLink, "section" | "name">[],
  pages: readonly Page[],
): void {
  for (const { section, name } of links) {
    const page = pages.find(({ file }) => file === section.file);
    const hasHeading = page?.sections.some(
      ({ title }) => section.heading === null || title === section.heading,
    );
    if (hasHeading !== true)
      throw new Error(`docs/${section.file} has no heading "${section.heading}", which explains ${name}`);
  }
}

/** Returns the HTML of `links` in the page of `file`; "" if there are none. */
export function renderApiLinks(
  links: readonly ApiLink[],
  file: string,
  urls: { link: (target: string) => string; server: (path: string) => string },
): string {
  if (links.length === 0) return "";
  const items = links.map(({ kind, name, target }) => {
    const url =
      "docs" in target
        ? urls.server(target.docs)
        : urls.link(`${posix.relative(posix.dirname(file), target.file)}#${target.id}`);
    return `<li><a href="${escapeHtml(url)}"><b>${kind}</b> ${escapeHtml(name)}</a></li>`;
  });
  return `<ul class="api-links" aria-label="In the reference">${items.join("")}</ul>\n`;
}
