import { Migration } from "@mikro-orm/migrations";

/** A record is stored with the change that it answers, so there is none without an answer. */
export class IdempotencyTransactions extends Migration {
  override name = "20261122130000-idempotency-transactions";

  override up(): void {
    this.addSql(`delete from "idempotency_record" where "answer" is null;`);
    this.addSql(
      `alter table "idempotency_record" drop column "locked_until", alter column "answer" set not null, add "bytes" int not null default 0;`,
    );
  }
}
