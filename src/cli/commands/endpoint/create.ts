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

export const SECRET_NOTICE = "Keep the secret: the receiver verifies each webhook's signature with it.";

export function endpointCreateCommand(cli: CliContext): Command {
  return new Command("create")
    .description("send an organisation's events to a URL; prints the secret")
    .requiredOption("--org <org>", "whose events: an organisation's id or exact name")
    .requiredOption("--url <url>", "where they go")
    .option("--events <types>", "only these types, set apart by commas (default: all)", parseCommaList)
    .option("--description <text>", "what it is for")
    .option("--header <header>", 'one more header, "Name: value"; may be given again', parseHeader)
    .option("--max-in-flight <count>", "deliveries in flight, 1 to 64 (default: 8)", parsePositiveInteger)
    .option("--per-second <count>", "deliveries a second, 1 to 1000 (default: 50)", parsePositiveInteger)
    .action(({ org, events, header, ...rest }: Options) =>
      withWebhooks(cli, async ({ organizations, endpoints }) => {
        const { id, name } = await organizations.get(org);
        const owner = { organizationId: id, actor: systemActor };
        const settings = { ...rest, eventTypes: events ?? null, headers: header };
        const { endpoint, secret } = await endpoints.create(owner, settings);
        const summary = {
          Secret: secret,
          Id: endpoint.id,
          Organisation: name,
          Url: endpoint.url,
          Events: endpoint.eventTypes?.join(", ") ?? "all",
          Limits: `${endpoint.maxInFlight} at once, ${endpoint.perSecond} a second`,
        };
        cli.output.printResult(
          { secret, ...presentEndpoint(endpoint) },
          `${formatList(summary)}\n${SECRET_NOTICE}\nTry it: waymark endpoint test ${endpoint.id}`,
        );
      }),
    );
}
