/** `waymark endpoint pause`, `resume` and `delete` */
import { Command } from "commander";
import { type PendingPolicy, systemPrincipal } from "../../../webhooks/api.ts";
import type { CliContext } from "../../context.ts";
import {
  ENDPOINT_ARGUMENT_HELP,
  presentEndpoint,
  formatEndpointStatus,
  formatPendingCount,
} from "../../presenters/endpoint.ts";
import { escapeControlCharacters } from "../../output.ts";
import { parsePendingPolicy } from "../../option-parsers.ts";
import { withWebhooks } from "../../with-webhooks.ts";

export function endpointPauseCommand(cli: CliContext): Command {
  return new Command("pause")
    .description("pause an endpoint; its events are put on hold until the retention time ends")
    .argument("<endpoint>", ENDPOINT_ARGUMENT_HELP)
    .action((id: string) =>
      withWebhooks(cli, async ({ endpoints }) => {
        const endpoint = await endpoints.pause(systemPrincipal, id);
        cli.output.printResult(
          presentEndpoint(endpoint),
          `${escapeControlCharacters(endpoint.url)} is ${formatEndpointStatus(endpoint)}.`,
        );
      }),
    );
}

export function endpointResumeCommand(cli: CliContext): Command {
  return new Command("resume")
    .description("resume a paused or disabled endpoint")
    .argument("<endpoint>", ENDPOINT_ARGUMENT_HELP)
    .option(
      "--pending-policy <policy>",
      "pending deliveries: send, discard, or since:<when> (send those created since, discard the others)",
      parsePendingPolicy,
      "send",
    )
    .action((id: string, { pendingPolicy }: { pendingPolicy: PendingPolicy }) =>
      withWebhooks(cli, async ({ endpoints }) => {
        const { endpoint, discarded } = await endpoints.resume(systemPrincipal, id, { pendingPolicy });
        cli.output.printResult(
          { ...presentEndpoint(endpoint), discarded },
          `${escapeControlCharacters(endpoint.url)} is ${formatEndpointStatus(endpoint)}: ${formatPendingCount(endpoint)} pending, ${discarded.toLocaleString("en")} discarded.`,
        );
      }),
    );
}

export function endpointDeleteCommand(cli: CliContext): Command {
  return new Command("delete")
    .description("delete an endpoint and discard its pending deliveries; its delivery log is kept")
    .argument("<endpoint>", ENDPOINT_ARGUMENT_HELP)
    .action((id: string) =>
      withWebhooks(cli, async ({ endpoints }) => {
        const { url } = await endpoints.get(systemPrincipal, id);
        const { discarded } = await endpoints.delete(systemPrincipal, id);
        cli.output.printResult(
          { id, url, discarded },
          `${escapeControlCharacters(url)} deleted, ${discarded.toLocaleString("en")} deliveries discarded.`,
        );
      }),
    );
}
