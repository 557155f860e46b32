/** The WAYMARK_SECRET of tests, which protects nothing. */
import { createSecretBox, parseSecret } from "../../src/platform/secret-box.ts";

export const TEST_SECRET = Buffer.alloc(32, "test").toString("base64");

/** What opens and seals with it. */
export const testSecretBox = createSecretBox(parseSecret(TEST_SECRET) as Buffer);
