/**
 * Browsers that signed in to an account before. A signed cookie gives each of them separate limits, so that others
 * guessing passwords cannot lock the user out (OWASP calls it a device cookie).
 */
import { createHmac } from "node:crypto";
import type { Clock } from "../../platform/clock.ts";
import type { Queryable } from "../../platform/postgres/database.ts";
import { newUuid } from "../../platform/ids.ts";
import type { SecretBox } from "../../platform/secret-box.ts";
import { sql } from "../../platform/postgres/sql.ts";
import { createSignedCookie, readSignedCookie } from "./cookies.ts";

const KEY_PURPOSE = "waymark known browser b1";
const BROWSER_COOKIE_PREFIX = "__Host-waymark_browser_";
const LIFETIME_MS = 90 * 24 * 3_600_000;

export interface KnownBrowsers {
  /** The browser's id; null if its cookie is missing, forged, expired, revoked or for another account. */
  find(cookie: string | undefined, email: string): Promise<string | null>;
  /** The `Set-Cookie` text that makes a browser known for 90 days. */
  issue(account: { email: string; browserEpoch: string }): string;
}

export interface KnownBrowserDeps {
  database: Queryable;
  clock: Clock;
  secretBox: Pick<SecretBox, "keyFor">;
}

export function createKnownBrowsers({ database, clock, secretBox }: KnownBrowserDeps): KnownBrowsers {
  const key = secretBox.keyFor(KEY_PURPOSE).toString("base64url");
  // One cookie per account, as users share browsers. The name does not reveal the e-mail address.
  const cookieName = (email: string): string =>
    `${BROWSER_COOKIE_PREFIX}${createHmac("sha256", key).update(email).digest("hex").slice(0, 16)}`;

  return {
    async find(cookie, email) {
      const value = readSignedCookie(cookie, cookieName(email), key);
      const [id, epoch, expires] = value?.split(" ") ?? [];
      if (!id || !epoch || Number(expires) <= clock.now()) return null;
      const [account] = await database.query(sql`
        select from user_credential join user_account on user_account.id = user_id
        where email = ${email} and browser_epoch = ${epoch}::uuid`);
      return account ? id : null;
    },

    issue({ email, browserEpoch }) {
      const value = [newUuid(), browserEpoch, clock.now() + LIFETIME_MS].join(" ");
      return createSignedCookie({ name: cookieName(email), value, key, maxAgeS: LIFETIME_MS / 1000 });
    },
  };
}

/** Makes an account's browsers unknown again. */
export async function forgetBrowsers(on: Queryable, userId: string): Promise<void> {
  await on.query(
    sql`update user_credential set browser_epoch = gen_random_uuid() where user_id = ${userId}::uuid`,
  );
}
