/** What the map shows. The address says it: `/map/<name>?on=<name>` has one selected, `?to=<name>` shows the way to another. */
import { api, messageOf, result, type Schemas } from '../../api';
import { router } from '../../state/router.svelte';
import { toasts } from '../../state/toasts.svelte';
import { groupOf, groups, type Group } from './kinds';

export type Name = Schemas['Name'];
export type MappedName = Schemas['MappedName'];
export type Tie = Schemas['Tie'];
export type Way = Schemas['NamePath'];
export type Depth = 1 | 2 | 3;

const LIMITS: Record<Depth, number> = { 1: 500, 2: 500, 3: 2000 };

export class MapState {
  names = $state.raw<MappedName[]>([]);
  ties = $state.raw<Tie[]>([]);
  isCut = $state(false);
  way = $state.raw<Way | null>(null);
  depth = $state<Depth>(2);
  hidden = $state.raw<ReadonlySet<Group>>(new Set());
  error = $state.raw<unknown>(null);
  isLoading = $state(false);
  isPanelClosed = $state(false);
  /** How often something was corrected: what is shown of a name is read again then. */
  changes = $state(0);
  #centre = '';
  #loads = 0;

  /** The name in the address. */
  get centre(): string {
    return router.rest.join('/');
  }

  get selected(): string {
    const on = router.query.get('on') ?? this.names[0]?.entityId ?? '';
    return this.names.some((name) => name.entityId === on) ? on : '';
  }

  get target(): string {
    return router.query.get('to') ?? '';
  }

  get wayIds(): string[] {
    return this.target ? (this.way?.names.map((name) => name.entityId) ?? []) : [];
  }

  get counts(): [Group, number][] {
    const counted = new Map<Group, number>();
    for (const name of this.names) {
      const group = groupOf(name.entityType);
      counted.set(group, (counted.get(group) ?? 0) + 1);
    }
    return groups.flatMap((group) => (counted.has(group) ? [[group, counted.get(group) ?? 0]] : []));
  }

  name(id: string): MappedName | undefined {
    return this.names.find((name) => name.entityId === id);
  }

  async load(centre: string, depth: Depth): Promise<void> {
    this.#loads += 1;
    const load = this.#loads;
    if (centre !== this.#centre) this.#clear();
    this.#centre = centre;
    if (!centre) return;
    this.isLoading = true;
    this.error = null;
    try {
      const map = await around(centre, depth, LIMITS[depth]);
      if (load !== this.#loads) return;
      this.names = map.names;
      this.ties = map.ties;
      this.isCut = map.isCut;
    } catch (error) {
      if (load === this.#loads) this.error = error;
    } finally {
      if (load === this.#loads) this.isLoading = false;
    }
  }

  /** Load again after a correction; `centre` is where the map goes, "/" to its start, "" where it is. */
  async changed(centre = ''): Promise<void> {
    if (centre === '/') router.go('/map', { replace: true });
    else if (centre && centre !== this.centre) router.go(addressOf('map', centre), { replace: true });
    else await this.reload();
    this.changes += 1;
  }

  reload(): Promise<void> {
    return this.load(this.#centre, this.depth);
  }

  /** Add what is around one of the names; what is there stays where it is. */
  async expand(id: string): Promise<void> {
    const load = this.#loads;
    const more = await around(id, 1, 200).catch(complain);
    if (!more || load !== this.#loads) return;
    this.#add(more.names, more.ties);
    this.select(id);
  }

  async findWay(target: string): Promise<void> {
    this.way = null;
    const source = this.names[0]?.entityId ?? this.#centre;
    if (!target || !source) return;
    const load = this.#loads;
    const way = await result(api.GET('/v1/graph/path', { params: { query: { source, target } } }));
    if (load !== this.#loads || target !== this.target) return;
    this.#add(
      way.names.map((name, depth) => ({ ...name, depth })),
      way.steps,
    );
    this.way = way;
  }

  select(id: string): void {
    this.isPanelClosed = false;
    const query = id ? `?on=${encodeURIComponent(id)}` : '';
    router.go(`${location.pathname}${query}${location.hash}`, { replace: true });
  }

  toggle(group: Group): void {
    const hidden = new Set(this.hidden);
    if (!hidden.delete(group)) hidden.add(group);
    this.hidden = hidden;
  }

  #add(names: MappedName[], ties: Tie[]): void {
    const seen = new Set(this.names.map((name) => name.entityId));
    const drawn = new Set(this.ties.map(keyOf));
    const fresh = names.filter((name) => !seen.has(name.entityId));
    const between = ties.filter((tie) => !drawn.has(keyOf(tie)));
    if (fresh.length === 0 && between.length === 0) return;
    this.names = [...this.names, ...fresh];
    this.ties = [...this.ties, ...between];
  }

  #clear(): void {
    this.names = [];
    this.ties = [];
    this.isCut = false;
    this.way = null;
    this.hidden = new Set();
  }
}

/** Say what did not work, where nothing else shows it. */
export function complain(error: unknown): void {
  toasts.show(messageOf(error));
}

function around(entity: string, depth: number, limit: number): Promise<Schemas['NameMap']> {
  return result(api.GET('/v1/graph/map', { params: { query: { entity, depth, limit } } }));
}

function keyOf(tie: Tie): string {
  return `${tie.sourceEntityId} ${tie.predicate} ${tie.targetEntityId}`;
}

/** The address of a name's map or brief: by its id, which never means two. */
export function addressOf(screen: 'map' | 'brief', id: string): string {
  return `/${screen}/${encodeURIComponent(id)}`;
}
