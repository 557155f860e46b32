/** The name of the actor of a change, if the user may know it. */
import { useQuery } from "@apollo/client/react";
import { useMemo } from "react";
import { useSession } from "../../../app/session/session.ts";
import { ActorNamesDocument, type JobEventEntryFragment } from "../../../generated/job.ts";

type Actor = JobEventEntryFragment["actor"];

export interface ActorDescription {
  name: string;
  /** True for a key of the user's organisation, whose requests are in the request log. */
  isOwnKey: boolean;
}

export function useDescribeActor(): (actor: Actor) => ActorDescription {
  const { user, scopes } = useSession();
  const { data } = useQuery(ActorNamesDocument, {
    variables: { mayManage: scopes.includes("webhooks:manage") },
    fetchPolicy: "cache-first",
    errorPolicy: "all",
  });
  return useMemo(() => {
    const namesById = new Map(
      [...(data?.members ?? []), ...(data?.apiKeys ?? [])].map(({ id, name }) => [id, name]),
    );
    return (actor) => ({
      name: actorLabel(actor, namesById, user.id),
      isOwnKey: actor.type === "KEY" && namesById.has(actor.id ?? ""),
    });
  }, [data, user.id]);
}

function actorLabel({ type, id }: Actor, namesById: ReadonlyMap<string, string>, ownId: string): string {
  if (type === "SYSTEM") return "Waymark";
  const name = namesById.get(id ?? "");
  if (type === "KEY") return name === undefined ? "an API key" : `key “${name}”`;
  return id === ownId ? "you" : (name ?? "another organisation or a former member");
}
