/** Reads account requests, for operators only. */
import { idCursor } from "../../core/cursor.ts";
import type { Reader } from "../../core/postgres/database.ts";
import { listNewest, type Page, type PageRequest } from "../../core/postgres/list-page.ts";
import { AccountRequest, AccountRequestNote, type AccountRequestStatus } from "./entity.ts";

export interface AccountRequestFilter {
  /** Absent: any. */
  readonly statuses?: readonly AccountRequestStatus[] | undefined;
}

export const accountRequestCursor = idCursor("account_requests");

/** Newest first. */
export async function listAccountRequests(
  reader: Reader,
  { statuses, ...page }: AccountRequestFilter & PageRequest,
): Promise<Page<AccountRequest>> {
  return await listNewest(reader.em(), AccountRequest, { ...page, where: withStatus(statuses) });
}

export function countAccountRequests(reader: Reader, { statuses }: AccountRequestFilter): Promise<number> {
  return reader.em().count(AccountRequest, withStatus(statuses));
}

/** Returns the existing requests of `ids` (uuids), in no particular order. */
export async function accountRequestsByIds(
  reader: Reader,
  ids: readonly string[],
): Promise<AccountRequest[]> {
  return await reader.em().find(AccountRequest, { id: { $in: [...ids] } });
}

/** The notes of each request, oldest first. */
export async function accountRequestNotes(
  reader: Reader,
  ids: readonly string[],
): Promise<Map<string, AccountRequestNote[]>> {
  const notes = await reader
    .em()
    .find(AccountRequestNote, { request: { $in: [...ids] } }, { orderBy: { request: "asc", id: "asc" } });
  return Map.groupBy(notes, ({ request }) => request.id);
}

function withStatus(statuses: readonly AccountRequestStatus[] | undefined) {
  return statuses === undefined ? {} : { status: { $in: [...statuses] } };
}
