import { Migration } from "@mikro-orm/migrations";

/** How much each organisation stores, read from the index alone. */
export class IdempotencyStored extends Migration {
  override name = "20261122130010-idempotency-stored";

  override isTransactional(): boolean {
    return false;
  }

  override up(): void {
    this.addSql("set lock_timeout = 0;");
    // An index that an interrupted try has left behind is not valid.
    this.addSql(`drop index concurrently if exists "idempotency_record_stored";`);
    this.addSql(
      `create index concurrently "idempotency_record_stored" on "idempotency_record" ("organization_id", "expires_at", "bytes");`,
    );
  }
}
