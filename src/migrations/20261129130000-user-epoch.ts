/** A user's epoch, which sessions and known browsers carry: a new one ends them all. */
import { Migration } from "@mikro-orm/migrations";

export class UserEpoch extends Migration {
  override name = "20261129130000-user-epoch";

  override up(): void {
    this.addSql(`alter table "user_account" add "epoch" uuid not null default gen_random_uuid();`);
    this.addSql(
      `update "user_account" set "epoch" = "browser_epoch" from "user_credential" where "user_id" = "user_account"."id";`,
    );
    this.addSql(`alter table "user_session" add "epoch" uuid null;`);
    this.addSql(
      `update "user_session" set "epoch" = "user_account"."epoch" from "user_account" where "user_account"."id" = "user_id";`,
    );
  }
}
