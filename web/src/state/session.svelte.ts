/** Who is signed in, and what that person may do. */
import type { Schemas } from '../api';
import { router } from './router.svelte';

export type Me = Schemas['Me'];
export type Scope = Schemas['Scope'];

class Session {
  /** `undefined` until the server has said it, `null` for nobody. */
  me = $state<Me | null>();
  /** Why nobody is signed in any more, in the middle of the work. */
  hasEnded = $state(false);

  async load(): Promise<void> {
    const response = await fetch('/v1/me');
    if (response.ok) this.hasEnded = false;
    if (response.ok || response.status === 401) this.me = response.ok ? ((await response.json()) as Me) : null;
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
    await fetch('/v1/sign-out', {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', 'X-CSRF-Token': this.me?.csrfToken ?? '' },
      body: JSON.stringify({ everywhere }),
    });
    this.me = null;
    this.hasEnded = false;
    router.go('/sign-in', { replace: true });
  }
}

export const session = new Session();
