/** `waymark jobs import` */
import { Command, Option } from "commander";
import { type FileFormat, fileFormats } from "../../../jobs/api.ts";
import { cliAuditContext, type CliContext } from "../../context.ts";
import { ImportReporter, MAX_LISTED_FAILURES } from "../../import-reporter.ts";
import { startProgressBar } from "../../progress-bar.ts";
import { resolveInputFile, type InputFile } from "../../input-file.ts";
import type { CliServices } from "../../services.ts";

interface Options {
  agent?: string;
  contractor?: string;
  format?: FileFormat;
  dryRun?: true;
}

const HELP_TEXT = `
The file is UTF-8, either CSV (RFC 4180, with a header; columns in any order) or NDJSON (one object per line, with the
column names as keys). Columns: marking_number, agent and contractor (ID or exact name of an organisation),
provider_status, and the 16 editable fields of the API. Each row updates the job with its Marking Number, or creates it.

A missing column leaves the job's field unchanged. An empty CSV cell means null; an empty cell in quotes ("") means an
empty string. --agent applies to rows without an agent. --contractor applies if the file has no contractor column; an
empty contractor cell means no contractor. A row without an agent can only update a job: a new job needs an agent.

Rows are imported in batches of 1,000, in file order; the same Marking Number may occur more than once. Failed rows are
listed by line on standard error, the others are imported, and the exit code is 1. With --json, the document lists the
first ${MAX_LISTED_FAILURES} failed rows, and failures_left_out counts the rest. An interrupted import can be repeated: rows that
were imported count as unchanged. A dry run counts a Marking Number that occurs in two batches as new both times.`;

export function jobsImportCommand(cli: CliContext): Command {
  return new Command("import")
    .description("create and update jobs from a file")
    .argument("<file>", "file to import; - reads standard input")
    .option("--agent <org>", "agent of rows that name none (ID or exact name)")
    .option(
      "--contractor <org>",
      "contractor of all jobs, if the file has no contractor column (ID or exact name)",
    )
    .addOption(
      new Option("--format <format>", "file format (default: from the file name)").choices(fileFormats),
    )
    .option("--dry-run", "validate and count without changing anything")
    .addHelpText("after", HELP_TEXT)
    .action(async (file: string, options: Options) => {
      const input = await resolveInputFile(file, options.format);
      await cli.withServices((services, signal) => importFile(cli, services, { input, options, signal }));
    });
}

interface ImportRun {
  input: InputFile;
  options: Options;
  signal: AbortSignal;
}

async function importFile(
  cli: CliContext,
  services: CliServices,
  { input, options, signal }: ImportRun,
): Promise<void> {
  const { createImportService } = await import("../../../jobs/api.ts");
  const { agent, contractor, dryRun = false } = options;
  const bytes = input.open(signal);
  const progress = startProgressBar(input.size);
  const reporter = new ImportReporter(progress.printLine);
  const request = { format: input.format, fileName: input.name, agent, contractor, dryRun };
  try {
    for await (const event of createImportService(services).run(cliAuditContext, request, {
      chunks: bytes,
      signal,
    })) {
      if (event.type === "progress") {
        reporter.add(event);
        progress.update("bytesRead" in bytes ? Number(bytes.bytesRead) : 0, reporter.rows);
      } else if (event.error !== null) throw event.error as Error;
    }
  } catch (error) {
    if (reporter.rows > 0) progress.printLine(`Import stopped. Rows processed so far: ${reporter.summary()}`);
    throw error;
  } finally {
    progress.stop();
    bytes.destroy();
  }
  cli.exitCode = reporter.counts.failed > 0 ? 1 : 0;
  const text = `${dryRun ? "Dry run, nothing changed. An import would give: " : ""}${reporter.summary()}`;
  cli.output.printResult({ dry_run: dryRun, ...reporter.toDocument() }, text);
}
