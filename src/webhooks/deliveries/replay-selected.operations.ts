/** The operation that replays selected deliveries. */
import { z } from "zod";
import { problemIn } from "../../core/errors.ts";
import { Answer, restOperation } from "../../operations/operation.ts";
import { count, extensibleEnum, MAX_LIST_ITEMS, text } from "../../operations/schemas.ts";
import { change, ownLimit } from "../endpoints/operations.ts";
import { exampleDelivery, exampleReplay } from "./operations.ts";
import type { DeliveryService } from "./service.ts";
import { deliveryView } from "./view.ts";

interface Services {
  readonly deliveries: DeliveryService;
}

const IDS_ERROR = `must be a list of 1 to ${MAX_LIST_ITEMS} delivery IDs`;
const inFlight = "This delivery is in flight. Wait for the result of the attempt.";

const refusalCodes = ["NotFoundException", "ConflictException"] as const;

const replayResult = z
  .object({
    id: text("ID of the original, as given", exampleDelivery.id),
    delivery: deliveryView.nullable().meta({ description: "The new delivery; null if it was not replayed" }),
    error: text("Why it was not replayed; null if it was", inFlight).nullable(),
    errorCode: extensibleEnum(refusalCodes, "Code of the error; null if it was replayed")
      .nullable()
      .meta({ type: ["string", "null"] }),
  })
  .meta({ id: "SelectedReplayResult", description: "What became of one selected delivery." });

export const replaySelectedDeliveries = restOperation({
  ...change,
  rate: "batch",
  name: "replaySelectedWebhookDeliveries",
  rest: { method: "post", path: "/webhook-deliveries/replay" },
  graphql: { field: "replaySelectedDeliveries" },
  once: {},
  input: z
    .object({
      ids: z
        .array(z.string({ error: "must be a delivery ID" }), { error: IDS_ERROR })
        .min(1, { error: IDS_ERROR })
        .max(MAX_LIST_ITEMS, { error: IDS_ERROR })
        .meta({
          description: "IDs of the deliveries; a repeated one counts once",
          examples: [[exampleDelivery.id]],
        }),
    })
    .meta({ id: "ReplaySelectedWebhooks" }),
  output: z
    .object({
      replayed: count("Number of new deliveries", 1),
      results: z.array(replayResult).meta({ description: "A result for each ID, in their order" }),
    })
    .meta({ id: "SelectedReplays" }),
  text: {
    tag: "Webhooks",
    summary: "Replay selected deliveries",
    description: `Replays up to ${MAX_LIST_ITEMS} deliveries, as \`POST /v1/webhook-deliveries/{id}/replay\` replays one. One that
can't be replayed stops no other: its result has the error.

The new deliveries count towards the replays of the organization.`,
    body: {
      description: "Which deliveries to replay.",
      examples: { two: { summary: "One delivery", value: { ids: [exampleDelivery.id] } } },
    },
    result: {
      description: "What became of each delivery.",
      examples: {
        "One replayed, one in flight": {
          replayed: 1,
          results: [
            { id: exampleDelivery.id, delivery: exampleReplay, error: null, errorCode: null },
            { id: exampleReplay.id, delivery: null, error: inFlight, errorCode: "ConflictException" },
          ],
        },
      },
    },
    malformed: [
      { summary: "No deliveries", problems: [problemIn("body")("ids", "invalid_value", IDS_ERROR)] },
    ],
    ownErrors: ownLimit(
      "2 replays of the organization are in flight, or it replayed as many deliveries as it can for now",
      "replays",
      2,
    ),
  },
  async run({ deliveries }: Services, principal, { ids }, { tx }) {
    const results = (await deliveries.replaySelected(principal, ids, { tx })).map(
      ({ id, delivery, error }) => ({
        id,
        delivery,
        error: error?.message ?? null,
        errorCode: (error?.code as (typeof refusalCodes)[number] | undefined) ?? null,
      }),
    );
    const replayed = results.filter(({ delivery }) => delivery !== null).length;
    return new Answer({ replayed, results }, { changed: replayed > 0 });
  },
});
