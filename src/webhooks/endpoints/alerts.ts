/** Notifications to the users of an organisation when one of its endpoints keeps failing or was disabled. */
import type { NotificationMessage, Notify } from "../../notifications/api.ts";
import type { Logger } from "../../core/logger.ts";
import type { Transaction } from "../../core/postgres/transaction.ts";
import { newUuid, toTypedId } from "../../core/ids.ts";
import type { DisabledReason } from "./entity.ts";

/** `retries_failing`: four attempts of a delivery failed. Otherwise the endpoint was disabled for this reason. */
export type EndpointAlertKind = "retries_failing" | DisabledReason;

/** Also a row of a statement that changed the endpoint. */
export interface EndpointAlert {
  readonly kind: EndpointAlertKind;
  /** The endpoint's and the organisation's UUID. */
  readonly id: string;
  readonly organizationId: string;
  readonly url: string;
}

export type AlertNotifier = (tx: Transaction, alert: EndpointAlert) => Promise<void>;

export interface AlertDeps {
  notify: Notify;
  logger: Logger;
  /** Returns the URL of a page of the console or the guide. */
  pageUrl: (path: string) => string;
}

/** Sends the notification in the caller's transaction. A failure is logged and does not roll it back. */
export function createAlertNotifier({ notify, logger, pageUrl }: AlertDeps): AlertNotifier {
  return async (tx, alert) => {
    const { kind, id, organizationId } = alert;
    const endpoint = toTypedId("whe", id);
    logger.warn({ endpoint, kind }, "a webhook endpoint keeps failing or was disabled");
    const page = pageUrl(`/integrations/endpoints/${endpoint}`);
    const guide = pageUrl("/guide/webhooks/troubleshooting");
    const message = buildAlert(alert, { page, guide });
    try {
      // The change of the endpoint's state happens once, so each alert has a new key.
      const event = { organizationId, kind: "endpoint_failing", key: newUuid(), message } as const;
      await tx.nested(() => notify(tx, event));
    } catch (error) {
      logger.error({ endpoint, kind, error: (error as Error).message }, "sending the alert failed");
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

function buildAlert(
  { kind, url }: EndpointAlert,
  { page, guide }: { page: string; guide: string },
): NotificationMessage {
  const { title, cause, consequence } = alertTexts[kind];
  // Only the host, because endpoint URLs often contain a token.
  const { host } = new URL(url);
  return {
    mailKind: `endpoint_${kind}`,
    subject: `${title}: ${host}`,
    title,
    paragraphs: [cause(host), consequence],
    action: { label: "View endpoint", url: page },
    help: { label: "How to find the cause", url: guide },
  };
}
