/** A file with the original cells of the failed rows and a column with the reason. The user corrects it and imports it. */
import { BYTE_ORDER_MARK, csvLine } from "../../../app/csv.ts";
import { mediaTypes, writeFile } from "../export/export-file.ts";
import { columnLabel } from "./columns.ts";
import type { ImportFailure, ImportPlan } from "./import-api.ts";

/** No guess of a column takes it for a field. */
const ERROR_COLUMN = "Error";

/** A workbook for a workbook, else CSV with the separator of the file. */
export async function errorsFile(plan: ImportPlan, failures: readonly ImportFailure[]): Promise<File> {
  const name = `${plan.fileName.replace(/\.[^.]+$/, "")}-errors`;
  const [header, ...rows] = plan.format === "ndjson" ? listOf(failures) : rowsOf(plan, failures);
  if (plan.format === "xlsx") {
    const columns = (header ?? []).map((text) => ({ header: text, kind: "text" as const }));
    return new File([await writeFile("xlsx", columns, yieldAll(rows))], `${name}.xlsx`);
  }
  const lines = [header ?? [], ...rows].map((cells) => csvLine(cells, plan.delimiter));
  return new File([BYTE_ORDER_MARK, ...lines], `${name}.csv`, { type: mediaTypes.csv });
}

function rowsOf({ names }: ImportPlan, failures: readonly ImportFailure[]): string[][] {
  // A row can have more cells than the header.
  const width = Math.max(names.length, ...failures.map(({ cells = [] }) => cells.length));
  const fill = (cells: readonly string[]): string[] =>
    Array.from({ length: width }, (_, index) => cells[index] ?? "");
  return [
    [...fill(names), ERROR_COLUMN],
    ...failures.map(({ cells = [], problems }) => [...fill(cells), problems.map(describe).join("; ")]),
  ];
}

function describe({ field, message }: ImportFailure["problems"][number]): string {
  return `${field === null ? "The row" : columnLabel(field)} ${message}`;
}

/** One line per problem. The objects of NDJSON have no columns. */
function listOf(failures: readonly ImportFailure[]): string[][] {
  const lines = failures.flatMap(({ line, marking_number: number, problems }) =>
    problems.map(({ field, message }) => [String(line), number ?? "", field ?? "", message]),
  );
  return [["line", "marking_number", "field", "reason"], ...lines];
}

async function* yieldAll(rows: readonly string[][]): AsyncGenerator<string[]> {
  yield* rows;
}
