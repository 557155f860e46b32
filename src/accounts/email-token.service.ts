/** Single-use, expiring tokens in e-mailed links, stored only as hashes (docs/decisions/0030). */
import { createHash, randomBytes } from "node:crypto";
import { defineEntity, p, type InferEntity } from "@mikro-orm/postgresql";
import type { Reader } from "../core/postgres/database.ts";
import { AppError } from "../core/errors.ts";
import { DAY_MS, HOUR_MS } from "../core/time.ts";
import type { AccountContext } from "./context.ts";

const emailTokenKinds = ["registration", "invitation", "password_reset", "account_request_answer"] as const;
export type EmailTokenKind = (typeof emailTokenKinds)[number];

/** One row per kind and subject, so a new token replaces the previous one. */
export const EmailToken = defineEntity({
  name: "EmailToken",
  tableName: "email_token",
  properties: {
    kind: p.enum(emailTokenKinds).primary(),
    /** The uuid of the account request, invitation or user. */
    subjectId: p.uuid().primary(),
    /** SHA-256. The token itself is not stored. */
    tokenHash: p.blob(),
    email: p.text(),
    expiresAt: p.datetime(3),
    usedAt: p.datetime(3).nullable(),
  },
  uniques: [{ name: "email_token_token_hash", properties: ["tokenHash"] }],
});

export type EmailToken = InferEntity<typeof EmailToken>;

/** Without `tokenHash`, the link of the subject that is valid when it is used. */
export type EmailTokenLink = Readonly<
  Pick<EmailToken, "kind" | "subjectId" | "email"> & Partial<Pick<EmailToken, "tokenHash">>
>;

/** The page that a link opens, and how long the link works. */
const links: Readonly<Record<EmailTokenKind, { page: string; lifetimeMs: number }>> = {
  registration: { page: "/register", lifetimeMs: 72 * HOUR_MS },
  invitation: { page: "/invitation", lifetimeMs: 72 * HOUR_MS },
  password_reset: { page: "/reset-password", lifetimeMs: HOUR_MS },
  account_request_answer: { page: "/account-request", lifetimeMs: 14 * DAY_MS },
};

/** Returns a link with a new token, which invalidates the previous link of the same kind and subject. */
export async function issueEmailLink(
  on: Reader,
  { clock, pageUrl }: Pick<AccountContext, "clock" | "pageUrl">,
  link: Pick<EmailToken, "kind" | "subjectId" | "email">,
): Promise<{ url: string; expiresAt: Date }> {
  const token = randomBytes(32).toString("base64url");
  const { page, lifetimeMs } = links[link.kind];
  const expiresAt = new Date(clock.now() + lifetimeMs);
  await on.em().upsert(EmailToken, { ...link, tokenHash: hashToken(token), expiresAt, usedAt: null });
  return { url: pageUrl(`${page}#token=${token}`), expiresAt };
}

/**
 * Returns the token's details without using it up. `kinds`: by default any. An unknown, used, expired, replaced or revoked token,
 * or one of another kind, throws the same NotFoundException. Throws TooManyRequestsException for the IP address.
 */
export async function checkEmailToken(
  { clock, database, throttle }: Pick<AccountContext, "clock" | "database" | "throttle">,
  token: string,
  { ipAddress }: { readonly ipAddress: string | null },
  ...kinds: readonly EmailTokenKind[]
): Promise<EmailToken> {
  await throttle.take(["link-address", ipAddress ?? ""]);
  const link = await database.em().findOne(EmailToken, {
    tokenHash: hashToken(token),
    ...usable(clock.now()),
  });
  if (!link || (kinds.length > 0 && !kinds.includes(link.kind))) throw invalidEmailToken();
  return link;
}

/** Uses a token up, in the caller's transaction. Of two concurrent calls the second waits, and throws as the check does. */
export async function consumeEmailToken(
  tx: Reader,
  { clock }: Pick<AccountContext, "clock">,
  { kind, subjectId, tokenHash }: EmailTokenLink,
): Promise<void> {
  const token = tokenHash === undefined ? {} : { tokenHash: Buffer.from(tokenHash) };
  const nowMs = clock.now();
  const where = { kind, subjectId, ...token, ...usable(nowMs) };
  if ((await tx.em().nativeUpdate(EmailToken, where, { usedAt: new Date(nowMs) })) === 0)
    throw invalidEmailToken();
}

/** Deletes the tokens of a kind and its subjects, if there are any. */
export async function revokeEmailTokens(
  on: Reader,
  kind: EmailTokenKind,
  ...subjectIds: readonly string[]
): Promise<void> {
  await on.em().nativeDelete(EmailToken, { kind, subjectId: { $in: subjectIds } });
}

/** The same error for every reason, so that it doesn't reveal which tokens exist. */
export function invalidEmailToken(): AppError {
  return new AppError(
    "NotFoundException",
    "This link is no longer valid: it was used, has expired, or was replaced by a newer one. Ask for a new link.",
  );
}

function usable(nowMs: number) {
  return { usedAt: null, expiresAt: { $gt: new Date(nowMs) } };
}

/** 256 random bits need no slow hash. */
function hashToken(token: string): Buffer {
  return createHash("sha256").update(token).digest();
}
