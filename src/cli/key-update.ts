/** `waymark key update` */
import { Command } from "commander";
import type { KeyRateLimits } from "../api-keys/api-key.entity.ts";
import { limitOf, rateLimitClasses } from "../api-keys/rate-limit.ts";
import type { Cli } from "./cli.ts";
import { getKey, KEY_ARGUMENT, keyDocument } from "./key-document.ts";
import { listOf } from "./output.ts";
import { limitValue } from "./values.ts";

export function keyUpdate(cli: Cli): Command {
  return new Command("update")
    .description("change the rate limits of a key; every process applies them within a second")
    .argument("<key>", KEY_ARGUMENT)
    .requiredOption(
      "--limit <class=limit>",
      "read, write or batch, and a limit: read=10/20 (10 a second, bursts of 20), read=default or read=none; may be repeated",
      limitValue,
    )
    .action((text: string, { limit: changes }: { limit: KeyRateLimits }) =>
      cli.withServices(async ({ keys }) => {
        const { id } = await getKey(keys, text);
        const key = await keys.setRateLimits(id, changes);
        const own = key.rateLimits ?? null;
        const shown = rateLimitClasses.map((kind) => {
          const limit = limitOf(own, kind);
          return [kind, limit ? `${limit.perSecond} a second, ${limit.burst} at once` : "none"] as const;
        });
        const document = keyDocument(key);
        cli.output.result(
          { ...document, rate_limits: own },
          listOf({ Key: document.starts_with, ...Object.fromEntries<string>(shown) }),
        );
      }),
    );
}
