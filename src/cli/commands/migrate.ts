/** `waymark migrate` */
import { Command } from "commander";
import type { CliContext } from "../context.ts";

export function migrateCommand(cli: CliContext): Command {
  return new Command("migrate")
    .description("apply pending migrations (the server and all other commands also do this at start)")
    .action(() =>
      cli.withServices(async ({ appliedMigrations }) => {
        const text =
          appliedMigrations.length === 0
            ? "The schema is up to date."
            : `Applied:\n  ${appliedMigrations.join("\n  ")}`;
        cli.output.printResult({ applied: appliedMigrations }, text);
      }),
    );
}
