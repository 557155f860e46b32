/** False positives of the secret scan, each with a reason. An exception that matches nothing fails the scan. */

interface SecretException {
  readonly file: string;
  readonly kind: string;
  readonly reason: string;
}

const FAKE_HOST_REASON =
  "Fake password for a host that does not exist; the test checks that error messages do not contain it.";
const REJECTED_URL_REASON =
  "Fake password; the test checks that a URL with credentials is rejected or not shown as a link.";

export const secretExceptions: readonly SecretException[] = [
  { file: "test/long/faults/server-process.test.ts", kind: "PostgreSQLConnection", reason: FAKE_HOST_REASON },
  { file: "test/service/core/mongo.test.ts", kind: "MongoDBConnection", reason: FAKE_HOST_REASON },
  { file: "test/unit/config/env.test.ts", kind: "MySQLConnection", reason: FAKE_HOST_REASON },
  { file: "test/service/webhooks/endpoints.test.ts", kind: "BasicAuth", reason: REJECTED_URL_REASON },
  { file: "test/service/webhooks/address-guard.test.ts", kind: "BasicAuth", reason: REJECTED_URL_REASON },
  { file: "test/unit/core/address-guard.test.ts", kind: "BasicAuth", reason: REJECTED_URL_REASON },
  { file: "test/unit/console/operator.test.ts", kind: "BasicAuth", reason: REJECTED_URL_REASON },
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
    file: "test/support/webhooks/self-signed-certificate.ts",
    kind: "PrivateKey",
    reason: "Key of a self-signed certificate for receivers on this machine.",
  },
  {
    file: "docs/guide/webhooks/verify.md",
    kind: "WebhookSecret",
    reason: "The test vector of the page: base64 of `waymark-docs-test-vector-32bytes`.",
  },
  {
    file: "clients/python/tests/test_webhooks.py",
    kind: "WebhookSecret",
    reason: "The test vector of docs/guide/webhooks/verify.md.",
  },
  {
    file: "test/unit/webhooks/signature.test.ts",
    kind: "WebhookSecret",
    reason: "The test vector of the Standard Webhooks specification, published there.",
  },
  {
    file: "src/webhooks/endpoints/operations.ts",
    kind: "WebhookSecret",
    reason: "The test vector of docs/guide/webhooks/verify.md.",
  },
];
