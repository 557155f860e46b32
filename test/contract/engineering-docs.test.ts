/** Checks the links of the engineering notes, and the sections that benchmarks write. */
import { existsSync, globSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import { readReport, REPORT_PARTS } from "../../bench/report.ts";

const root = join(import.meta.dirname, "../..");
const read = (path: string): string => readFileSync(join(root, path), "utf8");
const list = (pattern: string): string[] => globSync(pattern, { cwd: root }).toSorted();

/** Returns the anchors of the headings of a page. */
function anchorsOf(text: string): string[] {
  return [...text.matchAll(/^#+ (.+)$/gm)].map(([, heading = ""]) =>
    heading
      .toLowerCase()
      .replaceAll(/[^\w\- ]/g, "")
      .replaceAll(" ", "-"),
  );
}

describe("the engineering notes and decisions", () => {
  const pages = list("{*.md,docs/engineering/**/*.md,docs/decisions/*.md}");

  it("link to existing files and headings", () => {
    const broken = pages.flatMap((from) =>
      [...read(from).matchAll(/\]\((?!https?:)([^)#\s]*)(?:#([^)\s]+))?\)/g)].flatMap(
        ([link, path = "", anchor]) => {
          const to = path === "" ? from : join(dirname(from), path);
          if (!existsSync(join(root, to))) return [`${from}: ${link}`];
          return anchor === undefined || anchorsOf(read(to)).includes(anchor) ? [] : [`${from}: ${link}`];
        },
      ),
    );
    expect(pages.length).toBeGreaterThan(70);
    expect(broken).toEqual([]);
  });

  it.each(REPORT_PARTS)("have a section for the figures of %s, with a table", async (part) => {
    const { section, before, after } = await readReport(part);
    expect(section).toMatch(/^\| /m);
    // The markers of one part do not enclose those of another.
    for (const text of [before, section, after])
      expect(text.match(/: begin -->/g) ?? []).toHaveLength((text.match(/: end -->/g) ?? []).length);
  });

  it("name only files and folders that exist", () => {
    const named = pages.flatMap((page) =>
      [...read(page).matchAll(/`((?:src|test|bench|scripts|schema|docs|deploy)(?:\/[\w.*-]+)+)\/?`/g)].map(
        ([, path = ""]) => ({ page, path }),
      ),
    );
    expect(named.length).toBeGreaterThan(100);
    const missing = named.filter(({ path }) => list(path).length === 0);
    expect(missing).toEqual([
      { page: "docs/decisions/0001-record-decisions.md", path: "docs/decisions/NNNN-title.md" },
    ]);
  });

  it("name only scripts of package.json", () => {
    const { scripts } = JSON.parse(read("package.json")) as { scripts: Record<string, string> };
    const named = list("{*.md,docs/**/*.md}").flatMap((page) =>
      [...read(page).matchAll(/npm run ([\w:]+)/g)].map(([, name = ""]) => ({ page, name })),
    );
    expect(named.length).toBeGreaterThan(50);
    expect(named.filter(({ name }) => scripts[name] === undefined)).toEqual([]);
  });

  it("are all in an index of their folder", () => {
    const missing = list("docs/{engineering/**,decisions}/*.md").filter((page) => {
      const index = join(dirname(page), "README.md");
      return page !== index && !read(index).includes(`](${page.slice(dirname(page).length + 1)})`);
    });
    expect(missing).toEqual([]);
  });
});
