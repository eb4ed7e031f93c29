/** Where one is: the address bar is the only truth, so every place can be sent as a link. */

class Router {
  path = $state(location.pathname);
  query = $state(new URLSearchParams(location.search));
  fragment = $state(location.hash.slice(1));

  constructor() {
    addEventListener('popstate', () => this.#read());
    addEventListener('hashchange', () => this.#read());
    addEventListener('click', (event) => this.#follow(event));
  }

  /** Go to an address of this page; `replace` leaves no step in the history. */
  go(address: string, { replace = false }: { replace?: boolean } = {}): void {
    const from = this.path;
    history[replace ? 'replaceState' : 'pushState'](null, '', address);
    this.#read();
    if (this.path !== from) scrollTo({ top: 0 });
  }

  /** The parts of the path behind its first: `/d/12` has `['12']`. */
  get rest(): string[] {
    return this.path.split('/').slice(2).filter(Boolean).map(decoded);
  }

  get screen(): string {
    return this.path.split('/')[1] ?? '';
  }

  /** A link to this page needs no new document; all others are the browser's. */
  #follow(event: MouseEvent): void {
    if (event.defaultPrevented || event.button || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey)
      return;
    const link = event.target instanceof Element ? event.target.closest('a') : null;
    if (!link || link.target || link.hasAttribute('download') || link.origin !== location.origin) return;
    if (link.pathname.startsWith('/v1/') || link.pathname === '/docs') return;
    event.preventDefault();
    this.go(link.pathname + link.search + link.hash);
  }

  #read(): void {
    this.path = location.pathname;
    this.query = new URLSearchParams(location.search);
    this.fragment = location.hash.slice(1);
  }
}

/** A part that is no encoded text names nothing; as it stands, the server says so. */
export function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

export const router = new Router();
