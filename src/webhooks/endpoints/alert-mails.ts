/** Mails to the owners of an organisation when one of its endpoints keeps failing or was disabled. */
import { composeMail, type MailService, type NewMail } from "../../mail/api.ts";
import type { Logger } from "../../platform/logger.ts";
import { sql } from "../../platform/postgres/sql.ts";
import type { AlertNotifier, EndpointAlert, EndpointAlertKind } from "./alerts.ts";

export interface AlertMailDeps {
  mails: Pick<MailService, "enqueue">;
  logger: Logger;
  /** Returns the URL of a console page. */
  pageUrl: (path: string) => string;
}

/** Enqueues a mail to each owner. A failure is logged and does not roll back the caller's transaction. */
export function createAlertNotifier({ mails, logger, pageUrl }: AlertMailDeps): AlertNotifier {
  return async (tx, alert) => {
    const { kind, endpointId: endpoint, organizationId } = alert;
    logger.warn({ endpoint, kind }, "a webhook endpoint keeps failing or was disabled");
    const page = pageUrl(`/integrations/endpoints/${endpoint}`);
    try {
      await tx.nested(async () => {
        const owners = await tx.query<{ email: string }>(sql`
          select email from user_account where organization_id = ${organizationId}::uuid and role = 'owner'`);
        for (const { email } of owners) await mails.enqueue(tx, buildAlertMail(email, alert, page));
      });
    } catch (error) {
      logger.error({ endpoint, kind, error: (error as Error).message }, "enqueueing the alert mails failed");
    }
  };
}

interface AlertText {
  readonly title: string;
  readonly cause: (host: string) => string;
  readonly consequence: string;
}

const RETENTION_TEXT =
  "Its deliveries are on hold. Once your receiver works again, resume the endpoint in the console to have them sent.";

const alertTexts: Readonly<Record<EndpointAlertKind, AlertText>> = {
  retries_failing: {
    title: "A webhook endpoint keeps failing",
    cause: (host) => `Four attempts in a row to deliver an event to your endpoint at ${host} have failed.`,
    consequence:
      "We retry for about three days, with growing delays. If nothing succeeds for five days, we disable the endpoint.",
  },
  failing: {
    title: "A webhook endpoint was disabled",
    cause: (host) =>
      `No delivery to your endpoint at ${host} has succeeded for five days, so we have disabled it.`,
    consequence: RETENTION_TEXT,
  },
  gone: {
    title: "A webhook endpoint was disabled",
    cause: (host) =>
      `Your endpoint at ${host} responded with 410 Gone, which asks us to stop, so we have disabled it.`,
    consequence: RETENTION_TEXT,
  },
};

function buildAlertMail(to: string, { kind, url }: EndpointAlert, page: string): NewMail {
  const { title, cause, consequence } = alertTexts[kind];
  // Only the host, because endpoint URLs often contain a token.
  const { host } = new URL(url);
  const composed = composeMail({
    title,
    paragraphs: [cause(host), consequence],
    action: { label: "View endpoint", url: page },
    footnote: "You receive this as an owner of your organisation.",
  });
  return { to, kind: `endpoint_${kind}`, subject: `${title}: ${host}`, ...composed };
}
