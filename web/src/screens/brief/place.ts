import type { Schemas } from '../../api';
import type { Place } from '../../state/pane.svelte';

/** Where a citation stands. */
export function placeOf({ documentRef, locator: { start, end } }: Schemas['Citation']): Place {
  return { document: documentRef, span: { start, end } };
}
