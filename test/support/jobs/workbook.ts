/** Workbooks as Excel writes them, built from their parts so that no library reads what it wrote itself. */
import { strToU8, zipSync } from "fflate";

const NAMESPACE = 'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"';
const OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships";
const PACKAGE = "http://schemas.openxmlformats.org/package/2006/relationships";
const MS_PER_DAY = 86_400_000;
const EXCEL_EPOCH_MS = Date.UTC(1899, 11, 30);

export type WorkbookCell = string | number | boolean | Date | null;

/** Returns the parts of a workbook with one sheet. Null and blank rows are left out, as in Excel. */
export function workbookParts(rows: readonly (readonly WorkbookCell[])[]): Record<string, string> {
  const texts = [...new Set(rows.flat().filter((cell) => typeof cell === "string"))];
  const sheet = rows.map((row, index) => rowXml(row, index + 1, texts)).join("");
  const shared = texts.map((text) => `<si><t xml:space="preserve">${escapeXml(text)}</t></si>`).join("");
  return {
    "[Content_Types].xml": `<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"><Default Extension="xml" ContentType="application/xml"/><Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/><Override PartName="/xl/workbook.xml" ContentType="application/vnd.openxmlformats-officedocument.spreadsheetml.sheet.main+xml"/></Types>`,
    "_rels/.rels": `<Relationships xmlns="${PACKAGE}"><Relationship Id="rId1" Type="${OFFICE}/officeDocument" Target="xl/workbook.xml"/></Relationships>`,
    "xl/workbook.xml": `<workbook ${NAMESPACE} xmlns:r="${OFFICE}"><sheets><sheet name="Jobs" sheetId="1" r:id="rId1"/></sheets></workbook>`,
    "xl/_rels/workbook.xml.rels": `<Relationships xmlns="${PACKAGE}"><Relationship Id="rId1" Type="${OFFICE}/worksheet" Target="worksheets/sheet1.xml"/><Relationship Id="rId2" Type="${OFFICE}/styles" Target="styles.xml"/><Relationship Id="rId3" Type="${OFFICE}/sharedStrings" Target="sharedStrings.xml"/></Relationships>`,
    "xl/styles.xml": `<styleSheet ${NAMESPACE}><cellXfs count="2"><xf numFmtId="0"/><xf numFmtId="14" applyNumberFormat="1"/></cellXfs></styleSheet>`,
    "xl/sharedStrings.xml": `<sst ${NAMESPACE}>${shared}</sst>`,
    "xl/worksheets/sheet1.xml": `<worksheet ${NAMESPACE}><sheetData>${sheet}</sheetData></worksheet>`,
  };
}

export function zipParts(parts: Readonly<Record<string, string>>): Buffer {
  return Buffer.from(
    zipSync(Object.fromEntries(Object.entries(parts).map(([name, text]) => [name, strToU8(text)]))),
  );
}

export const workbook = (rows: readonly (readonly WorkbookCell[])[]): Buffer => zipParts(workbookParts(rows));

function rowXml(row: readonly WorkbookCell[], number: number, texts: readonly string[]): string {
  const cells = row.map((cell, column) => {
    const at = `r="${String.fromCodePoint(65 + column)}${number}"`;
    if (typeof cell === "string") return `<c ${at} t="s"><v>${texts.indexOf(cell)}</v></c>`;
    if (typeof cell === "boolean") return `<c ${at} t="b"><v>${Number(cell)}</v></c>`;
    if (cell instanceof Date)
      return `<c ${at} s="1"><v>${(cell.getTime() - EXCEL_EPOCH_MS) / MS_PER_DAY}</v></c>`;
    return cell === null ? "" : `<c ${at}><v>${cell}</v></c>`;
  });
  return cells.join("") && `<row r="${number}">${cells.join("")}</row>`;
}

function escapeXml(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;");
}
