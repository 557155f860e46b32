import { Migration } from "@mikro-orm/migrations";

/** The feed of everybody, in its order: for operators, and for telling subscribers what is new. */
export class EventFeedOrder extends Migration {
  override name = "20261121200000-event-feed-order";

  override up(): void {
    this.addSql(`create index "job_event_feed" on "job_event" ("transaction_id", "position");`);
  }
}
