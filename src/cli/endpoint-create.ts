/** `waymark endpoint create` */
import { Command } from "commander";
import { systemActor } from "../platform/principal.ts";
import type { Cli } from "./cli.ts";
import { endpointDocument } from "./endpoint-document.ts";
import { listOf } from "./output.ts";
import { countValue, headerValue, namesValue } from "./values.ts";
import { withWebhooks } from "./with-webhooks.ts";

interface Options {
  org: string;
  url: string;
  events?: string[];
  description?: string;
  header?: Record<string, string>;
  maxInFlight?: number;
  perSecond?: number;
}

export const KEEP_SECRET = "Keep the secret: the receiver verifies each webhook's signature with it.";

export function endpointCreate(cli: Cli): Command {
  return new Command("create")
    .description("send an organisation's events to a URL; prints the secret")
    .requiredOption("--org <org>", "whose events: an organisation's id or exact name")
    .requiredOption("--url <url>", "where they go")
    .option("--events <types>", "only these types, set apart by commas (default: all)", namesValue)
    .option("--description <text>", "what it is for")
    .option("--header <header>", 'one more header, "Name: value"; may be given again', headerValue)
    .option("--max-in-flight <count>", "deliveries in flight, 1 to 64 (default: 8)", countValue)
    .option("--per-second <count>", "deliveries a second, 1 to 1000 (default: 50)", countValue)
    .action(({ org, events, header, ...rest }: Options) =>
      withWebhooks(cli, async ({ organizations, endpoints }) => {
        const { id, name } = await organizations.get(org);
        const owner = { organizationId: id, actor: systemActor };
        const settings = { ...rest, eventTypes: events ?? null, headers: header };
        const { endpoint, secret } = await endpoints.create(owner, settings);
        const shown = {
          Secret: secret,
          Id: endpoint.id,
          Organisation: name,
          Url: endpoint.url,
          Events: endpoint.eventTypes?.join(", ") ?? "all",
          Limits: `${endpoint.maxInFlight} at once, ${endpoint.perSecond} a second`,
        };
        cli.output.result(
          { secret, ...endpointDocument(endpoint) },
          `${listOf(shown)}\n${KEEP_SECRET}\nTry it: waymark endpoint test ${endpoint.id}`,
        );
      }),
    );
}
