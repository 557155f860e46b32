/** The columns that a file of jobs can have, and which of a file's own columns is probably which. */

interface TargetColumn {
  name: string;
  label: string;
  /** What others call it, in small letters without spaces or marks. */
  aliases: readonly string[];
}

const targetColumn = (name: string, label: string, ...aliases: string[]): TargetColumn => ({
  name,
  label,
  aliases,
});

/** The contract's names, in the order of an export. */
export const targetColumns: readonly TargetColumn[] = [
  targetColumn(
    "marking_number",
    "Marking Number",
    "markingno",
    "marking",
    "trackingnumber",
    "trackingno",
    "tracking",
    "waybill",
  ),
  targetColumn("agent", "Agent", "agentname", "agentid", "shipper", "merchant"),
  targetColumn("contractor", "Contractor", "contractorname", "contractorid", "haulier", "courier"),
  targetColumn("batch_number", "Batch number", "batch", "batchno"),
  targetColumn("group_code", "Group code", "group", "area", "zone", "warehousearea"),
  targetColumn("piece_quantity", "Pieces", "pieces", "quantity", "qty", "pcs", "piecequantities"),
  targetColumn("labels", "Labels", "label", "tags"),
  targetColumn("pts", "PTS", "ptsvalue", "points"),
  targetColumn("weight", "Weight", "weightkg", "kg", "kilos", "grossweight"),
  targetColumn(
    "recipient_name",
    "Recipient",
    "recipient",
    "consignee",
    "receiver",
    "consigneename",
    "customername",
  ),
  targetColumn(
    "recipient_contact",
    "Recipient’s contact",
    "phone",
    "contact",
    "mobile",
    "telephone",
    "tel",
    "phonenumber",
    "contactnumber",
  ),
  targetColumn("delivery_address", "Delivery address", "address", "shippingaddress", "consigneeaddress"),
  targetColumn("postal_code", "Postal code", "postcode", "zip", "zipcode", "postal"),
  targetColumn("scheduled_date", "Scheduled date", "schedule", "date", "planneddate"),
  targetColumn("instructions", "Instructions", "deliveryinstructions", "remarks", "notes", "comments"),
  targetColumn("normalized_status", "Status", "status", "statuscode"),
  targetColumn("failure_reason", "Failure reason", "reason", "reasoncode", "failurecode"),
  targetColumn("scheduled_delivery_date", "Confirmed delivery date", "deliverydate", "confirmeddate"),
  targetColumn("scheduled_delivery_pending", "Delivery date pending", "deliverypending"),
  targetColumn("provider_status", "Carrier’s status", "carrierstatus", "couriersstatus"),
];

const labelsByName: ReadonlyMap<string, string> = new Map(
  targetColumns.map(({ name, label }) => [name, label]),
);

export function columnLabel(name: string): string {
  return labelsByName.get(name) ?? name;
}

/** `markingNumber`, `Marking Number` and `MARKING-NO.` are one: letters and digits alone, small. */
function normalizeName(name: string): string {
  return name
    .normalize("NFKD")
    .replaceAll(/[^\p{L}\p{N}]/gu, "")
    .toLowerCase();
}

function exactNames({ name, label }: TargetColumn): string[] {
  return [normalizeName(name), normalizeName(label)];
}

/** For each of a file's columns one of ours, or null. Each of ours once: the exact name wins over what others call it. */
export function guessMapping(names: readonly string[]): (string | null)[] {
  const repeated = repeatedNames(names);
  const mapping: (string | null)[] = names.map(() => null);
  for (const namesOf of [exactNames, (target: TargetColumn) => target.aliases]) {
    for (const [index, name] of names.entries()) {
      if (mapping[index] !== null || repeated.has(name)) continue;
      const found = targetColumns.find(
        (target) => namesOf(target).includes(normalizeName(name)) && !mapping.includes(target.name),
      );
      mapping[index] = found?.name ?? null;
    }
  }
  return mapping;
}

/** Names that stand more than once: nobody could say which one is meant. */
export function repeatedNames(names: readonly string[]): ReadonlySet<string> {
  return new Set(names.filter((name, at) => names.indexOf(name) !== at));
}

/** Why a file cannot be imported like this, in sentences; empty: it can. */
export function mappingProblems(mapping: readonly (string | null)[]): string[] {
  return mapping.includes("marking_number") ? [] : ["Choose the column that holds the Marking Number."];
}
