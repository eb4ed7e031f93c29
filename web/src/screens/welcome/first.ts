/** Whether this is the first run: a store without documents, and an administrator who has not left the welcome. */
import { api, result } from '../../api';
import { router } from '../../state/router.svelte';
import { session } from '../../state/session.svelte';

const KEY = 'lightwell.welcomed';

/** How many documents there are to see: none, or some. */
export async function countDocuments(): Promise<number> {
  return (await result(api.GET('/v1/documents', { params: { query: { limit: 1 } } }))).documents.length;
}

export function leaveWelcome(): void {
  localStorage.setItem(KEY, 'yes');
}

/** Lead an administrator of an empty store from the start to the welcome, until it has been left once. */
export async function welcomeIfEmpty(): Promise<void> {
  const isStart = () => router.path === '/' && !location.search;
  if (!isStart() || !session.may('admin') || localStorage.getItem(KEY)) return;
  const count = await countDocuments().catch(() => 1);
  if (count) leaveWelcome();
  else if (isStart()) router.go('/welcome', { replace: true });
}
