import { spawnSync } from "node:child_process";
import fc from "fast-check";
import { Webhook } from "standardwebhooks";
import { describe, expect, it } from "vitest";
import { newSecret, sign, verify } from "../../../src/webhooks/signing/signature.ts";

const secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
const message = {
  id: "msg_p5jXN8AQM9LWM0D4loKWxJek",
  timestampS: 1_614_265_330,
  body: '{"test": 2432232314}',
};
const nowMs = message.timestampS * 1000;
const signature = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=";

const received = (
  changes: Record<string, string | undefined> = {},
  body: string | Uint8Array = message.body,
) => ({
  headers: {
    "webhook-id": message.id,
    "webhook-timestamp": String(message.timestampS),
    "webhook-signature": signature,
    ...changes,
  },
  body,
});

describe("sign", () => {
  it("matches the test vector of Standard Webhooks", () => {
    expect(sign([secret], message)).toBe(signature);
  });

  it("signs with each secret, separated by a space", () => {
    const other = newSecret();
    expect(sign([secret, other], message)).toBe(`${signature} ${sign([other], message)}`);
    expect(sign([], message)).toBe("");
  });

  it("signs bytes like the same text", () => {
    const body = '{"town":"Tromsø 🚚"}';
    expect(sign([secret], { ...message, body: Buffer.from(body) })).toBe(
      sign([secret], { ...message, body }),
    );
  });

  it("is accepted by the package standardwebhooks for any body", () => {
    fc.assert(
      fc.property(fc.string({ unit: "grapheme" }), fc.uuid(), (body, id) => {
        const [own, timestampS] = [newSecret(), Math.floor(Date.now() / 1000)];
        const headers = {
          "webhook-id": id,
          "webhook-timestamp": String(timestampS),
          "webhook-signature": sign([newSecret(), own], { id, timestampS, body }),
        };
        expect(() => new Webhook(own).verify(body, headers, { jsonParse: false })).not.toThrow();
      }),
      { numRuns: 50 },
    );
  });
});

describe("newSecret", () => {
  it("returns whsec_ and the base64 of 32 random bytes", () => {
    const secrets = Array.from({ length: 100 }, newSecret);
    for (const one of secrets) {
      expect(one).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
      expect(Buffer.from(one.slice(6), "base64")).toHaveLength(32);
    }
    expect(new Set(secrets).size).toBe(100);
  });
});

describe("verify", () => {
  it("accepts the vector, as text and as bytes, with and without the prefix of the secret", () => {
    expect(verify(secret, received(), { nowMs })).toEqual({ valid: true });
    expect(verify(secret, received({}, Buffer.from(message.body)), { nowMs })).toEqual({ valid: true });
    expect(verify(secret.slice(6), received(), { nowMs })).toEqual({ valid: true });
  });

  it("accepts one valid signature among others", () => {
    const several = `v1a,${"A".repeat(86)}== v1,wrong ${signature}`;
    expect(verify(secret, received({ "webhook-signature": several }), { nowMs })).toEqual({ valid: true });
  });

  it("accepts what the package standardwebhooks signs", () => {
    const given = new Webhook(secret).sign(message.id, new Date(nowMs), message.body);
    expect(verify(secret, received({ "webhook-signature": given }), { nowMs })).toEqual({ valid: true });
  });

  it.each([
    ["a body that was parsed and written again", received({}, '{"test":2432232314}'), "signature"],
    ["another id", received({ "webhook-id": "msg_other" }), "signature"],
    ["another timestamp", received({ "webhook-timestamp": String(message.timestampS + 1) }), "signature"],
    [
      "a timestamp with a zero before it",
      received({ "webhook-timestamp": `0${message.timestampS}` }),
      "signature",
    ],
    [
      "a signature of another version",
      received({ "webhook-signature": signature.replace("v1", "v2") }),
      "signature",
    ],
    ["a signature cut short", received({ "webhook-signature": signature.slice(0, -2) }), "signature"],
    ["no id", received({ "webhook-id": undefined }), "headers"],
    ["no timestamp", received({ "webhook-timestamp": undefined }), "headers"],
    ["an empty signature", received({ "webhook-signature": "" }), "headers"],
    ["a timestamp in words", received({ "webhook-timestamp": "yesterday" }), "timestamp"],
    ["a timestamp with a fraction", received({ "webhook-timestamp": "1614265330.5" }), "timestamp"],
  ])("rejects %s with the check %s", (_, webhook, check) => {
    expect(verify(secret, webhook, { nowMs })).toMatchObject({ valid: false, check });
  });

  it.each([
    [300, true],
    [301, false],
    [-300, true],
    [-301, false],
  ])("a webhook that is %i s old: %s", (ageS, valid) => {
    expect(verify(secret, received(), { nowMs: nowMs + ageS * 1000 }).valid).toBe(valid);
  });

  it("says how old a webhook is", () => {
    expect(verify(secret, received(), { nowMs: nowMs + 400_000 })).toMatchObject({
      check: "timestamp",
      message: expect.stringContaining("400 s old; at most 300 s are accepted"),
    });
  });

  it.each(["", "whsec_", "whsec_short", "whsec_not base64 not base64 not base64 not", "wmk_12345678"])(
    "rejects %j as a secret",
    (text) => {
      expect(verify(text, received(), { nowMs })).toMatchObject({ valid: false, check: "secret" });
    },
  );

  it("rejects another secret", () => {
    expect(verify(newSecret(), received(), { nowMs })).toMatchObject({ valid: false, check: "signature" });
  });
});

describe("the Python package standardwebhooks", () => {
  const script = `
import sys, json
from standardwebhooks import Webhook
case = json.load(sys.stdin)
Webhook(case["secret"]).verify(case["body"], case["headers"])
print("verified")`;
  const installed = spawnSync("python3", ["-c", "import standardwebhooks"]).status === 0;

  it("accepts our signature", ({ skip }) => {
    skip(!installed, "skipped: python3 with the package standardwebhooks (PyPI) is not installed here");
    const timestampS = Math.floor(Date.now() / 1000);
    const [own, body] = [newSecret(), '{"town":"Tromsø 🚚"}'];
    const headers = {
      "webhook-id": message.id,
      "webhook-timestamp": String(timestampS),
      "webhook-signature": sign([newSecret(), own], { id: message.id, timestampS, body }),
    };
    const { stdout, stderr } = spawnSync("python3", ["-c", script], {
      input: JSON.stringify({ secret: own, body, headers }),
      encoding: "utf8",
    });
    expect({ stdout, stderr }).toEqual({ stdout: "verified\n", stderr: "" });
  });
});
