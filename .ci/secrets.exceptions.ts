/** What looks like a secret and is none, each with the reason. One that is not needed any more fails the scan. */

interface SecretException {
  readonly file: string;
  readonly kind: string;
  readonly reason: string;
}

const MADE_UP = "Made up, for a host that does not exist: the test is that its password is not told.";
const ADDRESS =
  "Made up: the test is that an address with a user and a password is refused, or not made a link.";

export const secretExceptions: readonly SecretException[] = [
  { file: "test/faults/server-process.test.ts", kind: "PostgreSQLConnection", reason: MADE_UP },
  { file: "test/service/mongo.test.ts", kind: "MongoDBConnection", reason: MADE_UP },
  { file: "test/unit/env.test.ts", kind: "MySQLConnection", reason: MADE_UP },
  { file: "test/service/webhook-endpoints.test.ts", kind: "BasicAuth", reason: ADDRESS },
  { file: "test/service/webhooks-address.test.ts", kind: "BasicAuth", reason: ADDRESS },
  { file: "test/unit/address-guard.test.ts", kind: "BasicAuth", reason: ADDRESS },
  { file: "test/unit/console-operator.test.ts", kind: "BasicAuth", reason: ADDRESS },
  {
    file: "docker-compose.yml",
    kind: "PostgreSQLConnection",
    reason: "The password is a shell variable that the `secrets` service generates.",
  },
  {
    file: "docker-compose.yml",
    kind: "MongoDBConnection",
    reason: "The password is a shell variable that the `secrets` service generates.",
  },
  {
    file: "test/support/self-signed.ts",
    kind: "PrivateKey",
    reason: "Of a certificate that nobody vouches for, for receivers on this machine.",
  },
  {
    file: "docs/webhooks.md",
    kind: "WebhookSecret",
    reason: "The test vector of the page: base64 of `waymark-docs-test-vector-32bytes`.",
  },
  {
    file: "test/unit/webhook-signature.test.ts",
    kind: "WebhookSecret",
    reason: "The test vector of the Standard Webhooks specification, published there.",
  },
];
