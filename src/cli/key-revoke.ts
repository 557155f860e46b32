/** `waymark key revoke` */
import { Command } from "commander";
import { toTypedId } from "../platform/ids.ts";
import type { Cli } from "./cli.ts";
import { getKey, KEY_ARGUMENT, keyDocument } from "./key-document.ts";

export function keyRevoke(cli: Cli): Command {
  return new Command("revoke")
    .description("end a key: every process refuses it within a second")
    .argument("<key>", KEY_ARGUMENT)
    .action((text: string) =>
      cli.withServices(async ({ keys }) => {
        const { id } = await getKey(keys, text);
        await keys.revoke(id);
        const document = keyDocument(await getKey(keys, toTypedId("key", id)));
        cli.output.result(document, `${document.starts_with} is revoked.`);
      }),
    );
}
