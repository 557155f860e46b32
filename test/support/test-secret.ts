/** The WAYMARK_SECRET of tests. */
import { createSecretBox, parseSecret } from "../../src/core/secret-box.ts";

export const TEST_SECRET = Buffer.alloc(32, "test").toString("base64");

export const testSecretBox = createSecretBox(parseSecret(TEST_SECRET) as Buffer);
