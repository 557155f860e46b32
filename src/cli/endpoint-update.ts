/** `waymark endpoint update` */
import { Command } from "commander";
import { operator } from "../webhooks/caller.ts";
import type { Cli } from "./cli.ts";
import { ENDPOINT_ARGUMENT, endpointDocument } from "./endpoint-document.ts";
import { listOf } from "./output.ts";
import { countValue, headerValue, namesValue } from "./values.ts";
import { withWebhooks } from "./with-webhooks.ts";

interface Options {
  url?: string;
  events?: string[];
  description?: string;
  header?: Record<string, string>;
  maxInFlight?: number;
  perSecond?: number;
}

export function endpointUpdate(cli: Cli): Command {
  return new Command("update")
    .description("change an endpoint; what is not named stays as it is")
    .argument("<endpoint>", ENDPOINT_ARGUMENT)
    .option("--url <url>", "where its events go")
    .option("--events <types>", "only these types, set apart by commas, or: all", namesValue)
    .option("--description <text>", "what it is for")
    .option(
      "--header <header>",
      'a header in place of all that it has, "Name: value"; may be given again',
      headerValue,
    )
    .option("--max-in-flight <count>", "how many deliveries may be on their way at once, 1 to 64", countValue)
    .option("--per-second <count>", "how many deliveries a second, 1 to 1000", countValue)
    .action((id: string, { events, header, ...rest }: Options) =>
      withWebhooks(cli, async ({ endpoints }) => {
        const types = events?.length === 1 && events[0] === "all" ? null : events;
        const endpoint = await endpoints.update(operator, id, {
          ...rest,
          eventTypes: types,
          headers: header,
        });
        const shown = {
          Id: endpoint.id,
          Url: endpoint.url,
          Events: endpoint.eventTypes?.join(", ") ?? "all",
          Limits: `${endpoint.maxInFlight} at once, ${endpoint.perSecond} a second`,
        };
        cli.output.result(endpointDocument(endpoint), listOf(shown));
      }),
    );
}
