/** Validates imported rows, resolves their organisations and converts them to upserts. */
import type { OrganizationService } from "../../organizations/api.ts";
import { unknownNames } from "../../core/did-you-mean.ts";
import { AppError } from "../../core/errors.ts";
import type { Queryable } from "../../core/postgres/database.ts";
import type { OrganizationPrincipal, OrganizationType } from "../../core/principal.ts";
import { findOrganizationsById } from "../list/find.sql.ts";
import type { JobReferenceData } from "../reference-data.ts";
import { jobFields, type JobFieldName } from "../fields.ts";
import { fileColumns, unknownColumnMessage } from "./file-codec.ts";
import type { ImportRow, RowProblem } from "./import-rows.ts";
import { checkFields } from "../update/validate-patch.ts";
import type { JobUpsert } from "../update/upsert.sql.ts";
import { liveMarkingNumberValue, providerStatusValue, textValue } from "../values.ts";

export type ValidatedRow = { readonly upsert: JobUpsert } | { readonly problems: readonly RowProblem[] };

export interface RowValidationContext {
  readonly referenceData: Pick<JobReferenceData, "isKnownStatus">;
  readonly resolveOrganization: ReturnType<typeof createOrganizationResolver>;
  /** Organisation ids (UUIDs) for rows that name no organisation. */
  readonly defaults: Readonly<Record<OrganizationType, string | undefined>>;
  readonly canSetProviderStatus: boolean;
}

const organizationReference = textValue(1_000);
/** More than there are organisations: only a file of invented names reaches it. */
const MAX_CACHED = 10_000;

type ResolvedOrganization = { readonly id: string } | { readonly problem: string };

type OrganizationFinder = (reference: string, type: OrganizationType) => Promise<{ readonly id: string }>;

/**
 * Finds only the agent itself and the contractors of its jobs, by id or exact name. An agent must not learn which other organisations
 * exist, nor send jobs to those it does not work with.
 */
export function partnersOfAgent(
  { organizations, database }: { organizations: OrganizationService; database: Queryable },
  agent: OrganizationPrincipal,
): OrganizationFinder {
  return async (reference, type) => {
    const found = await organizations.find(reference);
    const [partner] = found?.type === type ? await findOrganizationsById(database, agent, [found.id]) : [];
    if (partner) return partner;
    const problem =
      type === "agent"
        ? "is not your organisation; leave the column out"
        : `None of your jobs has the contractor "${reference}"; ask the operator to assign the first one`;
    throw new AppError("BadRequestException", problem);
  };
}

/** Caches the results of `find`. */
export function createOrganizationResolver(find: OrganizationFinder) {
  const cache = new Map<string, ResolvedOrganization>();
  return async (reference: string, type: OrganizationType): Promise<ResolvedOrganization> => {
    const key = `${type} ${reference}`;
    const cached = cache.get(key);
    if (cached) return cached;
    const organization = await find(reference, type).catch(toProblem);
    if (cache.size >= MAX_CACHED) cache.clear();
    cache.set(key, organization);
    return organization;
  };
}

function toProblem(error: unknown): { problem: string } {
  if (!(error instanceof AppError) || error.status >= 500) throw error;
  return { problem: error.message };
}

export async function validateRow(
  { referenceData, resolveOrganization, defaults, canSetProviderStatus }: RowValidationContext,
  row: ImportRow,
): Promise<ValidatedRow> {
  if ("problems" in row) return row;
  const { values } = row;
  const problems: RowProblem[] = unknownNames(Object.keys(values), fileColumns).map(({ name, nearest }) => ({
    field: name,
    message: unknownColumnMessage(nearest),
  }));
  const addProblem = (field: string, message: string): undefined => void problems.push({ field, message });
  /** Returns the id of the organisation that the row names, `absent` if it names none, or undefined if it has a problem. */
  const resolve = async <Absent>(
    type: OrganizationType,
    absent: Absent,
  ): Promise<string | Absent | undefined> => {
    const value = values[type] ?? null;
    if (value === null) return absent;
    const reference = organizationReference.safeParse(value);
    if (!reference.success) return addProblem(type, issueMessages(reference.error));
    const organization = await resolveOrganization(reference.data, type);
    return "id" in organization ? organization.id : addProblem(type, organization.problem);
  };

  const markingNumber = liveMarkingNumberValue.safeParse(values["marking_number"]);
  if (!markingNumber.success)
    addProblem(
      "marking_number",
      (values["marking_number"] ?? "") === "" ? "is missing" : issueMessages(markingNumber.error),
    );
  const providerStatus = providerStatusValue.optional().safeParse(values["provider_status"]);
  if (!providerStatus.success) addProblem("provider_status", issueMessages(providerStatus.error));
  if (!canSetProviderStatus && values["provider_status"] !== undefined)
    addProblem("provider_status", "is set by the operator; leave the column out");
  // Without an agent the row can only change an existing job.
  const agentId = await resolve("agent", defaults.agent ?? null);
  // Null unassigns the job, so the default applies only to rows without the column.
  const contractorId = await resolve(
    "contractor",
    values["contractor"] === null ? null : defaults.contractor,
  );
  const fields = await checkFields(referenceData, values);
  for (const { field, code, message } of fields.problems)
    addProblem(field, plainMessage(field as JobFieldName, { code, value: values[field] }) ?? message);

  if (problems.length > 0 || !markingNumber.success || agentId === undefined) return { problems };
  const upsert = {
    markingNumber: markingNumber.data,
    agentId,
    contractorId,
    patch: fields.patch,
    providerStatus: providerStatus.data,
  };
  return { upsert };
}

const plainTypes: Record<(typeof jobFields)[JobFieldName]["kind"], string> = {
  text: "must be a text",
  integer: "must be a whole number, such as 3",
  number: "must be a number with a point, such as 8.25",
  date: "must be a date, such as 2026-12-31",
  boolean: "must be true or false",
};

/** For people with a file, who know neither the types of JSON nor the API. Undefined if the message of the API is plain. */
function plainMessage(
  field: JobFieldName,
  { code, value }: { code: string; value: unknown },
): string | undefined {
  if (code === "unknown_status") return `is not the code of a status: ${JSON.stringify(value)}`;
  if (value === null) return "must not be empty";
  return ["invalid_type", "invalid_format"].includes(code) ? plainTypes[jobFields[field].kind] : undefined;
}

function issueMessages(error: { issues: readonly { message: string }[] }): string {
  return error.issues.map((issue) => issue.message).join("; ");
}
