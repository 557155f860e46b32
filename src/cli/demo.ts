/** `waymark demo` */
import { Command } from "commander";
import { AppError } from "../platform/errors.ts";
import type { Cli } from "./cli.ts";
import { listOf } from "./output.ts";

export function demo(cli: Cli): Command {
  return new Command("demo")
    .description(
      "fill an empty database with the demo, if it is not there yet, and print its keys and logins",
    )
    .action(() =>
      cli.withServices(async ({ config, database, organizations, keys }) => {
        const { ensureDemo } = await import("../embedded/demo.ts");
        const { prepareDataFolder } = await import("../embedded/data-folder.ts");
        await prepareDataFolder(config.dataDir);
        const demoKeys = await ensureDemo({ database, organizations, keys, dataDir: config.dataDir });
        if (!demoKeys)
          throw new AppError(
            "ConflictException",
            "The database has organisations of its own, so it gets no demo",
          );
        const { agent, contractor, logins } = demoKeys;
        cli.output.result(
          { agent_key: agent, contractor_key: contractor, logins },
          listOf({
            "Agent key": agent,
            "Contractor key": contractor,
            "Agent's login": loginText(logins.agent),
            "Contractor's login": loginText(logins.contractor),
            "Operator's login": loginText(logins.operator),
          }),
        );
      }),
    );
}

function loginText({ email, password }: { email: string; password: string | null }): string {
  return `${email}  ${password ?? "(its password was changed)"}`;
}
