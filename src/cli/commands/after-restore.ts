/** `waymark after-restore` */
import { Command } from "commander";
import type { LockedConnection } from "../../platform/postgres/migrate.ts";
import { finishRestore, type RestoreResult } from "../../restore/api.ts";
import type { CliContext } from "../context.ts";
import { formatList } from "../output.ts";

const NEXT_STEPS = `
Changes after the newest event are lost. Keys, members and endpoints that were removed after the backup exist again:
see docs/backup.md. You can start the servers now.`;

export function afterRestoreCommand(cli: CliContext): Command {
  return new Command("after-restore")
    .description(
      "run once after restoring PostgreSQL from a backup, before any server starts: skip past used version numbers, mark " +
        "pending deliveries as possibly sent before, and revoke all sessions",
    )
    .action(async () => {
      const { promise: outcome, resolve } = Promise.withResolvers<RestoreResult>();
      // Runs as a startup check, because those have no statement timeout: there may be millions of pending deliveries.
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
    "Newest event": outcome.newestEventAt ?? "none",
    "Next job version": String(outcome.minNextVersion),
    "Deliveries flagged": String(outcome.deliveriesFlagged),
    "Sessions revoked": String(outcome.sessionsEnded),
  });
  output.printResult(document, `The restored database is ready.\n\n${summary}\n${NEXT_STEPS}`);
}
