/** Verifies signatures of webhooks with the package standardwebhooks, which is independent of ours. */
import { Webhook } from "standardwebhooks";

type Headers = Readonly<Record<string, string | string[] | undefined>>;

/** True if one of the signatures is made with `secret`, at any time. */
export function isSigned(
  secret: string,
  { headers, body }: { headers: Headers; body: string | Buffer },
): boolean {
  const signedAt = new Date(Number(headers["webhook-timestamp"]) * 1_000);
  const signature = new Webhook(secret).sign(String(headers["webhook-id"]), signedAt, body);
  return String(headers["webhook-signature"]).split(" ").includes(signature);
}
