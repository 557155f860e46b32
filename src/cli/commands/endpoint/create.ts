/** `waymark endpoint create` */
import { Command } from "commander";
import { systemActor } from "../../../platform/principal.ts";
import type { CliContext } from "../../context.ts";
import { presentEndpoint } from "../../presenters/endpoint.ts";
import { formatList } from "../../output.ts";
import { parsePositiveInteger, parseHeader, parseCommaList } from "../../option-parsers.ts";
import { withWebhooks } from "../../with-webhooks.ts";

interface Options {
  org: string;
  url: string;
  events?: string[];
  description?: string;
  header?: Record<string, string>;
  maxInFlight?: number;
  perSecond?: number;
}

export const SECRET_NOTICE = "Store the secret: the receiver needs it to verify webhook signatures.";

export function endpointCreateCommand(cli: CliContext): Command {
  return new Command("create")
    .description("create a webhook endpoint for an organisation and print its secret")
    .requiredOption("--org <org>", "organisation whose events to send (ID or exact name)")
    .requiredOption("--url <url>", "URL that receives the events")
    .option("--events <types>", "only these event types, separated by commas (default: all)", parseCommaList)
    .option("--description <text>", "description for your own use")
    .option("--header <header>", 'custom header, "Name: value"; repeatable', parseHeader)
    .option(
      "--max-in-flight <count>",
      "maximum deliveries in flight, 1 to 64 (default: 8)",
      parsePositiveInteger,
    )
    .option(
      "--per-second <count>",
      "maximum deliveries per second, 1 to 1000 (default: 50)",
      parsePositiveInteger,
    )
    .action(({ org, events, header, ...rest }: Options) =>
      withWebhooks(cli, async ({ organizations, endpoints }) => {
        const { id, name } = await organizations.get(org);
        const owner = { organizationId: id, actor: systemActor };
        const settings = { ...rest, eventTypes: events ?? null, headers: header };
        const { endpoint, secret } = await endpoints.create(owner, settings);
        const summary = {
          Secret: secret,
          ID: endpoint.id,
          Organisation: name,
          URL: endpoint.url,
          Events: endpoint.eventTypes?.join(", ") ?? "all",
          Limits: `${endpoint.maxInFlight} in flight, ${endpoint.perSecond} per second`,
        };
        cli.output.printResult(
          { secret, ...presentEndpoint(endpoint) },
          `${formatList(summary)}\n${SECRET_NOTICE}\nTry it: waymark endpoint test ${endpoint.id}`,
        );
      }),
    );
}
