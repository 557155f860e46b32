/** Job events in the shape of the GraphQL schema. */
import {
  type EventAudience,
  type EventWithPosition,
  toActorWire,
  toChangeWire,
} from "../../../events/api.ts";
import { jobFieldNames } from "../../../jobs/api.ts";
import { toTypedId } from "../../../core/ids.ts";
import { toIsoTime } from "../../../core/time.ts";
import { camelCase } from "../../../core/names.ts";

export type JobEventNode = ReturnType<typeof toJobEventNode>;

const fieldNames: ReadonlyMap<string, string> = new Map(jobFieldNames.map((name) => [name, camelCase(name)]));

/** Returns the event with the changes that `principal` may see. */
export function toJobEventNode(row: EventWithPosition, principal: EventAudience) {
  return {
    id: toTypedId("evt", row.id),
    type: row.type,
    sequence: row.sequence,
    occurredAt: toIsoTime(row.occurred_at),
    actor: toActorWire(row),
    requestId: row.request_id,
    changes: Object.entries(row.changes).map(([name, change]) => {
      const { from, to } = toChangeWire(name, change, principal);
      return { field: fieldNames.get(name) ?? camelCase(name), from, to };
    }),
    /** The database row, used to load the job and to compute the cursor. */
    row,
  };
}
