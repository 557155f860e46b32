/** Watching over open sockets: that their keys are still good, that they take what is sent, that somebody is there. */
import type { KeyHolder } from "../api-keys/api-key.memory.ts";
import { requireScope, type KeyVerifier } from "../api-keys/api-key.verifier.ts";
import { AppError } from "../platform/errors.ts";
import { closeCodes, subscriptionLimits } from "./subscription-limits.ts";
import type { Caller, LiveSocket } from "./subscription-socket.ts";

export interface Vigil extends Disposable {
  /** Who calls. Throws UnauthorizedException and ForbiddenException, also where the key may not read jobs. */
  admit(key: string, address: string): Promise<KeyHolder>;
  /** Whether the caller is still admitted. If not, the socket is closed; the rest, such as a database that is away, is thrown. */
  isStillGood(live: LiveSocket): Promise<boolean>;
  /** Throws ForbiddenException where one more socket is too many for this key, or for its organisation. */
  refuseTooMany(holder: KeyHolder): void;
}

export function createVigil(verifier: Pick<KeyVerifier, "verify">, sockets: ReadonlySet<LiveSocket>): Vigil {
  const admit: Vigil["admit"] = async (key, address) => {
    const holder = await verifier.verify(key, address);
    requireScope(holder, "jobs:read");
    return holder;
  };

  const isStillGood: Vigil["isStillGood"] = async (live) => {
    const { caller } = live;
    if (!caller) return false;
    try {
      live.caller = { ...caller, holder: await admit(caller.key, caller.address) };
      return true;
    } catch (error) {
      if (!isRefusal(error)) throw error;
      live.close(closeCodes.forbidden, error.message);
      return false;
    }
  };

  let isVerifying = false;
  /** One after the other: while the database is slow, a thousand sockets must not ask it a thousand times. */
  const verifyAll = async (): Promise<void> => {
    if (isVerifying) return;
    isVerifying = true;
    for (const group of groupByKey(sockets)) {
      const [first, ...others] = group as [LiveSocket, ...LiveSocket[]];
      // Who cannot be verified now stays: no event reaches it unverified.
      const isGood = await isStillGood(first).catch(() => true);
      if (isGood) continue;
      for (const live of others) await isStillGood(live).catch(() => true);
    }
    isVerifying = false;
  };

  const verifying = setInterval(() => {
    void verifyAll();
    for (const live of sockets) live.checkStall();
  }, subscriptionLimits.checkEveryMs);
  const asking = setInterval(() => {
    for (const live of sockets) if (!live.ask()) live.terminate();
  }, subscriptionLimits.pingEveryMs);
  verifying.unref();
  asking.unref();

  return {
    admit,
    isStillGood,
    refuseTooMany: (holder) => refuseTooMany(sockets, holder),
    [Symbol.dispose]() {
      clearInterval(verifying);
      clearInterval(asking);
    },
  };
}

/** The caller's fault, rather than ours. */
export function isRefusal(error: unknown): error is AppError {
  return error instanceof AppError && (error.status === 401 || error.status === 403);
}

function refuseTooMany(sockets: Iterable<LiveSocket>, { keyId, organizationId }: KeyHolder): void {
  const { socketsPerKey, socketsPerOrganization } = subscriptionLimits;
  const holders = [...sockets].flatMap(({ caller }) => (caller ? [caller.holder] : []));
  if (holders.filter((holder) => holder.keyId === keyId).length >= socketsPerKey)
    throw new AppError("ForbiddenException", `At most ${socketsPerKey} WebSockets are open with one key`);
  if (organizationId === null) return;
  if (holders.filter((holder) => holder.organizationId === organizationId).length >= socketsPerOrganization)
    throw new AppError(
      "ForbiddenException",
      `At most ${socketsPerOrganization} WebSockets are open with the keys of one organisation`,
    );
}

/** Sockets that one verification speaks for: of the same key, from the same address. */
function groupByKey(sockets: Iterable<LiveSocket>): LiveSocket[][] {
  const groups = new Map<string, LiveSocket[]>();
  for (const live of sockets) {
    if (!live.caller) continue;
    const name = nameOf(live.caller);
    const group = groups.get(name);
    if (group) group.push(live);
    else groups.set(name, [live]);
  }
  return [...groups.values()];
}

function nameOf({ key, address }: Caller): string {
  return `${key} ${address}`;
}
