/** Which source is open beside the screen. It stands in the address: `#d=<document>&s=<start>-<end>`. */
import { router } from './router.svelte';

/** A place in a document: characters of its text, `end` is behind the last one. */
export interface Span {
  start: number;
  end: number;
}

/** A place that is marked; `quote` is what stood there when it was cited, so that it is found again where it moved. */
export interface Mark extends Span {
  quote?: string;
}

export interface Place {
  document: string;
  span: Mark | null;
}

export function readSpan(text: string | null): Span | null {
  const [, start, end] = /^(\d{1,9})-(\d{1,9})$/.exec(text ?? '') ?? [];
  return start && end && Number(start) < Number(end) ? { start: Number(start), end: Number(end) } : null;
}

export function writeSpan(span: Span): string {
  return `${span.start}-${span.end}`;
}

class Pane {
  /** All marks of the answer that the source belongs to, in the order of the document; the open one is `place.span`. */
  marks = $state.raw<Mark[]>([]);

  get place(): Place | null {
    const fields = new URLSearchParams(router.fragment);
    const document = fields.get('d');
    if (!document) return null;
    const span = readSpan(fields.get('s'));
    const marked = this.marks.find((mark) => mark.start === span?.start && mark.end === span.end);
    return { document, span: marked ?? span };
  }

  /** Open a source; one that replaces another leaves no step in the history. */
  open(place: Place, marks: Mark[] = place.span ? [place.span] : []): void {
    this.marks = marks;
    const span = place.span ? `&s=${writeSpan(place.span)}` : '';
    router.go(`${location.pathname}${location.search}#d=${encodeURIComponent(place.document)}${span}`, {
      replace: this.place !== null,
    });
  }

  close(): void {
    if (this.place) router.go(location.pathname + location.search, { replace: true });
  }
}

export const pane = new Pane();
