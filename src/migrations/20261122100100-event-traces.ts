import { Migration } from "@mikro-orm/migrations";

/** The trace of the request that an event came from, so that its deliveries, in whichever process, are part of it. */
export class EventTraces extends Migration {
  override name = "20261122100100-event-traces";

  override up(): void {
    this.addSql(`alter table "job_event" add "trace_parent" text null;`);
  }
}
