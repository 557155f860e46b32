/** `waymark org list` */
import { Command } from "commander";
import type { CliContext } from "../../context.ts";
import { presentOrganization } from "../../presenters/organization.ts";
import { formatTable } from "../../output.ts";

export function orgListCommand(cli: CliContext): Command {
  return new Command("list").description("list organisations by name").action(() =>
    cli.withServices(async ({ organizations }) => {
      const items = (await organizations.list()).map(presentOrganization);
      const rows = items.map(({ id, type, name, suspended_at }) => [
        id,
        type,
        suspended_at ? "suspended" : "active",
        name,
      ]);
      cli.output.printResult(
        { items },
        rows.length === 0 ? "No organisations." : formatTable([["ID", "TYPE", "STATUS", "NAME"], ...rows]),
      );
    }),
  );
}
