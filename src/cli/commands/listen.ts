/** `waymark listen`: a local webhook receiver for development. */
import { Command } from "commander";
import { AppError, StartupError } from "../../platform/errors.ts";
import { systemActor } from "../../platform/principal.ts";
import { sql } from "../../platform/postgres/sql.ts";
import { systemPrincipal } from "../../webhooks/api.ts";
import type { CliContext } from "../context.ts";
import { waitForAbort, withSignals } from "../signals.ts";
import { formatEventAsJson, formatEvent } from "../presenters/received-event.ts";
import { openLocalReceiver, type LocalReceiver } from "../local-receiver.ts";
import type { CliServices } from "../services.ts";
import { parseCommaList, parsePort } from "../option-parsers.ts";
import { withWebhooks } from "../with-webhooks.ts";

interface Options {
  port: number;
  org?: string;
  events?: string[];
  secret?: string;
  ndjson?: true;
}

const DEMO_AGENT = "Northwind Agency";
const ENDPOINT_DESCRIPTION = "Created by `waymark listen`, which deletes it when it ends";

const HELP_TEXT = `
Without --secret, the command creates an endpoint for the organisation and deletes it when it ends (Ctrl-C). With
--secret, it receives for an existing endpoint: set --port, and make the endpoint's URL forward to that port.

A server or worker that runs on the same database must send the events. The receiver returns 400 for a webhook with an
invalid signature.

The command runs until a signal and does not support --json; --ndjson prints each event as one line of JSON.`;

export function listenCommand(cli: CliContext): Command {
  return new Command("listen")
    .description("receive webhooks on this machine, verify them and print each one")
    .option("--port <port>", "port on 127.0.0.1; 0 picks a free port", parsePort, 0)
    .option(
      "--org <org>",
      `organisation whose events to receive (ID or exact name; default: the demo's "${DEMO_AGENT}")`,
    )
    .option("--events <types>", "only these event types, separated by commas (default: all)", parseCommaList)
    .option("--secret <secret>", "secret (whsec_…) of an existing endpoint; no endpoint is created")
    .option("--ndjson", "print each event as one line of JSON")
    .addHelpText("after", HELP_TEXT)
    .action(async (options: Options) => {
      if (cli.output.isJson)
        throw new AppError(
          "BadRequestException",
          "listen has no result to print with --json; use --ndjson to print each event as a line of JSON",
        );
      await (options.secret === undefined
        ? listenWithTemporaryEndpoint(cli, options)
        : listenWithSecret(cli, options));
    });
}

function listenWithSecret(cli: CliContext, options: Options): Promise<void> {
  const { port, secret = "" } = options;
  if (port === 0)
    throw new AppError(
      "BadRequestException",
      "--secret requires --port: the local port that the endpoint's URL forwards to",
    );
  return withSignals(async (signal) => {
    await using receiver = await openLocalReceiver(port);
    cli.output.printStatus(`Listening on ${receiver.url} Press Ctrl-C to stop.`);
    printEvents(receiver, secret, options);
    await waitForAbort(signal);
  });
}

function listenWithTemporaryEndpoint(cli: CliContext, options: Options): Promise<void> {
  return withWebhooks(cli, async (services, signal) => {
    const { config, endpoints } = services;
    if (!config.webhooks.allowPrivate)
      throw new StartupError(
        "WEBHOOK_ALLOW_PRIVATE is off, so webhooks cannot be sent to this machine.",
        "To allow it, set WEBHOOK_ALLOW_PRIVATE=on for this command and for the server.",
      );
    const { organization, demoKey } = await findListenTarget(services, options.org);
    await using receiver = await openLocalReceiver(options.port);
    const { endpoint, secret } = await endpoints.create(
      { organizationId: organization.id, actor: systemActor },
      { url: receiver.url, description: ENDPOINT_DESCRIPTION, eventTypes: options.events ?? null },
    );
    try {
      cli.output.printStatus(`Endpoint ${endpoint.id} of ${organization.name} sends to ${endpoint.url}`);
      cli.output.printStatus(await exampleRequest(services, organization, demoKey));
      cli.output.printStatus("Waiting for events. Press Ctrl-C to stop and delete the endpoint.\n");
      printEvents(receiver, secret, options);
      await waitForAbort(signal);
    } finally {
      await endpoints.delete(systemPrincipal, endpoint.id);
      cli.output.printStatus(`\nEndpoint ${endpoint.id} deleted.`);
    }
  });
}

function printEvents(receiver: LocalReceiver, secret: string, { ndjson }: Options): void {
  receiver.start(secret, (event) => {
    process.stdout.write(`${ndjson ? formatEventAsJson(event) : formatEvent(event)}\n`);
  });
}

interface ListenTarget {
  organization: { id: string; name: string };
  /** API key of the demo organisation; null if it is unknown. */
  demoKey: string | null;
}

async function findListenTarget(services: CliServices, org: string | undefined): Promise<ListenTarget> {
  const { config, organizations } = services;
  if (org !== undefined) return { organization: await organizations.get(org), demoKey: null };
  if (!config.demo) return { organization: await organizations.get(DEMO_AGENT), demoKey: null };
  const { ensureDemo } = await import("../../embedded/demo/demo.ts");
  const keys = await ensureDemo({ ...services, dataDir: config.dataDir });
  if (!keys)
    throw new AppError(
      "BadRequestException",
      "This database has no demo data: name the organisation with --org",
    );
  return { organization: await organizations.get(DEMO_AGENT), demoKey: keys.agent };
}

/** Returns a curl command that changes one of the organisation's jobs and so triggers a webhook. */
async function exampleRequest(
  { config, database }: CliServices,
  { id }: ListenTarget["organization"],
  key: string | null,
): Promise<string> {
  const [job] = await database.query<{ marking_number: string }>(sql`
    select marking_number from job
    where (agent_id = ${id} or contractor_id = ${id}) and normalized_status <> 'out_for_delivery'
    order by created_at desc, id desc limit 1`);
  if (!job) return "The organisation has no jobs yet. Events of its first job will arrive here.";
  const { publicUrl, host, port } = config.http;
  const base = publicUrl ?? `http://${host === "0.0.0.0" ? "127.0.0.1" : host}:${port}`;
  return [
    "Start a server (npm start), then try:",
    `  curl -X PATCH ${base}/v1/jobs/by-marking/${encodeURIComponent(job.marking_number)} \\`,
    `    -H "x-api-key: ${key ?? "YOUR_KEY"}" -H "content-type: application/json" \\`,
    `    -d '{"normalized_status": "out_for_delivery"}'`,
  ].join("\n");
}
