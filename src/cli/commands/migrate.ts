/** `waymark migrate` */
import { Command } from "commander";
import type { CliContext } from "../context.ts";

export function migrateCommand(cli: CliContext): Command {
  return new Command("migrate")
    .description("bring the database's schema up to date (every command and the server do so, too)")
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
