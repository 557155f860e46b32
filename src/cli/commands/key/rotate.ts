/** `waymark key rotate` */
import { Command } from "commander";
import { toTypedId } from "../../../platform/ids.ts";
import { cliAuditContext, type CliContext } from "../../context.ts";
import { getKey, KEY_ARGUMENT_HELP, presentKey } from "../../presenters/key.ts";
import { formatList } from "../../output.ts";
import { parseHours } from "../../option-parsers.ts";

export function keyRotateCommand(cli: CliContext): Command {
  return new Command("rotate")
    .description("issue a key like an old one, which stays good for a while")
    .argument("<key>", KEY_ARGUMENT_HELP)
    .option("--keep-hours <hours>", "how long the old key stays good, 0 to 24", parseHours, 24)
    .action((text: string, { keepHours }: { keepHours: number }) =>
      cli.withServices(async ({ keys }) => {
        const { id } = await getKey(keys, text);
        const issued = await keys.rotate(id, keepHours, "cli", cliAuditContext);
        const replacedKey = presentKey(await getKey(keys, toTypedId("key", id)));
        const document = { key: issued.text, ...presentKey(issued.key), replaces: replacedKey };
        const summary = {
          Key: issued.text,
          Id: document.id,
          Replaces: `${replacedKey.starts_with}, good until ${replacedKey.expires_at?.toISOString() ?? "revoked"}`,
        };
        cli.output.printResult(document, `${formatList(summary)}\nKeep the key now: it is not shown again.`);
      }),
    );
}
