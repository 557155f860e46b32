/** `waymark serve`: the same as `npm start`. */
import { Command, Option } from "commander";
import { toConfig } from "../../config/config.ts";
import { readEnv } from "../../config/env.ts";
import { AppError } from "../../platform/errors.ts";
import type { CliContext } from "../context.ts";

interface Options {
  role?: "all" | "api" | "worker";
}

export function serveCommand(cli: CliContext): Command {
  return new Command("serve")
    .description("run the server until it receives a signal")
    .addOption(
      new Option("--role <role>", "role of this process (default: WAYMARK_ROLE)").choices([
        "all",
        "api",
        "worker",
      ]),
    )
    .action(async ({ role }: Options) => {
      if (cli.output.isJson)
        throw new AppError("BadRequestException", "serve has no result to print with --json");
      const { runServer } = await import("../../app/serve.ts");
      const env = readEnv();
      await runServer(toConfig({ ...env, WAYMARK_ROLE: role ?? env.WAYMARK_ROLE }));
    });
}
