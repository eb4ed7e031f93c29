/** One question with its answer, while it is made and afterwards. */
import { Problem, type Schemas } from '../../api';
import { events } from '../../api/streams';
import { words } from '../../words';
import type { Restriction, Understood } from './filters';

export type Sentence = Schemas['Sentence'];
export type Piece = Schemas['Piece'];
export type Citation = Schemas['Citation'];
export type State = Schemas['AnswerState'];
export type Name = Schemas['AmbiguousName'];

/** What an event of an answer may bring; the server's `StreamEvent`. */
interface AnswerEvent {
  type: string;
  step?: { kind: 'searching' | 'reading' | 'checking'; query: string; titles: string[]; count: number };
  content?: string;
  sentence?: Sentence;
  citation?: Citation;
  metadata?: Schemas['AnswerMetadata'];
  error?: string;
  state?: State;
  sentences?: Sentence[];
  context?: Piece[];
  nearest?: Citation[];
  missingWords?: string[];
  model?: string;
  notes?: string[];
  filters?: Understood[];
  ambiguousNames?: Name[];
  conversationId?: string;
  place?: number;
}

/** Where a question belongs: its conversation, and the place from which on it replaces what was said. */
interface Thread {
  conversationId: string | null;
  replaces: number | null;
}

export type Status = 'working' | 'done' | 'stopped' | 'failed';

export class Exchange {
  readonly key = crypto.randomUUID();
  status = $state<Status>('working');
  step = $state<AnswerEvent['step']>();
  /** The whole answer as text; sentences say where they stand in it. */
  text = $state('');
  state = $state<State | null>(null);
  confidence = $state<Schemas['Confidence'] | null>(null);
  /** What answers. */
  sentences = $state.raw<Sentence[]>([]);
  /** What documents say around the sentences. */
  context = $state.raw<Piece[]>([]);
  citations = $state.raw<Citation[]>([]);
  nearest = $state.raw<Citation[]>([]);
  missingWords = $state.raw<string[]>([]);
  names = $state.raw<Name[]>([]);
  notes = $state.raw<string[]>([]);
  /** Filters that words of the question mean. */
  understood = $state.raw<Understood[]>([]);
  model = $state('');
  queryId = $state<string | null>(null);
  conversationId = $state<string | null>(null);
  place = $state<number | null>(null);
  problem = $state('');
  isChanged = $state(false);
  rating = $state<'up' | 'down' | null>(null);
  #stop = new AbortController();

  constructor(
    readonly question: string,
    readonly filters: Restriction,
    readonly looksTwice = false,
  ) {}

  /** An answer that a conversation keeps. */
  static of(turn: Schemas['Turn']): Exchange {
    const exchange = new Exchange(turn.question, {});
    const { answer } = turn;
    exchange.status = 'done';
    exchange.place = turn.place;
    exchange.text = answer?.text ?? turn.text;
    if (!answer) return exchange;
    exchange.state = answer.state;
    exchange.queryId = answer.queryId;
    exchange.model = answer.model;
    exchange.confidence = answer.confidence;
    exchange.sentences = answer.sentences;
    exchange.context = answer.context;
    exchange.citations = answer.citations;
    exchange.notes = answer.notes;
    exchange.isChanged = answer.isChanged;
    return exchange;
  }

  /** Whether its words are those of documents, and not a model's. */
  get isQuoted(): boolean {
    return this.model === 'extracts' || this.model === '';
  }

  /** Ask, and follow the answer to its end. Whatever goes wrong is said in `problem`. */
  async ask(thread: Thread): Promise<void> {
    const body = {
      query: this.question,
      ...(Object.keys(this.filters).length ? { filters: this.filters } : {}),
      ...(thread.conversationId ? { conversationId: thread.conversationId } : { remember: true }),
      ...(thread.replaces === null ? {} : { replaces: thread.replaces }),
      ...(this.looksTwice ? { lookTwice: true } : {}),
      steps: true,
    };
    try {
      for await (const { data } of events('/v1/query/stream', body, this.#stop.signal)) this.#take(data as AnswerEvent);
      if (this.status === 'working') this.#end('stopped');
    } catch (error) {
      this.problem = error instanceof Problem ? error.message : words.problem.unreachable;
      this.#end('failed');
    }
  }

  stop(): void {
    this.#stop.abort();
    if (this.status === 'working') this.#end('stopped');
  }

  #end(status: Status): void {
    this.status = status;
    this.step = undefined;
  }

  #take(event: AnswerEvent): void {
    if (this.status !== 'working') return;
    if (event.step) this.step = event.step;
    if (event.content) this.text += event.content;
    if (event.sentence) this.sentences = [...this.sentences, event.sentence];
    if (event.citation) this.citations = [...this.citations, event.citation];
    if (event.metadata) {
      this.queryId = event.metadata.queryId;
      this.confidence = event.metadata.confidence;
    }
    if (event.error !== undefined) {
      this.problem = event.error;
      this.#end('failed');
    }
    if (event.state) this.state = event.state;
    if (event.type === 'done') this.#finish(event);
  }

  #finish(event: AnswerEvent): void {
    this.sentences = event.sentences ?? [];
    this.context = event.context ?? [];
    this.nearest = event.nearest ?? [];
    this.missingWords = event.missingWords ?? [];
    this.names = event.ambiguousNames ?? [];
    this.notes = event.notes ?? [];
    this.understood = event.filters ?? [];
    this.model = event.model ?? '';
    this.conversationId = event.conversationId ?? null;
    this.place = event.place ?? null;
    this.#end('done');
  }
}
