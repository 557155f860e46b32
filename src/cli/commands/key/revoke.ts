/** `waymark key revoke` */
import { Command } from "commander";
import { cliAuditContext, type CliContext } from "../../context.ts";
import { getKey, KEY_ARGUMENT_HELP, presentKey } from "../../presenters/key.ts";

export function keyRevokeCommand(cli: CliContext): Command {
  return new Command("revoke")
    .description("revoke a key; all processes reject it within a second")
    .argument("<key>", KEY_ARGUMENT_HELP)
    .option("--include-created-keys", "also revoke keys created with it, directly or indirectly")
    .action((text: string, { includeCreatedKeys = false }: { includeCreatedKeys?: boolean }) =>
      cli.withServices(async ({ keys }) => {
        const { id } = await getKey(keys, text);
        const { key, created } = await keys.revoke(id, cliAuditContext, { includeCreatedKeys });
        const revoked = [key, ...created].map(presentKey);
        cli.output.printResult(
          { ...presentKey(key), also_revoked: created.map(presentKey) },
          revoked.map((one) => `${one.starts_with} is revoked.`).join("\n"),
        );
      }),
    );
}
