/** Citations: where their quotations stand, and how one opens them. */
import { pane, writeSpan, type Mark, type Span } from '../../state/pane.svelte';
import { words } from '../../words';
import type { Citation } from './exchange.svelte';

/** The number of a citation: 1 of `[1]`. */
export function numberOf(id: string): string {
  return id.replace(/\D/g, '');
}

function documentOf(citation: Citation): string {
  return /\/d\/([^/#]+)/.exec(citation.address)?.[1] ?? citation.documentRef;
}

/** The key sentence of a quotation where it has one, in characters of the document's text. */
function spanOf({ locator, highlight }: Citation): Span {
  const [from, to] = highlight ?? [0, locator.end - locator.start];
  return { start: locator.start + Number(from), end: locator.start + Number(to) };
}

/** A text in three: before its key sentences, these, and behind them. Positions count characters as the server does. */
export function splitAt(text: string, highlight: readonly unknown[]): [string, string, string] {
  const signs = Array.from(text);
  const [from, to] = [Number(highlight[0]), Number(highlight[1])];
  return [signs.slice(0, from).join(''), signs.slice(from, to).join(''), signs.slice(to).join('')];
}

/** The quotation in three; all of it is key where it is short. */
export function partsOf({ snippet, highlight }: Citation): [string, string, string] {
  return highlight ? splitAt(snippet, highlight) : ['', snippet, ''];
}

/** The key sentence of a quotation, or its beginning, on one line. */
export function keyOf(citation: Citation): string {
  return withoutMarks(partsOf(citation)[1]).replaceAll(/\s+/g, ' ');
}

/** A document's words without the marks of its format, where they only give an idea of it. */
export function withoutMarks(text: string): string {
  return text
    .replaceAll(/[*_`#]+/g, '')
    .replaceAll(/^\s*\||\|\s*$|^\s*[-•]\s/g, '')
    .replaceAll('|', '·')
    .trim();
}

/** Where in its document, in words: `Prices, page 3`. */
export function placeOf({ locator, documentTitle }: Citation): string {
  const section = locator.section.at(-1);
  const parts = [section === documentTitle ? undefined : section, locator.page && words.asking.page(locator.page)];
  return parts.filter(Boolean).join(' · ');
}

/** The mark of a citation, with its words: they are found again where the document has changed since. */
function markOf(citation: Citation): Mark {
  return { ...spanOf(citation), quote: partsOf(citation)[1] };
}

/** Open a quotation beside the answer, with the marks of all of its quotations in that document. */
export function openSource(citation: Citation, all: readonly Citation[]): void {
  const document = documentOf(citation);
  const marks = all
    .filter((other) => documentOf(other) === document)
    .map(markOf)
    .sort((one, other) => one.start - other.start);
  pane.open({ document, span: markOf(citation) }, marks);
}

export function isOpen(citation: Citation): boolean {
  const { place } = pane;
  return place?.document === documentOf(citation) && place.span?.start === spanOf(citation).start;
}

/** The address of a quotation, to be sent to somebody. */
export function addressOf(citation: Citation): string {
  return `${location.origin}/d/${encodeURIComponent(documentOf(citation))}#${writeSpan(spanOf(citation))}`;
}
