/** Validates imported rows, resolves their organisations and converts them to upserts. */
import type { OrganizationService } from "../../organizations/api.ts";
import { AppError } from "../../platform/errors.ts";
import type { OrganizationType } from "../../platform/principal.ts";
import type { JobReferenceData } from "../job.reference-data.ts";
import { isFileColumn, isJobField, unknownColumnMessage } from "./file-codec.ts";
import type { ImportRow, RowProblem } from "./import-rows.ts";
import { checkPatch } from "../update/patch.ts";
import type { JobUpsert } from "../update/upsert.sql.ts";
import { markingNumberValue, providerStatusValue, textValue } from "../job.values.ts";

export type ValidatedRow = { readonly upsert: JobUpsert } | { readonly problems: readonly RowProblem[] };

/** Organisation ids (UUIDs) for rows that name no organisation. */
export interface DefaultOrganizations {
  readonly agentId: string | undefined;
  readonly contractorId: string | undefined;
}

export interface RowValidationContext {
  readonly referenceData: JobReferenceData;
  readonly organizations: OrganizationResolver;
  readonly defaults: DefaultOrganizations;
}

const organizationReference = textValue(1_000);
/** More than there are organisations: only a file of invented names reaches it. */
const MAX_CACHED = 10_000;
/** Per row. An NDJSON line can have 100,000 keys, and each message compares its key with every column. */
const MAX_UNKNOWN_COLUMNS = 50;

type ResolvedOrganization = { readonly id: string } | { readonly problem: string };
type RowValues = Readonly<Record<string, unknown>>;

/** Resolves organisations by id or exact name and caches the results. */
export class OrganizationResolver {
  readonly #organizations: OrganizationService;
  readonly #cache = new Map<string, ResolvedOrganization>();

  constructor(organizations: OrganizationService) {
    this.#organizations = organizations;
  }

  async resolve(reference: string, type: OrganizationType): Promise<ResolvedOrganization> {
    const key = `${type} ${reference}`;
    const cached = this.#cache.get(key);
    if (cached) return cached;
    const organization = await this.#lookUp(reference, type);
    if (this.#cache.size >= MAX_CACHED) this.#cache.clear();
    this.#cache.set(key, organization);
    return organization;
  }

  async #lookUp(reference: string, type: OrganizationType): Promise<ResolvedOrganization> {
    try {
      return await this.#organizations.get(reference, type);
    } catch (error) {
      if (!(error instanceof AppError) || error.status >= 500) throw error;
      return { problem: error.message };
    }
  }
}

/** Returns the upsert for the row, or every problem of the row. */
export async function validateRow(context: RowValidationContext, row: ImportRow): Promise<ValidatedRow> {
  if ("problems" in row) return row;
  const { values } = row;
  const problems: RowProblem[] = unknownColumnProblems(values);
  const addProblem = (field: string, message: string): undefined => void problems.push({ field, message });

  const markingNumber = markingNumberValue.safeParse(values["marking_number"]);
  if (!markingNumber.success) addProblem("marking_number", issueMessages(markingNumber.error));
  const providerStatus = providerStatusValue.optional().safeParse(values["provider_status"]);
  if (!providerStatus.success) addProblem("provider_status", issueMessages(providerStatus.error));
  const agentId = await resolveAgent(context, values, addProblem);
  const contractorId = await resolveContractor(context, values, addProblem);
  const fields = await validateFields(context.referenceData, values);
  problems.push(...fields.problems);

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

type AddProblem = (field: string, message: string) => undefined;

function unknownColumnProblems(values: RowValues): RowProblem[] {
  return Object.keys(values)
    .filter((name) => !isFileColumn(name))
    .slice(0, MAX_UNKNOWN_COLUMNS)
    .map((field) => ({ field, message: unknownColumnMessage(field) }));
}

async function validateFields(referenceData: JobReferenceData, values: RowValues) {
  const body = Object.fromEntries(
    Object.entries(values).filter(([name]) => isFileColumn(name) && isJobField(name)),
  );
  if (Object.keys(body).length === 0) return { patch: {}, problems: [] };
  const checked = await checkPatch(referenceData, body);
  if (checked.ok) return { patch: checked.patch, problems: [] };
  return { patch: {}, problems: checked.problems.map(({ field, message }) => ({ field, message })) };
}

/** Null: no agent is named, so the row can only change an existing job. Undefined: the agent has a problem. */
async function resolveAgent(
  { organizations, defaults }: RowValidationContext,
  values: RowValues,
  addProblem: AddProblem,
): Promise<string | null | undefined> {
  const reference = values["agent"] ?? null;
  if (reference !== null) return await resolveOrganization(organizations, ["agent", reference], addProblem);
  return defaults.agentId ?? null;
}

/** Null unassigns the job, so the default applies only to rows without the column. */
async function resolveContractor(
  { organizations, defaults }: RowValidationContext,
  values: RowValues,
  addProblem: AddProblem,
) {
  const reference = values["contractor"];
  if (reference === undefined) return defaults.contractorId;
  if (reference === null) return null;
  return await resolveOrganization(organizations, ["contractor", reference], addProblem);
}

async function resolveOrganization(
  organizations: OrganizationResolver,
  [type, value]: readonly [OrganizationType, unknown],
  addProblem: AddProblem,
): Promise<string | undefined> {
  const reference = organizationReference.safeParse(value);
  if (!reference.success) return addProblem(type, issueMessages(reference.error));
  const organization = await organizations.resolve(reference.data, type);
  return "id" in organization ? organization.id : addProblem(type, organization.problem);
}

function issueMessages(error: { issues: readonly { message: string }[] }): string {
  return error.issues.map((issue) => issue.message).join("; ");
}
