/** `waymark listen`: a receiver on this machine, to see webhooks arrive before there is a real one. */
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
const ENDPOINT_DESCRIPTION = "Made by `waymark listen`, which deletes it when it ends";

const HELP_TEXT = `
Without --secret an endpoint is made for the organisation, and deleted when this command ends (Ctrl-C). With --secret it
only receives, for an endpoint that exists: give --port, and let the endpoint's URL lead here.

Events are sent by the server, or a worker, that runs on the same database. A webhook whose signature does not verify is
answered with 400, as a receiver should.

It runs until a signal and has no result, so no --json: with --ndjson each event is one line of JSON on standard output.`;

export function listenCommand(cli: CliContext): Command {
  return new Command("listen")
    .description("receive webhooks on this machine, verify them and show each one as it arrives")
    .option("--port <port>", "where to listen on 127.0.0.1; 0: any that is free", parsePort, 0)
    .option("--org <org>", `whose events: an id or exact name (default: the demo's "${DEMO_AGENT}")`)
    .option("--events <types>", "only these types, set apart by commas (default: all)", parseCommaList)
    .option("--secret <secret>", "verify with this secret (whsec_…), and make no endpoint")
    .option("--ndjson", "print each event as one line of JSON")
    .addHelpText("after", HELP_TEXT)
    .action(async (options: Options) => {
      if (cli.output.isJson)
        throw new AppError(
          "BadRequestException",
          "listen runs until a signal and has no result, so no --json; --ndjson prints each event as a line of JSON",
        );
      await (options.secret === undefined
        ? listenWithTemporaryEndpoint(cli, options)
        : listenWithSecret(cli, options));
    });
}

function listenWithSecret(cli: CliContext, options: Options): Promise<void> {
  const { port, secret = "" } = options;
  if (port === 0)
    throw new AppError("BadRequestException", "With --secret give --port, where the endpoint's URL leads to");
  return withSignals(async (signal) => {
    await using receiver = await openLocalReceiver(port);
    cli.output.printStatus(`Listening on ${receiver.url} Ctrl-C ends it.`);
    printEvents(receiver, secret, options);
    await waitForAbort(signal);
  });
}

function listenWithTemporaryEndpoint(cli: CliContext, options: Options): Promise<void> {
  return withWebhooks(cli, async (services, signal) => {
    const { config, endpoints } = services;
    if (!config.webhooks.allowPrivate)
      throw new StartupError(
        "WEBHOOK_ALLOW_PRIVATE is off, so no webhook may go to this machine.",
        "Set WEBHOOK_ALLOW_PRIVATE=on, for this command and for the server, where that is wanted.",
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
      cli.output.printStatus("Waiting for events. Ctrl-C ends it and deletes the endpoint.\n");
      printEvents(receiver, secret, options);
      await waitForAbort(signal);
    } finally {
      await endpoints.delete(systemPrincipal, endpoint.id);
      cli.output.printStatus(`\nEndpoint ${endpoint.id} is deleted.`);
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
  /** A key of the demo's, where it is known. */
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
      "There is no demo in this database: say whose events with --org",
    );
  return { organization: await organizations.get(DEMO_AGENT), demoKey: keys.agent };
}

/** A request that changes a job, so that something arrives. */
async function exampleRequest(
  { config, database }: CliServices,
  { id }: ListenTarget["organization"],
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
