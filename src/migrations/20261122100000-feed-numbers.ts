import { Migration } from "@mikro-orm/migrations";

/**
 * What has to go on past a moment that the database itself does not remember: after a restore the numbers of events must not
 * be given a second time. The function is a constant but for its argument, so that PostgreSQL writes it into its plans; a
 * restore replaces it (`src/restoration`).
 */
export class FeedNumbers extends Migration {
  override name = "20261122100000-feed-numbers";

  override up(): void {
    this.addSql(`create function feed_number(transaction_id xid8) returns xid8 language sql immutable parallel safe
      as $$ select (transaction_id::text::bigint + 0)::text::xid8 $$;`);
    this.addSql(
      `alter table "job_event" alter column "transaction_id" set default feed_number(pg_current_xact_id());`,
    );
  }
}
