import { Migration } from "@mikro-orm/migrations";

/** The same for the versions of jobs: after a restore `src/restoration` replaces the function. */
export class JobVersions extends Migration {
  override name = "20261122100010-job-versions";

  override up(): void {
    this.addSql(`create function next_version(version int) returns int language sql immutable parallel safe
      as $$ select greatest(version, 0) + 1 $$;`);
    this.addSql(`alter table "job" alter column "version" set default next_version(0);`);
  }
}
