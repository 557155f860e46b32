/** Reads the mails that an app under test has queued. They are not sent, because WAYMARK_ROLE is `api`. */
import { randomInt } from "node:crypto";
import { openBody } from "../../../src/mail/entity.ts";
import { sql } from "../../../src/core/postgres/sql.ts";
import type { AppInstance } from "../app/app-instance.ts";
import { testSecretBox } from "../test-secret.ts";
import { eventually } from "../eventually.ts";

export interface DecryptedMail {
  kind: string;
  subject: string;
  text: string;
}

/** Settings for apps whose mails are read, and whose clients set their IP address with `randomClientIpHeader`. */
export const ACCOUNT_ENV = { WAYMARK_ROLE: "api", TRUST_PROXY: "1", LOG_LEVEL: "error" };

/** Returns a header that gives the request a random client IP address. */
export function randomClientIpHeader(): Record<string, string> {
  return { "x-forwarded-for": `10.${randomInt(256)}.${randomInt(256)}.${randomInt(1, 255)}` };
}

/** Returns the mails to an e-mail address, oldest first. */
export async function listMailsTo(
  { database }: Pick<AppInstance, "database">,
  to: string,
): Promise<DecryptedMail[]> {
  const rows = await database.query<{ id: string; kind: string; subject: string; sealed_body: string }>(
    sql`select id, kind, subject, sealed_body from mail where recipient = ${to} order by created_at, id`,
  );
  return rows.map(({ id, kind, subject, sealed_body: sealed }) => ({
    kind,
    subject,
    text: openBody(testSecretBox, id, sealed).text,
  }));
}

/** Waits for a mail of this kind and returns the newest one. */
export async function waitForMail(
  app: Pick<AppInstance, "database">,
  to: string,
  kind: string,
): Promise<DecryptedMail> {
  return await eventually(async () => {
    const mail = (await listMailsTo(app, to)).findLast((candidate) => candidate.kind === kind);
    if (!mail) throw new Error(`There is no mail "${kind}" to ${to}`);
    return mail;
  });
}

/** Returns the token of the mail's link to `page`. */
export function extractLinkToken({ text }: DecryptedMail, page: string): string {
  const [, token = ""] = new RegExp(`/${page}#token=([\\w-]{43})(?![\\w-])`).exec(text) ?? [];
  if (token === "") throw new Error(`There is no link to /${page} in: ${text}`);
  return token;
}
