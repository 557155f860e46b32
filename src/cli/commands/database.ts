/** Commands for the database: `waymark migrate`, `after-restore`, `accept-secret` and `demo`. */
import { AppError } from "../../core/errors.ts";
import { finishRestore, type RestoreResult, type UnreadableSecrets } from "../../restore/api.ts";
import { command, serviceCommand } from "../command.ts";
import { type CliServices, withServices } from "../context.ts";
import { escapeControlCharacters, formatList, toDocument } from "../output.ts";

const migrate = serviceCommand("migrate", {
  description: "apply pending migrations (the server and all other commands also do this at start)",
  run: async ({ appliedMigrations: applied }) => ({
    document: { applied },
    text: applied.length === 0 ? "The schema is up to date." : `Applied:\n  ${applied.join("\n  ")}`,
  }),
});

const AFTER_RESTORE_TEXT = `
Changes after the newest event are lost. Keys, members and endpoints that were removed after the backup exist again:
see docs/operate/backup.md. You can start the servers now.`;

const afterRestore = command("after-restore", {
  description:
    "run once after restoring PostgreSQL from a backup, before any server starts: skip past used version numbers, mark " +
    "pending deliveries as possibly sent before, and revoke all sessions",
  async run(cli) {
    const { promise: result, resolve } = Promise.withResolvers<RestoreResult>();
    // Printed before the services close, because a failure to close them must not hide it.
    const print = async () =>
      cli.output.printResult(toDocument(await result), formatRestoreResult(await result));
    // Runs as a startup check, because those have no statement timeout: there may be millions of pending deliveries.
    await withServices(cli, print, async (database) => resolve(await finishRestore(database)));
    return undefined;
  },
});

function formatRestoreResult(result: RestoreResult): string {
  const summary = formatList({
    "Newest event": result.newestEventAt ?? "none",
    "Next job version": String(result.minNextVersion),
    "Deliveries flagged": String(result.deliveriesFlagged),
    "Sessions revoked": String(result.sessionsEnded),
  });
  return `The restored database is ready.\n\n${summary}\n${AFTER_RESTORE_TEXT}`;
}

const acceptSecret = command("accept-secret", {
  description:
    "accept the current WAYMARK_SECRET after losing the previous one; data encrypted with the previous one stays unreadable",
  async run(cli) {
    const acceptAndPrint = async (services: CliServices): Promise<void> => {
      const unreadable = await services.acceptSecret();
      cli.output.printResult(toDocument(unreadable), formatUnreadableSecrets(unreadable));
    };
    await withServices(cli, acceptAndPrint, async () => undefined);
    return undefined;
  },
});

function formatUnreadableSecrets({ endpoints, headers, userEmails }: UnreadableSecrets): string {
  const commands = [
    ...endpoints.map((id) => `  waymark endpoint rotate-secret ${id}`),
    // --header replaces all headers, because the stored ones cannot be decrypted.
    ...headers.map((id) => `  waymark endpoint update ${id} --header "Name: value"`),
    ...userEmails.map((email) => `  waymark user reset-two-factor ${escapeControlCharacters(email)}`),
  ];
  const rest =
    commands.length === 0
      ? "No data is encrypted with another secret."
      : `Data encrypted with the previous secret is lost. Run these commands together with the owners:\n${commands.join("\n")}`;
  return `This database now accepts the current WAYMARK_SECRET.\n${rest}`;
}

export const demoCommand = serviceCommand("demo", {
  description: "create the demo data if the database is empty, and print the demo's keys and logins",
  async run({ ensureDemo }) {
    const demo = await ensureDemo();
    if (!demo)
      throw new AppError(
        "ConflictException",
        "The database contains organisations other than the demo's, so no demo data was created",
      );
    const { agent, contractor, test, logins } = demo;
    return {
      document: { agent_key: agent, contractor_key: contractor, test_key: test, logins },
      text: formatList({
        "Agent key": agent,
        "Contractor key": contractor,
        "Test key": test,
        "Agent's login": formatLogin(logins.agent),
        "Contractor's login": formatLogin(logins.contractor),
        "Operator's login": formatLogin(logins.operator),
      }),
    };
  },
});

function formatLogin({ email, password }: { email: string; password: string | null }): string {
  return `${email}  ${password ?? "(password was changed)"}`;
}

export const databaseCommands = [migrate, afterRestore, acceptSecret];
