/** `waymark jobs import` */
import { Command, Option } from "commander";
import { NO_ORIGIN } from "../accounts/audit.service.ts";
import { fileFormats, type FileFormat } from "../jobs/job.import.rows.ts";
import { systemActor } from "../platform/principal.ts";
import type { Cli } from "./cli.ts";
import { ImportTally, MAX_LISTED } from "./import-tally.ts";
import { startProgress } from "./import-progress.ts";
import { findInput, type InputFile } from "./input-file.ts";
import type { Services } from "./open-services.ts";

interface Options {
  agent?: string;
  contractor?: string;
  format?: FileFormat;
  dryRun?: true;
}

const NOTES = `
The file, in UTF-8, is CSV (RFC 4180, its header naming the columns in any order) or NDJSON (an object a line, with the
same names as keys): marking_number, agent and contractor (an organisation's id or exact name), provider_status, and the
contract's 16 editable fields. Jobs are found by their Marking Number, made where they are not there.

An absent column leaves a job's field as it is; an empty CSV cell is null, and in quotes ("") an empty string.
--agent stands in where a row names none, --contractor where the file has no such column (an empty cell there: nobody).
Without an agent a row changes the job with its Marking Number, and fails if there is none: a new job needs an agent.

Rows go in by the thousand, in their order; a Marking Number may come again. Failed rows are told by line on standard
error, while the others go in; the exit code is 1 then. With --json the document lists the first ${MAX_LISTED} of them and
says in failures_left_out how many more there were. An import that was cut short can be run again: what is in already is
unchanged. A dry run counts a Marking Number that comes again in a later thousand as if it came first.`;

export function jobsImport(cli: Cli): Command {
  return new Command("import")
    .description("make and change jobs from a file")
    .argument("<file>", "the file to import; - is standard input")
    .option("--agent <org>", "the agent of rows that name none")
    .option("--contractor <org>", "the contractor of the jobs, where the file has no such column")
    .addOption(
      new Option("--format <format>", "the file's format (default: by its name)").choices(fileFormats),
    )
    .option("--dry-run", "check and count everything, change nothing")
    .addHelpText("after", NOTES)
    .action(async (file: string, options: Options) => {
      const input = await findInput(file, options.format);
      await cli.withServices((services, signal) => importFile(cli, services, { input, options, signal }));
    });
}

interface Import {
  input: InputFile;
  options: Options;
  signal: AbortSignal;
}

async function importFile(cli: Cli, services: Services, { input, options, signal }: Import): Promise<void> {
  const { createImportService } = await import("../jobs/job.import.service.ts");
  const { agent, contractor, dryRun = false } = options;
  const bytes = input.open(signal);
  const progress = startProgress(input.size);
  const tally = new ImportTally(progress.tell);
  const request = { format: input.format, fileName: input.name, agent, contractor, dryRun };
  const context = { actor: systemActor, ...NO_ORIGIN };
  try {
    for await (const told of createImportService(services).run(context, request, { chunks: bytes, signal })) {
      if (told.type === "progress") {
        tally.add(told);
        progress.advance("bytesRead" in bytes ? Number(bytes.bytesRead) : 0, tally.rows);
      } else if (told.stopped !== null) throw told.stopped as Error;
    }
  } catch (error) {
    if (tally.rows > 0) progress.tell(`Stopped. Until then: ${tally.summary()}`);
    throw error;
  } finally {
    progress.stop();
    bytes.destroy();
  }
  cli.exitCode = tally.counts.failed > 0 ? 1 : 0;
  const text = `${dryRun ? "Dry run, nothing was changed. It would be: " : ""}${tally.summary()}`;
  cli.output.result({ dry_run: dryRun, ...tally.document() }, text);
}
