import { Migration } from "@mikro-orm/migrations";

/** The requests of partners, by days that are dropped whole (`request-log/days.ts`), and what was counted of them. */
export class RequestLog extends Migration {
  override name = "20261121210300-request-log";

  override up(): void {
    this.addSql(`
      create table request_log (
        -- the 128 bits of its request_id, whose first 48 are the time
        id uuid not null,
        -- no foreign keys: the log must not wait for what it speaks of
        organization_id uuid not null,
        key_id uuid not null,
        method text not null,
        path text not null,
        status smallint not null,
        duration_ms real not null,
        error_code text,
        request_body text,
        response_body text,
        -- Finds one request as well as the newest ones, both of an organisation.
        primary key (organization_id, id)
      ) partition by range (id);`);
    this.addSql(
      `create index request_log_unsuccessful on request_log (organization_id, id) where status >= 400;`,
    );
    // For operators, who know a request_id alone. Rows come in the order of time, so this costs next to nothing.
    this.addSql(
      `create index request_log_time on request_log using brin (id) with (pages_per_range = 16, autosummarize = on);`,
    );

    this.addSql(`
      create table request_usage (
        organization_id uuid not null,
        day date not null,
        key_id uuid not null,
        succeeded bigint not null,
        refused bigint not null,
        failed bigint not null,
        -- of all of them together
        duration_ms float8 not null,
        primary key (organization_id, day, key_id)
      ) with (fillfactor = 70);`);
    this.addSql(`create index request_usage_day on request_usage (day);`);
  }
}
