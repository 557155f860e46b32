/** `waymark jobs import` */
import {
  dateOrders,
  type ImportCounts,
  importFormats,
  type ImportProgress,
  type ImportSummary,
  type RowFailure,
} from "../../jobs/api.ts";
import { invariant } from "../../core/errors.ts";
import { choice, command, flag, option, type Result, type OptionValues } from "../command.ts";
import { cliAuditContext, withServices, type CliContext, type CliServices } from "../context.ts";
import { resolveInputFile, type InputFile } from "../input-file.ts";
import { escapeControlCharacters, toDocument } from "../output.ts";
import { startProgressBar, type ProgressBar } from "../progress-bar.ts";

const HELP_TEXT = `
The file is CSV (RFC 4180, UTF-8, with a header; columns in any order), the first sheet of an Excel workbook (.xlsx, up
to 16 MiB) with the same columns, or NDJSON (one object per line, with the column names as keys). Columns: marking_number,
agent and contractor (ID or exact name of an organisation), provider_status, and the 16 editable fields of the API. Each
row updates the job with its Marking Number, or creates it.

A missing column leaves the job's field unchanged. An empty cell means null; in CSV, an empty cell in quotes ("") means
an empty string. Dates are YYYY-MM-DD or dates of Excel, and with --dates also 31/12/2026, 31.12.2026 or 31-12-2026.

--agent applies to rows without an agent. --contractor applies if the file has no contractor column; an empty contractor
cell means no contractor. A row without an agent can only update a job: a new job needs an agent.

Rows are imported in batches of 1,000, in file order; the same Marking Number may occur more than once. Failed rows are
listed by line on standard error, the others are imported, and the exit code is 1. With --json, the document lists
failed rows up to 2 MB, and failures_omitted counts the rest. An interrupted import can be repeated: rows that were
imported count as unchanged. A dry run counts a Marking Number that occurs in two batches as new both times.`;

const MAX_MARKING_NUMBER_LENGTH = 60;

const optionSpecs = {
  agent: option("<org>", "agent of rows that name none (ID or exact name)"),
  contractor: option(
    "<org>",
    "contractor of all jobs, if the file has no contractor column (ID or exact name)",
  ),
  format: choice("<format>", "file format (default: from the file name)", importFormats),
  dates: choice("<order>", "how a CSV or Excel file writes dates as text: 31/12/2026 is dmy", dateOrders),
  dryRun: flag("validate and count without changing anything"),
};
type Options = OptionValues<typeof optionSpecs>;

export const jobsImportCommand = command("import", {
  description: "create and update jobs from a file",
  argument: ["<file>", "file to import; - reads standard input"],
  options: optionSpecs,
  help: HELP_TEXT,
  async run(cli, options, file) {
    const input = await resolveInputFile(file, options.format, cli.host.stdin);
    return await withServices(cli, (services, signal) =>
      importFile(cli, services, { input, options, signal }),
    );
  },
});

interface ImportRun {
  input: InputFile;
  options: Options;
  signal: AbortSignal;
}

async function importFile(
  cli: CliContext,
  { imports }: CliServices,
  { input, options, signal }: ImportRun,
): Promise<Result> {
  const { agent, contractor, dates, dryRun = false } = options;
  const bytes = input.open(signal);
  const progress = startProgressBar(input.size, cli.host.stderr);
  const request = { format: input.format, fileName: input.name, agent, contractor, dates, dryRun };
  let summary: ImportSummary | undefined;
  try {
    for await (const event of imports.run(cliAuditContext, request, { chunks: bytes, signal })) {
      if (event.type === "report") summary = event;
      else showProgress(progress, event, "bytesRead" in bytes ? Number(bytes.bytesRead) : 0);
    }
  } finally {
    progress.stop();
    bytes.destroy();
  }
  invariant(summary, "an import ends with a report");
  return summaryResult(cli, summary);
}

function showProgress(progress: ProgressBar, { failures, counts }: ImportProgress, bytes: number): void {
  for (const line of failures.flatMap(formatRowFailure)) progress.printLine(line);
  progress.update(bytes, counts.created + counts.updated + counts.unchanged + counts.failed);
}

/** Throws the error that stopped the import, if there is one. */
function summaryResult(
  { output }: CliContext,
  { dryRun, counts, failures, failuresOmitted, error }: ImportSummary,
): Result {
  if (error !== null) {
    output.printStatus(`Import stopped. Rows processed so far: ${formatCounts(counts)}`);
    throw error as Error;
  }
  return {
    document: {
      dry_run: dryRun,
      ...counts,
      failures: failures.map(toDocument),
      failures_omitted: failuresOmitted,
    },
    text: `${dryRun ? "Dry run, nothing changed. An import would give: " : ""}${formatCounts(counts)}`,
    exitCode: counts.failed > 0 ? 1 : 0,
  };
}

function formatCounts({ created, updated, unchanged, failed }: ImportCounts): string {
  const parts = Object.entries({ created, updated, unchanged, failed });
  return `${parts.map(([name, count]) => `${count.toLocaleString("en")} ${name}`).join(", ")}.`;
}

function formatRowFailure({ line, markingNumber, problems }: RowFailure): string[] {
  const number = markingNumber === null ? "" : ` (${markingNumber.slice(0, MAX_MARKING_NUMBER_LENGTH)})`;
  return problems.map(({ field, message }) =>
    escapeControlCharacters(`line ${line}${number}: ${field === null ? "" : `${field}: `}${message}`),
  );
}
