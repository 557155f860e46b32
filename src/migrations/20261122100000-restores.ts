import { Migration } from "@mikro-orm/migrations";

/**
 * What has to go on past a moment that the database itself does not remember: after a restore the numbers of events and the
 * versions of jobs must not be given a second time. Both functions are constants but for their argument, so that PostgreSQL
 * writes them into its plans; a restore replaces them (`src/restoration`).
 */
export class Restores extends Migration {
  override name = "20261122100000-restores";

  override up(): void {
    this.#functions();
    // Sent again with a mark: before the restore it may have been sent already.
    this.addSql(`alter table webhook_delivery add column after_restore boolean not null default false;`);
    this.addSql(
      `create table "database_mark" ("id" boolean not null, "system_identifier" text null, "database_oid" text not null, "timeline" int not null, "secret_check" text null, primary key ("id"));`,
    );
  }

  #functions(): void {
    this.addSql(`create function feed_number(transaction_id xid8) returns xid8 language sql immutable parallel safe
      as $$ select (transaction_id::text::bigint + 0)::text::xid8 $$;`);
    this.addSql(`create function next_version(version int) returns int language sql immutable parallel safe
      as $$ select greatest(version, 0) + 1 $$;`);
    this.addSql(
      `alter table "job_event" alter column "transaction_id" set default feed_number(pg_current_xact_id());`,
    );
    this.addSql(`alter table "job" alter column "version" set default next_version(0);`);
  }
}
