import { Migration } from "@mikro-orm/migrations";

/**
 * Finds an attempt by its id. The ids are UUIDv7 and inserted in the order of time, so a BRIN index is enough: it has
 * one entry per 256 KiB. Partitions that are created later copy it.
 */
export class AttemptIds extends Migration {
  override name = "20261122190000-attempt-ids";

  override up(): void {
    this.addSql(`
      create index webhook_attempt_id on webhook_attempt using brin (id)
      with (pages_per_range = 32, autosummarize = on);`);
  }
}
