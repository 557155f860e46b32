/** The organisation that an operator views as its members see it. */
import { Migration } from "@mikro-orm/migrations";

export class ViewedOrganization extends Migration {
  override name = "20261129190000-viewed-organization";

  override up(): void {
    this.addSql(`alter table "user_session" add "viewed_organization_id" uuid null;`);
  }
}
