/** `waymark jobs import` */
import { Command, Option } from "commander";
import { NO_SOURCE } from "../../../audit/api.ts";
import { type FileFormat, fileFormats } from "../../../jobs/api.ts";
import { systemActor } from "../../../platform/principal.ts";
import type { CliContext } from "../../context.ts";
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
The file, in UTF-8, is CSV (RFC 4180, its header naming the columns in any order) or NDJSON (an object a line, with the
same names as keys): marking_number, agent and contractor (an organisation's id or exact name), provider_status, and the
contract's 16 editable fields. Jobs are found by their Marking Number, made where they are not there.

An absent column leaves a job's field as it is; an empty CSV cell is null, and in quotes ("") an empty string.
--agent stands in where a row names none, --contractor where the file has no such column (an empty cell there: nobody).
Without an agent a row changes the job with its Marking Number, and fails if there is none: a new job needs an agent.

Rows go in by the thousand, in their order; a Marking Number may come again. Failed rows are told by line on standard
error, while the others go in; the exit code is 1 then. With --json the document lists the first ${MAX_LISTED_FAILURES} of them and
says in failures_left_out how many more there were. An import that was cut short can be run again: what is in already is
unchanged. A dry run counts a Marking Number that comes again in a later thousand as if it came first.`;

export function jobsImportCommand(cli: CliContext): Command {
  return new Command("import")
    .description("make and change jobs from a file")
    .argument("<file>", "the file to import; - is standard input")
    .option("--agent <org>", "the agent of rows that name none")
    .option("--contractor <org>", "the contractor of the jobs, where the file has no such column")
    .addOption(
      new Option("--format <format>", "the file's format (default: by its name)").choices(fileFormats),
    )
    .option("--dry-run", "check and count everything, change nothing")
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
  const context = { actor: systemActor, ...NO_SOURCE };
  try {
    for await (const event of createImportService(services).run(context, request, {
      chunks: bytes,
      signal,
    })) {
      if (event.type === "progress") {
        reporter.add(event);
        progress.update("bytesRead" in bytes ? Number(bytes.bytesRead) : 0, reporter.rows);
      } else if (event.error !== null) throw event.error as Error;
    }
  } catch (error) {
    if (reporter.rows > 0) progress.printLine(`Stopped. Until then: ${reporter.summary()}`);
    throw error;
  } finally {
    progress.stop();
    bytes.destroy();
  }
  cli.exitCode = reporter.counts.failed > 0 ? 1 : 0;
  const text = `${dryRun ? "Dry run, nothing was changed. It would be: " : ""}${reporter.summary()}`;
  cli.output.printResult({ dry_run: dryRun, ...reporter.toDocument() }, text);
}
