/** `waymark key list` */
import { Command } from "commander";
import type { ApiKey } from "../../../api-keys/api.ts";
import type { CliContext } from "../../context.ts";
import { presentKey } from "../../presenters/key.ts";
import { formatTable } from "../../output.ts";

const COLUMNS = ["ID", "KEY", "STATUS", "ORGANISATION", "NAME", "SCOPES"];

export function keyListCommand(cli: CliContext): Command {
  return new Command("list")
    .description("list API keys, oldest first")
    .option("--org <org>", "only keys of this organisation (ID or exact name)")
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
          rows.length === 0 ? "No API keys." : formatTable([COLUMNS, ...rows]),
        );
      }),
    );
}

function formatKeyStatus({ revokedAt, expiresAt }: ApiKey): string {
  if (revokedAt) return "revoked";
  return expiresAt && expiresAt.getTime() <= Date.now() ? "expired" : "active";
}
