/** Users choose which notifications they get, and how. */
import { type AuditContext, recordAuditEvent } from "../audit/api.ts";
import { InFlightLimit } from "../core/concurrency/in-flight-limit.ts";
import { AppError, badRequest } from "../core/errors.ts";
import { toTypedId } from "../core/ids.ts";
import type { Database, Reader } from "../core/postgres/database.ts";
import type { SecretBox } from "../core/secret-box.ts";
import { User, type UserRole } from "../organizations/api.ts";
import { NotificationSettings, webhookContext } from "./entity.ts";
import { type NotificationKind, notificationKinds, OWNER_DEFAULTS, rolesByKind } from "./kinds.ts";
import { SETTINGS_PAGE } from "./notify.ts";
import type { PostResult, WebhookPoster } from "./webhook.ts";

export interface NotificationUser {
  /** A UUID. */
  readonly id: string;
  readonly role: UserRole;
}

/** Without a webhook, the fields of it are null. The URL is a secret: only its host is shown. */
export type NotificationsView = ReturnType<NotificationService["toView"]>;
type NotificationChoice = NotificationsView["choices"][number];

export interface NotificationServiceDeps {
  readonly database: Database;
  readonly secretBox: Pick<SecretBox, "seal">;
  readonly poster: Pick<WebhookPoster, "checkUrl" | "openUrl" | "post">;
  readonly pageUrl: (path: string) => string;
}

export class NotificationService {
  readonly #deps: NotificationServiceDeps;
  readonly #requests = new InFlightLimit({ max: 2, noun: "webhook checks", retryAfterS: 5 });

  constructor(deps: NotificationServiceDeps) {
    this.#deps = deps;
  }

  async view(user: NotificationUser, on: Reader = this.#deps.database): Promise<NotificationsView> {
    return this.toView(user, await on.em().findOne(NotificationSettings, { user: user.id }));
  }

  /** Kinds that are not named stay. Throws BadRequestException for one that is not for the user's role. */
  async choose(user: NotificationUser, choices: readonly NotificationChoice[]): Promise<NotificationsView> {
    const index = choices.findIndex(({ kind }) => !rolesByKind[kind].includes(user.role));
    const problem = { code: "invalid_value", message: "is not for your role" };
    if (index >= 0) throw badRequest([{ location: "body", field: `choices.${index}.kind`, ...problem }]);
    const former = (await this.view(user)).choices;
    const wanted = new Map([...former, ...choices].map((choice) => [choice.kind, choice]));
    const kindsBy = (channel: "mail" | "webhook"): NotificationKind[] =>
      [...wanted.values()].filter((choice) => choice[channel]).map(({ kind }) => kind);
    return await this.#change(user, { mail: kindsBy("mail"), webhook: kindsBy("webhook") });
  }

  /** Returns the normalised URL. Resolves its host name. Throws BadRequestException. */
  async checkUrl(userId: string, url: string): Promise<string> {
    const verdict = await this.#requests.run(userId, () => this.#deps.poster.checkUrl(url));
    if (verdict.allowed) return verdict.url;
    throw badRequest([{ location: "body", field: "url", code: verdict.problem, message: verdict.message }]);
  }

  /** `url`: as `checkUrl` returned it; null removes the webhook. */
  async setWebhook(
    context: AuditContext & { readonly organizationId: string | null },
    user: NotificationUser,
    url: string | null,
  ): Promise<NotificationsView> {
    const { secretBox } = this.#deps;
    const webhookUrl = url && secretBox.seal(url, webhookContext(user.id));
    return await this.#change(user, { webhookUrl, webhookFailure: null, webhookFailedAt: null }, (on) =>
      recordAuditEvent(on, {
        ...context,
        action: url === null ? "notifications.webhook_removed" : "notifications.webhook_set",
        subject: toTypedId("usr", user.id),
        details: url === null ? null : { host: new URL(url).host },
      }),
    );
  }

  /** Posts a test message now. Throws ConflictException without a webhook. */
  async sendTest({ id }: NotificationUser): Promise<PostResult> {
    const { database, poster, pageUrl } = this.#deps;
    const settings = await database.em().findOne(NotificationSettings, { user: id });
    const sealed = settings?.webhookUrl;
    if (!sealed) throw new AppError("ConflictException", "Save the URL of a webhook first");
    const text = `This is a test of your notifications from Waymark.\n${pageUrl(SETTINGS_PAGE)}`;
    const result = await this.#requests.run(id, () => poster.post(id, sealed, text));
    await recordPost(database, id, result);
    return result;
  }

  toView({ id, role }: NotificationUser, settings: NotificationSettings | null) {
    const mail = settings?.mail ?? (role === "owner" ? OWNER_DEFAULTS : []);
    const webhook = settings?.webhook ?? [];
    const sealed = settings?.webhookUrl ?? null;
    const url = sealed && this.#deps.poster.openUrl(id, sealed);
    return {
      choices: notificationKinds
        .filter((kind) => rolesByKind[kind].includes(role))
        .map((kind) => ({
          kind,
          mail: mail.includes(kind),
          webhook: webhook.includes(kind),
        })),
      webhookHost: url ? new URL(url).host : sealed && "unknown",
      webhookFailure: settings?.webhookFailure ?? null,
      webhookFailedAt: settings?.webhookFailedAt?.toISOString() ?? null,
    };
  }

  async #change(
    user: NotificationUser,
    change: Partial<Omit<NotificationSettings, "user">>,
    record?: (on: Reader) => Promise<unknown>,
  ): Promise<NotificationsView> {
    return await this.#deps.database.transactional(async (em, tx) => {
      const reference = em.getReference(User, user.id);
      const settings = await em.upsert(NotificationSettings, { user: reference, ...change });
      await record?.(tx);
      return this.toView(user, settings);
    });
  }
}

/** Shows a failure at the setting until a message arrives. */
export async function recordPost(
  on: Reader,
  userId: string,
  { delivered, answer }: PostResult,
): Promise<void> {
  const failure = { webhookFailure: answer, webhookFailedAt: new Date() };
  const outcome = delivered ? { webhookFailure: null, webhookFailedAt: null } : failure;
  await on.em().nativeUpdate(NotificationSettings, { user: userId }, outcome);
}
