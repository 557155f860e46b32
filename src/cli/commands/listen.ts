/** `waymark listen`: a local webhook receiver for development. */
import { once } from "node:events";
import type { Organization } from "../../organizations/api.ts";
import { AppError, StartupError } from "../../platform/errors.ts";
import { systemActor, type OrganizationPrincipal } from "../../platform/principal.ts";
import { systemPrincipal } from "../../webhooks/api.ts";
import { command, flag, option, withDefault, type OptionValues } from "../command.ts";
import { withSignals, withWebhooks, type CliContext, type CliServices } from "../context.ts";
import { formatEventAsJson, formatEvent } from "../received-event.ts";
import { openLocalReceiver, type ReceivedEvent } from "../local-receiver.ts";
import { parseCommaList, parsePort } from "../option-parsers.ts";

const DEMO_AGENT = "Northwind Agency";
const EXAMPLE_STATUS = "out_for_delivery";
const ENDPOINT_DESCRIPTION = "Created by `waymark listen`, which deletes it when it ends";

const HELP_TEXT = `
Without --secret, the command creates an endpoint for the organisation and deletes it when it ends (Ctrl-C). With
--secret, it receives for an existing endpoint: set --port, and make the endpoint's URL forward to that port.

A server or worker that runs on the same database must send the events. The receiver returns 400 for a webhook with an
invalid signature.

The command runs until a signal and does not support --json; --ndjson prints each event as one line of JSON.`;

const optionSpecs = {
  port: withDefault(0, option("<port>", "port on 127.0.0.1; 0 picks a free port", parsePort)),
  org: option(
    "<org>",
    `organisation whose events to receive (ID or exact name; default: the demo's "${DEMO_AGENT}")`,
  ),
  events: option("<types>", "only these event types, separated by commas (default: all)", parseCommaList),
  secret: option("<secret>", "secret (whsec_…) of an existing endpoint; no endpoint is created"),
  ndjson: flag("print each event as one line of JSON"),
};
type Options = OptionValues<typeof optionSpecs>;

export const listenCommand = command("listen", {
  description: "receive webhooks on this machine, verify them and print each one",
  options: optionSpecs,
  help: HELP_TEXT,
  async run(cli, options) {
    if (cli.output.isJson)
      throw new AppError(
        "BadRequestException",
        "listen has no result to print with --json; use --ndjson to print each event as a line of JSON",
      );
    await (options.secret === undefined
      ? listenWithTemporaryEndpoint(cli, options)
      : listenWithSecret(cli, options));
    return undefined;
  },
});

function listenWithSecret(cli: CliContext, options: Options): Promise<void> {
  const { port, secret = "" } = options;
  if (port === 0)
    throw new AppError(
      "BadRequestException",
      "--secret requires --port: the local port that the endpoint's URL forwards to",
    );
  return withSignals(cli, async (signal) => {
    await using receiver = await openLocalReceiver(port);
    cli.output.printStatus(`Listening on ${receiver.url} Press Ctrl-C to stop.`);
    receiver.start(secret, eventPrinter(cli, options));
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
      receiver.start(secret, eventPrinter(cli, options));
      await waitForAbort(signal);
    } finally {
      await endpoints.delete(systemPrincipal, endpoint.id);
      cli.output.printStatus(`\nEndpoint ${endpoint.id} deleted.`);
    }
  });
}

function eventPrinter({ host: { stdout } }: CliContext, { ndjson }: Options) {
  return (event: ReceivedEvent): void =>
    void stdout.write(`${ndjson ? formatEventAsJson(event) : formatEvent(event, stdout)}\n`);
}

interface ListenTarget {
  organization: Organization;
  /** API key of the demo organisation; null if it is unknown. */
  demoKey: string | null;
}

async function findListenTarget(services: CliServices, org: string | undefined): Promise<ListenTarget> {
  const { config, organizations } = services;
  if (org !== undefined) return { organization: await organizations.get(org), demoKey: null };
  if (!config.demo) return { organization: await organizations.get(DEMO_AGENT), demoKey: null };
  const keys = await services.ensureDemo();
  if (!keys)
    throw new AppError(
      "BadRequestException",
      "This database has no demo data: name the organisation with --org",
    );
  return { organization: await organizations.get(DEMO_AGENT), demoKey: keys.agent };
}

/** Returns a curl command that changes one of the organisation's jobs and so triggers a webhook. */
async function exampleRequest(
  { config, jobs }: CliServices,
  { id, type }: Organization,
  key: string | null,
): Promise<string> {
  const principal: OrganizationPrincipal = { organizationId: id, organizationType: type, actor: systemActor };
  const { items } = await jobs.list(principal, {
    filter: { not: { normalizedStatus: { eq: EXAMPLE_STATUS } } },
    order: { field: "created_at", descending: true },
    page: { direction: "forward", limit: 1, position: null },
    include: { items: true, organizations: false, total: false },
  });
  const [job] = items;
  if (!job) return "The organisation has no jobs yet. Events of its first job will arrive here.";
  const { publicUrl, host, port } = config.http;
  const base = publicUrl ?? `http://${host === "0.0.0.0" ? "127.0.0.1" : host}:${port}`;
  return [
    "Start a server (npm start), then try:",
    `  curl -X PATCH ${base}/v1/jobs/by-marking/${encodeURIComponent(job.marking_number)} \\`,
    `    -H "x-api-key: ${key ?? "YOUR_KEY"}" -H "content-type: application/json" \\`,
    `    -d '{"normalized_status": "${EXAMPLE_STATUS}"}'`,
  ].join("\n");
}

async function waitForAbort(signal: AbortSignal): Promise<void> {
  if (!signal.aborted) await once(signal, "abort");
}
