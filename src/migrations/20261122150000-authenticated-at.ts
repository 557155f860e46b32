import { Migration } from "@mikro-orm/migrations";

/** When a session's user last entered the password: sensitive actions need a recent time. */
export class AuthenticatedAt extends Migration {
  override name = "20261122150000-authenticated-at";

  override up(): void {
    this.addSql(`alter table "user_session" add "authenticated_at" timestamptz(3) not null default now();`);
  }
}
