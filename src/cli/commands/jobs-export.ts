/** `waymark jobs export` */
import { createWriteStream } from "node:fs";
import { pipeline } from "node:stream/promises";
import { type FileFormat, fileFormats } from "../../jobs/api.ts";
import { AppError } from "../../core/errors.ts";
import { choice, command, option, type Result, type OptionValues } from "../command.ts";
import { withServices, type CliContext, type CliServices } from "../context.ts";
import { formatFromFileName } from "../input-file.ts";

const HELP_TEXT = `
With --json and without --out, standard output is {"jobs": […], "exported": 2}; with --out, the document names the file.

Importing the file again changes nothing. Organisations are written as IDs. In CSV, an empty cell means null and an
empty cell in quotes ("") means an empty string.

Values are not escaped for spreadsheets. A value that begins with =, +, - or @ may be read as a formula, so import the
file into a spreadsheet as text.`;

const optionSpecs = {
  agent: option("<org>", "only jobs of this agent (ID or exact name)"),
  contractor: option("<org>", "only jobs assigned to this contractor (ID or exact name)"),
  status: option("<code>", "only jobs with this normalized_status"),
  format: choice("<format>", "file format (default: from the name of --out, otherwise csv)", fileFormats),
  out: option("<file>", "output file (default: standard output)"),
};
type Options = OptionValues<typeof optionSpecs>;

export const jobsExportCommand = command("export", {
  description: "export jobs to a file, oldest first",
  options: optionSpecs,
  help: HELP_TEXT,
  async run(cli, options) {
    if (cli.output.isJson && options.out === undefined && options.format === "csv")
      throw new AppError(
        "BadRequestException",
        "--json cannot print CSV: add --out, or remove --json or --format csv",
      );
    return await withServices(cli, (services, signal) => exportFile(cli, services, { options, signal }));
  },
});

async function exportFile(
  cli: CliContext,
  services: CliServices,
  { options, signal }: { options: Options; signal: AbortSignal },
): Promise<Result | undefined> {
  const { out, status } = options;
  const isDocument = cli.output.isJson && out === undefined;
  const format = isDocument ? "ndjson" : (options.format ?? formatOf(out));
  const query = {
    format,
    filter: {
      ...(await organizationFilter(services, options)),
      normalizedStatus: { eq: await requireKnownStatus(services, status) },
    },
  };
  let exported = 0;
  async function* texts(): AsyncGenerator<string> {
    for await (const { text, jobCount } of services.exportJobs(query)) {
      exported += jobCount;
      yield text;
    }
  }
  const stream = isDocument ? toJsonDocument(texts(), () => exported) : texts();
  if (out === undefined) await pipeline(stream, cli.host.stdout, { signal, end: false });
  else await pipeline(texts, createWriteStream(out), { signal });
  const summary = `${exported.toLocaleString("en")} ${exported === 1 ? "job" : "jobs"} exported.`;
  if (out !== undefined) return { document: { exported, format, out }, text: summary };
  if (!isDocument) cli.output.printStatus(summary);
  return undefined;
}

function formatOf(out = ""): FileFormat {
  const format = formatFromFileName(out) ?? "csv";
  if (format !== "xlsx") return format;
  throw new AppError(
    "BadRequestException",
    "jobs export writes no .xlsx; name a .csv file, which Excel opens",
  );
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

async function organizationFilter({ organizations }: CliServices, { agent, contractor }: Options) {
  return {
    agentId: agent === undefined ? null : [(await organizations.get(agent, "agent")).id],
    contractorId: contractor === undefined ? null : [(await organizations.get(contractor, "contractor")).id],
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
