/** `waymark org list` */
import { Command } from "commander";
import type { Cli } from "./cli.ts";
import { orgDocument } from "./org-document.ts";
import { tableOf } from "./output.ts";

export function orgList(cli: Cli): Command {
  return new Command("list").description("list the organisations by name").action(() =>
    cli.withServices(async ({ organizations }) => {
      const items = (await organizations.list()).map(orgDocument);
      const rows = items.map(({ id, type, name, suspended_at }) => [
        id,
        type,
        suspended_at ? "suspended" : "active",
        name,
      ]);
      cli.output.result(
        { items },
        rows.length === 0
          ? "There is no organisation yet."
          : tableOf([["ID", "TYPE", "STATE", "NAME"], ...rows]),
      );
    }),
  );
}
