/** The pages that the build generates from a schema. */
import { buildSchema } from "graphql";
import { describe, expect, it } from "vitest";
import type { TargetResolver } from "../../../src/guide/markdown.ts";
import { referencePages } from "../../../src/guide/reference-pages.ts";

const schema = buildSchema(`
  type Query {
    "Reads \`things\`."
    things("How many." first: Int = 20, order: Order = { by: NAME }): [Thing!]!
    old: Thing @deprecated(reason: "Use \`things\`.")
  }
  input Order { by: Key! = SIZE }
  enum Key { NAME SIZE "Not used." COLOR @deprecated(reason: "Use <SIZE>.") }
  scalar Day @specifiedBy(url: "https://example.com/day")
  interface Node { id: ID! }
  type Thing implements Node { id: ID!, parts(after: String = "a<b"): [Part] }
  type Part { day: Day }
  union Anything = Thing | Part
`);

/** Returns the target itself as the URL. */
const resolver: TargetResolver = {
  link: (target) => target,
  image: (target) => target,
  server: (path) => path,
  references: () => "",
};
const pages = referencePages(schema, []);
const pageOf = (name: string) => {
  const page = pages.find(({ path }) => path === `graphql/reference/${name}`);
  if (!page) throw new Error(`There is no page ${name}`);
  return { ...page, html: page.render(resolver) };
};

describe("the GraphQL reference", () => {
  it("has an anchor for each type, field, argument and value", () => {
    expect(pageOf("queries").html).toContain('<h2 id="things"');
    expect(pageOf("queries").html).toContain('<div id="things.first">');
    expect(pageOf("objects").html).toContain('<div id="Thing.parts.after">');
    expect(pageOf("inputs").html).toContain('<div id="Order.by">');
    expect(pageOf("enums").html).toContain('<div id="Key.COLOR">');
    expect(pageOf("interfaces").html).toContain('<div id="Node.id">');
  });

  it("links each type to its definition, on the page of its kind", () => {
    const { html } = pageOf("queries");
    expect(html).toContain('Returns <span class="type">[<a href="objects.md#Thing">Thing</a>!]!</span>');
    expect(html).toContain('<a href="scalars.md#Int">Int</a>');
    expect(html).toContain('<a href="inputs.md#Order">Order</a>');
    expect(pageOf("inputs").html).toContain('<a href="enums.md#Key">Key</a>!');
    expect(pageOf("objects").html).toContain('Implements <span class="type"><a href="interfaces.md#Node">');
    expect(pageOf("interfaces").html).toMatch(/One of .*objects.md#Thing.*objects.md#Part/);
    expect(pageOf("scalars").html).toContain('<a href="https://example.com/day">Specification</a>');
  });

  it("shows descriptions, defaults and deprecations, as text", () => {
    const { html } = pageOf("queries");
    expect(html).toContain("Reads <code>things</code>.");
    expect(html).toContain("default <code>20</code>");
    expect(html).toContain("default <code>{by: NAME}</code>");
    expect(html).toMatch(/<b>Deprecated<\/b> <p>Use <code>things<\/code>\.<\/p>/);
    expect(pageOf("enums").html).toContain("Use &lt;SIZE&gt;.");
    expect(pageOf("objects").html).toContain("default <code>&quot;a&lt;b&quot;</code>");
  });

  it("has the schema definition language as Markdown, and a section for search for each definition", () => {
    const { markdown, sections } = pageOf("objects");
    expect(markdown).toContain("```graphql\ntype Part {\n  day: Day\n}\n\ntype Thing implements Node {");
    expect(sections.map(({ id }) => id)).toEqual(["", "Part", "Thing"]);
  });
});
