/** Who is signed in, and what that person may do. */
import type { Schemas } from '../api';
import { words } from '../words';
import { toasts } from './toasts.svelte';

export type Me = Schemas['Me'];
export type Scope = Schemas['Scope'];

class Session {
  /** `undefined` until the server has said it, `null` for nobody. */
  me = $state<Me | null>();
  /** Why nobody is signed in any more, in the middle of the work. */
  hasEnded = $state(false);
  /** Whose answers, drafts and files this page has in its memory. */
  #owner: string | null = null;

  constructor() {
    // A browser may show the page of before again, as it was.
    addEventListener('pageshow', (event) => event.persisted && void this.load().catch(() => {}));
  }

  async load(): Promise<void> {
    const response = await fetch('/v1/me');
    if (!response.ok && response.status !== 401) return;
    const me = response.ok ? ((await response.json()) as Me) : null;
    if (me) {
      const owner = JSON.stringify([me.personId, me.name, me.email, me.project]);
      this.#owner ??= owner;
      if (owner !== this.#owner) return beginAnew();
      this.hasEnded = false;
    }
    this.me = me;
  }

  /** The server says that this session is over: the screen stays, so that nothing written is lost. */
  end(): void {
    if (this.me) this.hasEnded = true;
  }

  /** Whether there is anything that this person may see or set up. */
  get hasAccess(): boolean {
    return this.may('admin') || (this.me?.tags.length ?? 0) > 0;
  }

  may(scope: Scope): boolean {
    return this.me?.scopes.some((granted) => granted === scope || granted === 'admin') ?? false;
  }

  async signOut(everywhere = false): Promise<void> {
    const response = await fetch('/v1/sign-out', {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', 'X-CSRF-Token': this.me?.csrfToken ?? '' },
      body: JSON.stringify({ everywhere }),
    }).catch(() => null);
    if (response?.ok) {
      this.me = null;
      return location.replace('/sign-in');
    }
    toasts.show(response ? words.problem.unknown(response.status) : words.problem.unreachable);
    if (response) await this.load(); // as somebody else, perhaps, who has signed in in another tab
  }
}

/** Forget all that is in memory: what one person's page holds is not for the next one. */
function beginAnew(): void {
  if (location.pathname === '/sign-in') location.replace('/');
  else location.reload();
}

export const session = new Session();
