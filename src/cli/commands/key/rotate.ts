/** `waymark key rotate` */
import { Command } from "commander";
import { toTypedId } from "../../../platform/ids.ts";
import { cliAuditContext, type CliContext } from "../../context.ts";
import { getKey, KEY_ARGUMENT_HELP, presentKey } from "../../presenters/key.ts";
import { formatList } from "../../output.ts";
import { parseHours } from "../../option-parsers.ts";

export function keyRotateCommand(cli: CliContext): Command {
  return new Command("rotate")
    .description("replace a key with a new one; the old key stays valid for a grace period")
    .argument("<key>", KEY_ARGUMENT_HELP)
    .option("--keep-hours <hours>", "hours for which the old key stays valid, 0 to 24", parseHours, 24)
    .action((text: string, { keepHours }: { keepHours: number }) =>
      cli.withServices(async ({ keys }) => {
        const { id } = await getKey(keys, text);
        const issued = await keys.rotate(id, keepHours, "cli", cliAuditContext);
        const replacedKey = presentKey(await getKey(keys, toTypedId("key", id)));
        const document = { key: issued.text, ...presentKey(issued.key), replaces: replacedKey };
        const summary = {
          Key: issued.text,
          ID: document.id,
          Replaces: `${replacedKey.starts_with}, valid until ${replacedKey.expires_at?.toISOString() ?? "revoked"}`,
        };
        cli.output.printResult(document, `${formatList(summary)}\nStore the key now. It is not shown again.`);
      }),
    );
}
