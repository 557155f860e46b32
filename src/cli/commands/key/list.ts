/** `waymark key list` */
import { Command } from "commander";
import type { ApiKey } from "../../../api-keys/api.ts";
import type { CliContext } from "../../context.ts";
import { presentKey } from "../../presenters/key.ts";
import { formatTable } from "../../output.ts";

const COLUMNS = ["ID", "KEY", "STATE", "ORGANISATION", "NAME", "SCOPES"];

export function keyListCommand(cli: CliContext): Command {
  return new Command("list")
    .description("list the keys, oldest first")
    .option("--org <org>", "only those of this organisation: its id or exact name")
    .action(({ org }: { org?: string }) =>
      cli.withServices(async ({ organizations, keys }) => {
        const organizationId = org === undefined ? undefined : (await organizations.get(org)).id;
        const items = await keys.list(organizationId);
        const rows = items.map((key) => [
          presentKey(key).id,
          presentKey(key).starts_with,
          formatKeyStatus(key),
          key.organization?.name ?? "(operator)",
          key.name,
          key.scopes.join(","),
        ]);
        cli.output.printResult(
          { items: items.map(presentKey) },
          rows.length === 0 ? "There is no key yet." : formatTable([COLUMNS, ...rows]),
        );
      }),
    );
}

function formatKeyStatus({ revokedAt, expiresAt }: ApiKey): string {
  if (revokedAt) return "revoked";
  return expiresAt && expiresAt.getTime() <= Date.now() ? "expired" : "active";
}
