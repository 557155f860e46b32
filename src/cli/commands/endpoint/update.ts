/** `waymark endpoint update` */
import { Command } from "commander";
import { systemPrincipal } from "../../../webhooks/api.ts";
import type { CliContext } from "../../context.ts";
import { ENDPOINT_ARGUMENT_HELP, presentEndpoint } from "../../presenters/endpoint.ts";
import { formatList } from "../../output.ts";
import { parsePositiveInteger, parseHeader, parseCommaList } from "../../option-parsers.ts";
import { withWebhooks } from "../../with-webhooks.ts";

interface Options {
  url?: string;
  events?: string[];
  description?: string;
  header?: Record<string, string>;
  maxInFlight?: number;
  perSecond?: number;
}

export function endpointUpdateCommand(cli: CliContext): Command {
  return new Command("update")
    .description("change an endpoint; options that are not given stay unchanged")
    .argument("<endpoint>", ENDPOINT_ARGUMENT_HELP)
    .option("--url <url>", "URL that receives the events")
    .option("--events <types>", "only these event types, separated by commas, or: all", parseCommaList)
    .option("--description <text>", "description for your own use")
    .option(
      "--header <header>",
      'custom header, "Name: value"; replaces all existing custom headers; repeatable',
      parseHeader,
    )
    .option("--max-in-flight <count>", "maximum deliveries in flight, 1 to 64", parsePositiveInteger)
    .option("--per-second <count>", "maximum deliveries per second, 1 to 1000", parsePositiveInteger)
    .action((id: string, { events, header, ...rest }: Options) =>
      withWebhooks(cli, async ({ endpoints }) => {
        const selectedTypes = events?.length === 1 && events[0] === "all" ? null : events;
        const endpoint = await endpoints.update(systemPrincipal, id, {
          ...rest,
          eventTypes: selectedTypes,
          headers: header,
        });
        const summary = {
          ID: endpoint.id,
          URL: endpoint.url,
          Events: endpoint.eventTypes?.join(", ") ?? "all",
          Limits: `${endpoint.maxInFlight} in flight, ${endpoint.perSecond} per second`,
        };
        cli.output.printResult(presentEndpoint(endpoint), formatList(summary));
      }),
    );
}
