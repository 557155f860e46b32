/** `waymark after-restore` */
import { Command } from "commander";
import type { LockHolder } from "../platform/migrate.ts";
import { concludeRestore, type RestorationWithSessions } from "../restoration/restoration.service.ts";
import type { Cli } from "./cli.ts";
import { listOf } from "./output.ts";

const AFTERWARDS = `
Lost is what came after the newest event. What was taken away by hand since the backup (keys, members, endpoints) is
there again: see docs/backup.md. The servers can start.`;

export function afterRestore(cli: Cli): Command {
  return new Command("after-restore")
    .description(
      "once after PostgreSQL was restored from a backup, before any server starts: give no number a second time, mark what " +
        "may have been sent before, end all sessions",
    )
    .action(async () => {
      const { promise: restored, resolve } = Promise.withResolvers<RestorationWithSessions>();
      // What waits may be millions: as the migrations, it takes what it takes.
      const admit = async (database: LockHolder): Promise<void> => resolve(await concludeRestore(database));
      await cli.withServices(async () => tell(cli, await restored), { admit });
    });
}

function tell({ output }: Cli, restored: RestorationWithSessions): void {
  const document = {
    newest_event_at: restored.newestEventAt,
    versions_from: restored.versionsFrom,
    deliveries_marked: restored.deliveriesMarked,
    sessions_ended: restored.sessionsEnded,
  };
  const told = listOf({
    "newest event": restored.newestEventAt ?? "none",
    "job versions go on from": String(restored.versionsFrom),
    "deliveries sent with a mark": String(restored.deliveriesMarked),
    "sessions ended": String(restored.sessionsEnded),
  });
  output.result(document, `The database goes on from its backup.\n\n${told}\n${AFTERWARDS}`);
}
