import { Migration } from "@mikro-orm/migrations";

/** What says which keys changed, and whose token buckets a key draws from. */
export class KeyChanges extends Migration {
  override name = "20261122120000-key-changes";

  override up(): void {
    this.addSql(
      `alter table "api_key" add "rate_bucket" uuid null, add "access_revision" int not null default 0;`,
    );
  }
}
