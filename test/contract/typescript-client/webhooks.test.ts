/** Verification of webhooks: agreement with `standardwebhooks`, rotation, and tampered requests. */
import { createHash } from "node:crypto";
import { Webhook } from "standardwebhooks";
import { Headers as UndiciHeaders } from "undici";
import { describe, expect, it } from "vitest";
import {
  isJobEvent,
  verifyWebhook,
  WebhookVerificationError,
} from "../../../clients/typescript/src/index.ts";
import { newSecret, sign } from "../../../clients/typescript/src/signature.ts";

const NOW_S = Math.floor(Date.now() / 1_000);

/** Returns bytes that are the same in each run. */
const bytesOf = (seed: string, length: number): Buffer =>
  Buffer.concat(
    Array.from({ length: Math.ceil(length / 32) }, (_, index) =>
      createHash("sha256").update(`${seed} ${index}`).digest(),
    ),
  ).subarray(0, length);

interface Vector {
  secret: string;
  id: string;
  body: string;
}

/** Secrets of 24 to 64 bytes, and bodies of 0 to 4,000 characters with any Unicode. */
const vectors = Array.from({ length: 200 }, (_, index): Vector => {
  const text = bytesOf(`body ${index}`, (index * 20) % 4_000).toString("base64");
  return {
    secret: `whsec_${bytesOf(`secret ${index}`, 24 + (index % 41)).toString("base64")}`,
    id: `evt_${index}`,
    body: JSON.stringify({ type: "job.updated", data: { text: `${text} é 漢 🚚 \u0000` }, index }),
  };
});

describe("signatures", () => {
  it("agree with standardwebhooks on 200 vectors, in both directions", async () => {
    for (const { secret, id, body } of vectors) {
      const theirs = new Webhook(secret).sign(id, new Date(NOW_S * 1_000), body);
      const timestamp = String(NOW_S);
      const ours = await sign(secret, { id, timestamp, body: new TextEncoder().encode(body) });
      expect(ours).toBe(theirs);
      const headers = { "webhook-id": id, "webhook-timestamp": timestamp, "webhook-signature": theirs };
      expect(await verifyWebhook(body, headers, secret)).toEqual(JSON.parse(body));
    }
  });
});

const [vector = { secret: "", id: "", body: "" }] = vectors;
const former = newSecret();

async function requestOf({ secret, id, body }: Vector, timestampS = NOW_S): Promise<Record<string, string>> {
  const timestamp = String(timestampS);
  return {
    "Webhook-Id": id,
    "Webhook-Timestamp": timestamp,
    "Webhook-Signature": await sign(secret, { id, timestamp, body: new TextEncoder().encode(body) }),
  };
}

describe("verifyWebhook accepts", () => {
  it("a request signed with any of several secrets, and one with several signatures", async () => {
    const headers = await requestOf(vector);
    const other = await requestOf({ ...vector, secret: former });
    const both = {
      ...headers,
      "Webhook-Signature": `v1a,AAAA ${other["Webhook-Signature"]} ${headers["Webhook-Signature"]}`,
    };

    await expect(verifyWebhook(vector.body, headers, [former, vector.secret])).resolves.toBeDefined();
    await expect(verifyWebhook(vector.body, both, vector.secret)).resolves.toBeDefined();
  });

  it("bytes, and headers as Headers or arrays", async () => {
    const headers = await requestOf(vector);
    const bytes = Buffer.from(vector.body);
    const arrays = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, [value]]));
    const buffer = bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length);

    await expect(verifyWebhook(bytes, new Headers(headers), vector.secret)).resolves.toBeDefined();
    await expect(verifyWebhook(buffer, arrays, vector.secret)).resolves.toBeDefined();
  });

  it("Headers of another implementation, such as undici's", async () => {
    const headers = new UndiciHeaders(await requestOf(vector));
    expect(headers).not.toBeInstanceOf(Headers);
    await expect(verifyWebhook(vector.body, headers, vector.secret)).resolves.toBeDefined();
    headers.delete("webhook-id");
    await expect(verifyWebhook(vector.body, headers, vector.secret)).rejects.toThrow(
      "The header webhook-id is missing",
    );
  });

  it.each([{ stops: 3 }, null, "text", 1, []])(
    "an event of a type that is newer than the client, which is no change of a job: %j",
    async (data) => {
      const body = JSON.stringify({ type: "route.planned", data });
      const event = await verifyWebhook(body, await requestOf({ ...vector, body }), vector.secret);
      expect([event.type, isJobEvent(event)]).toEqual(["route.planned", false]);
    },
  );

  it("a timestamp within the tolerance", async () => {
    const headers = await requestOf(vector, NOW_S - 900);
    await expect(
      verifyWebhook(vector.body, headers, vector.secret, { toleranceS: 1_000 }),
    ).resolves.toBeDefined();
  });
});

describe("verifyWebhook rejects", () => {
  const tampered: [string, (headers: Record<string, string>) => Record<string, string | string[]>][] = [
    ["another ID", (headers) => ({ ...headers, "Webhook-Id": "evt_other" })],
    ["another timestamp", (headers) => ({ ...headers, "Webhook-Timestamp": String(NOW_S - 1) })],
    ["a timestamp that is no number", (headers) => ({ ...headers, "Webhook-Timestamp": `${NOW_S}abc` })],
    ["a changed signature", (headers) => ({ ...headers, "Webhook-Signature": `v1,${"A".repeat(43)}=` })],
    ["a signature that is not base64", (headers) => ({ ...headers, "Webhook-Signature": "v1,*" })],
    [
      "another version of the signature",
      (headers) => ({
        ...headers,
        "Webhook-Signature": (headers["Webhook-Signature"] ?? "").replace("v1", "v2"),
      }),
    ],
    ["a missing signature", (headers) => ({ ...headers, "Webhook-Signature": [] })],
    ["a repeated ID", (headers) => ({ ...headers, "Webhook-Id": [vector.id, vector.id] })],
  ];
  it.each(tampered)("%s", async (_, change) => {
    const headers = change(await requestOf(vector));
    await expect(verifyWebhook(vector.body, headers, vector.secret)).rejects.toThrow(
      WebhookVerificationError,
    );
  });

  it.each([
    ["a changed body", vector.body.replace("job", "jab"), NOW_S],
    ["a body with a space more", `${vector.body} `, NOW_S],
    ["a request that is too old", vector.body, NOW_S - 400],
    ["a request from the future", vector.body, NOW_S + 400],
  ])("%s", async (_, body, timestampS) => {
    const headers = await requestOf(vector, timestampS);
    await expect(verifyWebhook(body, headers, vector.secret)).rejects.toThrow(WebhookVerificationError);
  });

  it("a signature of another secret, and names a secret that can't be one", async () => {
    const headers = await requestOf(vector);
    await expect(verifyWebhook(vector.body, headers, former)).rejects.toThrow(WebhookVerificationError);
    await expect(verifyWebhook(vector.body, headers, "whsec_short")).rejects.toThrow("24 to 64 bytes");
    await expect(verifyWebhook(vector.body, headers, [])).rejects.toThrow("at least one secret");
  });

  it("a parsed body and a missing secret, and says which it is", async () => {
    const headers = {
      "webhook-id": "evt_1",
      "webhook-timestamp": String(NOW_S),
      "webhook-signature": "v1,AA==",
    };
    const parsed = { type: "job.updated" } as unknown as string;
    await expect(verifyWebhook(parsed, headers, newSecret())).rejects.toThrow("not parsed JSON");
    const missing = [newSecret(), undefined] as unknown as string[];
    await expect(verifyWebhook("{}", headers, missing)).rejects.toThrow("one of them is missing");
  });
});
