/** Hashes passwords with argon2id and OWASP's parameters, in Node's thread pool and with limited concurrency. */
import { argon2, randomBytes, timingSafeEqual, type Argon2Parameters } from "node:crypto";
import { promisify } from "node:util";
import pLimit from "p-limit";
import { unavailable } from "../../core/errors.ts";

export type PasswordHasher = ReturnType<typeof createPasswordHasher>;

const argon2Async = promisify(argon2);

/** From OWASP's Password Storage Cheat Sheet: 19 MiB, 2 passes, parallelism 1. */
const DEFAULT_PARAMETERS = { memory: 19_456, passes: 2, parallelism: 1, tagLength: 32 };
const SALT_BYTES = 16;
/** Half of libuv's default thread pool, which file access and DNS lookups also need. */
const MAX_CONCURRENT_HASHES = 2;
/** About two seconds of hashing. */
const MAX_QUEUED_HASHES = 100;

const PHC_PATTERN =
  /^\$argon2id\$v=19\$m=(\d{1,7}),t=(\d{1,3}),p=(\d{1,2})\$([A-Za-z0-9+/]{11,86})\$([A-Za-z0-9+/]{11,86})$/;

/** `onHash` is called after each computed hash. */
export function createPasswordHasher(onHash: () => void) {
  const limit = pLimit(MAX_CONCURRENT_HASHES);

  const compute = async (parameters: Argon2Parameters): Promise<Buffer> => {
    if (limit.activeCount + limit.pendingCount >= MAX_QUEUED_HASHES)
      throw unavailable("Too many users are signing in. Try again in a few seconds.", 2);
    try {
      return await limit(() => argon2Async("argon2id", parameters));
    } finally {
      onHash();
    }
  };

  return {
    /** Returns a PHC string: parameters, salt and hash. Throws ServiceUnavailableException if 100 hashes are queued. */
    async hash(password: string): Promise<string> {
      const nonce = randomBytes(SALT_BYTES);
      const hash = await compute({ ...DEFAULT_PARAMETERS, nonce, message: password.normalize("NFC") });
      const { memory, passes, parallelism } = DEFAULT_PARAMETERS;
      return `$argon2id$v=19$m=${memory},t=${passes},p=${parallelism}$${unpaddedBase64(nonce)}$${unpaddedBase64(hash)}`;
    },

    async verify(phc: string, password: string): Promise<boolean> {
      const { parameters, hash } = parsePhc(phc);
      return timingSafeEqual(await compute({ ...parameters, message: password.normalize("NFC") }), hash);
    },
  };
}

function parsePhc(phc: string) {
  const [match, memory, passes, parallelism, salt = "", hashText = ""] = PHC_PATTERN.exec(phc) ?? [];
  if (match === undefined) throw new Error("The stored password hash is not a valid argon2id PHC string");
  const hash = Buffer.from(hashText, "base64");
  const parameters = {
    nonce: Buffer.from(salt, "base64"),
    memory: Number(memory),
    passes: Number(passes),
    parallelism: Number(parallelism),
    tagLength: hash.length,
  };
  return { parameters, hash };
}

/** PHC strings have no base64 padding. */
function unpaddedBase64(bytes: Buffer): string {
  return bytes.toString("base64").replaceAll("=", "");
}
