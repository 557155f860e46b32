/** Passwords at rest: argon2id as OWASP recommends it, off the event loop, and only so many at once. */
import { argon2, randomBytes, timingSafeEqual, type Argon2Parameters } from "node:crypto";
import { promisify } from "node:util";
import { unavailable } from "../platform/errors.ts";
import { createTurnstile } from "../platform/turnstile.ts";

export interface PasswordHasher {
  /** As a PHC string: the parameters, the salt and the hash. */
  hash(password: string): Promise<string>;
  verify(hash: string, password: string): Promise<boolean>;
  /** With the salt and the parameters of another hash: for secrets of one person that share a salt. */
  hashLike(hash: string, password: string): Promise<string>;
}

const run = promisify(argon2);

type Parameters = Omit<Argon2Parameters, "message" | "nonce"> & { nonce: Buffer };

/** OWASP's Password Storage Cheat Sheet: 19 MiB, two passes, one lane. */
const USUAL = { memory: 19_456, passes: 2, parallelism: 1, tagLength: 32 };
const SALT_BYTES = 16;
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

  const phcOf = async (parameters: Parameters, password: string): Promise<string> => {
    const hash = await compute({ ...parameters, message: password.normalize("NFC") });
    const { memory, passes, parallelism, nonce } = parameters;
    return `$argon2id$v=19$m=${memory},t=${passes},p=${parallelism}$${base64(nonce)}$${base64(hash)}`;
  };

  return {
    hash: (password) => phcOf({ ...USUAL, nonce: randomBytes(SALT_BYTES) }, password),
    hashLike: async (phc, password) => await phcOf(parsed(phc).parameters, password),

    async verify(phc, password) {
      const { parameters, kept } = parsed(phc);
      return timingSafeEqual(await compute({ ...parameters, message: password.normalize("NFC") }), kept);
    },
  };
}

function parsed(phc: string): { parameters: Parameters; kept: Buffer } {
  const [found, memory, passes, lanes, salt = "", hash = ""] = PHC.exec(phc) ?? [];
  if (found === undefined) throw new Error("A password's hash is damaged");
  const kept = Buffer.from(hash, "base64");
  const parameters = {
    nonce: Buffer.from(salt, "base64"),
    memory: Number(memory),
    passes: Number(passes),
    parallelism: Number(lanes),
    tagLength: kept.length,
  };
  return { parameters, kept };
}

/** Without padding, as PHC strings have it. */
function base64(bytes: Buffer): string {
  return bytes.toString("base64").replaceAll("=", "");
}
