/** `waymark jobs` */
import { createReadStream, createWriteStream } from "node:fs";
import { stat } from "node:fs/promises";
import { basename, extname } from "node:path";
import { addAbortSignal } from "node:stream";
import { pipeline } from "node:stream/promises";
import {
  dateOrders,
  fileFormats,
  type ImportCounts,
  type ImportFormat,
  importFormats,
  type ImportProgress,
  type ImportSummary,
  type RowFailure,
} from "../../jobs/api.ts";
import { AppError, invariant } from "../../core/errors.ts";
import { commandGroup, serviceCommand } from "../command.ts";
import { cliAuditContext, type CliProcess } from "../context.ts";
import { escapeControlCharacters, toDocument } from "../output.ts";

const IMPORT_HELP_TEXT = `
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

const EXPORT_HELP_TEXT = `
With --json and without --out, standard output is {"jobs": […], "exported": 2}; with --out, the document names the file.

Importing the file again changes nothing. Organisations are written as IDs. In CSV, an empty cell means null and an
empty cell in quotes ("") means an empty string.

Values are not escaped for spreadsheets. A value that begins with =, +, - or @ may be read as a formula, so import the
file into a spreadsheet as text.`;

const MAX_MARKING_NUMBER_LENGTH = 60;

const badRequest = (message: string) => new AppError("BadRequestException", message);

/** Returns the format for the file name's extension; undefined if it has none or an unknown one. */
function formatFromFileName(file: string): ImportFormat | undefined {
  const extension = extname(file).slice(1).toLowerCase();
  return extension === "jsonl" ? "ndjson" : importFormats.find((format) => format === extension);
}

const importCommand = serviceCommand("import", {
  description: "create and update jobs from a file",
  argument: ["<file>", "file to import; - reads standard input"],
  options: {
    agent: { value: "<org>", text: "agent of rows that name none (ID or exact name)" },
    contractor: { value: "<org>", text: "contractor if the file has no such column (ID or exact name)" },
    format: { value: "<format>", text: "file format (default: from the file name)", choices: importFormats },
    dates: { value: "<order>", text: "order in dates as text: 31/12/2026 is dmy", choices: dateOrders },
    dryRun: { text: "validate and count without changing anything" },
  },
  help: IMPORT_HELP_TEXT,
  async run({ imports, host, output, signal }, options, file) {
    const { dryRun = false, format = formatFromFileName(file), ...settings } = options;
    const isFile = file !== "-";
    if (format === undefined)
      throw badRequest(
        `Cannot detect the format of ${isFile ? file : "standard input"}: specify --format ${importFormats.join(" or --format ")}`,
      );
    const size = isFile ? (await stat(file)).size : 0;
    const source = isFile ? createReadStream(file) : host.stdin;
    const chunks = addAbortSignal(signal, source);
    const request = { ...settings, dryRun, format, fileName: isFile ? basename(file) : undefined };
    let summary: ImportSummary | undefined;
    try {
      for await (const event of imports.run(cliAuditContext, request, { chunks, signal })) {
        if (event.type === "report") summary = event;
        else showProgress(host, event, size > 0 && "bytesRead" in source ? source.bytesRead / size : null);
      }
    } finally {
      if (host.stderr.isTTY) host.stderr.write(CLEAR_LINE);
      source.destroy();
    }
    invariant(summary, "an import ends with a report");
    const { counts, failures, failuresOmitted, error } = summary;
    if (error !== null) {
      output.printStatus(`Import stopped. Rows processed so far: ${formatCounts(counts)}`);
      throw error as Error;
    }
    return {
      data: { dryRun, ...counts, failures: failures.map(toDocument), failuresOmitted },
      text: `${dryRun ? "Dry run, nothing changed. An import would give: " : ""}${formatCounts(counts)}`,
      exitCode: counts.failed > 0 ? 1 : 0,
    };
  },
});

const CLEAR_LINE = "\r\u001B[K";

/** Prints the failed rows, and on a terminal the rows so far below them. `share`: of the file, 0 to 1; null if unknown. */
function showProgress(
  { stderr }: CliProcess,
  { failures, counts }: ImportProgress,
  share: number | null,
): void {
  const clear = stderr.isTTY ? CLEAR_LINE : "";
  for (const line of failures.flatMap(formatRowFailure)) stderr.write(`${clear}${line}\n`);
  if (!stderr.isTTY) return;
  const percent = share === null ? "" : `${Math.floor(share * 100)} %, `;
  stderr.write(`${clear}${percent}${formatCounts(counts)}`);
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

const exportCommand = serviceCommand("export", {
  description: "export jobs to a file, oldest first",
  options: {
    agent: { value: "<org>", text: "only jobs of this agent (ID or exact name)" },
    contractor: { value: "<org>", text: "only jobs assigned to this contractor (ID or exact name)" },
    status: { value: "<code>", text: "only jobs with this normalized_status" },
    format: { value: "<format>", text: "default: from the name of --out, or csv", choices: fileFormats },
    out: { value: "<file>", text: "output file (default: standard output)" },
  },
  help: EXPORT_HELP_TEXT,
  async run({ organizations, referenceData, exportJobs, host, output, signal }, options) {
    const { agent, contractor, status, out } = options;
    const isDocument = output.isJson && out === undefined;
    if (isDocument && options.format === "csv")
      throw badRequest("--json cannot print CSV: add --out, or remove --json or --format csv");
    const format = isDocument ? "ndjson" : (options.format ?? formatFromFileName(out ?? "") ?? "csv");
    if (format === "xlsx")
      throw badRequest("jobs export writes no .xlsx; name a .csv file, which Excel opens");
    const known: string[] = (await referenceData.statuses()).map(({ code }) => code);
    if (status !== undefined && !known.includes(status))
      throw badRequest(`Unknown status "${status}"; known statuses: ${known.join(", ")}`);
    const idsOf = async (org: string | undefined, type: "agent" | "contractor") =>
      org === undefined ? null : [(await organizations.get(org, type)).id];
    const filter = {
      agentId: await idsOf(agent, "agent"),
      contractorId: await idsOf(contractor, "contractor"),
      normalizedStatus: { eq: status },
    };
    let exported = 0;
    const texts = async function* (): AsyncGenerator<string> {
      for await (const { text, jobCount } of exportJobs({ format, filter })) {
        exported += jobCount;
        yield text;
      }
    };
    const text = () => `${exported.toLocaleString("en")} ${exported === 1 ? "job" : "jobs"} exported.`;
    if (out !== undefined) {
      await pipeline(texts, createWriteStream(out), { signal });
      return { data: { exported, format, out }, text: text() };
    }
    const stream = isDocument ? toJsonDocument(texts(), () => exported) : texts();
    await pipeline(stream, host.stdout, { signal, end: false });
    if (!isDocument) output.printStatus(text());
    return undefined;
  },
});

/** Streams NDJSON lines as one JSON document with a `jobs` array. */
async function* toJsonDocument(lines: AsyncIterable<string>, exported: () => number): AsyncGenerator<string> {
  let separator = '{"jobs":[\n';
  for await (const text of lines) {
    yield separator + text.trimEnd().replaceAll("\n", ",\n");
    separator = ",\n";
  }
  yield `${separator === ",\n" ? "\n" : separator}],"exported":${exported()}}\n`;
}

export const jobCommands = commandGroup("jobs", "import and export jobs", [importCommand, exportCommand]);
