/** Runs of test jobs. */
import { Migration } from "@mikro-orm/migrations";

export class TestRuns extends Migration {
  override name = "20261124050100-test-runs";

  override up(): void {
    this.addSql(
      `create table "test_run" ("job_id" uuid not null, "agent_id" uuid not null, "marking_number" text not null, "steps" text[] not null, "interval_ms" int not null, "due_at" timestamptz(3) not null, primary key ("job_id"));`,
    );
    this.addSql(`create index "test_run_due" on "test_run" ("due_at");`);
    this.addSql(`create index "test_run_agent" on "test_run" ("agent_id");`);
  }
}
