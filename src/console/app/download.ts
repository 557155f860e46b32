/** Saves a text as a file on the user's device. */
export function downloadText(fileName: string, text: string, type: string): void {
  const objectUrl = URL.createObjectURL(new Blob([text], { type }));
  const link = document.createElement("a");
  Object.assign(link, { href: objectUrl, download: fileName });
  link.click();
  URL.revokeObjectURL(objectUrl);
}
