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
    .description("change an endpoint; what is not named stays as it is")
    .argument("<endpoint>", ENDPOINT_ARGUMENT_HELP)
    .option("--url <url>", "where its events go")
    .option("--events <types>", "only these types, set apart by commas, or: all", parseCommaList)
    .option("--description <text>", "what it is for")
    .option(
      "--header <header>",
      'a header in place of all that it has, "Name: value"; may be given again',
      parseHeader,
    )
    .option(
      "--max-in-flight <count>",
      "how many deliveries may be on their way at once, 1 to 64",
      parsePositiveInteger,
    )
    .option("--per-second <count>", "how many deliveries a second, 1 to 1000", parsePositiveInteger)
    .action((id: string, { events, header, ...rest }: Options) =>
      withWebhooks(cli, async ({ endpoints }) => {
        const selectedTypes = events?.length === 1 && events[0] === "all" ? null : events;
        const endpoint = await endpoints.update(systemPrincipal, id, {
          ...rest,
          eventTypes: selectedTypes,
          headers: header,
        });
        const summary = {
          Id: endpoint.id,
          Url: endpoint.url,
          Events: endpoint.eventTypes?.join(", ") ?? "all",
          Limits: `${endpoint.maxInFlight} at once, ${endpoint.perSecond} a second`,
        };
        cli.output.printResult(presentEndpoint(endpoint), formatList(summary));
      }),
    );
}
