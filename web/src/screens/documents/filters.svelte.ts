/** What is shown of the documents; it stands in the address, so that a list can be sent as a link. */
import { router } from '../../state/router.svelte';
import type { Order, Query, Shown } from './list.svelte';

const ORDERS: Order[] = ['title', 'changed', 'system', 'status', 'url'];
const SHOWN: Shown[] = ['all', 'ready', 'busy', 'failed'];
const NONE: Query = { title: '', system: '', shown: 'all', order: 'changed', isDescending: true };

class Filters {
  query = $derived<Query>({
    title: (router.query.get('title') ?? '').slice(0, 500),
    system: (router.query.get('from') ?? '').slice(0, 100),
    shown: SHOWN.find((shown) => shown === router.query.get('state')) ?? NONE.shown,
    order: ORDERS.find((order) => order === router.query.get('order')) ?? NONE.order,
    isDescending: router.query.has('order') ? router.query.get('way') === 'down' : NONE.isDescending,
  });

  get areNone(): boolean {
    const { title, system, shown } = this.query;
    return !title && !system && shown === 'all';
  }

  set(change: Partial<Query>): void {
    const { title, system, shown, order, isDescending } = { ...this.query, ...change };
    const isUsual = order === NONE.order && isDescending === NONE.isDescending;
    const fields = [
      ['title', title],
      ['from', system],
      ['state', shown === 'all' ? '' : shown],
      ['order', isUsual ? '' : order],
      ['way', isUsual ? '' : isDescending ? 'down' : 'up'],
    ].filter(([, value]) => value) as [string, string][];
    const query = fields.length ? `?${new URLSearchParams(fields)}` : '';
    router.go(`${location.pathname}${query}${location.hash}`, { replace: true });
  }

  clear(): void {
    this.set({ title: '', system: '', shown: 'all' });
  }
}

export const filters = new Filters();
