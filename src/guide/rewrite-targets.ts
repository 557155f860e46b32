/** Rewrites the links and images of Markdown, for the Markdown that the server sends. */
import { invariant } from "../core/errors.ts";
import { parseMarkdown, type TargetResolver } from "./markdown.ts";

interface Target {
  kind: "link" | "image";
  url: string;
}

/** Returns `text` with the URLs that `resolver` gives for its links and images. Code is not changed. */
export function rewriteTargets(text: string, resolver: Pick<TargetResolver, "link" | "image">): string {
  const targets = targetsOf(text);
  const kinds = new Map(targets.map(({ kind, url }) => [url, kind]));
  const code = linesOfCode(text);
  // A label can continue on the next line, so only the end of a link is matched.
  const rewriteLine = (line: string): string =>
    line.replaceAll(/(?<=\]\()[^()\s]+(?=\))/g, (url) => {
      const kind = kinds.get(url);
      return kind ? resolver[kind](url) : url;
    });
  const rewritten = text
    .split("\n")
    .map((line, index) => (code.has(index) ? line : rewriteLine(line)))
    .join("\n");
  const found = targetsOf(rewritten);
  for (const [index, { kind, url }] of targets.entries())
    invariant(found[index]?.url === resolver[kind](url), `the link to ${url} has the form [label](target)`);
  return rewritten;
}

function targetsOf(text: string): Target[] {
  return parseMarkdown(text)
    .flatMap(({ children }) => children ?? [])
    .flatMap((token): Target[] => {
      if (token.type === "image") return [{ kind: "image", url: String(token.attrGet("src")) }];
      // Headings link to themselves: the anchor plug-in adds these links.
      const isLink = token.type === "link_open" && token.attrGet("class") !== "header-anchor";
      return isLink ? [{ kind: "link", url: String(token.attrGet("href")) }] : [];
    });
}

function linesOfCode(text: string): Set<number> {
  const lines = new Set<number>();
  for (const { type, map } of parseMarkdown(text))
    if ((type === "fence" || type === "code_block") && map)
      for (let line = map[0]; line < map[1]; line++) lines.add(line);
  return lines;
}
