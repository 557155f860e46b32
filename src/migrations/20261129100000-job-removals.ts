/** The events `job.unassigned`, which the agent of the job does not see, and `job.deleted`. Reads all events once, for the constraint. */
import { Migration } from "@mikro-orm/migrations";

export class JobRemovals extends Migration {
  override name = "20261129100000-job-removals";

  override up(): void {
    this.addSql(`alter table "job_event" drop constraint "job_event_type_check";`);
    this.addSql(`alter table "job_event" alter column "agent_id" drop not null;`);
    this.addSql(
      `alter table "job_event" add constraint "job_event_type_check" check ("type" in ('job.created', 'job.updated', 'job.status_changed', 'job.assigned', 'job.unassigned', 'job.deleted'));`,
    );
  }
}
