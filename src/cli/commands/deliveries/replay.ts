/** `waymark deliveries replay` */
import { Command } from "commander";
import { AppError } from "../../../platform/errors.ts";
import { systemPrincipal } from "../../../webhooks/api.ts";
import type { CliContext } from "../../context.ts";
import { presentDelivery } from "../../presenters/delivery.ts";
import { parseSince } from "../../option-parsers.ts";
import { withWebhooks } from "../../with-webhooks.ts";

interface Options {
  endpoint?: string;
  failedSince?: Date;
  /** True: all stored events. */
  missing?: true | Date;
}

const HELP_TEXT = `
The receiver gets the same webhook-id with a new timestamp and signature. A server or worker that runs on this database
sends the replays, as fast as the endpoint's limits allow.

  waymark deliveries replay dlv_…
  waymark deliveries replay --endpoint whe_… --failed-since 12h
  waymark deliveries replay --endpoint whe_… --missing`;

export function deliveriesReplayCommand(cli: CliContext): Command {
  return new Command("replay")
    .description("send events again: one delivery, or the failed or missing deliveries of an endpoint")
    .argument("[delivery]", "delivery ID (dlv_…)")
    .option("--endpoint <endpoint>", "endpoint ID (whe_…)")
    .option(
      "--failed-since <when>",
      "replay deliveries that failed since this date, date-time or time ago (12h)",
      parseSince,
    )
    .option(
      "--missing [since]",
      "replay stored events that the endpoint has no delivery for; optionally only those since this time",
      parseSince,
    )
    .addHelpText("after", HELP_TEXT)
    .action((id: string | undefined, options: Options) => {
      validateOptions(id, options);
      return id === undefined ? replayMany(cli, options) : replayOne(cli, id);
    });
}

function validateOptions(id: string | undefined, { endpoint, failedSince, missing }: Options): void {
  const selectors = [id, failedSince, missing].filter((option) => option !== undefined).length;
  if (selectors === 1 && (id === undefined) === (endpoint !== undefined)) return;
  throw new AppError(
    "BadRequestException",
    "Specify either a delivery ID, or --endpoint with --failed-since or --missing",
  );
}

function replayOne(cli: CliContext, id: string): Promise<void> {
  return withWebhooks(cli, async ({ deliveries }) => {
    const created = await deliveries.replay(systemPrincipal, id);
    cli.output.printResult(presentDelivery(created), `Replay queued as ${created.id}.`);
  });
}

function replayMany(cli: CliContext, { endpoint = "", failedSince, missing }: Options): Promise<void> {
  return withWebhooks(cli, async ({ deliveries }) => {
    const since = missing === true ? undefined : missing;
    const { replayed } = failedSince
      ? await deliveries.replayFailed(systemPrincipal, endpoint, failedSince)
      : await deliveries.replayMissing(systemPrincipal, endpoint, since);
    const events = `${replayed.toLocaleString("en")} ${replayed === 1 ? "event" : "events"}`;
    cli.output.printResult({ endpoint_id: endpoint, replayed }, `${events} queued for replay.`);
  });
}
