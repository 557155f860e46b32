/** Who made a change, by name where one may know it. */
import { useQuery } from "@apollo/client/react";
import { useMemo } from "react";
import { useSession } from "../../../app/session/session.ts";
import { PeopleDocument, type JobEventEntryFragment } from "../../../generated/job.ts";

type Actor = JobEventEntryFragment["actor"];

export interface ActorDescription {
  name: string;
  /** A key of one's own organisation: the request stands in its log. */
  isOwnKey: boolean;
}

export function useDescribeActor(): (actor: Actor) => ActorDescription {
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
      name: actorLabel(actor, known, user.id),
      isOwnKey: actor.type === "KEY" && known.has(actor.id ?? ""),
    });
  }, [data, user.id]);
}

function actorLabel({ type, id }: Actor, namesById: ReadonlyMap<string, string>, ownId: string): string {
  if (type === "SYSTEM") return "the service";
  const name = namesById.get(id ?? "");
  if (type === "KEY") return name === undefined ? "an API key" : `key “${name}”`;
  return id === ownId ? "you" : (name ?? "somebody of another organisation, or gone");
}
