/** The epoch of a user whose sign-in still needs a code: a new one ends the sign-in. */
import { Migration } from "@mikro-orm/migrations";

export class VerificationEpoch extends Migration {
  override name = "20261129142000-verification-epoch";

  override up(): void {
    this.addSql(`alter table "user_verification" add "epoch" uuid null;`);
  }
}
