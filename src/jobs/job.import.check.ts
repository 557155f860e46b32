/** From a row of a file to the job that it asks for: each value checked as everywhere, organisations looked up. */
import type { OrganizationService } from "../organizations/organization.service.ts";
import { AppError } from "../platform/errors.ts";
import type { OrganizationType } from "../platform/principal.ts";
import type { JobCodes } from "./job.codes.ts";
import { isFileColumn, isJobField, unknownColumn } from "./job.file.ts";
import type { ImportRow, RowProblem } from "./job.import.rows.ts";
import { checkPatch } from "./job.patch.ts";
import type { JobUpsert } from "./job.upsert.ts";
import { markingNumberValue, providerStatusValue, textValue } from "./job.values.ts";

export type CheckedRow = { readonly upsert: JobUpsert } | { readonly problems: readonly RowProblem[] };

/** The organisations that stand in for those that rows do not name: uuids. */
export interface StandIns {
  readonly agentId: string | undefined;
  readonly contractorId: string | undefined;
}

export interface RowChecks {
  readonly codes: JobCodes;
  readonly references: OrganizationReferences;
  readonly standIns: StandIns;
}

const referenceValue = textValue(1_000);
/** References remembered: more than there are organisations, so only files of made-up names reach it. */
const MAX_REMEMBERED = 10_000;
/** Told of a row: a line of NDJSON has room for a hundred thousand, each of which is compared with every column. */
const MAX_UNKNOWN_NAMES = 50;

type Reference = { readonly id: string } | { readonly problem: string };
type Values = Readonly<Record<string, unknown>>;

/** Organisations by id or exact name, each asked for once. */
export class OrganizationReferences {
  readonly #organizations: OrganizationService;
  readonly #known = new Map<string, Reference>();

  constructor(organizations: OrganizationService) {
    this.#organizations = organizations;
  }

  async find(reference: string, type: OrganizationType): Promise<Reference> {
    const key = `${type} ${reference}`;
    const known = this.#known.get(key);
    if (known) return known;
    const found = await this.#ask(reference, type);
    if (this.#known.size >= MAX_REMEMBERED) this.#known.clear();
    this.#known.set(key, found);
    return found;
  }

  async #ask(reference: string, type: OrganizationType): Promise<Reference> {
    try {
      return await this.#organizations.get(reference, type);
    } catch (error) {
      if (!(error instanceof AppError) || error.status >= 500) throw error;
      return { problem: error.message };
    }
  }
}

/** Every problem of the row is found, not only the first. */
export async function checkRow(checks: RowChecks, row: ImportRow): Promise<CheckedRow> {
  if ("problems" in row) return row;
  const { values } = row;
  const problems: RowProblem[] = unknownNames(values);
  const note = (field: string, message: string): undefined => void problems.push({ field, message });

  const marking = markingNumberValue.safeParse(values["marking_number"]);
  if (!marking.success) note("marking_number", messageOf(marking.error));
  const provider = providerStatusValue.optional().safeParse(values["provider_status"]);
  if (!provider.success) note("provider_status", messageOf(provider.error));
  const agentId = await agentOf(checks, values, note);
  const contractorId = await contractorOf(checks, values, note);
  const fields = await fieldsOf(checks.codes, values);
  problems.push(...fields.problems);

  if (problems.length > 0 || !marking.success || agentId === undefined) return { problems };
  const upsert = {
    markingNumber: marking.data,
    agentId,
    contractorId,
    patch: fields.patch,
    providerStatus: provider.data,
  };
  return { upsert };
}

type Note = (field: string, message: string) => undefined;

function unknownNames(values: Values): RowProblem[] {
  return Object.keys(values)
    .filter((name) => !isFileColumn(name))
    .slice(0, MAX_UNKNOWN_NAMES)
    .map((field) => ({ field, message: unknownColumn(field) }));
}

async function fieldsOf(codes: JobCodes, values: Values) {
  const body = Object.fromEntries(
    Object.entries(values).filter(([name]) => isFileColumn(name) && isJobField(name)),
  );
  if (Object.keys(body).length === 0) return { patch: {}, problems: [] };
  const checked = await checkPatch(codes, body);
  if (checked.ok) return { patch: checked.patch, problems: [] };
  return { patch: {}, problems: checked.problems.map(({ field, message }) => ({ field, message })) };
}

/** Null: no agent is named, so the row can only change a job that exists. */
async function agentOf(
  { references, standIns }: RowChecks,
  values: Values,
  note: Note,
): Promise<string | null | undefined> {
  const named = values["agent"] ?? null;
  if (named !== null) return await organizationOf(references, ["agent", named], note);
  return standIns.agentId ?? null;
}

/** Null is an answer here (assigned to nobody), so the stand-in is for rows that have no such column. */
async function contractorOf({ references, standIns }: RowChecks, values: Values, note: Note) {
  const named = values["contractor"];
  if (named === undefined) return standIns.contractorId;
  if (named === null) return null;
  return await organizationOf(references, ["contractor", named], note);
}

async function organizationOf(
  references: OrganizationReferences,
  [type, named]: readonly [OrganizationType, unknown],
  note: Note,
): Promise<string | undefined> {
  const reference = referenceValue.safeParse(named);
  if (!reference.success) return note(type, messageOf(reference.error));
  const found = await references.find(reference.data, type);
  return "id" in found ? found.id : note(type, found.problem);
}

function messageOf(error: { issues: readonly { message: string }[] }): string {
  return error.issues.map((issue) => issue.message).join("; ");
}
