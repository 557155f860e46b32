/** The mails of an app under test, read as whoever gets them would; nothing sends them (WAYMARK_ROLE is `api`). */
import { randomInt } from "node:crypto";
import { vi } from "vitest";
import { openBody } from "../../../src/mail/mail.encryption.ts";
import { sql } from "../../../src/platform/postgres/sql.ts";
import type { AppInstance } from "../app/app-instance.ts";
import { testSecretBox } from "../test-secret.ts";

export interface DecryptedMail {
  kind: string;
  subject: string;
  text: string;
}

/** For apps whose requests come from many addresses (`somewhere`), and whose mails are to be read. */
export const ACCOUNT_ENV = { WAYMARK_ROLE: "api", TRUST_PROXY: "1", LOG_LEVEL: "error" };

/** The header of a request from an address that no other has. */
export function randomClientIpHeader(): Record<string, string> {
  return { "x-forwarded-for": `10.${randomInt(256)}.${randomInt(256)}.${randomInt(1, 255)}` };
}

/** Oldest first. */
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

/** The last of this kind, once it is there. */
export async function waitForMail(
  app: Pick<AppInstance, "database">,
  to: string,
  kind: string,
): Promise<DecryptedMail> {
  return await vi.waitFor(
    async () => {
      const mail = (await listMailsTo(app, to)).findLast((one) => one.kind === kind);
      if (!mail) throw new Error(`There is no mail "${kind}" to ${to}`);
      return mail;
    },
    { timeout: 10_000, interval: 20 },
  );
}

/** The token of the link in a mail. */
export function extractLinkToken({ text }: DecryptedMail, page: string): string {
  const [, token = ""] = new RegExp(`/${page}#token=([\\w-]{43})(?![\\w-])`).exec(text) ?? [];
  if (token === "") throw new Error(`There is no link to /${page} in: ${text}`);
  return token;
}
