/** `waymark key create` */
import { Command } from "commander";
import type { Scope } from "../../../api-keys/api.ts";
import { cliAuditContext, type CliContext } from "../../context.ts";
import { presentKey } from "../../presenters/key.ts";
import { formatList } from "../../output.ts";
import { parseExpiry, parseScopes } from "../../option-parsers.ts";

interface Options {
  org?: string;
  operator?: true;
  name: string;
  scopes: Scope[];
  expires?: Date;
  cidr?: string[];
}

export function keyCreateCommand(cli: CliContext): Command {
  return new Command("create")
    .description("create an API key and print it; it is not shown again")
    .option("--org <org>", "organisation that the key belongs to (ID or exact name)")
    .option(
      "--operator",
      "create an operator key instead: it can read and write jobs of all organisations through GraphQL",
    )
    .option("--name <name>", "name of the key", "API key")
    .option(
      "--scopes <scopes>",
      "permissions, separated by commas: jobs:read, jobs:write, webhooks:manage",
      parseScopes,
      ["jobs:read", "jobs:write"],
    )
    .option(
      "--expires <when>",
      "date (expires at the end of that day, UTC), date-time, or days from now: 90d",
      parseExpiry,
    )
    .option("--cidr <range...>", "IP address ranges that may use the key (default: any)")
    .action(({ org, operator, name, scopes, expires, cidr }: Options, command: Command) => {
      if ((org === undefined) === (operator === undefined))
        command.error("error: specify either --org or --operator", { exitCode: 2 });
      return cli.withServices(async ({ organizations, keys }) => {
        const organization = org === undefined ? null : await organizations.get(org);
        const { key, text } = await keys.create(
          {
            organizationId: organization?.id ?? null,
            name,
            scopes,
            expiresAt: expires ?? null,
            cidrs: cidr ?? null,
            createdBy: "cli",
          },
          cliAuditContext,
        );
        const document = presentKey(key);
        const summary = {
          Key: text,
          ID: document.id,
          Organisation: organization?.name ?? "(operator)",
          Scopes: scopes.join(", "),
          Expires: document.expires_at?.toISOString() ?? "never",
          "Allowed IPs": document.cidrs?.join(", ") ?? "any",
        };
        cli.output.printResult(
          { key: text, ...document },
          `${formatList(summary)}\nStore the key now. It is not shown again.`,
        );
      });
    });
}
