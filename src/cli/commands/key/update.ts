/** `waymark key update` */
import { Command } from "commander";
import { type RateLimitOverrides, effectiveLimit, rateLimitClasses } from "../../../rate-limits/api.ts";
import type { CliContext } from "../../context.ts";
import { getKey, KEY_ARGUMENT_HELP, presentKey } from "../../presenters/key.ts";
import { formatList } from "../../output.ts";
import { parseRateLimit } from "../../option-parsers.ts";

export function keyUpdateCommand(cli: CliContext): Command {
  return new Command("update")
    .description("change the rate limits of a key; all processes apply them within a second")
    .argument("<key>", KEY_ARGUMENT_HELP)
    .requiredOption(
      "--limit <class=limit>",
      "class (read, write or batch) and limit: read=10/20 (10 per second, burst of 20), read=default or read=none; repeatable",
      parseRateLimit,
    )
    .action((text: string, { limit: changes }: { limit: RateLimitOverrides }) =>
      cli.withServices(async ({ keys }) => {
        const { id } = await getKey(keys, text);
        const key = await keys.setRateLimits(id, changes);
        const ownLimits = key.rateLimits ?? null;
        const limits = rateLimitClasses.map((kind) => {
          const limit = effectiveLimit(ownLimits, kind);
          return [kind, limit ? `${limit.perSecond} per second, burst of ${limit.burst}` : "none"] as const;
        });
        const document = presentKey(key);
        cli.output.printResult(
          { ...document, rate_limits: ownLimits },
          formatList({ Key: document.starts_with, ...Object.fromEntries<string>(limits) }),
        );
      }),
    );
}
