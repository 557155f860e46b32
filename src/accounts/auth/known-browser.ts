/**
 * Browsers that signed in to an account before. A signed cookie gives each of them separate limits, so that others
 * guessing passwords cannot lock the user out (OWASP calls it a device cookie).
 */
import { createHmac, randomUUID } from "node:crypto";
import type { Reader } from "../../core/postgres/database.ts";
import { UserCredential } from "../credential.entity.ts";
import { newUuid } from "../../core/ids.ts";
import type { AccountContext } from "../context.ts";
import { DAY_MS } from "../../core/time.ts";
import { createSignedCookie, readSignedCookie } from "./cookies.ts";

const KEY_PURPOSE = "waymark known browser b1";
const BROWSER_COOKIE_PREFIX = "__Host-waymark_browser_";
const LIFETIME_MS = 90 * DAY_MS;

export class KnownBrowsers {
  readonly #context: Pick<AccountContext, "database" | "clock">;
  readonly #key: string;

  constructor({ database, clock, secretBox }: Pick<AccountContext, "database" | "clock" | "secretBox">) {
    this.#context = { database, clock };
    this.#key = secretBox.keyFor(KEY_PURPOSE).toString("base64url");
  }

  /** The browser's id; null if its cookie is missing, forged, expired, revoked or for another account. */
  async find(cookie: string | undefined, email: string): Promise<string | null> {
    const { database, clock } = this.#context;
    const value = readSignedCookie(cookie, this.#cookieName(email), this.#key);
    const [id, epoch, expires] = value?.split(" ") ?? [];
    if (!id || !epoch || Number(expires) <= clock.now()) return null;
    const isCurrent = await database.em().count(UserCredential, { user: { email }, browserEpoch: epoch });
    return isCurrent > 0 ? id : null;
  }

  /** The `Set-Cookie` text that makes a browser known for 90 days. */
  issue({ email, browserEpoch }: { email: string; browserEpoch: string }): string {
    const value = [newUuid(), browserEpoch, this.#context.clock.now() + LIFETIME_MS].join(" ");
    const maxAgeS = LIFETIME_MS / 1000;
    return createSignedCookie({ name: this.#cookieName(email), value, key: this.#key, maxAgeS });
  }

  /** One cookie per account, as users share browsers. The name does not reveal the e-mail address. */
  #cookieName(email: string): string {
    return `${BROWSER_COOKIE_PREFIX}${createHmac("sha256", this.#key).update(email).digest("hex").slice(0, 16)}`;
  }
}

/** Makes an account's browsers unknown again. */
export async function forgetBrowsers(on: Reader, userId: string): Promise<void> {
  await on.em().nativeUpdate(UserCredential, { user: userId }, { browserEpoch: randomUUID() });
}
