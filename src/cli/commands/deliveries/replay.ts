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
  /** True: as far back as the log goes. */
  missing?: true | Date;
}

const HELP_TEXT = `
A receiver sees the same webhook-id again, with a fresh timestamp and signature. What is replayed is sent by the server or
a worker that runs on this database, as fast as the endpoint's limits let it.

  waymark deliveries replay dlv_…
  waymark deliveries replay --endpoint whe_… --failed-since 12h
  waymark deliveries replay --endpoint whe_… --missing`;

export function deliveriesReplayCommand(cli: CliContext): Command {
  return new Command("replay")
    .description("send again: one delivery, or of an endpoint what has failed or was never sent")
    .argument("[delivery]", "its id (dlv_…)")
    .option("--endpoint <endpoint>", "of which endpoint (whe_…)")
    .option(
      "--failed-since <when>",
      "what has failed for good since then: an instant, a day, or 12h",
      parseSince,
    )
    .option(
      "--missing [since]",
      "all events still stored, or those since then, that it never had",
      parseSince,
    )
    .addHelpText("after", HELP_TEXT)
    .action((id: string | undefined, options: Options) => {
      validateOptions(id, options);
      return id === undefined ? replayMany(cli, options) : replayOne(cli, id);
    });
}

function validateOptions(id: string | undefined, { endpoint, failedSince, missing }: Options): void {
  const selectors = [id, failedSince, missing].filter((way) => way !== undefined).length;
  if (selectors === 1 && (id === undefined) === (endpoint !== undefined)) return;
  throw new AppError(
    "BadRequestException",
    "Say what to replay: a delivery's id, or --endpoint with --failed-since or --missing",
  );
}

function replayOne(cli: CliContext, id: string): Promise<void> {
  return withWebhooks(cli, async ({ deliveries }) => {
    const created = await deliveries.replay(systemPrincipal, id);
    cli.output.printResult(presentDelivery(created), `It is sent again as ${created.id}.`);
  });
}

function replayMany(cli: CliContext, { endpoint = "", failedSince, missing }: Options): Promise<void> {
  return withWebhooks(cli, async ({ deliveries }) => {
    const since = missing === true ? undefined : missing;
    const { replayed } = failedSince
      ? await deliveries.replayFailed(systemPrincipal, endpoint, failedSince)
      : await deliveries.replayMissing(systemPrincipal, endpoint, since);
    const events = `${replayed.toLocaleString("en")} ${replayed === 1 ? "event" : "events"}`;
    cli.output.printResult({ endpoint_id: endpoint, replayed }, `${events} to be sent.`);
  });
}
