/** What an organisation's owners are written when one of its endpoints is in trouble. */
import { composeMail, type MailService, type NewMail } from "../../mail/api.ts";
import type { Logger } from "../../platform/logger.ts";
import { sql } from "../../platform/postgres/sql.ts";
import type { AlertNotifier, EndpointAlert, EndpointAlertKind } from "./alerts.ts";

export interface AlertMailDeps {
  mails: Pick<MailService, "enqueue">;
  logger: Logger;
  /** The address of a page of the console. */
  pageUrl: (path: string) => string;
}

/** Writes to the owners. What goes wrong with that must not undo what was found out about the endpoint. */
export function createAlertNotifier({ mails, logger, pageUrl }: AlertMailDeps): AlertNotifier {
  return async (tx, alert) => {
    const { kind, endpointId: endpoint, organizationId } = alert;
    logger.warn({ endpoint, kind }, "an endpoint is in trouble");
    const page = pageUrl(`/integrations/endpoints/${endpoint}`);
    try {
      await tx.nested(async () => {
        const owners = await tx.query<{ email: string }>(sql`
          select email from user_account where organization_id = ${organizationId}::uuid and role = 'owner'`);
        for (const { email } of owners) await mails.enqueue(tx, buildAlertMail(email, alert, page));
      });
    } catch (error) {
      logger.error({ endpoint, kind, error: (error as Error).message }, "its owners could not be written to");
    }
  };
}

interface AlertText {
  readonly title: string;
  readonly what: (host: string) => string;
  readonly next: string;
}

const RETENTION_TEXT =
  "Its events are kept for the retention time of this service. Once it is well again, resume it, and have them sent.";

const alertTexts: Readonly<Record<EndpointAlertKind, AlertText>> = {
  troubled: {
    title: "A webhook endpoint keeps failing",
    what: (host) => `Four attempts in a row to deliver an event to your endpoint at ${host} have failed.`,
    next: "We go on trying, ever more slowly, for about three days. An endpoint that only fails for five days is disabled.",
  },
  failing: {
    title: "A webhook endpoint was disabled",
    what: (host) =>
      `For five days nothing could be delivered to your endpoint at ${host}, so we have disabled it.`,
    next: RETENTION_TEXT,
  },
  gone: {
    title: "A webhook endpoint was disabled",
    what: (host) =>
      `Your endpoint at ${host} has answered "410 Gone", which asks for nothing more to be sent, so we have disabled it.`,
    next: RETENTION_TEXT,
  },
};

function buildAlertMail(to: string, { kind, url }: EndpointAlert, page: string): NewMail {
  const { title, what, next } = alertTexts[kind];
  // The host alone: addresses of endpoints often hold a token.
  const { host } = new URL(url);
  const composed = composeMail({
    title,
    paragraphs: [what(host), next],
    action: { label: "Look at the endpoint", url: page },
    footnote: "You receive this as an owner of your organisation.",
  });
  return { to, kind: `endpoint_${kind}`, subject: `${title}: ${host}`, ...composed };
}
