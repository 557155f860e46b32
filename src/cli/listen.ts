/** `waymark listen`: a receiver on this machine, to see webhooks arrive before there is a real one. */
import { Command } from "commander";
import { AppError, StartupError } from "../platform/errors.ts";
import { systemActor } from "../platform/principal.ts";
import { sql } from "../platform/sql.ts";
import { operator } from "../webhooks/caller.ts";
import type { Cli } from "./cli.ts";
import { aborted, untilInterrupted } from "./interruption.ts";
import { jsonLineOf, linesOf } from "./listen-print.ts";
import { openReceiver, type EventReceiver } from "./listen-receiver.ts";
import type { Services } from "./open-services.ts";
import { namesValue, portValue } from "./values.ts";
import { withWebhooks } from "./with-webhooks.ts";

interface Options {
  port: number;
  org?: string;
  events?: string[];
  secret?: string;
  ndjson?: true;
}

const DEMO_AGENT = "Northwind Agency";
const DESCRIPTION = "Made by `waymark listen`, which deletes it when it ends";

const NOTES = `
Without --secret an endpoint is made for the organisation, and deleted when this command ends (Ctrl-C). With --secret it
only receives, for an endpoint that exists: give --port, and let the endpoint's URL lead here.

Events are sent by the server, or a worker, that runs on the same database. A webhook whose signature does not verify is
answered with 400, as a receiver should.

It runs until a signal and has no result, so no --json: with --ndjson each event is one line of JSON on standard output.`;

export function listen(cli: Cli): Command {
  return new Command("listen")
    .description("receive webhooks on this machine, verify them and show each one as it arrives")
    .option("--port <port>", "where to listen on 127.0.0.1; 0: any that is free", portValue, 0)
    .option("--org <org>", `whose events: an id or exact name (default: the demo's "${DEMO_AGENT}")`)
    .option("--events <types>", "only these types, set apart by commas (default: all)", namesValue)
    .option("--secret <secret>", "verify with this secret (whsec_…), and make no endpoint")
    .option("--ndjson", "print each event as one line of JSON")
    .addHelpText("after", NOTES)
    .action(async (options: Options) => {
      if (cli.output.isJson)
        throw new AppError(
          "BadRequestException",
          "listen runs until a signal and has no result, so no --json; --ndjson prints each event as a line of JSON",
        );
      await (options.secret === undefined ? withEndpoint(cli, options) : receiveOnly(cli, options));
    });
}

function receiveOnly(cli: Cli, options: Options): Promise<void> {
  const { port, secret = "" } = options;
  if (port === 0)
    throw new AppError("BadRequestException", "With --secret give --port, where the endpoint's URL leads to");
  return untilInterrupted(async (signal) => {
    await using receiver = await openReceiver(port);
    cli.output.note(`Listening on ${receiver.url} Ctrl-C ends it.`);
    show(receiver, secret, options);
    await aborted(signal);
  });
}

function withEndpoint(cli: Cli, options: Options): Promise<void> {
  return withWebhooks(cli, async (services, signal) => {
    const { config, endpoints } = services;
    if (!config.webhooks.allowPrivate)
      throw new StartupError(
        "WEBHOOK_ALLOW_PRIVATE is off, so no webhook may go to this machine.",
        "Set WEBHOOK_ALLOW_PRIVATE=on, for this command and for the server, where that is wanted.",
      );
    const { organization, key } = await listenerOf(services, options.org);
    await using receiver = await openReceiver(options.port);
    const { endpoint, secret } = await endpoints.create(
      { organizationId: organization.id, actor: systemActor },
      { url: receiver.url, description: DESCRIPTION, eventTypes: options.events ?? null },
    );
    try {
      cli.output.note(`Endpoint ${endpoint.id} of ${organization.name} sends to ${endpoint.url}`);
      cli.output.note(await exampleOf(services, organization, key));
      cli.output.note("Waiting for events. Ctrl-C ends it and deletes the endpoint.\n");
      show(receiver, secret, options);
      await aborted(signal);
    } finally {
      await endpoints.delete(operator, endpoint.id);
      cli.output.note(`\nEndpoint ${endpoint.id} is deleted.`);
    }
  });
}

function show(receiver: EventReceiver, secret: string, { ndjson }: Options): void {
  receiver.start(secret, (event) => {
    process.stdout.write(`${ndjson ? jsonLineOf(event) : linesOf(event)}\n`);
  });
}

interface Listener {
  organization: { id: string; name: string };
  /** A key of the demo's, where it is known. */
  key: string | null;
}

async function listenerOf(services: Services, org: string | undefined): Promise<Listener> {
  const { config, organizations } = services;
  if (org !== undefined) return { organization: await organizations.get(org), key: null };
  if (!config.demo) return { organization: await organizations.get(DEMO_AGENT), key: null };
  const { ensureDemo } = await import("../embedded/demo.ts");
  const keys = await ensureDemo({ ...services, dataDir: config.dataDir });
  if (!keys)
    throw new AppError(
      "BadRequestException",
      "There is no demo in this database: say whose events with --org",
    );
  return { organization: await organizations.get(DEMO_AGENT), key: keys.agent };
}

/** A request that changes a job, so that something arrives. */
async function exampleOf(
  { config, database }: Services,
  { id }: Listener["organization"],
  key: string | null,
): Promise<string> {
  const [job] = await database.query<{ marking_number: string }>(sql`
    select marking_number from job
    where (agent_id = ${id} or contractor_id = ${id}) and normalized_status <> 'out_for_delivery'
    order by created_at desc, id desc limit 1`);
  if (!job) return "It has no job yet: what happens to its first one arrives here.";
  const { publicUrl, host, port } = config.http;
  const base = publicUrl ?? `http://${host === "0.0.0.0" ? "127.0.0.1" : host}:${port}`;
  return [
    "Try it, with a server running (npm start):",
    `  curl -X PATCH ${base}/v1/jobs/by-marking/${encodeURIComponent(job.marking_number)} \\`,
    `    -H "x-api-key: ${key ?? "YOUR_KEY"}" -H "content-type: application/json" \\`,
    `    -d '{"normalized_status": "out_for_delivery"}'`,
  ].join("\n");
}
