/** How many requests got 429. A constant default rewrites no row. */
import { Migration } from "@mikro-orm/migrations";

export class RequestUsageLimited extends Migration {
  override name = "20261129230000-request-usage-limited";

  override up(): void {
    this.addSql(`alter table request_usage add column limited bigint not null default 0;`);
  }
}
