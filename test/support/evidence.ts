/** Evidence ids: pages of `docs` list them in backticks, and a comment `// evidence: id` above a test defines them. */
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";

const ROOT = join(import.meta.dirname, "../..");

/** The pages whose tables list evidence. */
const PAGES = ["docs/engineering/faults.md", "docs/engineering/security.md"] as const;

/** File contents by path. */
type Files = Readonly<Record<string, string>>;

/** The cells of each table row, without header rows and the lines under them. */
export function tableRows(page: string): string[][] {
  return page
    .split("\n")
    .filter(
      (line, index, all) => line.startsWith("| ") && !isDivider(line) && !isDivider(all[index + 1] ?? ""),
    )
    .map((line) => line.slice(2, -2).split(" | "));
}

const isDivider = (line: string): boolean => /^\|[\s|-]+\|$/.test(line);

/** The ids in an evidence cell. */
export function parseEvidenceIds(cell: string): string[] {
  return [...cell.matchAll(/`([a-z0-9]+(?:-[a-z0-9]+)+)`/g)].map(([, id = ""]) => id);
}

/** Returns one message per problem: unknown, duplicate and unused ids, invalid evidence cells, misplaced comments. */
export function findEvidenceProblems({ pages, tests }: { pages: Files; tests: Files }): string[] {
  const problems: string[] = [];
  const defined = new Map<string, string[]>();
  for (const [file, text] of Object.entries(tests)) {
    for (const { ids, line, isAboveTest } of parseEvidenceComments(text)) {
      if (!isAboveTest)
        problems.push(`${file}:${line}: the evidence comment is not directly above a test that runs`);
      for (const id of ids) defined.set(id, [...(defined.get(id) ?? []), `${file}:${line}`]);
    }
  }
  const cells = Object.entries(pages).flatMap(([page, text]) =>
    listEvidenceCells(text).map((cell) => ({ page, cell, ids: parseEvidenceIds(cell) })),
  );
  for (const { page, cell, ids } of cells) {
    if (ids.length === 0 || ids.map((id) => `\`${id}\``).join(", ") !== cell)
      problems.push(`${page}: "${cell}" must list ids in backticks, separated by commas`);
    const unknown = ids.filter((id) => !defined.has(id));
    problems.push(...unknown.map((id) => `${page}: no test has the id ${id}`));
  }
  const named = new Set(cells.flatMap(({ ids }) => ids));
  for (const [id, places] of defined) {
    if (places.length > 1) problems.push(`${id} is defined more than once: ${places.join(", ")}`);
    if (!named.has(id)) problems.push(`${places.join(", ")}: no page names ${id}`);
  }
  return problems;
}

/** Returns the cells of Evidence columns, except those that start with a dash: they say why there is no test. */
function listEvidenceCells(page: string): string[] {
  return page
    .split(/^(?=\|.*\|\n\|[\s|-]+\|$)/m)
    .filter((part) => /^\|.*\| Evidence \|\n/.test(part))
    .flatMap((part) => tableRows(part).map((cells) => cells.at(-1) ?? ""))
    .filter((cell) => !cell.startsWith("– "));
}

interface EvidenceComment {
  ids: string[];
  line: number;
  isAboveTest: boolean;
}

function parseEvidenceComments(text: string): EvidenceComment[] {
  const withoutSkipped = text.replaceAll(SKIPPED_TEST, (skipped) => skipped.replaceAll(/[^\n]/g, ""));
  const runningLines = withoutSkipped.split("\n");
  return text.split("\n").flatMap((comment, index) => {
    const [, list] = /^\s*\/\/ evidence:(.*)$/.exec(comment) ?? [];
    if (list === undefined) return [];
    const ids = list.split(",").map((id) => id.trim());
    const isAboveTest =
      runningLines[index] !== "" && /^\s*(?:it|describe)\b/.test(runningLines[index + 1] ?? "");
    return [{ ids, line: index + 1, isAboveTest }];
  });
}

/** Matches a skipped or planned test or group, up to the closing line of the same indent. */
const SKIPPED_TEST = /^( *)(?:it|test|describe)(?:\.\w+)*\.(?:skip|todo)\b(?:.*;$|[^]*?^\1\S.*;$)/gm;

/** The pages of this project. */
export const readPages = (): Files => readAll(PAGES);

/** Every test file of this project. */
export const readTests = (): Files => readAll(globSync("test/**/*.{ts,tsx}", { cwd: ROOT }));

function readAll(paths: readonly string[]): Files {
  return Object.fromEntries(paths.map((path) => [path, readFileSync(join(ROOT, path), "utf8")]));
}
