/** The columns that a file of jobs can have, and which of a file's own columns is probably which. */

interface TargetColumn {
  name: string;
  label: string;
  /** What others call it, in small letters without spaces or marks. */
  aliases: readonly string[];
}

const column = (name: string, label: string, ...aliases: string[]): TargetColumn => ({
  name,
  label,
  aliases,
});

/** The contract's names, in the order of an export. */
export const targetColumns: readonly TargetColumn[] = [
  column(
    "marking_number",
    "Marking Number",
    "markingno",
    "marking",
    "trackingnumber",
    "trackingno",
    "tracking",
    "waybill",
  ),
  column("agent", "Agent", "agentname", "agentid", "shipper", "merchant"),
  column("contractor", "Contractor", "contractorname", "contractorid", "haulier", "courier"),
  column("batch_number", "Batch number", "batch", "batchno"),
  column("group_code", "Group code", "group", "area", "zone", "warehousearea"),
  column("piece_quantity", "Pieces", "pieces", "quantity", "qty", "pcs", "piecequantities"),
  column("labels", "Labels", "label", "tags"),
  column("pts", "PTS", "ptsvalue", "points"),
  column("weight", "Weight", "weightkg", "kg", "kilos", "grossweight"),
  column(
    "recipient_name",
    "Recipient",
    "recipient",
    "consignee",
    "receiver",
    "consigneename",
    "customername",
  ),
  column(
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
  column("delivery_address", "Delivery address", "address", "shippingaddress", "consigneeaddress"),
  column("postal_code", "Postal code", "postcode", "zip", "zipcode", "postal"),
  column("scheduled_date", "Scheduled date", "schedule", "date", "planneddate"),
  column("instructions", "Instructions", "deliveryinstructions", "remarks", "notes", "comments"),
  column("normalized_status", "Status", "status", "statuscode"),
  column("failure_reason", "Failure reason", "reason", "reasoncode", "failurecode"),
  column("scheduled_delivery_date", "Confirmed delivery date", "deliverydate", "confirmeddate"),
  column("scheduled_delivery_pending", "Delivery date pending", "deliverypending"),
  column("provider_status", "Carrier’s status", "carrierstatus", "couriersstatus"),
];

const labels: ReadonlyMap<string, string> = new Map(targetColumns.map(({ name, label }) => [name, label]));

export function labelOfColumn(name: string): string {
  return labels.get(name) ?? name;
}

/** `markingNumber`, `Marking Number` and `MARKING-NO.` are one: letters and digits alone, small. */
function plain(name: string): string {
  return name
    .normalize("NFKD")
    .replaceAll(/[^\p{L}\p{N}]/gu, "")
    .toLowerCase();
}

function ownNames({ name, label }: TargetColumn): string[] {
  return [plain(name), plain(label)];
}

/** For each of a file's columns one of ours, or null. Each of ours once: the exact name wins over what others call it. */
export function guessMapping(names: readonly string[]): (string | null)[] {
  const repeated = repeatedNames(names);
  const mapping: (string | null)[] = names.map(() => null);
  for (const namesOf of [ownNames, (target: TargetColumn) => target.aliases]) {
    for (const [at, name] of names.entries()) {
      if (mapping[at] !== null || repeated.has(name)) continue;
      const found = targetColumns.find(
        (target) => namesOf(target).includes(plain(name)) && !mapping.includes(target.name),
      );
      mapping[at] = found?.name ?? null;
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
