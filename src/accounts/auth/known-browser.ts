/**
 * Browsers that signed in to an account before. A signed cookie gives each of them separate limits, so that others
 * guessing passwords cannot lock the user out (OWASP calls it a device cookie).
 */
import { createHmac } from "node:crypto";
import type { GenericEndpointContext } from "better-auth";
import type { User } from "../../organizations/api.ts";
import { newUuid } from "../../core/ids.ts";
import { DAY_MS } from "../../core/time.ts";
import type { AccountContext } from "../context.ts";
import { cookieAttributes, readSignedCookie } from "./cookies.ts";

const KEY_PURPOSE = "waymark known browser b1";
const BROWSER_COOKIE_PREFIX = "__Host-waymark_browser_";
const LIFETIME_MS = 90 * DAY_MS;

export class KnownBrowsers {
  readonly #clock: AccountContext["clock"];
  readonly #key: string;

  constructor({ clock, secretBox }: Pick<AccountContext, "clock" | "secretBox">) {
    this.#clock = clock;
    this.#key = secretBox.keyFor(KEY_PURPOSE).toString("base64url");
  }

  /** The browser's id; null if its cookie is missing, forged, expired, revoked or for another account. */
  find(cookie: string | undefined, user: Pick<User, "email" | "epoch"> | null): string | null {
    if (!user) return null;
    const value = readSignedCookie(cookie, this.#cookieName(user.email), this.#key);
    const [id, epoch, expires] = value?.split(" ") ?? [];
    return id && epoch === user.epoch && Number(expires) > this.#clock.now() ? id : null;
  }

  /** Makes the browser known for 90 days. */
  async remember(endpoint: GenericEndpointContext, { email, epoch }: Pick<User, "email" | "epoch">) {
    const value = [newUuid(), epoch, this.#clock.now() + LIFETIME_MS].join(" ");
    const attributes = { ...cookieAttributes, maxAge: LIFETIME_MS / 1_000 };
    await endpoint.setSignedCookie(this.#cookieName(email), value, this.#key, attributes);
  }

  /** One cookie per account, as users share browsers. The name does not reveal the e-mail address. */
  #cookieName(email: string): string {
    return `${BROWSER_COOKIE_PREFIX}${createHmac("sha256", this.#key).update(email).digest("hex").slice(0, 16)}`;
  }
}
