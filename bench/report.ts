/** Formats results as Markdown and writes them between the markers of a docs page. */
import { readFile, writeFile } from "node:fs/promises";
import { cpus } from "node:os";
import { join } from "node:path";

/** A section of a page between two markers. Writing one part leaves the others as they are. */
export type ReportPart = keyof typeof parts;

/** The page in docs/engineering of each part, and the command that writes it. */
const parts = {
  jobs: ["performance/rest.md", "bench -- --write"],
  graphql: ["performance/graphql.md", "bench -- --write, graphql"],
  backlog: ["performance/deliveries.md", "bench -- --write, backlog"],
  latency: ["performance/deliveries.md", "bench -- --write, latency"],
  sizes: ["performance/growth.md", "bench:growth -- --write"],
  overload: ["performance/overload.md", "bench:overload -- --write"],
  neighbours: ["performance/overload.md", "bench:neighbours -- --write"],
  costs: ["capacity.md", "bench:simulate -- --write, costs"],
  fleet: ["capacity.md", "bench:simulate -- --write, fleet"],
} as const;

export const REPORT_PARTS = Object.keys(parts) as ReportPart[];

/** The machine and Node version of this run. */
export const machine = `${cpus().length} cores (${cpus()[0]?.model}), Node ${process.versions.node}`;

/** `2026-11-21` */
export function today(): string {
  return new Date().toISOString().slice(0, 10);
}

/** Returns the line above a table: the date, the machine and `details`. */
export function reportHeading(...details: string[]): string {
  return `${[today(), machine, ...details].join(", ")}.`;
}

/** Formats rows as a Markdown table; the first is its head. */
export function formatTable([head = [], ...rows]: readonly (readonly string[])[]): string {
  const lines = [head, head.map(() => "---"), ...rows].map((cells) => `| ${cells.join(" | ")} |`);
  return lines.join("\n");
}

/** A figure with its limits; `of` names it. */
export interface Judged {
  of: string;
  min?: number;
  max?: number;
  value: number;
}

/** Formats a figure, in bold if it misses a limit. */
export function formatJudged({ value, min = -Infinity, max = Infinity }: Omit<Judged, "of">): string {
  const text = formatNumber(value);
  return value < min || value > max ? `**${text}**` : text;
}

/** Returns two cells: the budgets, and the figures. */
export function formatBudgets(all: readonly Judged[]): [budgets: string, figures: string] {
  const limit = ({ of, min, max }: Judged): string =>
    min === undefined ? (max === undefined ? of : `${of} ≤ ${max}`) : `${of} ≥ ${min}`;
  return [all.map(limit).join("; "), all.map(formatJudged).join("; ")];
}

/** Prints the date, the machine, `details` and the text; with `isWritten` also into the section of `part`. */
export async function publish(
  part: ReportPart,
  details: readonly string[],
  text: string,
  isWritten: boolean,
): Promise<void> {
  await publishWithHeading(part, reportHeading(...details), text, isWritten);
}

/** The same below another heading. Throws if the page lacks the markers of `part`. */
export async function publishWithHeading(
  part: ReportPart,
  heading: string,
  text: string,
  isWritten: boolean,
): Promise<void> {
  console.log(`\n${heading}\n\n${text}`);
  if (!isWritten) return;
  const { path, begin, end, before, after } = await readReport(part);
  await writeFile(path, `${before}${begin}\n\n${heading}\n\n${text}\n\n${end}${after}`);
}

/** Returns the page of `part` and its text before, in and after the section. Throws if the page lacks its markers. */
export async function readReport(part: ReportPart): Promise<{
  path: string;
  begin: string;
  end: string;
  before: string;
  section: string;
  after: string;
}> {
  const [page, command] = parts[part];
  const path = join(import.meta.dirname, "../docs/engineering", page);
  const [begin, end] = [`<!-- npm run ${command}: begin -->`, `<!-- npm run ${command}: end -->`];
  const [before = "", rest = ""] = (await readFile(path, "utf8")).split(begin, 2);
  const [section = "", after] = rest.split(end, 2);
  if (after === undefined) throw new Error(`docs/engineering/${page} has no section ${begin}`);
  return { path, begin, end, before, section, after };
}

/** Rounds to two or three significant digits; whole numbers from 100. */
export function formatNumber(value: number): string {
  if (!Number.isFinite(value)) return "-";
  return value >= 100
    ? Math.round(value).toLocaleString("en")
    : String(Number(value.toPrecision(value < 10 ? 2 : 3)));
}
