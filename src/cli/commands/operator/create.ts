/** `waymark operator create` */
import { Command } from "commander";
import { createEmailTokenService, inviteOperator } from "../../../accounts/api.ts";
import { systemClock } from "../../../platform/clock.ts";
import { createPublicUrl } from "../../../platform/public-url.ts";
import type { CliContext } from "../../context.ts";
import { formatList } from "../../output.ts";

export function operatorCreateCommand(cli: CliContext): Command {
  return new Command("create")
    .description("invite an operator and print the invitation link; it is not shown again")
    .requiredOption("--email <email>", "e-mail address to sign in with")
    .action(({ email }: { email: string }) =>
      cli.withServices(async ({ config, database }) => {
        const clock = systemClock;
        const emailTokens = createEmailTokenService({ database, clock });
        const { pageUrl } = createPublicUrl(config.http.publicUrl, config.http);
        const invitation = await inviteOperator({ database, clock, emailTokens, pageUrl }, email);
        const expires = invitation.expiresAt.toISOString();
        cli.output.printResult(
          { email: invitation.email, url: invitation.url, expires_at: expires },
          `${formatList({ Operator: invitation.email, Link: invitation.url, "Valid until": expires })}\n` +
            "Open the link in a browser while the server runs. Running this command again replaces the link.",
        );
      }),
    );
}
