/** Markdown to HTML: highlighted code, language tabs, headings with anchors, alerts, and links between pages. */
import hljs from "highlight.js";
import MarkdownIt, { type RendererRule, type Token } from "markdown-it";
import anchor from "markdown-it-anchor";
import githubAlerts from "markdown-it-github-alerts";
import { slugify } from "./contents.ts";
import { explorerLinks, readSample } from "./samples.ts";

/** Labels of languages that become tabs where code blocks in several of them follow each other. */
const TAB_LABELS: Readonly<Record<string, string>> = {
  sh: "curl",
  ts: "TypeScript",
  python: "Python",
  go: "Go",
  java: "Java",
  php: "PHP",
  csharp: "C#",
};

/** Titles of code blocks that are no tabs. */
const TITLES: Readonly<Record<string, string>> = {
  ...TAB_LABELS,
  bash: "Shell",
  graphql: "GraphQL",
  ini: "Settings",
  js: "JavaScript",
  json: "JSON",
  sh: "Shell",
  sql: "SQL",
  text: "Output",
  yaml: "YAML",
};

/** Maps the link and image targets of a file to URLs. Throws if the page, heading or image does not exist. */
export interface TargetResolver {
  link: (target: string) => string;
  image: (target: string) => string;
  /** Returns the URL of `path` of the server, such as `docs`. */
  server: (path: string) => string;
  /** Returns the links to what a section of the page explains, as HTML; "" if there are none. `heading` is null for the page. */
  references: (heading: string | null) => string;
}

/** The plug-in's own types are those of an earlier markdown-it. */
type MarkdownPlugin = (instance: object, options: { icons: Record<string, string> }) => void;

const markdown = new MarkdownIt()
  .use(anchor, {
    slugify,
    level: [2, 3, 4],
    permalink: anchor.permalink.headerLink({ safariReaderFix: true }),
  })
  .use(githubAlerts as MarkdownPlugin, { icons: {} });

/** Returns the tokens of a page, for its headings and texts. */
export function parseMarkdown(text: string): Token[] {
  return markdown.parse(text, {});
}

export function renderMarkdown(text: string, resolver: TargetResolver): string {
  const tokens = parseMarkdown(text);
  for (const token of tokens.flatMap(({ children }) => children ?? [])) resolveTargets(token, resolver);
  for (const [index, token] of tokens.entries()) {
    const sample = readSample(token, tokens[index + 1]);
    if (sample) token.meta = { after: explorerLinks(sample, resolver.server("graphiql")) };
  }
  addReferences(tokens, resolver);
  return markdown.renderer.render(tokens, markdown.options, {});
}

/** Renders paragraphs of Markdown. Links keep their targets. */
export function renderText(text: string): string {
  return markdown.render(text);
}

/** Adds the links to the reference below each heading; those of the page are below its first paragraph. */
function addReferences(tokens: readonly Token[], { references }: TargetResolver): void {
  const firstParagraph = tokens.findIndex(({ type }) => type === "paragraph_close");
  for (const [index, token] of tokens.entries()) {
    const isHeading = token.type === "heading_close" && token.tag !== "h1";
    if (isHeading || index === firstParagraph)
      token.meta = { after: references(isHeading ? plainText(tokens[index - 1] as Token) : null) };
  }
}

function resolveTargets(token: Token, resolver: TargetResolver): void {
  // Headings link to themselves: the anchor plug-in has set their targets.
  if (token.type === "link_open" && token.attrGet("class") !== "header-anchor")
    token.attrSet("href", resolver.link(String(token.attrGet("href"))));
  if (token.type === "image") {
    token.attrSet("src", resolver.image(String(token.attrGet("src"))));
    token.attrSet("loading", "lazy");
  }
}

/** Returns one line of Markdown without marks, for titles and search. */
export function plainText(inline: Token): string {
  return (inline.children ?? [])
    .map(({ type, content }) => (type === "softbreak" || type === "hardbreak" ? " " : content))
    .join("");
}

function highlightCode(code: string, language: string): string {
  return hljs.getLanguage(language) ? hljs.highlight(code, { language }).value : "";
}

const languageOf = (token: Token | undefined): string =>
  token?.type === "fence" ? (token.info.split(" ")[0] ?? "") : "";

/** True if both are code blocks of languages in `TAB_LABELS`, and of different ones. */
function areTabs(first: Token | undefined, second: Token | undefined): boolean {
  const languages = [languageOf(first), languageOf(second)];
  return languages[0] !== languages[1] && languages.every((language) => language in TAB_LABELS);
}

markdown.renderer.rules["fence"] = (tokens, index) => {
  const token = tokens[index] as Token;
  const language = languageOf(token);
  const code = highlightCode(token.content, language) || markdown.utils.escapeHtml(token.content);
  const continues = areTabs(tokens[index - 1], token);
  const isContinued = areTabs(token, tokens[index + 1]);
  const titles = continues || isContinued ? TAB_LABELS : TITLES;
  const isResponse = token.info.includes(" response");
  const title = isResponse ? "Response" : (titles[language] ?? language);
  return (
    (isContinued && !continues ? '<div class="tabs">' : "") +
    `<div class="code" data-language="${markdown.utils.escapeHtml(language)}"${isResponse ? " data-response" : ""}>` +
    `<div class="code-title">${markdown.utils.escapeHtml(title)}</div>` +
    `<pre tabindex="0"><code>${code}</code></pre>${htmlAfter(token)}</div>\n` +
    (continues && !isContinued ? "</div>\n" : "")
  );
};
/** Returns the HTML that `renderMarkdown` has added to a token. */
function htmlAfter({ meta }: Token): string {
  return (meta as { after?: string } | null)?.after ?? "";
}

const renderWithHtmlAfter: RendererRule = (tokens, index, options) =>
  `${markdown.renderer.renderToken(tokens, index, options)}${htmlAfter(tokens[index] as Token)}`;
markdown.renderer.rules["heading_close"] = renderWithHtmlAfter;
markdown.renderer.rules["paragraph_close"] = renderWithHtmlAfter;
markdown.renderer.rules["table_open"] = () => '<div class="table" tabindex="0"><table>';
markdown.renderer.rules["table_close"] = () => "</table></div>\n";
