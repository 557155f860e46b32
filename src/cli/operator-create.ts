/** `waymark operator create` */
import { Command } from "commander";
import { createLinkService } from "../accounts/link.service.ts";
import { inviteOperator } from "../accounts/operator.service.ts";
import { systemClock } from "../platform/clock.ts";
import { createPageAddress } from "../platform/page-address.ts";
import type { Cli } from "./cli.ts";
import { listOf } from "./output.ts";

export function operatorCreate(cli: Cli): Command {
  return new Command("create")
    .description("make an operator, who chooses a password by the link that is shown this once")
    .requiredOption("--email <email>", "the address that they will sign in with")
    .action(({ email }: { email: string }) =>
      cli.withServices(async ({ config, database }) => {
        const clock = systemClock;
        const links = createLinkService({ database, clock });
        const { pageUrl } = createPageAddress(config.http.publicUrl, config.http);
        const invited = await inviteOperator({ database, clock, links, pageUrl }, email);
        const expires = invited.expiresAt.toISOString();
        cli.output.result(
          { email: invited.email, url: invited.url, expires_at: expires },
          `${listOf({ Operator: invited.email, Link: invited.url, "Good until": expires })}\n` +
            "Open it in a browser while the server runs. Asked for again, there is a new one, and this one ends.",
        );
      }),
    );
}
