import { Migration } from "@mikro-orm/migrations";

/** Revokes the cookies of known browsers: they hold the value that was current when they were issued. */
export class BrowserEpoch extends Migration {
  override name = "20261122150100-browser-epoch";

  override up(): void {
    this.addSql(`alter table "user_credential" add "browser_epoch" uuid not null default gen_random_uuid();`);
  }
}
