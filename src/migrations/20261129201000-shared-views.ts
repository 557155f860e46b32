/** Whether a saved view is shared with the user's organisation. A constant default rewrites no row. */
import { Migration } from "@mikro-orm/migrations";

export class SharedViews extends Migration {
  override name = "20261129201000-shared-views";

  override up(): void {
    this.addSql(`alter table "saved_view" add "is_shared" boolean not null default false;`);
  }
}
