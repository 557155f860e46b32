/** Posts messages to users' Slack-compatible incoming webhooks, through the guard against private addresses. */
import { AddressGuard, type UrlVerdict } from "../core/http-client/address-guard.ts";
import { HttpClient } from "../core/http-client/client.ts";
import type { SecretBox } from "../core/secret-box.ts";
import { webhookContext } from "./entity.ts";

const LIMITS = { connectMs: 3_000, totalMs: 5_000, readBytes: 1_024, keepBytes: 1_024 };
const MAX_ANSWER = 100;

export interface PostResult {
  readonly delivered: boolean;
  /** The status and the beginning of the body, such as `404: no_service`, or the reason of a failed request. */
  readonly answer: string;
}

export class WebhookPoster implements AsyncDisposable {
  readonly #guard: AddressGuard;
  readonly #http: HttpClient;
  readonly #secretBox: Pick<SecretBox, "open">;

  /** `allowPrivate`: allow http, loopback and private networks. */
  constructor({ allowPrivate, secretBox }: { allowPrivate: boolean; secretBox: Pick<SecretBox, "open"> }) {
    this.#guard = new AddressGuard({ allowPrivate });
    this.#http = new HttpClient({ guard: this.#guard, limits: LIMITS });
    this.#secretBox = secretBox;
  }

  checkUrl(url: string): Promise<UrlVerdict> {
    return this.#guard.checkUrl(url);
  }

  /** Returns null for a URL that was sealed with another WAYMARK_SECRET. */
  openUrl(userId: string, sealed: string): string | null {
    try {
      return this.#secretBox.open(sealed, webhookContext(userId));
    } catch {
      return null;
    }
  }

  /** `sealed`: the user's stored URL. Never rejects for a failure of the receiver. */
  async post(userId: string, sealed: string, text: string): Promise<PostResult> {
    const url = this.openUrl(userId, sealed);
    if (url === null) return { delivered: false, answer: "The stored URL cannot be read. Enter it again." };
    const headers = { "content-type": "application/json", "user-agent": "Waymark" };
    const result = await this.#http.post({ url, headers, body: JSON.stringify({ text: escapeText(text) }) });
    if (result.kind === "failure") return { delivered: false, answer: result.message };
    const { status, bodyText } = result;
    const body = bodyText.replace(/\s+/g, " ").trim().slice(0, MAX_ANSWER);
    return {
      delivered: status >= 200 && status < 300,
      answer: body === "" ? `${status}` : `${status}: ${body}`,
    };
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#http[Symbol.asyncDispose]();
  }
}

/** Slack reads `<!channel>` as a mention and `<URL|text>` as a link. */
function escapeText(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}
