/** Put text into the clipboard, in both forms; the older way, which works where a server is reached without https. */
export function copy(plain: string, html?: string): void {
  const fill = (event: ClipboardEvent): void => {
    event.preventDefault();
    event.clipboardData?.setData('text/plain', plain);
    if (html) event.clipboardData?.setData('text/html', html);
  };
  document.addEventListener('copy', fill, { once: true });
  document.execCommand('copy');
  document.removeEventListener('copy', fill);
}
