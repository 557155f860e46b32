/** `waymark migrate` */
import { Command } from "commander";
import type { Cli } from "./cli.ts";

export function migrate(cli: Cli): Command {
  return new Command("migrate")
    .description("bring the database's schema up to date (every command and the server do so, too)")
    .action(() =>
      cli.withServices(async ({ applied }) => {
        const text =
          applied.length === 0 ? "The schema is up to date." : `Applied:\n  ${applied.join("\n  ")}`;
        cli.output.result({ applied }, text);
      }),
    );
}
