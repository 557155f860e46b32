/** Job events in the shape of the GraphQL schema. */
import {
  type EventAudience,
  type EventType,
  type EventWithPosition,
  feedCursor,
  type FeedPositionRow,
  toActorWire,
  toChangeWire,
} from "../../events/api.ts";
import { jobFieldNames } from "../../jobs/api.ts";
import { toTypedId } from "../../platform/ids.ts";
import type { Actor } from "../../platform/principal.ts";
import { toIsoTime } from "../../platform/time.ts";
import { camelCase } from "../field-names.ts";

export type EventTypeName = "JOB_CREATED" | "JOB_UPDATED" | "JOB_STATUS_CHANGED" | "JOB_ASSIGNED";

export interface JobEventNode {
  readonly id: string;
  readonly type: EventTypeName;
  readonly sequence: number;
  readonly occurredAt: string;
  readonly actor: { readonly type: Uppercase<Actor["type"]>; readonly id: string | null };
  readonly requestId: string | null;
  readonly changes: readonly { readonly field: string; readonly from: unknown; readonly to: unknown }[];
  readonly cursor: string;
  /** The UUID of the job. */
  readonly jobUuid: string;
}

/** Converts `job.status_changed` to `JOB_STATUS_CHANGED`. */
export function toEventTypeName(type: string): string {
  return type.replace(".", "_").toUpperCase();
}

/** Converts `JOB_STATUS_CHANGED` to `job.status_changed`. */
export function fromEventTypeName(name: string): string {
  return name.toLowerCase().replace("_", ".");
}

export function toJobEventTypes(names: readonly EventTypeName[] | null | undefined): EventType[] {
  return (names ?? []).map((name) => fromEventTypeName(name) as EventType);
}

const fieldNames: ReadonlyMap<string, string> = new Map(jobFieldNames.map((name) => [name, camelCase(name)]));

/** Returns the event with the changes that `principal` may see. */
export function toJobEventNode(row: EventWithPosition, principal: EventAudience): JobEventNode {
  return new LazyJobEvent(row, principal);
}

class LazyJobEvent implements JobEventNode {
  readonly id: string;
  readonly type: EventTypeName;
  readonly sequence: number;
  readonly occurredAt: string;
  readonly actor: JobEventNode["actor"];
  readonly requestId: string | null;
  readonly changes: JobEventNode["changes"];
  readonly jobUuid: string;
  readonly #position: FeedPositionRow;

  constructor(row: EventWithPosition, principal: EventAudience) {
    const { type, id } = toActorWire(row);
    this.id = toTypedId("evt", row.id);
    this.type = toEventTypeName(row.type) as EventTypeName;
    this.sequence = row.sequence;
    this.occurredAt = toIsoTime(row.occurred_at);
    this.actor = { type: type.toUpperCase() as Uppercase<Actor["type"]>, id };
    this.requestId = row.request_id;
    this.changes = Object.entries(row.changes).map(([name, change]) => {
      const { from, to } = toChangeWire(name, change, principal);
      return { field: fieldNames.get(name) ?? camelCase(name), from, to };
    });
    this.jobUuid = row.job_id;
    this.#position = row;
  }

  /** Computed only if selected. */
  get cursor(): string {
    return feedCursor(this.#position);
  }
}
