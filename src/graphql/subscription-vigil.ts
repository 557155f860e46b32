/** Watching over open sockets: that their keys and sessions are still good, that they take what is sent, that somebody is there. */
import { requireScope } from "../api-keys/api-key.verifier.ts";
import { AppError } from "../platform/errors.ts";
import type { Credential } from "./credential.ts";
import { isPerson, type Holder } from "./holder.ts";
import { closeCodes, subscriptionLimits } from "./subscription-limits.ts";
import type { LiveSocket } from "./subscription-socket.ts";

export interface Vigil extends Disposable {
  /** Who calls. Throws UnauthorizedException and ForbiddenException, also where they may not read jobs. */
  admit(credential: Credential): Promise<Holder>;
  /** Whether the caller is still admitted. If not, the socket is closed; the rest, such as a database that is away, is thrown. */
  isStillGood(live: LiveSocket): Promise<boolean>;
  /** Throws ForbiddenException where one more socket is too many for this key or person, or for their organisation. */
  refuseTooMany(holder: Holder): void;
}

async function admit(credential: Credential): Promise<Holder> {
  const holder = await credential.verify();
  requireScope(holder, "jobs:read");
  return holder;
}

export function createVigil(sockets: ReadonlySet<LiveSocket>): Vigil {
  const isStillGood: Vigil["isStillGood"] = async (live) => {
    const { caller } = live;
    if (!caller) return false;
    try {
      live.caller = { ...caller, holder: await admit(caller.credential) };
      return true;
    } catch (error) {
      if (!isRefusal(error)) throw error;
      live.close(closeCodes.forbidden, error.message);
      return false;
    }
  };

  const verifyGroup = async ([first, ...others]: LiveSocket[]): Promise<void> => {
    // Who cannot be verified now stays: no event reaches it unverified.
    const isGood = !first || (await isStillGood(first).catch(() => true));
    if (isGood) return;
    for (const live of others) await isStillGood(live).catch(() => true);
  };

  let isVerifying = false;
  /** One after the other: while the database is slow, a thousand sockets must not ask it a thousand times. */
  const verifyAll = async (): Promise<void> => {
    if (isVerifying) return;
    isVerifying = true;
    for (const group of groupByCredential(sockets)) await verifyGroup(group);
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

function refuseTooMany(sockets: Iterable<LiveSocket>, newcomer: Holder): void {
  const { socketsPerKey, socketsPerOrganization } = subscriptionLimits;
  const { actor, organizationId } = newcomer;
  const holders = [...sockets].flatMap(({ caller }) => (caller ? [caller.holder] : []));
  if (holders.filter((holder) => holder.actor.id === actor.id).length >= socketsPerKey)
    throw new AppError(
      "ForbiddenException",
      `At most ${socketsPerKey} WebSockets are open ${isPerson(newcomer) ? "for one person" : "with one key"}`,
    );
  if (organizationId === null) return;
  if (holders.filter((holder) => holder.organizationId === organizationId).length >= socketsPerOrganization)
    throw new AppError(
      "ForbiddenException",
      `At most ${socketsPerOrganization} WebSockets are open for one organisation`,
    );
}

/** Sockets that one verification speaks for: of the same key from the same address, or of the same session. */
function groupByCredential(sockets: Iterable<LiveSocket>): LiveSocket[][] {
  const groups = new Map<string, LiveSocket[]>();
  for (const live of sockets) {
    if (!live.caller) continue;
    const { name } = live.caller.credential;
    const group = groups.get(name);
    if (group) group.push(live);
    else groups.set(name, [live]);
  }
  return [...groups.values()];
}
