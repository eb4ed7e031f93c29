import { untrack } from 'svelte';

/** Keys of the page. A screen lists its keys while it is shown; the list is what `?` shows. */

export interface Key {
  /** One key, or two that are pressed one after the other: `g d`. */
  keys: string;
  does: string;
  run: () => void;
}

class Keys {
  #lists = $state.raw<Key[][]>([]);
  #first = '';

  constructor() {
    addEventListener('keydown', (event) => this.#press(event));
  }

  /** All keys that work now, those of the innermost screen first; it takes a key from those around it. */
  get all(): Key[] {
    const listed = this.#lists.flat();
    return listed.filter(({ keys }, place) => listed.findIndex((other) => other.keys === keys) === place);
  }

  /** Add keys until the returned function is called; `$effect(() => keys.add([...]))` does both. */
  add(list: Key[]): () => void {
    // Not read by the effect that calls this: it would run again for every list that others add.
    untrack(() => (this.#lists = [list, ...this.#lists]));
    return () => (this.#lists = this.#lists.filter((other) => other !== list));
  }

  #press(event: KeyboardEvent): void {
    if (event.defaultPrevented || event.metaKey || event.ctrlKey || event.altKey) return;
    if (event.key !== 'Escape' && isWriting(event.target)) return;
    // What is open in front has the keys for itself.
    if (document.querySelector('dialog:modal, [role="menu"]:popover-open')) return;
    const sequence = this.#first ? `${this.#first} ${event.key}` : event.key;
    const key = this.all.find(({ keys }) => keys === sequence);
    this.#first = !key && this.all.some(({ keys }) => keys.startsWith(`${sequence} `)) ? event.key : '';
    if (!key) return;
    event.preventDefault();
    key.run();
  }
}

function isWriting(target: EventTarget | null): boolean {
  return (
    target instanceof HTMLElement &&
    (target.isContentEditable || ['INPUT', 'TEXTAREA', 'SELECT'].includes(target.tagName))
  );
}

export const keys = new Keys();
