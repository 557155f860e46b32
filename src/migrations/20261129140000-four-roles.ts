/** Four roles in an organisation: members become dispatchers. It can run again, after a roll back as CHANGELOG.md says. */
import { Migration } from "@mikro-orm/migrations";

export class FourRoles extends Migration {
  override name = "20261129140000-four-roles";

  override up(): void {
    for (const table of ["invitation", "user_account"]) {
      this.addSql(`alter table "${table}" drop constraint if exists "${table}_role_check";`);
      this.addSql(`update "${table}" set "role" = 'dispatcher' where "role" = 'member';`);
      this.addSql(
        `alter table "${table}" add constraint "${table}_role_check" check ("role" in ('owner', 'developer', 'dispatcher', 'viewer', 'operator'));`,
      );
    }
  }
}
