/** `waymark key list` */
import { Command } from "commander";
import type { ApiKey } from "../api-keys/api-key.entity.ts";
import type { Cli } from "./cli.ts";
import { keyDocument } from "./key-document.ts";
import { tableOf } from "./output.ts";

const HEAD = ["ID", "KEY", "STATE", "ORGANISATION", "NAME", "SCOPES"];

export function keyList(cli: Cli): Command {
  return new Command("list")
    .description("list the keys, oldest first")
    .option("--org <org>", "only those of this organisation: its id or exact name")
    .action(({ org }: { org?: string }) =>
      cli.withServices(async ({ organizations, keys }) => {
        const organizationId = org === undefined ? undefined : (await organizations.get(org)).id;
        const items = await keys.list(organizationId);
        const rows = items.map((key) => [
          keyDocument(key).id,
          keyDocument(key).starts_with,
          stateOf(key),
          key.organization?.name ?? "(operator)",
          key.name,
          key.scopes.join(","),
        ]);
        cli.output.result(
          { items: items.map(keyDocument) },
          rows.length === 0 ? "There is no key yet." : tableOf([HEAD, ...rows]),
        );
      }),
    );
}

function stateOf({ revokedAt, expiresAt }: ApiKey): string {
  if (revokedAt) return "revoked";
  return expiresAt && expiresAt.getTime() <= Date.now() ? "expired" : "active";
}
