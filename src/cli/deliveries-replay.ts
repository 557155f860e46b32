/** `waymark deliveries replay` */
import { Command } from "commander";
import { AppError } from "../platform/errors.ts";
import { operator } from "../webhooks/caller.ts";
import type { Cli } from "./cli.ts";
import { deliverySummary } from "./delivery-document.ts";
import { sinceValue } from "./values.ts";
import { withWebhooks } from "./with-webhooks.ts";

interface Options {
  endpoint?: string;
  failedSince?: Date;
  /** True: as far back as the log goes. */
  missing?: true | Date;
}

const NOTES = `
A receiver sees the same webhook-id again, with a fresh timestamp and signature. What is replayed is sent by the server or
a worker that runs on this database, as fast as the endpoint's limits let it.

  waymark deliveries replay dlv_…
  waymark deliveries replay --endpoint whe_… --failed-since 12h
  waymark deliveries replay --endpoint whe_… --missing`;

export function deliveriesReplay(cli: Cli): Command {
  return new Command("replay")
    .description("send again: one delivery, or of an endpoint what has failed or was never sent")
    .argument("[delivery]", "its id (dlv_…)")
    .option("--endpoint <endpoint>", "of which endpoint (whe_…)")
    .option(
      "--failed-since <when>",
      "what has failed for good since then: an instant, a day, or 12h",
      sinceValue,
    )
    .option(
      "--missing [since]",
      "all events still stored, or those since then, that it never had",
      sinceValue,
    )
    .addHelpText("after", NOTES)
    .action((id: string | undefined, options: Options) => {
      check(id, options);
      return id === undefined ? replayMany(cli, options) : replayOne(cli, id);
    });
}

function check(id: string | undefined, { endpoint, failedSince, missing }: Options): void {
  const ways = [id, failedSince, missing].filter((way) => way !== undefined).length;
  if (ways === 1 && (id === undefined) === (endpoint !== undefined)) return;
  throw new AppError(
    "BadRequestException",
    "Say what to replay: a delivery's id, or --endpoint with --failed-since or --missing",
  );
}

function replayOne(cli: Cli, id: string): Promise<void> {
  return withWebhooks(cli, async ({ deliveries }) => {
    const made = await deliveries.replay(operator, id);
    cli.output.result(deliverySummary(made), `It is sent again as ${made.id}.`);
  });
}

function replayMany(cli: Cli, { endpoint = "", failedSince, missing }: Options): Promise<void> {
  return withWebhooks(cli, async ({ deliveries }) => {
    const since = missing === true ? undefined : missing;
    const { replayed } = failedSince
      ? await deliveries.replayFailed(operator, endpoint, failedSince)
      : await deliveries.replayMissing(operator, endpoint, since);
    const events = `${replayed.toLocaleString("en")} ${replayed === 1 ? "event" : "events"}`;
    cli.output.result({ endpoint_id: endpoint, replayed }, `${events} to be sent.`);
  });
}
