/** Put text into the clipboard; with `html`, in both forms. Nobody signs in without https beyond this machine, so there is one. */
export async function copy(plain: string, html?: string): Promise<void> {
  if (html === undefined) return navigator.clipboard.writeText(plain);
  const forms = { 'text/plain': plain, 'text/html': html };
  const blobs = Object.entries(forms).map(([type, text]) => [type, new Blob([text], { type })]);
  await navigator.clipboard.write([new ClipboardItem(Object.fromEntries(blobs))]);
}
