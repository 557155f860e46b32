/** Renders the GraphQL reference: one page for each kind of definition, with an anchor for each type, field and argument. */
import { posix } from "node:path";
import {
  getNamedType,
  isAbstractType,
  isEnumType,
  isInputObjectType,
  isListType,
  isNonNullType,
  isScalarType,
  type GraphQLNamedType,
  type GraphQLSchema,
  type GraphQLType,
} from "graphql";
import { escapeHtml } from "../core/escape-html.ts";
import type { GuideSection } from "./api-sections.ts";
import { pathOfFile, referenceFiles, slugify } from "./contents.ts";
import { readReference, type Definition, type Member, type ReferencePage } from "./graphql-reference.ts";
import { renderText, type TargetResolver } from "./markdown.ts";
import { groupOf, type Page, type PageSection } from "./pages.ts";
import type { Example } from "./examples-page.ts";

/** `examples` are linked from the root fields that they use. */
export function referencePages(schema: GraphQLSchema, examples: readonly Example[]): Page[] {
  return readReference(schema).map((reference) => {
    const { title, description, definitions, sdl } = reference;
    const file = referenceFiles[reference.kind];
    return {
      file,
      path: pathOfFile(file),
      group: groupOf(file),
      title,
      description,
      markdown: `# ${title}\n\n${description}\n\n\`\`\`graphql\n${sdl}\n\`\`\`\n`,
      sections: [{ id: "", level: 1, title, text: description }, ...definitions.map(toSection)],
      render: (resolver) => new ReferenceRenderer(file, resolver, examples).render(reference),
    };
  });
}

function toSection({ id, description, members }: Definition): PageSection {
  const texts = members.map((member) => `${member.name}: ${member.description}`);
  return { id, level: 2, title: id, text: [description, ...texts].join("\n").replaceAll("`", "") };
}

/** Returns the page that defines a type. */
function fileOfType(type: GraphQLNamedType): string {
  if (isScalarType(type)) return referenceFiles.scalars;
  if (isEnumType(type)) return referenceFiles.enums;
  if (isInputObjectType(type)) return referenceFiles.inputs;
  return isAbstractType(type) ? referenceFiles.interfaces : referenceFiles.objects;
}

class ReferenceRenderer {
  readonly #file: string;
  readonly #resolver: TargetResolver;
  readonly #examples: readonly Example[];

  constructor(file: string, resolver: TargetResolver, examples: readonly Example[]) {
    this.#file = file;
    this.#resolver = resolver;
    this.#examples = examples;
  }

  render({ kind, title, description, definitions }: ReferencePage): string {
    const isRoot = kind === "queries" || kind === "mutations" || kind === "subscriptions";
    const list = definitions.map((definition) => this.#definition(definition, isRoot));
    return `<h1>${title}</h1>\n<p>${escapeHtml(description)}</p>\n${list.join("\n")}`;
  }

  #definition(definition: Definition, isRoot: boolean): string {
    const { id, description, deprecation, type, members } = definition;
    const heading = members.length > 0 && isRoot ? "<h3>Arguments</h3>" : "";
    return `<section class="definition">
<h2 id="${id}" tabindex="-1"><a class="header-anchor" href="#${id}">${id}</a></h2>
${type ? `<p class="result">Returns ${this.#type(type)}</p>` : ""}
${deprecation === null ? "" : renderDeprecation(deprecation)}
${renderText(description)}
${this.#facts(definition)}
${this.#guideLinks(definition)}
${heading}
${this.#members(members)}
</section>`;
  }

  #facts({ interfaces, possibleTypes, specifiedByUrl }: Definition): string {
    const types = (label: string, list: readonly GraphQLNamedType[]): string =>
      list.length === 0
        ? ""
        : `<p class="facts">${label} ${list.map((type) => this.#type(type)).join(", ")}</p>`;
    const specification =
      specifiedByUrl === null
        ? ""
        : `<p class="facts"><a href="${escapeHtml(specifiedByUrl)}">Specification</a></p>`;
    return types("Implements", interfaces) + types("One of", possibleTypes) + specification;
  }

  /** Links the section of the guide that explains a definition, and the examples that use a root field. */
  #guideLinks({ id, section }: Definition): string {
    const examples = this.#examples.filter(({ rootFields }) => rootFields.includes(id));
    const links = [
      ...(section ? [this.#link("Guide", section, section.heading ?? "")] : []),
      ...examples
        .filter(({ heading, file }) => heading !== section?.heading || file !== section.file)
        .map((example) => this.#link("Example", example, example.title)),
    ];
    return links.length === 0 ? "" : `<ul class="api-links" aria-label="In the guide">${links.join("")}</ul>`;
  }

  #link(kind: string, { file, heading }: GuideSection, title: string): string {
    const id = heading === null ? "" : `#${slugify(heading)}`;
    const url = this.#resolver.link(posix.relative(posix.dirname(this.#file), file) + id);
    return `<li><a href="${url}"><b>${kind}</b> ${escapeHtml(title)}</a></li>`;
  }

  #members(members: readonly Member[]): string {
    if (members.length === 0) return "";
    return `<dl class="members">${members.map((member) => this.#member(member)).join("\n")}</dl>`;
  }

  #member(member: Member): string {
    const { id, name, type, description, deprecation, defaultValue } = member;
    const facts = [
      type ? this.#type(type) : "",
      defaultValue === null ? "" : `<span>default <code>${escapeHtml(defaultValue)}</code></span>`,
    ];
    return `<div id="${id}"><dt><a class="header-anchor" href="#${id}"><code>${name}</code></a> ${facts.join(" ")}</dt>
<dd>${deprecation === null ? "" : renderDeprecation(deprecation)}${renderText(description)}${this.#members(member.arguments)}</dd></div>`;
  }

  /** Returns a type as in the schema, such as `[Job!]!`, with a link to its definition. */
  #type(type: GraphQLType): string {
    return `<span class="type">${this.#typeText(type)}</span>`;
  }

  #typeText(type: GraphQLType): string {
    if (isNonNullType(type)) return `${this.#typeText(type.ofType)}!`;
    if (isListType(type)) return `[${this.#typeText(type.ofType)}]`;
    const { name } = getNamedType(type);
    const file = posix.relative(posix.dirname(this.#file), fileOfType(type));
    return `<a href="${this.#resolver.link(`${file}#${name}`)}">${name}</a>`;
  }
}

function renderDeprecation(reason: string): string {
  return `<div class="deprecated"><b>Deprecated</b> ${renderText(reason)}</div>`;
}
