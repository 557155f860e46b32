/** Whether the users of an agent may import jobs. A constant default rewrites no row. */
import { Migration } from "@mikro-orm/migrations";

export class ImportsByAgents extends Migration {
  override name = "20261129193000-imports-by-agents";

  override up(): void {
    this.addSql(`alter table "organization" add "can_import_jobs" boolean not null default false;`);
  }
}
