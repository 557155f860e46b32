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
    .description("issue a key, which is shown this once")
    .option("--org <org>", "whose key it is: an organisation's id or exact name")
    .option("--operator", "an operator's key, for GraphQL: it sees and feeds the jobs of every organisation")
    .option("--name <name>", "what it is for", "API key")
    .option(
      "--scopes <scopes>",
      "what it may do: jobs:read, jobs:write, webhooks:manage, separated by commas",
      parseScopes,
      ["jobs:read", "jobs:write"],
    )
    .option(
      "--expires <when>",
      "a day (it ends as that day ends, UTC), an instant, or days from now: 90d",
      parseExpiry,
    )
    .option("--cidr <range...>", "address ranges that it may be used from (default: anywhere)")
    .action(({ org, operator, name, scopes, expires, cidr }: Options, command: Command) => {
      if ((org === undefined) === (operator === undefined))
        command.error("error: say whose key it is, by either --org or --operator", { exitCode: 2 });
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
          Id: document.id,
          Organisation: organization?.name ?? "(operator)",
          Scopes: scopes.join(", "),
          Expires: document.expires_at?.toISOString() ?? "never",
          From: document.cidrs?.join(", ") ?? "anywhere",
        };
        cli.output.printResult(
          { key: text, ...document },
          `${formatList(summary)}\nKeep the key now: it is not shown again.`,
        );
      });
    });
}
