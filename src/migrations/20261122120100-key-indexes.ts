import { Migration } from "@mikro-orm/migrations";

/** The keys of an organisation, and those that changed. */
export class KeyIndexes extends Migration {
  override name = "20261122120100-key-indexes";

  override isTransactional(): boolean {
    return false;
  }

  override up(): void {
    this.addSql(`set lock_timeout = 0;`);
    // What a try that failed has left is not valid.
    this.addSql(`drop index if exists "api_key_organization", "api_key_access_revision";`);
    this.addSql(
      `create index concurrently "api_key_organization" on "api_key" ("organization_id", "expires_at");`,
    );
    this.addSql(`create index concurrently "api_key_access_revision" on "api_key" ("access_revision");`);
  }
}
