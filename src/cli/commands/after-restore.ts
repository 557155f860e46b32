/** `waymark after-restore` */
import { Command } from "commander";
import type { LockedConnection } from "../../platform/postgres/migrate.ts";
import { finishRestore, type RestoreResult } from "../../restore/api.ts";
import type { CliContext } from "../context.ts";
import { formatList } from "../output.ts";

const NEXT_STEPS = `
Lost is what came after the newest event. What was taken away by hand since the backup (keys, members, endpoints) is
there again: see docs/backup.md. The servers can start.`;

export function afterRestoreCommand(cli: CliContext): Command {
  return new Command("after-restore")
    .description(
      "once after PostgreSQL was restored from a backup, before any server starts: give no number a second time, mark what " +
        "may have been sent before, end all sessions",
    )
    .action(async () => {
      const { promise: outcome, resolve } = Promise.withResolvers<RestoreResult>();
      // What waits may be millions: as the migrations, it takes what it takes.
      const startupCheck = async (database: LockedConnection): Promise<void> =>
        resolve(await finishRestore(database));
      await cli.withServices(async () => printResult(cli, await outcome), { startupCheck });
    });
}

function printResult({ output }: CliContext, outcome: RestoreResult): void {
  const document = {
    newest_event_at: outcome.newestEventAt,
    min_next_version: outcome.minNextVersion,
    deliveries_flagged: outcome.deliveriesFlagged,
    sessions_ended: outcome.sessionsEnded,
  };
  const summary = formatList({
    "newest event": outcome.newestEventAt ?? "none",
    "job versions go on from": String(outcome.minNextVersion),
    "deliveries sent with a mark": String(outcome.deliveriesFlagged),
    "sessions ended": String(outcome.sessionsEnded),
  });
  output.printResult(document, `The database goes on from its backup.\n\n${summary}\n${NEXT_STEPS}`);
}
