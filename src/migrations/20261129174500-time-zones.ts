/** The time zone of organisations. A constant default rewrites no row. */
import { Migration } from "@mikro-orm/migrations";

export class TimeZones extends Migration {
  override name = "20261129174500-time-zones";

  override up(): void {
    this.addSql(`alter table "organization" add "time_zone" text not null default 'UTC';`);
  }
}
