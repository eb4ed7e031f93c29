/** The conversation on the screen. It goes on while another screen is shown. */
import { api, result, type Schemas } from '../../api';
import { router } from '../../state/router.svelte';
import { Exchange } from './exchange.svelte';
import type { Filters, Restriction } from './filters';

class Conversation {
  id = $state<string | null>(null);
  title = $state('');
  exchanges = $state<Exchange[]>([]);
  loading = $state<Promise<void> | null>(null);
  /** What is written in the field, so that nothing is lost when one looks at another screen. */
  draft = $state('');
  /** What the next questions are restricted to. */
  filters = $state.raw<Filters>({});
  /** Whether the chat model may search again before it answers the next questions. */
  looksTwice = $state(false);

  get last(): Exchange | undefined {
    return this.exchanges.at(-1);
  }

  get isWorking(): boolean {
    return this.last?.status === 'working';
  }

  /** Begin anew. */
  clear(): void {
    if (this.isWorking) this.last?.stop();
    this.id = null;
    this.title = '';
    this.exchanges = [];
    this.filters = {};
    this.loading = null;
  }

  /** Show a conversation of one's own. */
  load(id: string): void {
    if (this.id === id) return;
    this.clear();
    this.id = id;
    this.loading = this.#read(id);
  }

  async #read(id: string): Promise<void> {
    const path = { conversation_id: id };
    const { title, turns } = await result(api.GET('/v1/conversations/{conversation_id}/turns', { params: { path } }));
    if (this.id !== id) return;
    this.title = title;
    this.exchanges = turns.map((turn) => Exchange.of(turn as Schemas['Turn']));
  }

  /** Ask a question, in place of `replaced` and all that follows it where that is given. */
  async ask(question: string, filters: Restriction, replaced?: Exchange): Promise<void> {
    const kept = replaced ? this.exchanges.indexOf(replaced) : this.exchanges.length;
    const from = this.exchanges.slice(kept).find((exchange) => exchange.place !== null);
    const thread = { conversationId: this.id, replaces: from?.place ?? null };
    if (this.isWorking) this.last?.stop();
    this.exchanges = [...this.exchanges.slice(0, kept), new Exchange(question, filters, this.looksTwice)];
    // The one in the list: it tells the page of its changes.
    const exchange = this.last;
    if (!exchange) return;
    if (!this.title || kept === 0) this.title = question;
    await exchange.ask(thread);
    if (exchange.conversationId && this.exchanges.includes(exchange)) this.#stands(exchange.conversationId);
  }

  /** Whether it got its address while another screen was shown. */
  #isElsewhere = false;

  #stands(id: string): void {
    this.id = id;
    this.#isElsewhere = router.screen !== '' && router.screen !== 'c';
    if (!this.#isElsewhere) this.#address();
  }

  /** At the address of a new question: whoever comes back finds what was asked there meanwhile, and else an empty field. */
  begin(): void {
    if (!this.id) return;
    if (this.#isElsewhere) this.#address();
    else this.clear();
  }

  #address(): void {
    this.#isElsewhere = false;
    router.go(`/c/${this.id}${location.hash}`, { replace: true });
  }
}

export const conversation = new Conversation();
