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
With --json and without --out, standard output is {"jobs": […], "exported": 2}; with --out, the document names the file.

Importing the file again changes nothing. Organisations are written as IDs. In CSV, an empty cell means null and an
empty cell in quotes ("") means an empty string.

Values are not escaped for spreadsheets. A value that begins with =, +, - or @ may be read as a formula, so import the
file into a spreadsheet as text.`;

export function jobsExportCommand(cli: CliContext): Command {
  return new Command("export")
    .description("export jobs to a file, oldest first")
    .option("--agent <org>", "only jobs of this agent (ID or exact name)")
    .option("--contractor <org>", "only jobs assigned to this contractor (ID or exact name)")
    .option("--status <code>", "only jobs with this normalized_status")
    .addOption(
      new Option("--format <format>", "file format (default: from the name of --out, otherwise csv)").choices(
        fileFormats,
      ),
    )
    .option("--out <file>", "output file (default: standard output)")
    .addHelpText("after", HELP_TEXT)
    .action(async (options: Options) => {
      const { out, format = "ndjson" } = options;
      if (cli.output.isJson && out === undefined && format === "csv")
        throw new AppError(
          "BadRequestException",
          "--json cannot print CSV: add --out, or remove --json or --format csv",
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

/** Streams NDJSON lines as one JSON document with a `jobs` array. */
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
  throw new AppError(
    "BadRequestException",
    `Unknown status "${status}"; known statuses: ${known.join(", ")}`,
  );
}
