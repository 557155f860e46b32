/** Who made a change, by name where one may know it. */
import { useQuery } from "@apollo/client/react";
import { useMemo } from "react";
import { useSession } from "../../app/session.ts";
import { PeopleDocument, type JobEventEntryFragment } from "../../generated/job.ts";

type Actor = JobEventEntryFragment["actor"];

export interface KnownActor {
  name: string;
  /** A key of one's own organisation: the request stands in its log. */
  isOurKey: boolean;
}

export function useActor(): (actor: Actor) => KnownActor {
  const { user, scopes } = useSession();
  const { data } = useQuery(PeopleDocument, {
    variables: { mayManage: scopes.includes("webhooks:manage") },
    fetchPolicy: "cache-first",
    errorPolicy: "all",
  });
  return useMemo(() => {
    const known = new Map(
      [...(data?.members ?? []), ...(data?.apiKeys ?? [])].map(({ id, name }) => [id, name]),
    );
    return (actor) => ({
      name: nameOf(actor, known, user.id),
      isOurKey: actor.type === "KEY" && known.has(actor.id ?? ""),
    });
  }, [data, user.id]);
}

function nameOf({ type, id }: Actor, known: ReadonlyMap<string, string>, ownId: string): string {
  if (type === "SYSTEM") return "the service";
  const name = known.get(id ?? "");
  if (type === "KEY") return name === undefined ? "an API key" : `key “${name}”`;
  return id === ownId ? "you" : (name ?? "somebody of another organisation, or gone");
}
