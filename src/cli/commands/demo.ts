/** `waymark demo` */
import { Command } from "commander";
import { AppError } from "../../platform/errors.ts";
import type { CliContext } from "../context.ts";
import { formatList } from "../output.ts";

export function demoCommand(cli: CliContext): Command {
  return new Command("demo")
    .description("create the demo data if the database is empty, and print the demo's keys and logins")
    .action(() =>
      cli.withServices(async ({ config, database, organizations, keys }) => {
        const { ensureDemo } = await import("../../embedded/demo/demo.ts");
        const { prepareDataFolder } = await import("../../embedded/data-folder.ts");
        await prepareDataFolder(config.dataDir);
        const demoKeys = await ensureDemo({ database, organizations, keys, dataDir: config.dataDir });
        if (!demoKeys)
          throw new AppError(
            "ConflictException",
            "The database contains organisations other than the demo's, so no demo data was created",
          );
        const { agent, contractor, logins } = demoKeys;
        cli.output.printResult(
          { agent_key: agent, contractor_key: contractor, logins },
          formatList({
            "Agent key": agent,
            "Contractor key": contractor,
            "Agent's login": formatLogin(logins.agent),
            "Contractor's login": formatLogin(logins.contractor),
            "Operator's login": formatLogin(logins.operator),
          }),
        );
      }),
    );
}

function formatLogin({ email, password }: { email: string; password: string | null }): string {
  return `${email}  ${password ?? "(password was changed)"}`;
}
