/** Passwords at rest: argon2id as OWASP recommends it, off the event loop, and only so many at once. */
import { argon2, randomBytes, timingSafeEqual, type Argon2Parameters } from "node:crypto";
import { promisify } from "node:util";
import { unavailable } from "../../platform/errors.ts";
import { createSemaphore } from "../../platform/concurrency/semaphore.ts";

export interface PasswordHasher {
  /** As a PHC string: the parameters, the salt and the hash. */
  hash(password: string): Promise<string>;
  verify(hash: string, password: string): Promise<boolean>;
  /** With the salt and the parameters of another hash: for secrets of one person that share a salt. */
  hashWithSaltOf(hash: string, password: string): Promise<string>;
}

const argon2Async = promisify(argon2);

type HashParameters = Omit<Argon2Parameters, "message" | "nonce"> & { nonce: Buffer };

/** OWASP's Password Storage Cheat Sheet: 19 MiB, two passes, one lane. */
const DEFAULT_PARAMETERS = { memory: 19_456, passes: 2, parallelism: 1, tagLength: 32 };
const SALT_BYTES = 16;
/** Half of the threads that Node has for such work: files and names are still read meanwhile. */
const MAX_CONCURRENT_HASHES = 2;
/** About two seconds of work. */
const MAX_QUEUED_HASHES = 100;

const PHC_PATTERN =
  /^\$argon2id\$v=19\$m=(\d{1,7}),t=(\d{1,3}),p=(\d{1,2})\$([A-Za-z0-9+/]{11,86})\$([A-Za-z0-9+/]{11,86})$/;

/** `worked` is called once for each hash that is computed, to be counted. */
export function createPasswordHasher(onHash: () => void): PasswordHasher {
  const semaphore = createSemaphore(MAX_CONCURRENT_HASHES);
  let queued = 0;

  const compute = async (parameters: Argon2Parameters): Promise<Buffer> => {
    if (queued >= MAX_QUEUED_HASHES)
      throw unavailable("Too many people sign in just now. Try again shortly.", 2);
    queued += 1;
    try {
      return await semaphore(() => argon2Async("argon2id", parameters));
    } finally {
      queued -= 1;
      onHash();
    }
  };

  const hashToPhc = async (parameters: HashParameters, password: string): Promise<string> => {
    const hash = await compute({ ...parameters, message: password.normalize("NFC") });
    const { memory, passes, parallelism, nonce } = parameters;
    return `$argon2id$v=19$m=${memory},t=${passes},p=${parallelism}$${unpaddedBase64(nonce)}$${unpaddedBase64(hash)}`;
  };

  return {
    hash: (password) => hashToPhc({ ...DEFAULT_PARAMETERS, nonce: randomBytes(SALT_BYTES) }, password),
    hashWithSaltOf: async (phc, password) => await hashToPhc(parsePhc(phc).parameters, password),

    async verify(phc, password) {
      const { parameters, kept } = parsePhc(phc);
      return timingSafeEqual(await compute({ ...parameters, message: password.normalize("NFC") }), kept);
    },
  };
}

function parsePhc(phc: string): { parameters: HashParameters; kept: Buffer } {
  const [match, memory, passes, lanes, salt = "", hash = ""] = PHC_PATTERN.exec(phc) ?? [];
  if (match === undefined) throw new Error("A password's hash is damaged");
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
function unpaddedBase64(bytes: Buffer): string {
  return bytes.toString("base64").replaceAll("=", "");
}
