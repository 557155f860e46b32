/** Passwords at rest: argon2id as OWASP recommends it, off the event loop, and only so many at once. */
import { argon2, randomBytes, timingSafeEqual, type Argon2Parameters } from "node:crypto";
import { promisify } from "node:util";
import { unavailable } from "../platform/errors.ts";
import { createTurnstile } from "../platform/turnstile.ts";

export interface PasswordHasher {
  /** As a PHC string: the parameters, the salt and the hash. */
  hash(password: string): Promise<string>;
  verify(hash: string, password: string): Promise<boolean>;
}

const run = promisify(argon2);

/** OWASP's Password Storage Cheat Sheet: 19 MiB, two passes, one lane. */
const MEMORY_KIB = 19_456;
const PASSES = 2;
const LANES = 1;
const SALT_BYTES = 16;
const HASH_BYTES = 32;
/** Half of the threads that Node has for such work: files and names are still read meanwhile. */
const AT_ONCE = 2;
/** About two seconds of work. */
const MAX_WAITING = 100;

const PHC =
  /^\$argon2id\$v=19\$m=(\d{1,7}),t=(\d{1,3}),p=(\d{1,2})\$([A-Za-z0-9+/]{11,86})\$([A-Za-z0-9+/]{11,86})$/;

/** `worked` is called once for each hash that is computed, to be counted. */
export function createPasswordHasher(worked: () => void): PasswordHasher {
  const turnstile = createTurnstile(AT_ONCE);
  let waiting = 0;

  const compute = async (parameters: Argon2Parameters): Promise<Buffer> => {
    if (waiting >= MAX_WAITING) throw unavailable("Too many people sign in just now. Try again shortly.", 2);
    waiting += 1;
    try {
      return await turnstile(() => run("argon2id", parameters));
    } finally {
      waiting -= 1;
      worked();
    }
  };

  return {
    async hash(password) {
      const nonce = randomBytes(SALT_BYTES);
      const hash = await compute({
        message: password.normalize("NFC"),
        nonce,
        memory: MEMORY_KIB,
        passes: PASSES,
        parallelism: LANES,
        tagLength: HASH_BYTES,
      });
      return `$argon2id$v=19$m=${MEMORY_KIB},t=${PASSES},p=${LANES}$${base64(nonce)}$${base64(hash)}`;
    },

    async verify(phc, password) {
      const [, memory, passes, lanes, salt = "", kept = ""] = PHC.exec(phc) ?? [];
      if (kept === "") throw new Error("A password's hash is damaged");
      const expected = Buffer.from(kept, "base64");
      const hash = await compute({
        message: password.normalize("NFC"),
        nonce: Buffer.from(salt, "base64"),
        memory: Number(memory),
        passes: Number(passes),
        parallelism: Number(lanes),
        tagLength: expected.length,
      });
      return timingSafeEqual(hash, expected);
    },
  };
}

/** Without padding, as PHC strings have it. */
function base64(bytes: Buffer): string {
  return bytes.toString("base64").replaceAll("=", "");
}
