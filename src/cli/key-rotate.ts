/** `waymark key rotate` */
import { Command } from "commander";
import { toTypedId } from "../platform/ids.ts";
import { commandLine, type Cli } from "./cli.ts";
import { getKey, KEY_ARGUMENT, keyDocument } from "./key-document.ts";
import { listOf } from "./output.ts";
import { hoursValue } from "./values.ts";

export function keyRotate(cli: Cli): Command {
  return new Command("rotate")
    .description("issue a key like an old one, which stays good for a while")
    .argument("<key>", KEY_ARGUMENT)
    .option("--keep-hours <hours>", "how long the old key stays good, 0 to 24", hoursValue, 24)
    .action((text: string, { keepHours }: { keepHours: number }) =>
      cli.withServices(async ({ keys }) => {
        const { id } = await getKey(keys, text);
        const issued = await keys.rotate(id, keepHours, "cli", commandLine);
        const replaces = keyDocument(await getKey(keys, toTypedId("key", id)));
        const document = { key: issued.text, ...keyDocument(issued.key), replaces };
        const shown = {
          Key: issued.text,
          Id: document.id,
          Replaces: `${replaces.starts_with}, good until ${replaces.expires_at?.toISOString() ?? "revoked"}`,
        };
        cli.output.result(document, `${listOf(shown)}\nKeep the key now: it is not shown again.`);
      }),
    );
}
