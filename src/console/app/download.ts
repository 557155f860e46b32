/** Saves a file on the user's device. */
export function downloadFile(fileName: string, file: Blob): void {
  const objectUrl = URL.createObjectURL(file);
  const link = document.createElement("a");
  Object.assign(link, { href: objectUrl, download: fileName });
  link.click();
  // Some browsers read a large file after the click.
  setTimeout(() => URL.revokeObjectURL(objectUrl), 60_000);
}

export function downloadText(fileName: string, text: string, type: string): void {
  downloadFile(fileName, new Blob([text], { type }));
}
