/** Commands for the server and its database: `waymark serve`, `migrate`, `after-restore`, `accept-secret` and `demo`. */
import { toConfig } from "../../config/config.ts";
import { readEnv } from "../../config/env.ts";
import { AppError, invariant } from "../../core/errors.ts";
import { finishRestore, type RestoreResult, type UnreadableSecrets } from "../../restore/api.ts";
import { command, definer, serviceCommand } from "../command.ts";
import { type ServiceContext, withServices } from "../context.ts";
import { escapeControlCharacters } from "../output.ts";

const AFTER_RESTORE_NOTE = `The restored database is ready.
Changes after the newest event are lost. Keys, members and endpoints that were removed after the backup exist again:
see docs/operate/backup.md. You can start the servers now.`;

/** Without the startup check, which would reject the new secret. */
const uncheckedCommand = definer<ServiceContext>((cli, work) =>
  withServices(cli, work, () => Promise.resolve()),
);

/** Finishes the restore as a startup check, because those have no statement timeout: there may be millions of pending deliveries. */
const restoreCommand = definer<RestoreResult>(async (cli, work) => {
  let restored: RestoreResult | undefined;
  const finish: Parameters<typeof withServices>[2] = async (database) => {
    restored = await finishRestore(database);
  };
  const useResult = async (): Promise<void> => {
    invariant(restored, "the check has run");
    await work(restored);
  };
  await withServices(cli, useResult, finish);
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

export const serverCommands = [
  command("serve", {
    description: "run the server until it receives a signal",
    options: {
      role: { value: "<role>", text: "default: WAYMARK_ROLE", choices: ["all", "api", "worker"] },
    },
    async run({ output, host }, { role }) {
      if (output.isJson)
        throw new AppError("BadRequestException", "serve has no result to print with --json");
      const { runServer } = await import("../../app/serve.ts");
      const env = readEnv(host.env);
      await runServer(toConfig({ ...env, WAYMARK_ROLE: role ?? env.WAYMARK_ROLE }));
      // As in main.ts: Agenda's timers would keep the process alive.
      process.exit();
    },
  }),
  serviceCommand("migrate", {
    description: "apply pending migrations (the server and all other commands also do this at start)",
    run: async ({ appliedMigrations: applied }) => ({
      data: { applied },
      text: applied.length === 0 ? "The schema is up to date." : `Applied:\n  ${applied.join("\n  ")}`,
    }),
  }),
  restoreCommand("after-restore", {
    description:
      "run once after restoring PostgreSQL from a backup, before any server starts: skip past used version numbers, mark " +
      "pending deliveries as possibly sent before, and revoke all sessions",
    run: (data) => Promise.resolve({ data, note: AFTER_RESTORE_NOTE }),
  }),
  uncheckedCommand("accept-secret", {
    description:
      "accept the current WAYMARK_SECRET after losing the previous one; data encrypted with the previous one stays unreadable",
    async run({ acceptSecret }) {
      const data = await acceptSecret();
      return { data, text: formatUnreadableSecrets(data) };
    },
  }),
  serviceCommand("demo", {
    description: "create the demo data if the database is empty, and print the demo's keys and logins",
    async run({ ensureDemo }) {
      const demo = await ensureDemo();
      if (!demo)
        throw new AppError(
          "ConflictException",
          "The database contains organisations other than the demo's, so no demo data was created",
        );
      const { agent, contractor, test, logins } = demo;
      const keys = { agentKey: agent, contractorKey: contractor, testKey: test };
      return { data: { ...keys, logins }, note: "A password that was changed is not shown." };
    },
  }),
];
