import fc from "fast-check";
import { Webhook } from "standardwebhooks";
import { describe, expect, it } from "vitest";
import { sign } from "../../../src/webhooks/dispatcher/sign-and-send.ts";
import { newSecret } from "../../../src/webhooks/signing/secrets.ts";

const secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
const message = {
  id: "msg_p5jXN8AQM9LWM0D4loKWxJek",
  timestampS: 1_614_265_330,
  body: '{"test": 2432232314}',
};
const signature = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=";

describe("sign", () => {
  it("matches the test vector of Standard Webhooks", () => {
    expect(sign([secret], message)).toBe(signature);
  });

  it("signs with each secret, separated by a space", () => {
    const other = newSecret();
    expect(sign([secret, other], message)).toBe(`${signature} ${sign([other], message)}`);
    expect(sign([], message)).toBe("");
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
