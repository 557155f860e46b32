/** `waymark jobs export` */
import { createWriteStream } from "node:fs";
import { pipeline } from "node:stream/promises";
import { Command, Option } from "commander";
import { type FileFormat, fileFormats } from "../../../jobs/api.ts";
import { AppError } from "../../../platform/errors.ts";
import type { CliContext } from "../../context.ts";
import { formatFromFileName } from "../../input-file.ts";
import type { CliServices } from "../../services.ts";

interface Options {
  agent?: string;
  contractor?: string;
  status?: string;
  format?: FileFormat;
  out?: string;
}

const HELP_TEXT = `
With --json and without --out the one document on standard output is {"jobs": […], "exported": 2}; with --out it names the file.

The file can be imported again as it is, and changes nothing then. Organisations stand there by their ids. In CSV an
empty cell is null and one in quotes ("") an empty string.

Values are written as they are, also those that begin with =, +, - or @: a spreadsheet may take such a cell for a formula,
so import the file there as text.`;

export function jobsExportCommand(cli: CliContext): Command {
  return new Command("export")
    .description("write jobs to a file, in the order they were made")
    .option("--agent <org>", "only jobs of this agent: its id or exact name")
    .option("--contractor <org>", "only jobs assigned to this contractor: its id or exact name")
    .option("--status <code>", "only jobs with this normalized_status")
    .addOption(
      new Option("--format <format>", "the file's format (default: by the name of --out, else csv)").choices(
        fileFormats,
      ),
    )
    .option("--out <file>", "where to write (default: standard output)")
    .addHelpText("after", HELP_TEXT)
    .action(async (options: Options) => {
      const { out, format = "ndjson" } = options;
      if (cli.output.isJson && out === undefined && format === "csv")
        throw new AppError(
          "BadRequestException",
          "--json prints no CSV: give --out, or leave out one of both",
        );
      await cli.withServices((services, signal) => exportFile(cli, services, { options, signal }));
    });
}

async function exportFile(
  cli: CliContext,
  services: CliServices,
  { options, signal }: { options: Options; signal: AbortSignal },
): Promise<void> {
  const { exportJobs } = await import("../../../jobs/api.ts");
  const { out, status } = options;
  const isDocument = cli.output.isJson && out === undefined;
  const format = isDocument ? "ndjson" : (options.format ?? formatFromFileName(out ?? "") ?? "csv");
  const query = {
    format,
    ...(await resolveOrganizations(services, options)),
    filter: { normalizedStatus: await requireKnownStatus(services, status) },
  };
  let exported = 0;
  async function* texts(): AsyncGenerator<string> {
    for await (const { text, jobCount } of exportJobs(services.database, query)) {
      exported += jobCount;
      yield text;
    }
  }
  const stream = isDocument ? toJsonDocument(texts(), () => exported) : texts();
  if (out === undefined) await pipeline(stream, process.stdout, { signal, end: false });
  else await pipeline(texts, createWriteStream(out), { signal });
  const summary = `${exported.toLocaleString("en")} ${exported === 1 ? "job" : "jobs"} exported.`;
  if (isDocument) return;
  if (out === undefined) cli.output.printStatus(summary);
  else cli.output.printResult({ exported, format, out }, summary);
}

/** Lines of JSON as one document, printed while it is read. */
async function* toJsonDocument(lines: AsyncIterable<string>, exported: () => number): AsyncGenerator<string> {
  let separator = '{"jobs":[\n';
  for await (const text of lines) {
    yield separator + text.trimEnd().replaceAll("\n", ",\n");
    separator = ",\n";
  }
  yield `${separator === ",\n" ? "\n" : separator}],"exported":${exported()}}\n`;
}

async function resolveOrganizations({ organizations }: CliServices, { agent, contractor }: Options) {
  return {
    agentId: agent === undefined ? undefined : (await organizations.get(agent, "agent")).id,
    contractorId:
      contractor === undefined ? undefined : (await organizations.get(contractor, "contractor")).id,
  };
}

async function requireKnownStatus(
  { referenceData }: CliServices,
  status: string | undefined,
): Promise<string | undefined> {
  if (status === undefined || (await referenceData.isKnownStatus(status))) return status;
  const known = (await referenceData.statuses()).map(({ code }) => code);
  throw new AppError("BadRequestException", `There is no status "${status}"; known are ${known.join(", ")}`);
}
